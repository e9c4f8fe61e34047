"""The paired test: if nothing changed, each cluster's difference could have either sign.

Each cluster contributes c_1 ... c_g to the difference of two means, which is their sum. If the
two checkpoints are equally good, each contribution is as likely to be `+c` as `-c`, so the
p-value is the share of sign flips whose sum is at least as extreme as the one seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lattice import SMALLEST_P, Summand, binomial_summand, common_unit, distribution_of_sum

DRAWS = 100_000
# With at most this many clusters that moved, all 2^g sign flips are enumerated.
_ENUMERATED = 16
# Signs that share one table of their 2^11 sums: the fastest size on a core with 32 KB of cache.
_SIGNS_PER_TABLE = 11
_ROUNDING = 1e-11


class PValues(NamedTuple):
    """The p-values of one comparison; one-sided ones are mid-p.

    The observed outcome counts half in a mid-p, so that the test is neither too conservative on
    few flips nor above its level on average.

    Attributes:
        worse: one-sided p of "is it worse?".
        better: one-sided p of "is it better?".
        two_sided: is there any difference?
        simulation_error: standard error of the smaller one-sided p from drawing flips at random;
            0 when the distribution is exact.
    """

    worse: float
    better: float
    two_sided: float
    simulation_error: float = 0.0


NO_DIFFERENCE = PValues(0.5, 0.5, 1.0)


def mcnemar(lost: int, won: int) -> PValues:
    """McNemar's exact test (McNemar 1947; mid-p: Fagerland, Lydersen and Laake 2013).

    Of m = lost + won flips, L ~ Binomial(m, 1/2) are losses. Two-sided: `2 P(L >= max)`, at most
    1. Worse: `P(L > lost) + P(L = lost) / 2`. No flips at all give 1 and 1/2.
    """
    from scipy import special  # type: ignore[import-untyped]

    flips = lost + won

    def fewer(count: int) -> float:
        return float(special.bdtr(count, flips, 0.5)) if count >= 0 else 0.0

    # P(L > lost) is P(L <= won - 1) by symmetry, which needs no subtraction from 1.
    worse = (fewer(won - 1) + fewer(won)) / 2
    better = (fewer(lost - 1) + fewer(lost)) / 2
    return PValues(worse, better, min(1.0, 2 * fewer(min(lost, won))))


def sign_flip_test(
    contributions: NDArray[np.float64], *, draws: int = DRAWS, seed: int = 0
) -> PValues:
    """The sign flips of contributions of any size: exact wherever that can be done.

    - All of one size, as those of single 0/1 samples are: McNemar's test of the clusters that fell
      and rose, whose sum is binomial.
    - Whole multiples of one unit (0/1 outcomes in clusters, equal numbers of trials): the
      distribution by convolution. p-values of less than 1e-20 are given as 1e-20.
    - At most 16 clusters that moved: each of the 2^g flips.
    - Otherwise random flips, at least 100,000 by default. The data itself counts as one more draw
      (Phipson and Smyth 2010), and each draw stands for its mirror image too, so no one-sided p
      is below `1 / (2 (draws + 1))`.

    The result does not depend on the order of the contributions nor on their unit.

    Args:
        contributions: `[g]`, what each cluster adds to the difference, in any unit; a negative
            one is worse.
        draws: random flips, where flips are drawn.
        seed: of the random flips; without effect on an exact result.
    """
    # Equal values that were summed in another order may differ in their last digits.
    sizes = np.abs(contributions)
    moved = contributions[sizes > _ROUNDING * sizes.max(initial=0.0)]
    if not len(moved):
        return NO_DIFFERENCE
    unit = common_unit(moved)
    if unit is not None:
        exact = _exact(np.rint(moved / unit).astype(np.int64))
        if exact is not None:
            return exact
    return _flipped(moved, draws, seed)


def exact_p_values(summands: Sequence[Summand], seen: int) -> PValues | None:
    """The p-values of a sum `seen` of independent summands, negative being worse.

    Two-sided is twice the smaller tail, what was seen included, at most 1. None when the exact
    distribution costs too much.
    """
    distribution = distribution_of_sum(summands)
    if distribution is None:
        return None
    start, probabilities = distribution
    at = seen - start
    below = float(probabilities[: max(at, 0)].sum())
    above = float(probabilities[max(at + 1, 0) :].sum())
    tied = float(probabilities[at]) if 0 <= at < len(probabilities) else 0.0
    values = (below + tied / 2, above + tied / 2, min(1.0, 2 * (min(below, above) + tied)))
    worse, better, both = (min(1.0, max(p, SMALLEST_P)) for p in values)
    return PValues(worse, better, both)


def _exact(sums: NDArray[np.int64]) -> PValues | None:
    """The distribution of sign flips of whole numbers, none of them 0; None when it costs much."""
    sizes, counts = np.unique(np.abs(sums), return_counts=True)
    if len(sizes) == 1:
        lost = int((sums < 0).sum())
        return mcnemar(lost, len(sums) - lost)
    # A flip moves the sum by twice a size, so what is convolved is the sum of the sizes that are
    # added, not subtracted: W = 2 T - total.
    summands = [binomial_summand(int(m), int(k)) for m, k in zip(sizes, counts, strict=True)]
    return exact_p_values(summands, int(sums[sums > 0].sum()))


def _flipped(moved: NDArray[np.float64], draws: int, seed: int) -> PValues:
    """The test by all flips of few contributions or by random flips of many."""
    # In the order of their sizes, so that the order of samples is without effect.
    moved = moved[np.lexsort((moved, np.abs(moved)))]
    seen = float(moved.sum())
    sizes = np.abs(moved)
    # Sums of equal value differ in their last digits with the order of addition.
    equal = 1e-9 * float(sizes.sum())
    if len(sizes) <= _ENUMERATED:
        sums = _sums_of_all_flips(sizes)
        below, above = (sums < seen - equal).mean(), (sums > seen + equal).mean()
        tied = 1 - below - above
        extreme = float((np.abs(sums) >= abs(seen) - equal).mean())
        return PValues(float(below + tied / 2), float(above + tied / 2), extreme)
    sums = np.abs(random_flips(sizes, draws, np.random.default_rng(seed)))
    beyond = int((sums > abs(seen) + equal).sum())
    tied = int((np.abs(sums - abs(seen)) <= equal).sum()) + 1
    two_sided = (beyond + tied) / (draws + 1)
    # The distribution is symmetric: half of what is at least as extreme lies on either side.
    tail = max((beyond + tied / 2) / (draws + 1), 1 / (draws + 1)) / 2
    error = sqrt(2 * tail * (1 - 2 * tail) / draws) / 2
    if abs(seen) <= equal:
        return PValues(0.5, 0.5, 1.0)
    worse, better = (tail, 1 - tail) if seen < 0 else (1 - tail, tail)
    return PValues(worse, better, two_sided, error)


def random_flips(
    sizes: NDArray[np.float64], draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """`[draws]`: sums of `sizes`, `[g]`, each with a random sign.

    Eleven sizes at a time have 2,048 sums, which are kept in a table; a draw adds one random entry
    of each table. Memory does not grow with g.
    """
    totals = np.zeros(draws)
    for start in range(0, len(sizes), _SIGNS_PER_TABLE):
        table = _sums_of_all_flips(sizes[start : start + _SIGNS_PER_TABLE])
        entries = rng.integers(len(table), size=draws, dtype=np.uint16)
        totals += table[entries]
    return totals


def _sums_of_all_flips(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """`[2^g]`: the sum of `sizes`, `[g]`, under each choice of signs."""
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums - size, sums + size])
    return sums
