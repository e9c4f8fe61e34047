"""Signals that end a run: what was answered is summarised and written before the process exits.

pytest ends a session in order only for KeyboardInterrupt; SIGTERM and SIGHUP, which schedulers, CI
and closed terminals send, would end the process at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

INTERRUPTED = (2, 129, 130, 143)
"""Exit statuses of a run that somebody ended: pytest's of Ctrl-C, 128 + the signal."""
_ENDING = ("SIGTERM", "SIGHUP")  # the latter is not on every system
GRACE_S = 10.0
"""Seconds from one of these signals until the process ends, whatever still runs in it."""


class EndSignals:
    """The handlers of a process that runs samples.

    Attributes:
        status: 128 + the number of the signal; 0 before one came, and for a single Ctrl-C, whose
            exit status pytest decides.
        came: how many signals came that end the run.
        concluding: everything is over but writing, which the first signal does not stop.
        writing: the run's files are being written, for which the process is kept.
    """

    status = 0
    came = 0
    concluding = False
    writing = False

    def __init__(self, *, is_worker: bool) -> None:
        self._is_worker = is_worker
        self._owner = os.getpid()
        self._before: dict[int, Any] = {}
        self._over = False

    def catch(self, config: pytest.Config) -> None:
        """Install the handlers until pytest is unconfigured; whoever has his own keeps it."""
        if threading.current_thread() is not threading.main_thread() or self._before:
            return
        wanted: dict[int, Callable[[int, FrameType | None], None]] = {
            getattr(signal, name): self._end for name in _ENDING if hasattr(signal, name)
        }
        if not self._is_worker:
            wanted[signal.SIGINT] = self._end
        for number, handler in wanted.items():
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                self._before[number] = signal.signal(number, handler)
        config.add_cleanup(self._restore)

    @contextmanager
    def while_writing(self) -> Iterator[None]:
        """Around the writing of the run's files, which is not cut short."""
        self.writing = True
        try:
            yield
        finally:
            self.writing = False

    def _restore(self) -> None:
        self._over = True
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _end(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:  # a fork of ours, which ends as if there was no handler
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if self._is_worker:  # the main process ends it, once it has written what there is
            return
        self.came += 1
        if self.came == 1 and number != signal.SIGINT:
            args = 128 + number, signal.Signals(number).name
            with suppress(RuntimeError):  # no thread can be started: only the limit is lost
                threading.Thread(target=self._end_late, args=args, daemon=True).start()
        if self.came == 1 and self.concluding:
            return
        if self.came > 1 or number != signal.SIGINT:
            self.status = self.status or 128 + number
        if self.came == 1:
            raise KeyboardInterrupt(f"signal {signal.Signals(number).name}")
        if self.came > 2:  # whoever insists loses what is not yet written
            os._exit(self.status)

    def _end_late(self, status: int, name: str) -> None:
        """End a process that still waits for something when the time is over; nothing is written.

        What it waits for may not be to be interrupted, such as a server that tracks runs.
        """
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end or self.writing:
            time.sleep(0.1)
            if self._over:
                return
        message = f"ckptbench: ended {GRACE_S:g} s after {name}, while something still ran"
        print(f"{message}: every answer is stored, the same --run-id goes on", file=sys.__stderr__)
        os._exit(self.status or status)
