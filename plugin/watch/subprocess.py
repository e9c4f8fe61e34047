"""One checkpoint, evaluated by a pytest of its own in a run of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._util.errors import CkptbenchError
from ..readers.run import SUMMARY, read_summary
from ..results.summary import Summary

LOG = "pytest.log"
_GRACE_S = 60.0  # to write what was measured, once it was asked to end
_BEAT_S = 0.1


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How an evaluation went.

    Attributes:
        status: what pytest exited with; negative when a signal ended it.
        summary: what the checkpoint came to; None when nothing was concluded.
        log: what pytest printed.
        stopped: whether it was asked to end before it had.
    """

    status: int
    summary: Summary | None
    log: Path
    stopped: bool

    def last_lines(self, most: int = 15) -> str:
        """The end of what pytest printed."""
        with suppress(OSError):
            text = self.log.read_text(encoding="utf-8", errors="replace")
            return "\n".join(text.splitlines()[-most:])
        return ""


def evaluate(
    checkpoint: Path,
    parts: Path,
    arguments: Sequence[str],
    stop: threading.Event,
    meanwhile: Callable[[], object] = lambda: None,
) -> Evaluated:
    """Run pytest on one checkpoint.

    Its run is `<parts>/<name of the checkpoint>`. When `stop` is set it is interrupted as by
    Ctrl-C, so that it writes what it has; the answers it got are asked of nobody again.

    Args:
        arguments: pytest's, without those that name the checkpoint and the run.
        meanwhile: called again and again until pytest ends.
    """
    folder = parts / checkpoint.name
    folder.mkdir(parents=True, exist_ok=True)
    # What stands there is of other files under the same name, or unfinished.
    (folder / SUMMARY).unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *arguments]
    command += [f"--ckpt-checkpoint={checkpoint}"]
    command += [f"--ckpt-results-dir={parts.absolute()}", f"--ckpt-run-id={checkpoint.name}"]
    # What an ini file says of tracking is meant for whole runs.
    command += ["--ckpt-mlflow=off"]
    log = folder / LOG
    with log.open("wb") as output:
        # In a group of its own: Ctrl-C on the terminal reaches it through us, and once.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while process.poll() is None and not stop.wait(_BEAT_S):
                meanwhile()
            stopped = process.poll() is None
            if stopped:
                _end(process)
        finally:
            _kill(process)
    return Evaluated(process.returncode, _summary(folder), log, stopped)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt pytest, wait for it to write its results, and make an end of it."""
    # With pytest-xdist the workers end when their controller does.
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + _GRACE_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(_BEAT_S)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _summary(folder: Path) -> Summary | None:
    try:
        return read_summary(folder)
    except CkptbenchError:
        return None
