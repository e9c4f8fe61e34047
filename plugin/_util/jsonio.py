"""Results as JSON values: fractions, no NaN, the same order of keys in every run."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, TypeGuard

JSON = Any
"""Any value that JSON can hold."""
Scalar = str | int | float | bool | None
"""A single JSON value."""
_SEPARATORS = {ord(c): f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"}


def pretty(value: JSON) -> str:
    """JSON to read in an editor or a diff, ending with a newline."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def on_one_line(text: str) -> str:
    """JSON text without a line end, as one line of a file.

    The separators that `str.splitlines` takes for line ends are escaped, so that every
    reader of lines finds the same ones.
    """
    return (text if text.isascii() else text.translate(_SEPARATORS)) + "\n"


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON value is a finite number."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
