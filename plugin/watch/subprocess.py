"""Evaluate one checkpoint in a pytest process and a run of its own."""

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
_GRACE_S = 60.0  # to write its results after an interrupt
_POLL_S = 0.1


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
    meanwhile: Callable[[], object] = lambda: None,
) -> Evaluated:
    """Run pytest on one checkpoint.

    Its run is `<parts>/<name of the checkpoint>`. When `stop` is set it is interrupted as by
    Ctrl-C, so that it writes what it has; its answers are stored and reused.

    Args:
        arguments: pytest's, without those that name the checkpoint and the run.
        meanwhile: called again and again until pytest ends.
    """
    folder = parts / checkpoint.name
    folder.mkdir(parents=True, exist_ok=True)
    # An older summary is of other files under the same name, or unfinished.
    (folder / SUMMARY).unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *arguments, f"--ckpt-checkpoint={checkpoint}"]
    command += [f"--ckpt-results-dir={parts.absolute()}", f"--ckpt-run-id={checkpoint.name}"]
    command.append("--ckpt-mlflow=off")  # tracking in an ini file is meant for whole runs
    log = folder / LOG
    with log.open("wb") as output:
        # In a group of its own: Ctrl-C on the terminal reaches it only through this process.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while process.poll() is None and not stop.wait(_POLL_S):
                meanwhile()
            stopped = process.poll() is None
            if stopped:
                # With pytest-xdist the workers end when their controller does.
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_S)
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    summary = None
    with suppress(CkptbenchError):
        summary = read_summary(folder)
    return Evaluated(process.returncode, summary, log, stopped)
