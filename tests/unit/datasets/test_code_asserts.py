"""What a task's asserts tell: the function they are about, and the types of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ckptbench.fixtures.datasets.code.asserts import entry_point, python_arguments
from ckptbench.fixtures.datasets.code.evalplus import oracle

CODE = """\
class Pair:
  pass

def helper(x):
  return x

def area(a):
  return a

square = lambda a: a
"""


@pytest.mark.parametrize(
    ("tests", "name"),
    [
        (["assert area(2) == 3"], "area"),
        (["assert set(area(2)) == {3}"], "area"),
        (["assert area(helper(2)) == 3"], "area"),
        (["assert helper(area(2)) == 3", "assert area(3) == 3"], "area"),
        (["assert area([Pair(1)]) == 3"], "area"),
        (["assert Pair(1) is not None"], "Pair"),
        (["assert square(2) == 4"], "square"),
        (["assert volume(2) == 4"], ""),
        (["assert area("], ""),
    ],
)
def test_the_entry_point_is_what_the_tests_are_about(tests: Sequence[str], name: str) -> None:
    assert entry_point(CODE, tests) == name


@pytest.mark.parametrize(
    ("test", "given", "meant"),
    [
        ("f((1, 2), [3])", [[5, 6, 7], [8]], [(5, 6, 7), [8]]),
        ("f([(1, 2)])", [[[3, 4], [5, 6]]], [[(3, 4), (5, 6)]]),
        ("f((1, [2]))", [[3, [4, 5]]], [(3, [4, 5])]),
        ("f(({'a': (1,)},))", [[{"b": [2, 3]}]], [({"b": (2, 3)},)]),
        ("f({1, 2})", [[3, 3]], [{3}]),
        ("f(set())", [[3]], [{3}]),
        ("f({1: 'a'})", [{"2": "b"}], [{2: "b"}]),
        ("f(1j)", ["2j"], [2j]),
        ("f('1')", ["2"], ["2"]),
        ("f(1.5)", [{"float": "NaN"}], None),
        ("f([])", [[[1], 2]], [[[1], 2]]),
        ("f((1, (2, 3)))", [[1, [2, [3, [4]]]]], [(1, (2, (3, (4,))))]),
        ("f(x)", [[1, 2]], [[1, 2]]),
        ("g((1, 2))", [[1, 2]], [[1, 2]]),
    ],
)
def test_arguments_get_the_types_they_have_in_the_tests(
    test: str, given: list[Any], meant: list[Any] | None
) -> None:
    (made,) = python_arguments([given], "f", [f"assert {test} == 0"])
    if meant is None:
        assert made[0] != made[0]
    else:
        assert repr(made) == repr(meant)


def test_infinities_are_written_as_objects() -> None:
    (made,) = python_arguments([[[{"float": "-Infinity"}, {"float": "Infinity"}]]], "f", [])
    assert made == [[float("-inf"), float("inf")]]


def accepts(source: str, *arguments: Any) -> bool:
    scope: dict[str, Any] = {"close": lambda output, expected, atol: output == expected}
    exec(source, scope)
    return bool(scope["accept"](*arguments))


def test_any_root_of_a_polynomial_is_right() -> None:
    source = oracle("HumanEval", "find_zero")
    assert accepts(source, [[-4, 0, 1]], -2.0, 2.0, 1e-4)
    assert not accepts(source, [[-4, 0, 1]], 1.0, 2.0, 1e-4)


def test_elements_count_where_the_order_is_open() -> None:
    source = oracle("MBPP", "similar_elements")
    assert accepts(source, [(1, 2), (2, 1)], (2, 1), (1, 2), 0)
    assert not accepts(source, [(1, 2), (2, 1)], (1,), (1, 2), 0)
    assert not accepts(source, [(1, 2), (2, 1)], None, (1, 2), 0)


def test_a_match_may_be_told_as_truth() -> None:
    source = oracle("MBPP", "check_str")
    assert accepts(source, ["a"], True, "a match", 0)
    assert accepts(source, ["a"], False, None, 0)
    assert not accepts(source, ["a"], True, None, 0)


@pytest.mark.parametrize(
    ("entry_point", "inputs", "output", "expected", "right"),
    [
        ("are_equivalent", [36, 57], True, False, True),
        ("sum_div", [8], 0, 7, True),
        ("sum_div", [8], 7, 7, True),
        ("sum_div", [8], 15, 7, False),
        ("digit_distance_nums", [1, 23], 4, 1, True),
        ("digit_distance_nums", [1, 23], 1, 1, True),
        ("digit_distance_nums", [1, 23], 3, 1, False),
        ("surface_Area", [3, 4], 33, 33, True),
        ("surface_Area", [3, 4], 35, 33, True),
        ("surface_Area", [3, 4], 34, 33, False),
    ],
)
def test_a_second_reading_of_an_open_statement_is_right(
    entry_point: str, inputs: list[Any], output: Any, expected: Any, right: bool
) -> None:
    assert accepts(oracle("MBPP", entry_point), inputs, output, expected, 0) is right
    assert oracle("HumanEval", entry_point) == ""


def test_other_problems_have_one_right_answer() -> None:
    assert oracle("HumanEval", "similar_elements") == oracle("Demo", "add") == ""
