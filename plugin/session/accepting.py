"""What a response must be before it counts as an answer: the one check all engines pass.

It stands in front of the run store and of the judging, so neither meets a number that JSON cannot
hold or a text that no file can.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from ..api.requests import Failed, Response


def accepted(response: Response) -> Response:
    """A response as it is, or a failure where it holds what no valid answer holds.

    Every number of a response is finite: a log probability of NaN is that of a broken model, and
    one of minus infinity says that the model cannot give the answer at all, which is overflow in
    nearly every case and no measurement in any. `None` is left alone where a field may have it.
    Every text can be encoded: half of a surrogate pair is no character.

    Args:
        response: anything that an engine gave; what is no response at all is for others to refuse.

    Returns:
        The same object, or a `Failed` that names the field and the value.
    """
    for name in getattr(type(response), "__slots__", ()):
        fault = _fault(getattr(response, name, None))
        if fault:
            return Failed(f"the engine gave {fault} as {name}, so there is no valid answer")
    return response


def _fault(value: Any) -> str:
    """What is wrong with a field's value, in words; empty when nothing is."""
    kind = type(value)
    if kind is str:
        # Nearly all texts pass by the first test, which costs nothing.
        return "" if value.isascii() or _encodes(value) else "a text with half a surrogate pair"
    if isinstance(value, float):
        return "" if isfinite(value) else f"{float(value)}"
    if kind is tuple or kind is list:
        return next(filter(None, map(_fault, value)), "")
    if hasattr(kind, "__dataclass_fields__"):  # the parts of several answers
        return next(
            filter(None, (_fault(getattr(value, n, None)) for n in kind.__dataclass_fields__)), ""
        )
    return ""


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
