"""The benchmark function's word on a response: passed, missed, skipped; or an error."""

from __future__ import annotations

import numpy as np
import pytest

from ckptbench import Failed, Filled, Miss, Skipped
from ckptbench.api.requests import Response
from ckptbench.results.evaluate import NoAnswer, evaluate_response
from ckptbench.results.outcome import Outcome

SECOND = Filled(("y", "x"), (-1.0, -2.0), rank=2, masks=1)


def within(response: Filled, k: int) -> None:
    assert response.within(k)


def ask(function: object, response: Response = SECOND, ks: tuple[int, ...] = ()) -> Outcome:
    return evaluate_response(function, {"response": response}, response, ks)  # type: ignore[arg-type]


def test_the_function_is_asked_for_each_k() -> None:
    assert ask(within, ks=(1, 2, 5)).values == (0.0, 1.0, 1.0)


def test_an_item_passes_when_it_passes_at_the_smallest_k() -> None:
    assert ask(within, ks=(2, 5)).status == "passed"
    assert ask(within, ks=(1, 2)).status == "missed"


def test_equal_outcomes_of_passed_items_are_one_object() -> None:
    assert ask(within, ks=(2, 5)) is ask(within, ks=(3, 4))


def test_a_miss_tells_why_in_one_line() -> None:
    def function(response: Filled) -> None:
        raise Miss("said y\nand more")

    assert ask(function) == Outcome("missed", (0.0,), "said y")


def test_a_miss_without_words() -> None:
    def function(response: Filled) -> None:
        raise Miss

    assert ask(function).detail == "wrong answer"


def test_an_assert_of_something_called_is_no_miss() -> None:
    def helper() -> None:
        assert not "broken"

    def function(response: Filled) -> None:
        helper()

    with pytest.raises(AssertionError):
        ask(function)


def test_an_assert_of_the_function_itself_is_a_miss_also_under_a_decorator() -> None:
    def function(response: Filled) -> None:
        assert response.rank == 1

    assert ask(function).status == "missed"


def test_any_other_exception_passes_through() -> None:
    def function(response: Filled) -> None:
        raise LookupError("row 3")

    with pytest.raises(LookupError, match="row 3"):
        ask(function)


@pytest.mark.parametrize(
    ("grade", "status"),
    [
        (1, "passed"),
        (1.0, "passed"),
        (0.5, "missed"),
        (0, "missed"),
        (np.int64(1), "passed"),
        (np.float32(0.5), "missed"),
    ],
)
def test_a_grade_is_the_value_and_only_one_passes(grade: float, status: str) -> None:
    outcome = ask(lambda response: grade)
    assert (outcome.status, outcome.values) == (status, (float(grade),))
    assert type(outcome.values[0]) is float
    assert bool(outcome.detail) == (status == "missed")


@pytest.mark.parametrize("word", [True, False, np.True_, "yes", 1.5, -0.1, float("nan"), [1]])
def test_what_is_no_grade_is_refused(word: object) -> None:
    with pytest.raises(TypeError, match="expected None or a number from 0 to 1"):
        ask(lambda response: word)


def test_a_rule_that_skips_is_neither_passed_nor_missed() -> None:
    assert ask(within, Skipped("too_long"), (1,)) == Outcome("skipped", (), "too_long")


def test_a_failure_is_no_answer_and_the_function_is_not_asked() -> None:
    with pytest.raises(NoAnswer, match="server away") as raised:
        ask(lambda response: 1 / 0, Failed("server away", "status 500"))
    assert raised.value.failed.detail == "status 500"


# Values by name

NAMES = ("acc,none", "acc_norm,none")


def measure(given: object, decides: str = "acc,none") -> Outcome:
    return evaluate_response(lambda: given, {}, SECOND, (), NAMES, decides)


@pytest.mark.parametrize(
    ("value", "status", "detail"),
    [(1.0, "passed", ""), (0.0, "missed", "wrong answer"), (0.4, "missed", "graded 0.4")],
)
def test_the_value_that_decides_passes_at_one(value: float, status: str, detail: str) -> None:
    outcome = measure({"acc_norm,none": 0.5, "acc,none": value, "not asked for": 3})
    assert outcome == Outcome(status, (value, 0.5), detail)  # type: ignore[arg-type]


def test_where_no_value_decides_whatever_was_answered_has_passed() -> None:
    assert measure({"acc,none": 0.0, "acc_norm,none": 0.0}, decides="").status == "passed"


def test_a_value_that_is_not_given_does_not_exist() -> None:
    first, second = measure({"acc,none": 1.0}).values
    assert first == 1.0
    assert second != second, "nan"


def test_named_values_are_a_mapping() -> None:
    with pytest.raises(TypeError, match=r"expected a mapping of acc,none, acc_norm,none"):
        measure(1.0)
