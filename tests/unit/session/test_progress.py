"""The line that says how far a session is, on a terminal and in a file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

from ckptbench.session.progress import Progress, size_on_disk


class Terminal(io.StringIO):
    """A file that is a terminal, or none."""

    def __init__(self, *, isatty: bool) -> None:
        super().__init__()
        self._isatty = isatty

    def isatty(self) -> bool:
        return self._isatty


class Session:
    """A session of 2,000 samples, whose time is set by hand."""

    def __init__(self, pytester: pytest.Pytester, *options: str, isatty: bool = False) -> None:
        self.file, self.now, self.done = Terminal(isatty=isatty), 1000.0, 0
        reporter = TerminalReporter(pytester.parseconfig(*options), self.file)
        self.progress = Progress(reporter, 2, clock=lambda: self.now)
        self.progress.answered = lambda: self.done
        self.progress.begin(2_000)

    def at(self, second: float, done: int) -> None:
        self.now, self.done = 1000.0 + second, done
        self.progress.tick()

    @property
    def lines(self) -> list[str]:
        return self.file.getvalue().splitlines()


def test_a_file_gets_a_line_each_thirty_seconds(pytester: pytest.Pytester) -> None:
    session = Session(pytester)
    for second in range(100):
        session.at(second, 10 * second)
    assert session.lines == [
        "300 of 2,000 samples",
        "600 of 2,000 samples, 10.0/s, 2:20 left",
        "900 of 2,000 samples, 10.0/s, 1:50 left",
    ]


def test_the_rate_is_that_of_the_last_seconds(pytester: pytest.Pytester) -> None:
    session = Session(pytester)
    session.at(30, 1_000)  # out of the run store
    session.at(60, 1_006)
    session.at(90, 1_009)
    assert session.lines[1:] == [
        "1,006 of 2,000 samples, 0.2/s, 1:22:50 left",
        "1,009 of 2,000 samples, 0.1/s, 2:45:10 left",
    ]


def test_a_terminal_has_one_line_that_is_written_anew_and_gone_at_the_end(
    pytester: pytest.Pytester,
) -> None:
    session = Session(pytester, isatty=True)
    for tenth in range(10):
        session.at(tenth / 10, tenth)
    assert "\n" not in session.file.getvalue()
    states = session.file.getvalue().split("\r\x1b[K")
    assert states[0] == ""
    assert states[-1].startswith(("7 of 2,000 samples, ", "8 of 2,000 samples, "))
    assert 3 <= len(states) <= 6
    session.progress.clear()
    assert session.file.getvalue().endswith("\r\x1b[K")


def test_quiet_is_quiet(pytester: pytest.Pytester) -> None:
    session = Session(pytester, "-q")
    session.at(100, 50)
    session.progress.pytest_collection()
    assert session.lines == []


def test_the_size_of_a_checkpoint_is_that_of_its_weights(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x" * 2_500_000)
    (tmp_path / "optimizer.txt").write_bytes(b"x" * 2_500_000)
    assert size_on_disk(str(tmp_path)) == ", 2.5 MB"
    assert size_on_disk(str(tmp_path / "model.safetensors")) == ", 2.5 MB"
    assert size_on_disk("https://localhost:8000/v1") == ""
