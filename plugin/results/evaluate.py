"""Evaluate a response by calling the benchmark function once for each k."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import nan
from numbers import Real
from typing import Any

from ..api.benchmark import Miss
from ..api.requests import Failed, Response, Skipped
from .outcome import Outcome


class NoAnswer(Exception):
    """No valid answer was obtained for a sample."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.reason)
        self.failed = failed


@cache
def _passed(ks: int) -> Outcome:
    """The outcome of most samples of a good model, made once."""
    return Outcome("passed", (1.0,) * ks)


def evaluate_response(
    function: Callable[..., object],
    arguments: Mapping[str, Any],
    response: Response,
    ks: Sequence[int],
    names: Sequence[str] | None = None,
    decides: str = "",
) -> Outcome:
    """Evaluate a response with the benchmark function, once for each k.

    The item passes when it passes at the first (smallest) k.

    Args:
        names: metrics whose values the function returns as a mapping, in the order of the
            outcome's values; None when it passes, fails or returns one number.
        decides: the metric by which the item passes (at 1.0); without one, every answered item
            passes.

    Raises:
        NoAnswer: the response is a failure.
        Exception: what the function raised, unless it is a `Miss` or its own `assert`.
    """
    if isinstance(response, Skipped):
        return Outcome("skipped", detail=response.reason)
    if isinstance(response, Failed):
        raise NoAnswer(response)
    if names is not None:
        return _measured(function, function(**arguments), names, decides)
    values: list[float] = []
    detail = ""
    for k in ks or (None,):
        try:
            returned = function(**arguments) if k is None else function(**arguments, k=k)
        except AssertionError as error:
            if not (isinstance(error, Miss) or _raised_by(function, error)):
                raise
            values.append(0.0)
            detail = detail or str(error).partition("\n")[0] or "wrong answer"
        else:
            values.append(1.0 if returned is None else _graded(function, returned))
    if min(values) == 1.0 == max(values):
        return _passed(len(values))
    if values[0] == 1.0:
        return Outcome("passed", tuple(values), detail)
    return Outcome("missed", tuple(values), detail or f"graded {values[0]:g}")


def _measured(
    function: Callable[..., object], returned: object, names: Sequence[str], decides: str
) -> Outcome:
    """The outcome of a function that returns values by metric; NaN where it gives none."""
    if not isinstance(returned, Mapping):
        name = getattr(function, "__name__", "the benchmark function")
        raise TypeError(f"{name} returned {returned!r}: expected a mapping of {', '.join(names)}")
    values = tuple(float(returned.get(name, nan)) for name in names)
    if not decides:
        return Outcome("passed", values)
    deciding = values[names.index(decides)]
    if deciding == 1.0:
        return Outcome("passed", values)
    return Outcome("missed", values, "wrong answer" if deciding == 0.0 else f"graded {deciding:g}")


def _raised_by(function: Callable[..., object], error: AssertionError) -> bool:
    """Whether the assert is in the function itself, not in something it called."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = getattr(function, "__code__", None)
    return traceback is not None and traceback.tb_frame.f_code is code


def _graded(function: Callable[..., object], returned: object) -> float:
    # numpy's integers and small floats are real numbers too, but neither `int` nor `float`.
    if (
        isinstance(returned, bool)
        or not isinstance(returned, Real)
        or not 0 <= float(returned) <= 1
    ):
        name = getattr(function, "__name__", "the benchmark function")
        raise TypeError(f"{name} returned {returned!r}: expected None or a number from 0 to 1")
    return float(returned)
