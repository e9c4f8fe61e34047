"""The one idea behind every p-value: if nothing changed, signs are a coin's.

Each cluster contributes c_1 ... c_g to the difference of two means, which is their sum. If the
two checkpoints are equally good, each contribution is as likely to be `+c` as `-c`, so the
p-value is the share of sign flips whose sum is at least as extreme as the one seen. With one 0/1
sample a cluster every contribution is -1, 0 or 1 in units of 1/n, the sum is binomial, and the
test is McNemar's, in closed form.
"""

from __future__ import annotations

from math import ceil, log2, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
POWER = 0.8
_SIGNS_IN_MEMORY = 4_000_000


class PValues(NamedTuple):
    """Attributes:
    two_sided: is there any difference?
    worse: one-sided mid-p of "is it worse?"; what was seen counts half, so that the test is
        neither too timid on few flips nor above its level on average.
    """

    two_sided: float
    worse: float


def mcnemar(lost: int, won: int) -> PValues:
    """McNemar's exact test (McNemar 1947; mid-p: Fagerland, Lydersen and Laake 2013).

    Of m = lost + won flips, L ~ Binomial(m, 1/2) are losses. Two-sided: `2 P(L >= max)`, at most
    1. Worse: `P(L > lost) + P(L = lost) / 2`. No flips at all give 1 and 1/2.
    """
    from scipy import special  # type: ignore[import-untyped]

    flips = lost + won
    # P(L > lost) is P(L <= won - 1) by symmetry, which needs no subtraction from 1.
    above = float(special.bdtr(won - 1, flips, 0.5)) if won else 0.0
    at_least = float(special.bdtr(won, flips, 0.5))
    extreme = float(special.bdtr(min(lost, won), flips, 0.5))
    return PValues(min(1.0, 2 * extreme), (above + at_least) / 2)


def permute_signs(
    contributions: NDArray[np.float64], *, draws: int = DRAWS, seed: int = 0
) -> PValues:
    """The same test for contributions of any size, by random sign flips.

    The data itself counts as one more draw (Phipson and Smyth 2010), so no p-value is below
    `1 / (draws + 1)`. Draws are made in blocks: memory does not grow with g times draws.

    Args:
        contributions: `[g]`, what each cluster adds to the difference, in any unit.
    """
    moving = contributions[contributions != 0]
    if not len(moving):
        return PValues(1.0, 0.5)
    seen = float(moving.sum())
    # Sums of equal value differ in their last digits with the order of addition.
    equal = 1e-9 * float(np.abs(moving).sum())
    rng = np.random.default_rng(seed)
    rows_in_memory = max(1, _SIGNS_IN_MEMORY // len(moving))
    extreme = below = tied = 0
    for start in range(0, draws, rows_in_memory):
        rows = min(rows_in_memory, draws - start)
        bits = np.frombuffer(rng.bytes((rows * len(moving) + 7) // 8), np.uint8)
        keep = np.unpackbits(bits, count=rows * len(moving)).reshape(rows, len(moving))
        sums = 2 * (keep.astype(np.float64) @ moving) - seen
        extreme += int((np.abs(sums) >= abs(seen) - equal).sum())
        below += int((sums < seen - equal).sum())
        tied += int((np.abs(sums - seen) <= equal).sum())
    floor = 1 / (draws + 1)
    mid = (below + (tied + 1) / 2) / (draws + 1)
    return PValues((extreme + 1) / (draws + 1), max(mid, floor))


def detectable_drop(
    contributions: NDArray[np.float64], *, n: int, alpha: float, power: float = POWER
) -> float:
    """The smallest true drop that the one-sided test at `alpha` finds with the given power.

    Let `s^2 = sum c^2`, the variance of the difference under sign flips, and suppose that a run
    with a drop d would move as many clusters, by as much, as this one did. Then the difference
    has mean -d and variance `s^2 - d^2/g`, the test asks for more than `z_a s`, and the power is
    met when

        d = z_a s + z_b sqrt(s^2 - d^2/g),

    a quadratic in d. For 0/1 samples `s^2` is (lost + won) / n^2 and this is Connor's (1987)
    equation for McNemar's test solved for the difference.

    The flips seen can be too few to hold such a drop, or none at all. Then the drop's own losses
    are the only flips: b losses and no win have the mid-p `2^-(b+1)`, so the smallest b with
    `2^-(b+1) <= alpha` is needed, and a Poisson number of losses with mean l reaches b with the
    given power where the gamma distribution of shape b has that quantile at l. The size of a
    loss is taken from the contributions seen (`sum c^2 / sum |c|`), and is one sample, 1/n, when
    nothing moved. The larger of the two answers counts.

    Args:
        contributions: `[g]`, what each cluster adds to the difference, as a fraction.
        n: samples, all clusters together.
        alpha: level of the test of this one metric.

    Returns:
        The drop as a positive fraction, always finite. With a handful of clusters, of which no
        drop can be significant, it comes near the whole range of the metric.
    """
    from scipy import special  # type: ignore[import-untyped]

    z_a, z_b = float(special.ndtri(1 - alpha)), float(special.ndtri(power))
    g = len(contributions)
    variance = float(contributions @ contributions)
    size = variance / float(np.abs(contributions).sum()) if variance else 1 / n
    losses_needed = ceil(-log2(alpha) - 1)
    own_flips = size * min(float(special.gammaincinv(max(1, losses_needed), power)), g)
    widen = 1 + z_b**2 / g
    root = sqrt(max(0.0, z_a**2 - widen * (z_a**2 - z_b**2)))
    among_flips = sqrt(variance) * (z_a + root) / widen
    return max(own_flips, among_flips)
