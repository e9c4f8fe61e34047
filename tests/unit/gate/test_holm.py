"""Holm's correction."""

from __future__ import annotations

import pytest

from ckptbench.gate.verdict import holm


def test_the_smallest_is_multiplied_by_m_the_next_by_one_less() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))


def test_an_adjusted_p_is_never_below_a_smaller_ones() -> None:
    """0.011 * 4 = 0.044, 0.012 * 3 = 0.036: the second is lifted to the first."""
    assert holm([0.011, 0.012, 0.2, 0.9]) == pytest.approx((0.044, 0.044, 0.4, 0.9))


def test_nothing_exceeds_one() -> None:
    assert holm([0.6, 0.7]) == (1.0, 1.0)


def test_one_test_is_not_corrected_and_none_gives_none() -> None:
    assert holm([0.04]) == (0.04,)
    assert holm([]) == ()


def test_the_order_is_the_callers() -> None:
    p_values = [0.2, 0.001, 0.03, 0.03]
    shuffled = [p_values[i] for i in (2, 0, 3, 1)]
    assert holm(shuffled) == tuple(holm(p_values)[i] for i in (2, 0, 3, 1))


def test_tests_that_may_still_be_made_count() -> None:
    assert holm([0.01, None, 0.04], 5) == (0.05, None, pytest.approx(0.16))
    assert holm([0.01, 0.04], 1) == holm([0.01, 0.04]) == (0.02, 0.04)
