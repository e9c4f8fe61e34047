"""When an answer counts."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.fixtures.sandbox.compare import close, same_output


@pytest.mark.parametrize(
    ("output", "expected", "atol", "same"),
    [
        (2, 2.0, 0, True),
        ([1, 2], (1, 2), 0, False),
        (0.3, 0.1 + 0.2, 0, True),
        ([0.3], [0.1 + 0.2], 0, True),
        (1.001, 1.0, 0, False),
        (1.001, 1.0, 0.01, True),
        ([1.001, [2]], [1.0, [2]], 0.01, False),  # no block of numbers
        ([[1.001], [2]], [[1.0], [2]], 0.01, True),
        ([(1.001, 2)], [[1.0, 2]], 0.01, True),
        (((1.001, 2),), [[1.0, 2]], 0.01, False),
        ([[1.0]], [[1.0, 1.0]], 0.01, False),
        ([1.0 + 1e-8], [1.0], 0, True),
        ([1, 1.0 + 1e-8], [1, 1.0], 0, False),
        (3, 3.0 + 1e-8, 0, False),
        ({"a": 1.0 + 1e-8}, {"a": 1.0}, 0.01, False),
        ([float("inf")], [float("inf")], 0.01, True),
        ([10**9], [float("inf")], 0.01, False),
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
        ("1 2\n3\n", "1\n2 3", "tolerant", True),
        ("YES\n", "Yes", "tolerant", True),
        ("YES\n", "Yes", "tokens", False),
        ("YES\n", "Yes", "strip", False),
        ("0.333333", "0.33333333", "tolerant", True),
        ("0.333333", "0.33333333", "tokens", False),
        ("0.33332", "0.33333333", "tolerant", False),
        ("100000.5", "100000.6", "tolerant", False),  # absolute, not a share
        ("5", "5.000001", "tolerant", True),
        ("1E2", "100.0", "tolerant", True),
        ("+7 -0 007", "7 0 7", "tolerant", True),
        ("-7", "7", "tolerant", False),
        ("1000000000000000001", "1000000000000000000", "tolerant", False),
        ("9" * 5000, "9" * 5000 + ".0", "tolerant", False),
        ("9" * 5000, "9" * 4999 + "8", "tolerant", False),
        ("0" + "9" * 5000, "9" * 5000, "tolerant", True),
        ("1_0", "10", "tolerant", False),
        ("nan", "NaN", "tolerant", True),
        ("inf", "1", "tolerant", False),
        ("x1.0", "x1.00", "tolerant", False),
        ("1 2", "1", "tolerant", False),
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
