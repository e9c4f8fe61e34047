"""Evaluate a response by calling the benchmark function once for each k."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import isfinite, isinf, nan
from numbers import Real
from typing import Any

from ..api.benchmark import Miss
from ..api.requests import Failed, Response, Skipped
from ..scores.metric import SHARE, Metric
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
    kind: Metric = SHARE,
) -> Outcome:
    """Evaluate a response with the benchmark function, once for each k.

    The item passes when it passes at the first (smallest) k; one that returns a number, when that
    is the best that its unit has, and always in a unit without a best.

    Args:
        names: metrics whose values the function returns as a mapping, in the order of the
            outcome's values; None when it passes, fails or returns one number.
        decides: the metric by which the item passes (at 1.0); without one, every answered item
            passes.
        kind: unit and direction of a number that the function returns.

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
    right, wrong = (1.0, 0.0) if kind is SHARE else _right_and_wrong(kind)
    values: list[float] = []
    detail = ""
    for k in ks or (None,):
        try:
            returned = function(**arguments) if k is None else function(**arguments, k=k)
        except AssertionError as error:
            if not (isinstance(error, Miss) or _raised_by(function, error)):
                raise
            values.append(_known(function, wrong, kind))
            detail = detail or str(error).partition("\n")[0] or "wrong answer"
        else:
            best = returned is None
            value = _known(function, right, kind) if best else _graded(function, returned, kind)
            values.append(value)
    if right == 1.0 and min(values) == 1.0 == max(values):
        return _passed(len(values))
    if values[0] == right or right is None:
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
    for name, value in zip(names, values, strict=True):
        if isinf(value):
            raise ValueError(f"{name} is {value}: expected a finite number, or none")
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


def _right_and_wrong(kind: Metric) -> tuple[float | None, float | None]:
    """The best and the worst value of a unit; None where it has no largest."""
    largest = kind.largest
    if largest is None:
        return None, None
    return (0.0, largest) if kind.higher_is_better is False else (largest, 0.0)


def _known(function: Callable[..., object], value: float | None, kind: Metric) -> float:
    """The value of an answer that is right or wrong, in a unit that has one."""
    if value is None:
        name = getattr(function, "__name__", "the benchmark function")
        raise TypeError(
            f"{name} returned no number: an answer in {kind.unit or 'this unit'} is none that is "
            "right or wrong"
        )
    return value


def _graded(function: Callable[..., object], returned: object, kind: Metric) -> float:
    # numpy's integers and small floats are real numbers too, but neither `int` nor `float`.
    if isinstance(returned, Real) and not isinstance(returned, bool):
        value, largest = float(returned), kind.largest
        if isfinite(value) if largest is None else 0 <= value <= largest:
            return value
    name = getattr(function, "__name__", "the benchmark function")
    expected = "a finite number"
    if kind.largest is not None:
        expected = f"None or a number from 0 to {kind.largest:g}"
    raise TypeError(f"{name} returned {returned!r}: expected {expected}")
