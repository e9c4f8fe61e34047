"""The power of the gate's rule: how often a true drop is found.

A drop is found when the observed fall is larger than the tolerance and the one-sided p is at most
alpha. Everything is expressed in units, n of them: a unit is a sample, or as much of a cluster
or of a graded value as moves at once. Of n units each is lost with one probability and won with
another, so the number of flips, and of losses among them, is binomial.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

POWER = 0.8
# Numbers of flips further from the mean than this many standard deviations are left out.
_REACH = 7
# About this many numbers of flips are evaluated where there are more.
_LOOKED_AT = 150
# As in `verdict`: a fall of exactly the tolerance is within it, whatever its last digit.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rule:
    """When a drop counts as found, and how often it has to be.

    Attributes:
        alpha: one-sided level of the test of one metric; under Holm's correction the session's
            alpha divided by the number of tests.
        tolerance: in the metric's unit; a fall no larger than this never counts.
        power: probability of finding the drop.
    """

    alpha: float
    tolerance: float
    power: float = POWER


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

    flips = np.arange(low, high, step)
    quantile = float(special.ndtri(1 - alpha))
    guess = np.ceil(flips / 2 + quantile * np.sqrt(flips) / 2).astype(np.int64)
    losses = np.clip(guess + np.arange(-4, 5)[:, None], 0, flips + 1)
    won = flips - losses
    fewer = np.where(won > 0, special.bdtr(np.maximum(won - 1, 0), flips, 0.5), 0.0)
    at_most = np.where(won >= 0, special.bdtr(np.maximum(won, 0), flips, 0.5), 0.0)
    found = ((fewer + at_most) / 2 <= alpha) & (losses <= flips)
    critical = np.where(found, losses, flips + 1).min(axis=0)
    critical.flags.writeable = False
    return np.asarray(critical, dtype=np.int64)


def _power(n: int, lost: float, won: float, alpha: float, tolerance: float) -> float:
    from scipy import special  # type: ignore[import-untyped]

    flips = min(1.0, lost + won)
    if flips <= 0:
        return 0.0
    reach = _REACH * (n * flips * (1 - flips)) ** 0.5 + _REACH
    low, high = max(1, floor(n * flips - reach)), min(n, ceil(n * flips + reach)) + 1
    # An odd step: even and odd numbers of flips differ in what is significant.
    step = ((high - low) // _LOOKED_AT) | 1 if high - low > _LOOKED_AT else 1
    number = np.arange(low, high, step)
    logs = special.gammaln(n + 1) - special.gammaln(number + 1) - special.gammaln(n - number + 1)
    logs += special.xlogy(number, flips) + special.xlog1py(n - number, -flips)
    weights = np.exp(logs)
    beyond = np.floor((number + n * (tolerance + _ROUNDING)) / 2).astype(np.int64) + 1
    needed = np.maximum(critical_losses(low, high, step, alpha), beyond)
    possible = needed <= number
    found = special.bdtrc(
        np.maximum(needed[possible] - 1, 0), number[possible], min(1.0, lost / flips)
    )
    total = float(weights[possible] @ found)
    # The numbers of flips that were left out weigh as much as those evaluated.
    return min(1.0, total * step if step > 1 else total)
