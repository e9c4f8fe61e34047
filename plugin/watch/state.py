"""The state of a watch, kept in its run's folder so that the next watch continues from there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError
from ..results.environment import hide_secrets

FILE = "watch.json"
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
