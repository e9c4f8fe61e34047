"""Requests to an engine: compound ones taken apart and put together, and responses checked.

An engine knows only single requests. It gets the parts of all samples at once, so that they share
its batches. Every response is checked before it reaches the run store and the benchmark function:
JSON cannot hold NaN, and no file can hold half of a surrogate pair.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from ..api.protocol import Engine
from ..api.requests import (
    CompoundRequest,
    CompoundResponse,
    Failed,
    Request,
    Response,
    Skipped,
    parts_of,
)
from ..results.answers import encode


def answer(
    engine: Engine, requests: Sequence[Request], at_once: int = 0
) -> Iterator[tuple[int, Response]]:
    """Yield `(index into requests, response)` as answers arrive, as an engine does.

    A `CompoundRequest` is answered when each of its parts is. Where a part fails, or is skipped,
    so is the whole. A response that is not `accepted` becomes a failure.

    Args:
        at_once: requests that the engine gets in one call at most; 0 gives it all.

    Raises:
        ValueError: the engine answered a part that was not asked, or one twice.
    """
    if not any(isinstance(request, CompoundRequest) for request in requests):
        yield from _in_portions(engine, requests, at_once)
        return
    flat: list[Request] = []
    owners: list[tuple[int, int]] = []
    waiting: dict[int, list[Any]] = {}
    for index, request in enumerate(requests):
        parts = parts_of(request)
        waiting[index] = [None] * len(parts)
        owners += [(index, part) for part in range(len(parts))]
        flat += parts
        if not parts:
            yield index, CompoundResponse(())
    missing = {index: len(parts) for index, parts in waiting.items()}
    for number, response in _in_portions(engine, flat, at_once):
        index, part = owners[number]
        if waiting[index][part] is not None:
            raise ValueError(f"it answered request {number} twice")
        waiting[index][part] = response
        missing[index] -= 1
        if not missing[index]:
            whole = isinstance(requests[index], CompoundRequest)
            yield index, _together(waiting[index]) if whole else response


def _in_portions(
    engine: Engine, requests: Sequence[Request], at_once: int
) -> Iterator[tuple[int, Response]]:
    size = at_once or len(requests)
    for start in range(0, len(requests), max(1, size)):
        portion = requests[start : start + size]
        for index, response in engine.answer(portion):
            if not 0 <= index < len(portion):
                raise ValueError(f"it answered request {index} of {len(portion):,}")
            yield start + index, accepted(response)


def _together(parts: Sequence[Any]) -> Response:
    unanswered = (part for kind in (Failed, Skipped) for part in parts if isinstance(part, kind))
    return next(unanswered, CompoundResponse(tuple(parts)))


def accepted(response: Response) -> Response:
    """The same response, or a `Failed` that names a field whose value no valid answer has.

    Every number of a response is finite: a log probability of NaN comes from a broken model, and
    one of minus infinity is overflow in nearly every case. `None` is accepted where a field may
    have it. Every text can be encoded: half of a surrogate pair is no character.

    Args:
        response: anything that an engine gave; an object of another type is refused by the store.
    """
    names = getattr(type(response), "__slots__", ())
    # All fields at once, and only where one of them has a fault each of them alone, for its name.
    if fault_of([getattr(response, name, None) for name in names]):
        for name in names:
            if fault := fault_of(getattr(response, name, None)):
                return Failed(f"the engine gave {fault} as {name}, so there is no valid answer")
    return response


def fault_of(value: Any) -> str:
    """What a value has that no request and no answer may have; empty when there is nothing.

    Args:
        value: a request, or the value of a field.
    """
    try:
        return _fault(value)
    except RecursionError:
        return "a value nested without end"


def _fault(value: Any) -> str:
    kind = type(value)
    if kind is tuple or kind is list:
        for each in value:
            if fault := _fault(each):
                return fault
        return ""
    if value is None:
        return ""
    if isinstance(value, str):
        # Nearly all texts pass by the first test, which costs nothing.
        return "" if value.isascii() or _encodes(value) else "a text with half a surrogate pair"
    if isinstance(value, float):
        return "" if isfinite(value) else f"{float(value)}"
    if isinstance(value, int):
        return "" if value.bit_length() < 64 else "a whole number of more than 64 bits"
    if isinstance(value, (bytes, bytearray)):
        return "bytes"
    for name in getattr(kind, "__dataclass_fields__", ()):  # the parts of a compound response
        if fault := _fault(getattr(value, name, None)):
            return fault
    return ""


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encoded(response: Response) -> str | Failed:
    """A response as the run store keeps it; a `Failed` where it is none of plain values."""
    if isinstance(response, Failed):
        return response
    try:
        return encode(response)
    except Exception:
        reason = f"the engine gave {shown(response)}, which is no response of plain values"
        return Failed(reason, traceback.format_exc())


def shown(response: object) -> str:
    """A response of an engine as text for a message, whatever it is."""
    try:
        return repr(str(response)[:80])
    except Exception:  # a number of thousands of digits, or no end of nesting
        return type(response).__name__
