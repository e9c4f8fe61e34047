"""Exact distributions of sums of independent discrete values that are multiples of one unit.

Differences of counts are whole numbers of one unit, such as one sample or one of twenty trials, so
the distribution of their sum is a convolution over whole numbers. Nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Probabilities below this are dropped while convolving; their sum over all steps stays far below
# SMALLEST_P.
_NEGLIGIBLE = 1e-26
SMALLEST_P = 1e-20
_UNLIKELY = 1e-12
# Products of two probabilities that an exact distribution may cost: about 0.3 s.
AFFORDABLE = 200_000_000
# A step of a convolution costs as much as this many products, however short its arrays are.
_STEP = 1_000
_LARGEST_MULTIPLE = 2**24
# Up to this length a repeated distribution is squared as a dense array.
_DENSE = 2_048


@dataclass(frozen=True, slots=True)
class Summand:
    """A discrete random value in whole units, which occurs `count` times independently.

    Attributes:
        values: int64 `[s]`, ascending, in units.
        probabilities: float64 `[s]`, summing to 1.
    """

    values: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    count: int = 1


def common_unit(values: NDArray[np.float64]) -> float | None:
    """The largest unit of which all values are whole multiples, up to rounding of the values.

    Euclid's algorithm on floats: a remainder below a millionth of the divisor is rounding.

    Args:
        values: `[n]`, of any sign; zeros are ignored.

    Returns:
        The unit, or None when there is none, or none of which the largest value is at most
        2^24 multiples. 1.0 when every value is zero.
    """
    sizes = np.unique(np.abs(values[values != 0]))
    if not len(sizes):
        return 1.0
    largest = float(sizes[-1])
    smallest_unit = largest / _LARGEST_MULTIPLE
    unit = largest
    for size in sizes.tolist():
        a, b = max(unit, size), min(unit, size)
        while b > max(1e-6 * a, 1e-11 * largest):
            a, b = b, a % b
            # A remainder just short of the divisor is just below zero.
            b = min(b, a - b)
        unit = a
        if unit < smallest_unit:
            return None
    multiples = np.rint(sizes / unit)
    unit = float(sizes @ multiples / (multiples @ multiples))
    exact = np.abs(sizes - np.rint(sizes / unit) * unit) <= 1e-10 * largest
    return unit if exact.all() else None


def distribution_of_sum(summands: Sequence[Summand]) -> tuple[int, NDArray[np.float64]] | None:
    """The distribution of the sum of independent summands, by convolution.

    Probabilities below 1e-26 are left out, so tails are right down to about `SMALLEST_P`.

    Returns:
        The smallest sum, in units, and the probabilities of it and of those that follow; None when
        it would cost more than `AFFORDABLE` products.
    """
    pieces = [piece for summand in summands for piece in _repeated(summand)]
    # The narrow ones first, so that the growing array stays short for as long as possible.
    pieces.sort(key=lambda piece: int(np.ptp(piece.values)))
    variance, span, cost = 0.0, 1, 0
    for piece in pieces:
        mean = float(piece.values @ piece.probabilities)
        of_one = float((piece.values - mean) ** 2 @ piece.probabilities)
        width = int(np.ptp(piece.values))
        for _ in range(piece.count):
            cost += len(piece.values) * (_STEP + span)
            variance += of_one
            span = min(span + width, 1 + int(22 * variance**0.5))
            if cost > AFFORDABLE:
                return None
    start, total = 0, np.ones(1)
    for piece in pieces:
        for _ in range(piece.count):
            start, total = _convolved(start, total, piece)
    return start, total


def binomial_summand(step: int, count: int) -> Summand:
    """`step` times a Binomial(count, 1/2): `count` clusters that keep or flip a sign alike."""
    first, weights = _trimmed(0, binomial(np.arange(count + 1), count, 0.5))
    j = first + np.arange(len(weights))
    return Summand(j * step, weights / weights.sum())


def binomial(
    counts: NDArray[np.int64], n: int | NDArray[np.int64], share: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """The probabilities of so many of n, each with the probability `share`."""
    from scipy import special  # type: ignore[import-untyped]

    logs = special.gammaln(n + 1) - special.gammaln(counts + 1) - special.gammaln(n - counts + 1)
    logs = logs + special.xlogy(counts, share) + special.xlog1py(n - counts, -share)
    return np.asarray(np.exp(logs), dtype=np.float64)


def likely_range(n: int, share: float) -> tuple[int, int]:
    """The least and the most of n, but for 1e-12 on either side; the share is above 0."""
    from scipy import special

    low, high = special.bdtrik([_UNLIKELY, 1 - _UNLIKELY], n, share)
    return int(low), int(np.ceil(high))


def _repeated(summand: Summand) -> list[Summand]:
    """The summand as pieces to convolve one after the other; one where it can be squared."""
    first = int(summand.values[0])
    if summand.count == 1 or summand.values[-1] - first >= _DENSE:
        return [summand]
    dense = np.zeros(int(summand.values[-1]) - first + 1)
    dense[summand.values - first] = summand.probabilities
    power, square, left = (0, np.ones(1)), (first, dense), summand.count
    while left:
        if left % 2:
            power = _trimmed(power[0] + square[0], np.convolve(power[1], square[1]))
        left //= 2
        if left:
            square = _trimmed(2 * square[0], np.convolve(square[1], square[1]))
    return [Summand(power[0] + np.arange(len(power[1])), power[1])]


def _convolved(
    start: int, total: NDArray[np.float64], piece: Summand
) -> tuple[int, NDArray[np.float64]]:
    """The sum of the first entry, and the distribution, after one more piece."""
    first = int(piece.values[0])
    steps = piece.values - first
    out = np.zeros(len(total) + int(steps[-1]))
    for step, probability in zip(steps.tolist(), piece.probabilities.tolist(), strict=True):
        out[step : step + len(total)] += probability * total
    return _trimmed(start + first, out)


def _trimmed(start: int, total: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
    """The sum of the first entry, and the array, without negligible ends."""
    kept = np.flatnonzero(total > _NEGLIGIBLE)
    return start + int(kept[0]), total[kept[0] : kept[-1] + 1]
