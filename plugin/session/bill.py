"""What engines spend while they answer."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..api.protocol import Engine, Tokens
from ..api.requests import Response
from ..results.spent import Spent

NO_COUNTER = "the engine counts no tokens"
UNCOUNTED = "the tokens of some requests are not stated"
NO_GPUS = "the engine does not state its GPUs"


class Bill:
    """What answers cost, by group: filled by the thread that asks, taken by the one that stores."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._meter: _Meter | None = None
        self._group = -1
        self._spent: dict[int, Spent] = defaultdict(Spent)

    def metered(
        self, engine: Engine, group: int, answers: Iterator[tuple[int, Response]]
    ) -> Iterator[tuple[int, Response]]:
        """The same answers; what the engine spends on them is the group's.

        Args:
            answers: they are not begun yet.
        """
        with self._turn:
            self._meter, self._group = _Meter(engine), group
        try:
            yield from answers
        finally:
            with self._turn:
                self._read()
                self._meter = None  # it must not keep a model in memory

    def take(self) -> dict[int, Spent]:
        """What was spent since this was last called: also on answers that are still to come."""
        with self._turn:
            self._read()
            taken, self._spent = self._spent, defaultdict(Spent)
            return taken

    def _read(self) -> None:
        if self._meter is not None:
            self._spent[self._group] += self._meter.read()


class _Meter:
    """Reads an engine's counters. Of a user's engine, what has their names may be anything."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._then, self._before = time.monotonic(), self._tokens()

    def _tokens(self) -> Tokens | None:
        found = getattr(self._engine, "tokens", None)
        return found if isinstance(found, Tokens) else None

    def read(self) -> Spent:
        """What was spent since this was last called, or since the meter was made."""
        now, tokens, before = time.monotonic(), self._tokens(), self._before
        seconds, self._then, self._before = now - self._then, now, tokens
        new = None if tokens is None or before is None else tokens.since(before)
        gpus: Any = getattr(self._engine, "gpus", None)
        reasons = []
        if new is None or new.uncounted:
            reasons.append(NO_COUNTER if new is None else UNCOUNTED)
            new = None
        if not isinstance(gpus, int | float):
            reasons.append(NO_GPUS)
            gpus = None
        return Spent(
            seconds,
            None if gpus is None else seconds * gpus,
            None if new is None else new.read,
            None if new is None else new.written,
            "; ".join(reasons),
        )
