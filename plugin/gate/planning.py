"""How many samples, and trials of each, a verdict needs.

The flips of a future comparison are not known. They are assumed, or taken from two results over
the same samples; with sampled trials, the baseline's own trials show how far two runs of one
checkpoint differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, sqrt

from ..scores.intervals import proportion_standard_error
from ..scores.noise import draw_variance, noise_of_passes, variance_of_pass_at_k
from ..scores.reducers import estimate_pass_at_k
from ..scores.score import Noise
from .mde import Rule, loss_mde, loss_power, lost_and_won, paired_shares_mde, power_of_losses

_MOST_TRIALS = 1000
_MOST_SAMPLES = 2**27


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Rule):
    """The drop that a comparison has to find, as a share, and when it counts as found."""

    drop: float


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What a metric needs at one share of flips or, for pass@k, with one number of trials.

    Attributes:
        assumed: share of samples that flip when nothing has changed, or trials of each problem on
            either side.
        needed: samples or problems; None where no number of them finds the drop.
        mde: minimum detectable effect with the samples or problems there are, as a share; None
            where no drop is found, or without a baseline.
        source: where a share of flips is from; empty where it is assumed.
        standard_error: of pass@k over the problems there are, as a share; None without one.
    """

    assumed: float
    needed: int | None
    mde: float | None
    source: str = ""
    standard_error: float | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """0/1 outcomes of a baseline.

    Attributes:
        value: the share that passed.
        n: samples.
        design_effect: of their clusters: n samples are worth n / design_effect single ones.
    """

    value: float
    n: int
    design_effect: float


def design_effect(value: float, n: int, standard_error: float | None) -> float:
    """`max(1, cluster-robust variance / binomial variance)` of a share.

    1 where no standard error is known, and at 0 and 1, where nothing varies.
    """
    single = proportion_standard_error(value, n)
    if not single or standard_error is None:
        return 1.0
    return max(1.0, (standard_error / single) ** 2)


def by_flips(
    target: Target, flips: Iterable[tuple[float, str]], known: Shares | None = None
) -> tuple[PlanRow, ...]:
    """A row for each share of flips.

    Args:
        flips: the shares, and where each is from.
        known: the baseline; its clusters are taken to be those of the flips too.
    """
    effect = known.design_effect if known else 1.0
    return tuple(
        PlanRow(
            share,
            samples_needed(
                target.drop,
                target,
                flips=share,
                baseline=known.value if known else None,
                design_effect=effect,
            ),
            paired_shares_mde(known.n / effect, share, known.value, target) if known else None,
            source,
        )
        for share, source in flips
    )


def mde_curve(
    target: Target, flips: float, ns: Sequence[int], known: Shares | None = None
) -> tuple[float | None, ...]:
    """The MDE of 0/1 outcomes at each number of samples, as shares.

    Without a baseline half of the samples are taken to pass, so that as many can be lost as won.
    """
    effect = known.design_effect if known else 1.0
    value = known.value if known else 0.5
    return tuple(paired_shares_mde(n / effect, flips, value, target) for n in ns)


def trials_of(shares: Iterable[float]) -> int | None:
    """The trials of each problem, inferred from the shares that passed: 20 where they are 20ths.

    The smallest number of which each share is a whole multiple; None above 1,000.
    """
    found = 1
    for share in set(shares):
        part = Fraction(share).limit_denominator(_MOST_TRIALS)
        if abs(float(part) - share) > 1e-9:
            return None
        found = lcm(found, part.denominator)
        if found > _MOST_TRIALS:
            return None
    return found


@dataclass(frozen=True, slots=True)
class Passes:
    """The trials of a baseline's problems.

    Attributes:
        counts: of n problems, `(trials, passed trials)`.
        k: of pass@k.
        clusters: n cluster names.
        changed: mean square of the problems' differences beside the sampling noise, between two
            checkpoints of equal scores; 0 where it is not known.
    """

    counts: Sequence[tuple[int, int]]
    k: int
    clusters: Sequence[str]
    changed: float = 0.0

    @property
    def values(self) -> list[float]:
        """pass@k of each problem, 0 where it does not exist."""
        return [estimate_pass_at_k(n, c, self.k) or 0.0 for n, c in self.counts]

    @property
    def noise(self) -> Noise | None:
        """Where the error of the score comes from."""
        return noise_of_passes(self.counts, self.clusters, self.k)

    def variance_of_draw(self, trials: int) -> float | None:
        """Mean variance of a problem's pass@k over the draw of so many trials."""
        n = len(self.counts)
        found = draw_variance(
            [trials] * n,
            lambda index, number: variance_of_pass_at_k(*self.counts[index], self.k, number),
        )
        return None if found is None else max(0.0, found * n)


