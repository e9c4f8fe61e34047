"""What a score becomes when lm-eval has aggregated the same answers."""

from __future__ import annotations

import pytest

from ckptbench.fixtures.lm_eval.results import _ours, _theirs, _why_not_gated
from ckptbench.scores.score import Score

OURS = Score("drop f1,none", 0.7, 6, 6, 0.05, (0.5, 0.9), "t")


def test_the_value_and_its_error_are_lm_evals_and_the_interval_stays() -> None:
    found = _ours(OURS, {"f1,none": 0.7000000000000001, "f1_stderr,none": 0.051})
    assert (found.value, found.standard_error) == (0.7000000000000001, 0.051)
    assert found.interval == (0.5, 0.9)


@pytest.mark.parametrize("error", ["N/A", float("nan"), None])
def test_without_an_error_of_lm_evals_ours_stands(error: object) -> None:
    assert _ours(OURS, {"f1,none": 0.7, "f1_stderr,none": error}).standard_error == 0.05


def test_a_value_that_lm_eval_does_not_give_is_left_as_it_is() -> None:
    assert _ours(OURS, {}) == OURS


def test_nothing_is_made_of_no_documents() -> None:
    nothing = Score("drop f1,none", None, 0, 0, reason="no sample was scored")
    assert _ours(nothing, {"f1,none": 0.7}) == nothing


def test_a_value_that_is_no_number_is_told() -> None:
    found = _theirs("text word_perplexity,none", {"word_perplexity,none": float("inf")}, 4)
    assert found.value is None
    assert found.reason == "lm-eval gives text word_perplexity,none the value inf"


@pytest.mark.parametrize(
    ("rises", "told"),
    [
        (True, "made of all answers at once; not gated"),
        (False, ""),
        (None, "the task does not list it; not gated"),
    ],
)
def test_why_a_value_is_only_shown(rises: bool | None, told: str) -> None:
    assert _why_not_gated(rises) == told
