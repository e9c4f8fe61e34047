"""When an answer counts."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.fixtures.sandbox.comparison import close, same_output


@pytest.mark.parametrize(
    ("output", "expected", "atol", "same"),
    [
        (2, 2.0, 0, True),
        ([1, 2], (1, 2), 0, False),
        (0.3, 0.1 + 0.2, 0, True),
        ([0.3], [0.1 + 0.2], 0, True),
        (1.001, 1.0, 0, False),
        (1.001, 1.0, 0.01, True),
        ([1.001, [2]], [1.0, [2]], 0.01, True),
        ([1.0], [1.0, 2.0], 0.01, False),
        ("1.0", 1.0, 0.01, False),
        (None, 1.0, 0.01, False),
        (float("nan"), 1.0, 0.01, False),
        (3, 2, 0, False),
    ],
)
def test_values(output: Any, expected: Any, atol: float, same: bool) -> None:
    assert close(output, expected, atol) is same


@pytest.mark.parametrize(
    ("output", "expected", "how", "same"),
    [
        ("1 2\n3\n", "1\n2 3", "tokens", True),
        ("1 2", "12", "tokens", False),
        ("1 2\n3\n", "1\n2 3", "strip", False),
        ("\n1 2 \n3\n\n", "1 2\n3", "strip", True),
        ("1  2", "1 2", "strip", False),
        ("", " \n", "strip", True),
    ],
)
def test_texts(output: str, expected: str, how: str, same: bool) -> None:
    assert same_output(output, expected, how) is same
