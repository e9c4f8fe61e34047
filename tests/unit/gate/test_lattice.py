"""Units of floats, and exact distributions of sums."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from ckptbench.gate.lattice import (
    Summand,
    binomial_summand,
    common_unit,
    distribution_of_sum,
    likely_range,
)


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([3.0, -6.0, 0.0], 3.0),
        ([0.1, 0.2, 0.3], 0.1),
        ([0.1 + 0.2, 0.7 - 0.4, 0.25], 0.05),
        ([1 / 3, 0.5], 1 / 6),
        ([4 / 15_504, 6 / 15_504], 2 / 15_504),
        ([1.0, 1e-6 * (1 + 3e-12)], 1e-6),
        ([1.0, 1e-3 * (1 + 1e-10)], 1e-3),
        ([0.0, 0.0], 1.0),
    ],
)
def test_the_largest_common_unit_is_found_through_rounding(
    values: list[float], unit: float
) -> None:
    assert common_unit(np.array(values)) == pytest.approx(unit, rel=1e-9)


@pytest.mark.parametrize("values", [[1.0, 2**0.5], [0.1, 0.1 + 1e-9], [1.0, 1e-9]])
def test_values_that_are_no_multiples_have_none(values: list[float]) -> None:
    assert common_unit(np.array(values)) is None


def test_sums_of_different_summands_are_enumerated_exactly() -> None:
    pieces = [
        Summand(np.array([0, 1, 5]), np.array([0.2, 0.3, 0.5]), count=3),
        Summand(np.array([-2, 4_000]), np.array([0.6, 0.4]), count=2),
    ]
    totals: dict[int, float] = {}
    singles = [piece for piece in pieces for _ in range(piece.count)]
    for chosen in product(*[range(len(piece.values)) for piece in singles]):
        pairs = list(zip(singles, chosen, strict=True))
        total = sum(int(piece.values[i]) for piece, i in pairs)
        weight = np.prod([piece.probabilities[i] for piece, i in pairs])
        totals[total] = totals.get(total, 0.0) + float(weight)
    distribution = distribution_of_sum(pieces)
    assert distribution is not None
    start, probabilities = distribution
    sums = start + np.arange(len(probabilities))
    for seen in (-5, -4, 0, 3_999, 4_013, 8_015, 9_000):
        below = sum(weight for total, weight in totals.items() if total < seen)
        at = totals.get(seen, 0.0)
        tails = [probabilities[where].sum() for where in (sums < seen, sums == seen, sums > seen)]
        assert tails == pytest.approx([below, at, 1 - below - at], abs=1e-12)


def test_what_would_cost_too_much_is_not_begun() -> None:
    wide = Summand(np.array([0, 10_000_019]), np.array([0.5, 0.5]), count=500)
    assert distribution_of_sum([wide]) is None


def test_the_cost_is_counted_along_the_array_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value costs 1,000 products and one for each entry; narrow summands come first."""
    narrow, wide = (Summand(np.array([0, n]), np.array([0.5, 0.5])) for n in (10, 100))
    # Hardly ever 10,000: a standard deviation of 10, of which 22 are looked at.
    rare = Summand(np.array([0, 10_000]), np.array([1 - 1e-6, 1e-6]))
    last = Summand(np.array([5, 10_006]), np.array([0.5, 0.5]))
    for summands, cost in (
        ([wide, narrow], 2 * 1_001 + 2 * 1_011),
        ([narrow, narrow, wide], 2 * 1_001 + 2 * 1_011 + 2 * 1_021),
        ([last, rare], 2 * 1_001 + 2 * 1_220),
        # One is left as it is, however narrow; many alike are one summand when they are squared.
        ([Summand(np.array([0, 2_000]), np.array([0.5, 0.5]))], 2 * 1_001),
        ([Summand(np.array([0, 1]), np.array([0.5, 0.5]), count=60)], 61 * 1_001),
    ):
        monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", cost)
        assert distribution_of_sum(summands) is not None
        monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", cost - 1)
        assert distribution_of_sum(summands) is None


@pytest.mark.parametrize(("step", "count"), [(1, 1), (3, 7), (2, 500), (5, 1_500)])
def test_clusters_that_flip_alike_are_binomial(step: int, count: int) -> None:
    found = binomial_summand(step, count)
    chances = dict(zip(found.values.tolist(), found.probabilities.tolist(), strict=True))
    exact = {step * j: comb(count, j) / 2**count for j in range(count + 1)}
    likely = {value: chance for value, chance in exact.items() if chance > 1e-25}
    assert likely.keys() <= chances.keys() <= exact.keys()
    for value, chance in likely.items():
        assert chances[value] == pytest.approx(chance, rel=1e-8)
    assert min(chances.values()) > 1e-27, "what is negligible is left out"


def test_many_alike_have_their_moments_squared_or_one_by_one() -> None:
    """Fifty times 0, 1 or 3; what is wider than 2,048 is not squared."""
    values, odds = np.array([0, 1, 3]), np.array([0.5, 0.3, 0.2])
    found = distribution_of_sum([Summand(values, odds, count=50)])
    assert found is not None
    start, chances = found
    sums = start + np.arange(len(chances))
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert sums @ chances == pytest.approx(45)
    assert (sums - 45) ** 2 @ chances == pytest.approx(50 * (2.1 - 0.81))
    wide = distribution_of_sum([Summand(values * 1_000, odds, count=50)])
    assert wide is not None
    assert wide[0] == start * 1_000
    assert wide[1][::1_000] == pytest.approx(chances, abs=1e-15)


def test_the_likely_range_of_a_count_leaves_out_next_to_nothing() -> None:
    for n, share in ((1, 0.5), (30, 0.3), (2_000, 0.002), (14_000, 0.6), (500, 1.0)):
        low, high = likely_range(n, share)
        outside = stats.binom.cdf(low - 1, n, share) + stats.binom.sf(high, n, share)
        assert outside < 3e-12
        assert 0 <= low <= high <= n
        inside = stats.binom.cdf(low + 1, n, share) + stats.binom.sf(high - 2, n, share)
        assert inside > 1e-12, "and nothing else is kept"
