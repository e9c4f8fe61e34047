"""What a watch knows of its run, kept on disk so that the next watch goes on from there."""

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
class Diary:
    """See the module.

    Attributes:
        folder: what is watched, absolute.
        arguments: what pytest is given, without secrets: parts asked otherwise make no whole.
        evaluated: signature of each checkpoint whose evaluation ended, by name.
        missed: why checkpoints that were there never were evaluated, by name.
        format: and its version.
    """

    folder: str
    arguments: list[str]
    evaluated: dict[str, str] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    format: str = FORMAT

    def notes(self) -> list[str]:
        """What a reader of the run must know."""
        return [f"{name} {why}: it is not in this run" for name, why in sorted(self.missed.items())]

    def write(self, run: Path) -> None:
        """Keep it in the run's folder."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2, sort_keys=True)
        atomic_write_text(run / FILE, text + "\n")


def read_diary(run: Path, watched: Path, arguments: Sequence[str]) -> Diary:
    """The diary of a run that is continued, or a new one.

    Raises:
        CkptbenchError: the run is of another folder, was asked otherwise, or is no watched one.
    """
    path = run / FILE
    new = Diary(str(watched.absolute()), hide_secrets(arguments))
    if not path.exists():
        if (run / "summary.json").exists() or (run / "store.sqlite").exists():
            raise CkptbenchError("is a run that was not watched", where=str(run), remedy=_REMEDY)
        return new
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        diary = Diary(**content)
    except (OSError, ValueError, TypeError) as error:
        raise CkptbenchError(f"cannot be read: {error}", where=str(path), remedy=_REMEDY) from None
    if diary.format != FORMAT:
        told = f"has the format {diary.format!r}, this version reads {FORMAT!r}"
        raise CkptbenchError(told, where=str(path), remedy=_REMEDY)
    if diary.folder != new.folder:
        told = f"is of another folder, {diary.folder}"
        raise CkptbenchError(told, where=str(path), remedy=_REMEDY)
    if diary.evaluated and diary.arguments != new.arguments:
        told = f"was watched with other arguments for pytest: {shlex.join(diary.arguments)}"
        raise CkptbenchError(told, where=str(path), remedy=f"give the same, or {_REMEDY}")
    return replace(diary, arguments=new.arguments)
