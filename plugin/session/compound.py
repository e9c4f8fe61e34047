"""Requests of several parts: taken apart before the engine, put together behind it.

An engine knows only single requests. It gets the parts of all samples at once, so that they share
its batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..api.engine import Engine
from ..api.requests import (
    CompoundRequest,
    CompoundResponse,
    Failed,
    Request,
    Response,
    Skipped,
    parts_of,
)
from .accepting import accepted


def answer(
    engine: Engine, requests: Sequence[Request], at_once: int = 0
) -> Iterator[tuple[int, Response]]:
    """Yield `(index into requests, response)` as answers arrive, as an engine does.

    A `CompoundRequest` is answered when each of its parts is. Where a part fails, or is skipped,
    so is the whole. A response that is no valid answer is a failure from here on; see
    `accepting`.

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
        owners += [(index, place) for place in range(len(parts))]
        flat += parts
        if not parts:
            yield index, CompoundResponse(())
    missing = {index: len(parts) for index, parts in waiting.items()}
    for number, response in _in_portions(engine, flat, at_once):
        index, place = owners[number]
        if waiting[index][place] is not None:
            raise ValueError(f"it answered request {number} twice")
        waiting[index][place] = response
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
    for kind in (Failed, Skipped):
        for part in parts:
            if isinstance(part, kind):
                return part
    return CompoundResponse(tuple(parts))
