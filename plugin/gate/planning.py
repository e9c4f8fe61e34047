"""How many samples a true drop needs to be found: the minimum detectable effect, inverted."""

from __future__ import annotations

from collections.abc import Callable

from .mde import POWER, loss_power, lost_and_won
from .power import power_of_losses

_MOST_SAMPLES = 2**27


def samples_needed(
    drop: float,
    *,
    flips: float,
    alpha: float,
    tolerance: float,
    baseline: float | None = None,
    design_effect: float = 1.0,
    power: float = POWER,
) -> int | None:
    """The samples with which a true drop of 0/1 outcomes is found: `paired_shares_mde` inverted.

    Power rises with n in small steps up and down, since counts are whole. So the number returned
    is one from which on, for the next twentieth, the power stays within a hundredth of what is
    wanted.

    Args:
        drop: true drop, as a share.
        flips: share of samples that flip when nothing has changed.
        alpha, tolerance, power: as in `paired_shares_mde`.
        baseline: the baseline's share, for what can be lost and won at all; None if not known.
        design_effect: of the clusters: n samples are worth n / design_effect single ones.

    Returns:
        Samples, or None where no number of them finds it: a drop within the tolerance, or one
        larger than the baseline's share.
    """
    if not tolerance < drop <= (1.0 if baseline is None else baseline):
        return None
    lost, won = lost_and_won(drop, flips, baseline)

    def found(n: int) -> float:
        return power_of_losses(n / design_effect, lost, won, alpha=alpha, tolerance=tolerance)

    return _fewest(found, power)


def clusters_needed(
    drop: float,
    *,
    variance: float,
    unit: float,
    alpha: float,
    tolerance: float,
    baseline: float = 1.0,
    power: float = POWER,
) -> int | None:
    """The problems with which a true drop of a graded metric is found: `graded_mde` inverted.

    Args:
        drop: true drop, as a share.
        variance: mean square of the problems' differences when nothing has changed; with t
            trials a problem on either side, pass@1 has `2 mean(p (1 - p)) / t` of sampling.
        unit: value of a problem that is lost, `sum v^2 / sum v` of the baseline's values.
        alpha, tolerance, power: as in `paired_shares_mde`.
        baseline: the baseline's mean.

    Returns:
        Problems, or None as in `samples_needed`.
    """
    if not tolerance < drop <= baseline:
        return None

    def found(n: int) -> float:
        return loss_power(drop, n, variance, unit, baseline, alpha=alpha, tolerance=tolerance)

    return _fewest(found, power)


def _fewest(found: Callable[[int], float], power: float) -> int | None:
    """The fewest n with the power, by doubling and bisection; None above 2^27."""
    high = 1
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
