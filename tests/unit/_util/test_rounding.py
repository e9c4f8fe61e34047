"""How log probabilities of answers are rounded."""

from __future__ import annotations

from math import inf, nan

import pytest

from ckptbench._util.rounding import rounded, rounding_gap
from ckptbench.api.requests import Likelihood


@pytest.mark.parametrize(
    ("logprob", "tokens", "wanted"),
    [(-1.2345, 1, -1.23), (-1.2345, 2, -1.24), (-1.2345, 10, -1.2), (0.0, 3, 0.0), (-7.0, 1, -7.0)],
)
def test_a_hundredth_of_a_nat_for_each_token(logprob: float, tokens: int, wanted: float) -> None:
    assert rounded(logprob, tokens) == wanted
    assert rounded(wanted, tokens) == wanted


@pytest.mark.parametrize("odd", [inf, -inf, nan])
def test_what_is_no_number_is_none(odd: float) -> None:
    assert rounded(odd, 1) is None
    assert rounding_gap(odd, 1) == inf
    assert Likelihood(odd, False, 2).answer_logprob is None


def test_the_gap_is_the_distance_to_the_edge_a_token() -> None:
    assert rounding_gap(-0.015, 1) == pytest.approx(0.0, abs=1e-9)
    assert rounding_gap(-0.02, 1) == pytest.approx(0.005)
    assert rounding_gap(-0.034, 2) == pytest.approx(0.002)


def test_two_values_closer_than_the_gap_round_alike() -> None:
    for number in range(2000):
        logprob, tokens = -number * 0.00731, 1 + number % 5
        nearly = 0.99 * rounding_gap(logprob, tokens) * tokens
        assert rounded(logprob - nearly, tokens) == rounded(logprob + nearly, tokens)
