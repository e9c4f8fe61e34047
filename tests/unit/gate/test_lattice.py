"""Units of floats, and exact distributions of sums."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ckptbench.gate.lattice import Summand, common_unit, distribution_of_sum


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([3.0, -6.0, 0.0], 3.0),
        ([0.1, 0.2, 0.3], 0.1),
        ([0.1 + 0.2, 0.7 - 0.4, 0.25], 0.05),
        ([1 / 3, 0.5], 1 / 6),
        ([4 / 15_504, 6 / 15_504], 2 / 15_504),
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
