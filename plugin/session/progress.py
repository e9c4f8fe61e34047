"""What a session is doing, while it does: what is loaded, how far it is, and errors at once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from .._util.text import count, counted
from ..checkpoints.found import CheckpointParam
from ..results.outcome import ATTRIBUTE
from .fixtures import kind_of_error
from .group import Group

PIPE_S = 30.0  # between two lines in a file
SCREEN_S = 0.2  # between two states of the line on a terminal
WINDOW_S = 30.0  # the rate is that of so many seconds
ERRORS_SHOWN = 10
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")
_ERASE = "\r\x1b[K"


class Progress:
    """A plugin of the main process that prints to its terminal; silent with `-q`.

    Args:
        checkpoints: how many the session has.
        clock: seconds, of any origin.

    Attributes:
        total: samples that the session answers; 0 before they are known.
        answered: gives how many have an answer; by default, how many were reported.
    """

    def __init__(
        self, reporter: Any, checkpoints: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reporter, self._checkpoints, self._clock = reporter, checkpoints, clock
        self.total = 0
        self.answered: Callable[[], int] = lambda: self._reported
        self._reported = 0
        self._title = ""
        self._loaded: str | None = None
        self._line = False
        self._known: deque[tuple[float, int]] = deque()
        self._kinds: set[str] = set()
        self._next = 0.0

    @property
    def _silent(self) -> bool:
        return self._reporter is None or self._reporter.verbosity < 0

    def name_files(self, named: bool) -> None:
        """Whether pytest names the file of an item that begins, if it would: not a sample's."""
        if hasattr(type(self._reporter), "showfspath"):  # of the reporter, it reads options
            self._reporter.showfspath = None if named else False

    def begin(self, total: int) -> None:
        """The plan is made."""
        self.total, self._next = total, self._clock() + self._every

    def loading(self, group: Group) -> None:
        """A group's fixtures are set up now; its checkpoint, where it is another one, is named."""
        self._title = group.title
        if self._silent or group.checkpoint_name == self._loaded:
            return
        self._loaded = group.checkpoint_name
        self._say_loading(group.checkpoint)

    def loading_in(self, workers: int, found: CheckpointParam | None) -> None:
        """The workers begin with a checkpoint; None for an engine of a conftest's own."""
        if not self._silent:
            self._say_loading(found, f" in {counted(workers, 'worker')}")

    def _say_loading(self, found: CheckpointParam | None, where: str = "") -> None:
        if found is None:
            self._write(f"loading the engine{where}")
            return
        place = f" ({found.index + 1} of {self._checkpoints})" if self._checkpoints > 1 else ""
        self._write(f"loading {found.name}{place}{size_on_disk(found.spec)}{where}")

    def tick(self) -> None:
        """Show how far the session is, if that was long enough ago."""
        now = self._clock()
        if now < self._next or self._silent or not self.total:
            return
        self._next = now + self._every
        done = min(self.total, self.answered())
        self._known.append((now, done))
        while len(self._known) > 2 and now - self._known[1][0] >= WINDOW_S:
            self._known.popleft()
        text = f"{count(done)} of {count(self.total)} samples{self._rate(now, done)}"
        text += f": {self._title}" if self._title else ""
        if self._on_screen:
            # Not through `write`, whose record of the current line would grow without end.
            self._reporter.write_raw(f"{_ERASE}{text[: self._width]}", flush=True)
            self._line = True
        else:
            self._write(text)

    def _rate(self, now: float, done: int) -> str:
        """`, 23.1/s, 1:51 left`, of the last seconds; empty where nothing was answered in them."""
        then, before = self._known[0]
        if done <= before:
            return ""
        rate = (done - before) / (now - then)
        minutes, seconds = divmod(round((self.total - done) / rate), 60)
        hours, minutes = divmod(minutes, 60)
        left = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        return f", {rate:,.1f}/s, {left} left"

    @property
    def _on_screen(self) -> bool:
        return bool(self._reporter.isatty) and self._reporter.verbosity == 0

    @property
    def _every(self) -> float:
        return SCREEN_S if self._reporter is not None and self._on_screen else PIPE_S

    @property
    def _width(self) -> int:
        return int(self._reporter._tw.fullwidth) - 1

    def _write(self, text: str, **markup: bool) -> None:
        self.clear()
        self._reporter.write_line(text, **markup)
        self._reporter.flush()

    def clear(self) -> None:
        """Take the updating line off the terminal, so that something else can be printed."""
        if self._line:
            self._reporter.write_raw(_ERASE, flush=True)
            self._line = False

    # pytest's hooks

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Say what takes the first seconds; on a terminal pytest does."""
        if self._checkpoints and not self._silent and not self._reporter.isatty:
            self._write(f"collecting samples for {counted(self._checkpoints, 'checkpoint')}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Make room for the dots of other tests."""
        if self._line and getattr(self._reporter, "showfspath", True):
            self.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a sample, and show the first error of a kind."""
        status, _, reason, _ = getattr(report, ATTRIBUTE, None) or ("", (), "", 0.0)
        if not status:
            if report.outcome != "passed":
                self.clear()
            return
        self._reported += report.when == "call" or status == "error"
        if status == "error" and not self._silent:
            kind = kind_of_error(reason)
            if kind not in self._kinds and len(self._kinds) < ERRORS_SHOWN:
                self._kinds.add(kind)
                self._write(f"error: {report.nodeid}: {reason}", red=True)
        self.tick()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Leave no half line behind."""
        try:
            return (yield)
        finally:
            self.clear()


def size_on_disk(spec: str) -> str:
    """`, 1.1 GB`: the weights of a checkpoint that is a file or a folder; empty otherwise."""
    path = Path(spec)
    try:
        files = [path] if path.is_file() else [f for f in path.iterdir() if f.suffix in _WEIGHTS]
        size = sum(file.stat().st_size for file in files)
    except OSError:
        return ""
    if not size:
        return ""
    return f", {size / 1e9:.1f} GB" if size >= 1e8 else f", {size / 1e6:.1f} MB"
