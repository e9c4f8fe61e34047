"""How often a true drop is found, and the minimum detectable effect: the smallest drop that is
found in four runs of five.

A drop is found when the gate's rule finds it: the observed fall is larger than the tolerance, and
the one-sided p is at most alpha after the correction. Power is computed in units, n of them: a unit
is a sample, or as much of a cluster or of a graded value as moves at once. Of n units each is lost
with one probability and won with another, so the number of flips, and of losses among them, is
binomial.

An MDE is a drop that can exist, at most the baseline's value, or None: then not even a fall to zero
would be found ("no drop").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import floor, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from .lattice import binomial, likely_range
from .unpaired_test import critical_score, power_of_shares

POWER = 0.8
# About this many numbers of flips are evaluated where there are more.
_LOOKED_AT = 150
# As in `verdict`: a fall of exactly the tolerance is within it, whatever its last digit.
_ROUNDING = 1e-9
# Halvings of an interval: the answer is right to a 10,000th of the largest drop.
_HALVINGS = 15
# Of flips in the same cluster, where hardly any have been seen.
_CORRELATION = 0.25


@dataclass(frozen=True, slots=True)
class Rule:
    """When a drop counts as found, and how often it has to be.

    Attributes:
        alpha: one-sided level of the test of one metric; under Holm's correction the session's
            alpha divided by the number of tests.
        tolerance: in the metric's unit; a fall no larger than this never counts.
        power: probability of finding the drop.
        seed: of p values that are simulated.
        must_see: the drop of a share that the gate must be able to see, where it is to be tested
            whether one so large can be excluded.
    """

    alpha: float = 0.05
    tolerance: float = 0.0
    power: float = POWER
    seed: int = 0
    must_see: float | None = None


def power_of_losses(n: float, lost: float, won: float, rule: Rule) -> float:
    """The probability that the gate finds n units worse, by a sum over binomials.

    Args:
        n: units; of a number between two whole ones the power is interpolated.
        lost: probability of a unit to be lost.
        won: probability of a unit to be won; lost + won is at most 1.
        rule: its test is the one-sided mid-p of McNemar's, its tolerance a share of the units.
    """
    below = floor(n)
    if below < 1:
        return 0.0
    power = _power(below, lost, won, rule.alpha, rule.tolerance)
    if n > below:
        above = _power(below + 1, lost, won, rule.alpha, rule.tolerance)
        power += (n - below) * (above - power)
    return power


@lru_cache(maxsize=256)
def critical_losses(low: int, high: int, step: int, alpha: float) -> NDArray[np.int64]:
    """For each number of flips in `range(low, high, step)` the fewest losses that are significant.

    Significant is a mid-p of McNemar's test of at most alpha. One more than the flips where no
    number of losses is. The normal quantile is never further than a few losses from the answer,
    so that these are tried.
    """
    from scipy import special  # type: ignore[import-untyped]

    flips = np.arange(low, high, step, dtype=np.int64)
    quantile = float(special.ndtri(1 - alpha))
    guess = np.ceil(flips / 2 + quantile * np.sqrt(flips) / 2).astype(np.int64)
    losses = np.clip(guess + np.arange(-4, 5)[:, None], 0, flips)
    won = flips - losses
    mid_p = special.bdtr(won, flips, 0.5) - binomial(won, flips, 0.5) / 2
    critical = np.where(mid_p <= alpha, losses, flips + 1).min(axis=0)
    critical.flags.writeable = False
    return np.asarray(critical, dtype=np.int64)


def _power(n: int, lost: float, won: float, alpha: float, tolerance: float) -> float:
    from scipy import special  # type: ignore[import-untyped]

    flips = min(1.0, lost + won)
    if not flips:
        return 0.0
    low, most = likely_range(n, flips)
    high = most + 1
    # An odd step: even and odd numbers of flips differ in what is significant.
    step = ((high - low) // _LOOKED_AT) | 1
    number = np.arange(low, high, step)
    weights = binomial(number, n, flips)
    beyond = np.floor((number + n * (tolerance + _ROUNDING)) / 2).astype(np.int64) + 1
    needed = np.maximum(critical_losses(low, high, step, alpha), beyond)
    possible = needed <= number
    found = special.bdtrc(needed[possible] - 1, number[possible], min(1.0, lost / flips))
    total = float(weights[possible] @ found)
    # The numbers of flips that were left out weigh as much as those evaluated.
    return min(1.0, total * step)


def paired_shares_mde(n: float, flips: float, baseline: float, rule: Rule) -> float | None:
    """The MDE of 0/1 outcomes of n single samples that both sides have.

    A run with a drop d is taken to flip as many samples as this one did, `flips` of all, or d
    where that is more: then every flip is a loss.

    Args:
        n: samples.
        flips: share of the samples that were lost or won.
        baseline: the baseline's share.
    """

    def found(drop: float) -> float:
        return power_of_losses(n, *lost_and_won(drop, flips, baseline), rule)

    return _smallest(found, rule, baseline)


def clustered_shares_mde(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    flips: int,
    baseline: float,
    rule: Rule,
) -> float | None:
    """The MDE of 0/1 outcomes of samples in g clusters.

    n samples are worth n / deff single ones. The design effect is that of the flips seen,
    `sum S_c^2 / flips`, together with that of one cluster of flips with a correlation of 0.25,
    since few flips are weak evidence of how they cluster; and a drop d adds to it, because its
    losses are in the same clusters: `(m - 1) d^2 / F`, with m the size of the cluster of an average
    sample and F the share of flips. Where all flips are losses, what counts is how many clusters
    move at all, `r F + (1 - r) (1 - (1 - F)^m)` of them with correlation r, if they are more.
    With one sample in each cluster this is `paired_shares_mde`.

    Args:
        sums: `[g]`, samples won minus samples lost in each cluster.
        sizes: `[g]`, samples in each cluster.
        flips: samples lost or won, all clusters together.
        baseline: the baseline's share.
    """
    n, g = float(sizes.sum()), len(sizes)
    size = float(sizes @ sizes) / n
    prior = 1 + (size - 1) * _CORRELATION
    effect = max(1.0, (float(sums @ sums) + size * prior) / (flips + size))
    correlation = min(1.0, (effect - 1) / (size - 1)) if size > 1 else 0.0
    share = flips / n

    def found(drop: float) -> float:
        lost, won = lost_and_won(drop, share, baseline)
        both = lost + won
        units = n / (effect + (size - 1) * drop**2 / both)
        moved = correlation * both + (1 - correlation) * (1 - (1 - both) ** size)
        if won or g * moved <= units * both:
            return power_of_losses(units, lost, won, rule)
        each = moved / both
        of_clusters = replace(rule, tolerance=rule.tolerance * each)
        return power_of_losses(g, lost * each, won * each, of_clusters)

    return _smallest(found, rule, baseline)


def graded_mde(
    differences: NDArray[np.float64], values: NDArray[np.float64], rule: Rule
) -> float | None:
    """The MDE of a mean of values in [0, 1], such as pass@k, over g clusters that both sides have.

    A drop is taken to be some problems lost altogether, beside differences that vary as they did
    in this run; a drop that is spread over all problems is found at less. The lost value is
    `a = sum v^2 / sum v`, and differences of variance s^2 are as many flips of size a,
    `s^2 / a^2` of all, so that the drop is found as one of 0/1 outcomes in units of a. To the
    differences seen one is added that is as large as the values' own standard deviation: that
    all of them were alike does not mean that they always are.

    Args:
        differences: `[g]`, this run minus the baseline of each cluster, so weighted that their
            mean is the difference.
        values: `[g]`, the baseline's value of each cluster, in the same weighting.
    """
    g = len(values)
    total = float(values.sum())
    if total <= 0:
        return None
    variance = (float(differences @ differences) + float(values.var())) / g
    unit = float(values @ values) / total
    return loss_mde(g, variance, unit, total / g, rule)


def loss_mde(n: float, variance: float, unit: float, baseline: float, rule: Rule) -> float | None:
    """The MDE of n differences of a `variance`, where a drop takes `unit` from some of them."""

    def found(drop: float) -> float:
        return loss_power(drop, n, variance, unit, baseline, rule)

    return _smallest(found, rule, baseline)


def loss_power(
    drop: float, n: float, variance: float, unit: float, baseline: float, rule: Rule
) -> float:
    """The power of finding a drop that takes `unit` from some of n values, and nothing else.

    Args:
        drop: as a share.
        n: clusters.
        variance: mean square of their differences when nothing has changed.
        unit: what a value falls by when it falls.
        baseline: the mean of the values. A share drop / baseline of them is lost, and what is
            lost does not vary any more.
    """
    # Where the differences are larger than what can be lost, they are the unit.
    unit = max(unit, sqrt(2 * variance))
    noise = variance / unit**2 * max(0.0, 1 - drop / baseline)
    losses = drop / unit
    won = noise / 2
    lost = min(noise / 2 + losses, 1 - won)
    return power_of_losses(n, lost, won, replace(rule, tolerance=rule.tolerance / unit))


def shift_mde(
    differences: NDArray[np.float64], values: NDArray[np.float64], rule: Rule
) -> float | None:
    """The MDE of a metric without bounds, such as bits per byte: all values move alike.

    `max(tolerance, t_alpha s / sqrt(g)) + t_power s / sqrt(g)`, t with g - 1 degrees of freedom.
    s is the standard deviation of the differences, and never less than if one of them had moved
    by a tenth of the standard deviation of the values.

    Args:
        differences: `[g]`, so weighted that their mean is the difference; of either direction.
        values: `[g]`, the baseline's value of each cluster, in the same weighting.

    Returns:
        A positive change for the worse in the metric's own unit, or None for fewer than two
        clusters or for values that are all alike and did not move.
    """
    g = len(differences)
    if g < 2:
        return None
    variance = max(float(differences.var(ddof=1)), 0.01 * float(values.var()) / g)
    return errors_mde(sqrt(variance / g), g - 1, rule)


def errors_mde(error: float, degrees: float, rule: Rule, *, largest: float = inf) -> float | None:
    """The MDE of a t test of a difference with a known standard error.

    Args:
        error: standard error of the difference, in the metric's own unit.
        degrees: its degrees of freedom.
        largest: the largest drop that can exist: the baseline's value where the metric cannot
            fall below 0.
    """
    from scipy import special  # type: ignore[import-untyped]

    if not error > 0:
        return None
    significant = float(special.stdtrit(degrees, 1 - rule.alpha)) * error
    drop = max(rule.tolerance, significant) + float(special.stdtrit(degrees, rule.power)) * error
    return drop if drop <= largest else None


def unpaired_shares_mde(now_n: float, then: float, then_n: float, rule: Rule) -> float | None:
    """The MDE of `suissa_shuster_test`: both sides' passes are binomial.

    Args:
        now_n: samples of this run; of clustered samples n divided by the design effect.
        then: share of the baseline. The true share is taken to be `(x + 1/2) / (n + 1)`: 100% of
            few samples is not known exactly.
        then_n: samples of the baseline.
    """
    ours, theirs = max(1, int(now_n)), max(1, int(then_n))
    critical = critical_score(ours, theirs, then, rule.alpha)
    true = (then * then_n + 0.5) / (then_n + 1)

    def found(drop: float) -> float:
        now = max(0.0, true - drop)
        return power_of_shares(now, ours, true, theirs, critical, rule.tolerance)

    return _smallest(found, rule, then)


def lost_and_won(drop: float, flips: float, baseline: float | None) -> tuple[float, float]:
    """Probabilities that a sample is lost and won; no more can be lost than the baseline has."""
    lost = (max(flips, drop) + drop) / 2
    if baseline is not None:
        lost = max(drop, min(lost, baseline, 1 - baseline + drop))
    return lost, lost - drop


def _smallest(found: Callable[[float], float], rule: Rule, largest: float) -> float | None:
    """The smallest drop above the tolerance with the power, by bisection; None if none has it."""
    low, high = rule.tolerance, largest
    if high <= low or found(high) < rule.power:
        return None
    # Steps of a fixed share of what is left, towards the tolerance: small answers are as precise.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if found(middle) < rule.power:
            low = middle
        else:
            high = middle
    return high
