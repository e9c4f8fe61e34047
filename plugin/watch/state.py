"""The state of a watch, kept in its run's folder so that the next watch continues from there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError
from ..results.environment import hide_secrets

FILE = "watch.json"
LOCK = "watch.lock"
FORMAT = "ckptbench.watch/1"
_REMEDY = "choose another --run-id"


@dataclass
class WatchState:
    """Which checkpoints were evaluated, and with what.

    Attributes:
        folder: what is watched, absolute.
        arguments: pytest's, without secrets: with others, checkpoints are not comparable.
        evaluated: signature of each checkpoint whose evaluation ended, by name.
        missed: why other checkpoints were not evaluated, by name.
        format: and its version.
    """

    folder: str
    arguments: list[str]
    evaluated: dict[str, str] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    format: str = FORMAT

    def notes(self) -> list[str]:
        """Notes for the readers of the run."""
        return [f"{name} {why}: it is not in this run" for name, why in sorted(self.missed.items())]

    def write(self, run: Path) -> None:
        """Write it into the run's folder."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2, sort_keys=True)
        atomic_write_text(run / FILE, text + "\n")


def read_state(run: Path, watched: Path, arguments: Sequence[str]) -> WatchState:
    """The state of a run that is continued, or a new one.

    Raises:
        CkptbenchError: the run is of another folder, had other arguments, or was not watched.
    """
    path = run / FILE
    new = WatchState(str(watched.absolute()), hide_secrets(arguments))
    if not path.exists():
        if (run / "summary.json").exists() or (run / "store.sqlite").exists():
            raise CkptbenchError("is a run that was not watched", where=str(run), remedy=_REMEDY)
        return new
    try:
        state = WatchState(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise CkptbenchError(f"cannot be read: {error}", where=str(path), remedy=_REMEDY) from None
    mismatch, remedy = "", _REMEDY
    if state.format != FORMAT:
        mismatch = f"has the format {state.format!r}, this version reads {FORMAT!r}"
    elif state.folder != new.folder:
        mismatch = f"is of another folder, {state.folder}"
    elif state.evaluated and state.arguments != new.arguments:
        mismatch = f"was watched with other arguments for pytest: {shlex.join(state.arguments)}"
        remedy = f"give the same, or {_REMEDY}"
    if mismatch:
        raise CkptbenchError(mismatch, where=str(path), remedy=remedy)
    return replace(state, arguments=new.arguments)


@contextmanager
def sole_watch(run: Path) -> Iterator[None]:
    """Around a watch, which alone writes its run; the lock ends with the process, however it ends.

    Raises:
        CkptbenchError: another watch writes this run, or its folder cannot be created.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        lock = (run / LOCK).open("ab")
    except OSError as error:
        remedy = "choose another folder with --results-dir"
        raise CkptbenchError(f"cannot be written: {error}", where=str(run), remedy=remedy) from None
    with lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CkptbenchError(
                "another watch writes this run",
                where=str(run),
                remedy=f"end that one first, or {_REMEDY}",
            ) from None
        except (ImportError, OSError):  # no such locks on this system, or in this file system
            pass
        yield