def changed_beside_the_draw(
    now: Passes, then: Passes, differences: Sequence[float], trials: tuple[int, int]
) -> float:
    """The mean square of the problems' differences, less the sampling noise.

    Args:
        differences: of each problem; their mean is taken out.
        trials: of the two sides.
    """
    mean = sum(differences) / len(differences)
    seen = sum((each - mean) ** 2 for each in differences) / len(differences)
    draw = sum(
        side.variance_of_draw(number) or 0.0
        for side, number in zip((now, then), trials, strict=True)
    )
    return max(0.0, seen - draw)


def by_trials(target: Target, known: Passes, trials: Iterable[int]) -> tuple[PlanRow, ...]:
    """A row for each number of trials; both sides of the comparison have as many."""
    values = known.values
    n, total = len(values), sum(values)
    if not total:
        return ()
    value, unit = total / n, sum(v * v for v in values) / total
    noise = known.noise
    rows = []
    for number in trials:
        draw = known.variance_of_draw(number) if number >= known.k else None
        if draw is None:
            continue
        variance = known.changed + 2 * draw
        error = None
        if noise is not None:
            of_problems = noise.share_of_problems * noise.se_now**2
            error = sqrt(of_problems + draw / n)
        rows.append(
            PlanRow(
                number,
                clusters_needed(target.drop, target, variance=variance, unit=unit, baseline=value),
                loss_mde(n, variance, unit, value, target),
                standard_error=error,
            )
        )
    return tuple(rows)


def samples_needed(
    drop: float,
    rule: Rule,
    *,
    flips: float,
    baseline: float | None = None,
    design_effect: float = 1.0,
) -> int | None:
    """The samples with which a true drop of 0/1 outcomes is found: `paired_shares_mde` inverted.

    Power rises with n in small steps up and down, since counts are whole. So the number returned
    is one from which on, for the next twentieth, the power stays within a hundredth of what is
    wanted.

    Args:
        drop: true drop, as a share.
        flips: share of samples that flip when nothing has changed.
        baseline: the baseline's share, for what can be lost and won at all; None if not known.
        design_effect: of the clusters: n samples are worth n / design_effect single ones.

    Returns:
        Samples, or None where no number of them finds it: a drop within the tolerance, or one
        larger than the baseline's share.
    """
    lost, won = lost_and_won(drop, flips, baseline)

    def found(n: int) -> float:
        return power_of_losses(n / design_effect, lost, won, rule)

    return _fewest(found, drop, rule, 1.0 if baseline is None else baseline)


def clusters_needed(
    drop: float, rule: Rule, *, variance: float, unit: float, baseline: float = 1.0
) -> int | None:
    """The problems with which a true drop of a graded metric is found: `graded_mde` inverted.

    Args:
        drop: true drop, as a share.
        variance: mean square of the problems' differences when nothing has changed; with t
            trials a problem on either side, pass@1 has `2 mean(p (1 - p)) / t` of sampling.
        unit: value of a problem that is lost, `sum v^2 / sum v` of the baseline's values.
        baseline: the baseline's mean.

    Returns:
        Problems, or None as in `samples_needed`.
    """

    def found(n: int) -> float:
        return loss_power(drop, n, variance, unit, baseline, rule)

    return _fewest(found, drop, rule, baseline)


def _fewest(found: Callable[[int], float], drop: float, rule: Rule, largest: float) -> int | None:
    """The fewest n with the power, by doubling and bisection; None above 2^27."""
    if not rule.tolerance < drop <= largest:
        return None
    high, power = 1, rule.power
    while found(high) < power:
        high *= 2
        if high > _MOST_SAMPLES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if found(middle) < power else (low, middle)
    while True:
        ahead = [high + max(i, i * high // 100) for i in range(1, 6)]
        short = [n for n in ahead if found(n) < power - 0.01]
        if not short:
            return high
        high = short[-1] + 1
        while found(high) < power:
            high += 1
