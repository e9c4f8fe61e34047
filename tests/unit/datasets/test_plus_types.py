"""MBPP+: inputs have the types that EvalPlus gives them."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.fixtures.datasets.code.evalplus import with_types


@pytest.mark.parametrize(
    ("number", "given", "meant"),
    [
        (2, [[3, 4], [5, 4]], [(3, 4), (5, 4)]),
        (64, [[["a", 1], ["b", 2]]], [[("a", 1), ("b", 2)]]),
        (75, [[[6, 24], [7, 9]], 6], [[(6, 24), (7, 9)], 6]),
        (106, [[5, 6], [9, [10]]], [[5, 6], (9, [10])]),
        (115, [[[1], [], {}]], [[{1}, {}, {}]]),
        (124, ["0", "1j"], [0.0, 1j]),
        (252, ["1"], [1 + 0j]),
        (250, [[10, [8]], 4], [(10, [8]), 4]),
        (259, [[[1, 3], [4, 5]], [[6, 7]]], [((1, 3), (4, 5)), ((6, 7),)]),
        (278, [[1, [2, [3]]]], [(1, (2, [3]))]),
        (307, [["HELLO", []], 2, 50], [("HELLO", []), 2, 50]),
        (580, [[4, [7, []]]], ((4, (7, ())),)),
        (722, [{"a": [6.2, 70]}, 6.0, 70], [{"a": (6.2, 70)}, 6.0, 70]),
        (98, [[8, 2]], [[8, 2]]),
    ],
)
def test_a_task_has_the_types_of_its_kind(number: int, given: list[Any], meant: Any) -> None:
    made = with_types(number, given)
    assert repr(made) == repr(meant)
