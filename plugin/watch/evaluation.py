"""The evaluation of one checkpoint: a pytest process and a run of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._util.errors import CkptbenchError
from ..readers.run import SUMMARY, read_summary
from ..results.summary import Summary

LOG = "pytest.log"
_GRACE_S = 60.0  # for pytest to write its results after an interrupt
_POLL_S = 0.1
Start = Callable[[Sequence[str], int], "subprocess.Popen[bytes]"]
"""Starts a command that is ended when this process is gone, with a file descriptor for its output.

A byte in its standard input interrupts it, and its standard output is its exit status.
"""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The result of an evaluation.

    Attributes:
        status: pytest's exit status; negative when a signal ended it.
        summary: the checkpoint's results; None when there are none.
        log: file with pytest's output.
        stopped: whether it was interrupted.
    """

    status: int
    summary: Summary | None
    log: Path
    stopped: bool

    def last_lines(self, most: int = 15) -> str:
        """The end of pytest's output."""
        with suppress(OSError):
            text = self.log.read_text(encoding="utf-8", errors="replace")
            return "\n".join(text.splitlines()[-most:])
        return ""


def evaluate(
    checkpoint: Path,
    parts: Path,
    arguments: Sequence[str],
    stop: threading.Event,
    meanwhile: Callable[[], object],
    start: Start,
) -> Evaluated:
    """Run pytest on one checkpoint.

    Its run is `<parts>/<name of the checkpoint>`. When `stop` is set it is interrupted as by
    Ctrl-C, so that it writes what it has; its answers are stored and reused. When this process is
    killed it is ended as well.

    Args:
        arguments: pytest's, without those that name the checkpoint and the run.
        meanwhile: called again and again until pytest ends.
        start: starts pytest.
    """
    folder = parts / checkpoint.name
    folder.mkdir(parents=True, exist_ok=True)
    # What is there is of other files under the same name, or unfinished; it stays until replaced.
    older = _identity(folder / SUMMARY)
    command = [sys.executable, "-m", "pytest", *arguments, f"--ckpt-checkpoint={checkpoint}"]
    command += [f"--ckpt-results-dir={parts.absolute()}", f"--ckpt-run-id={checkpoint.name}"]
    command.append("--ckpt-mlflow=off")  # tracking in an ini file is meant for whole runs
    log = folder / LOG
    with log.open("wb") as output:
        # In a session of its own: Ctrl-C on the terminal reaches it only through this process.
        process = start(command, output.fileno())
    status, stopped = _end_of(process, stop, meanwhile)
    summary = None
    if _identity(folder / SUMMARY) != older:
        with suppress(CkptbenchError):
            summary = read_summary(folder)
    return Evaluated(status, summary, log, stopped)


def _end_of(
    process: subprocess.Popen[bytes], stop: threading.Event, meanwhile: Callable[[], object]
) -> tuple[int, bool]:
    """Wait for the end of a command, or stop it; its exit status, and whether it was stopped."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            while process.poll() is None and not stop.wait(_POLL_S):
                meanwhile()
            stopped = process.poll() is None
            if stopped:
                # With pytest-xdist the workers end when their controller does.
                with suppress(BrokenPipeError):
                    os.write(process.stdin.fileno(), b"\n")
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_S)
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        status = process.stdout.read().strip()
    return int(status or -signal.SIGKILL), stopped


def _identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from one that replaces it; None without one."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
