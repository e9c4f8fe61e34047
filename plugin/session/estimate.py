"""How long a session would take to answer, from what the sessions before it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._util.text import counted, listed
from ..results.earlier import earlier_runs, paces_of
from ..results.work import Pace


@dataclass(frozen=True, slots=True)
class Wanted:
    """Answers that a session would ask of a checkpoint under a protocol.

    Attributes:
        run: name of the checkpoint's training run; empty where it has none.
    """

    checkpoint: str
    run: str
    protocol: str
    answers: int

    def is_like(self, pace: Pace) -> bool:
        """Whether a pace is this checkpoint's, or another one's of its training run."""
        same = pace.checkpoint == self.checkpoint or (self.run and pace.run == self.run)
        return bool(same) and pace.protocol == self.protocol


def expected_time(folder: Path, wanted: Sequence[Wanted], gpus: float) -> str:
    """One sentence: how long the answers would take if none of them is stored.

    Each takes as long as one did on average in the newest run that asked the same. Loading is not
    counted.

    Args:
        folder: of the session's run; earlier ones lie beside it.
        gpus: how many answer; 0 for a processor, whose engines are taken to share it. What the
            other kind of device took tells nothing.
    """
    paces = _newest(folder, wanted, on_gpus=gpus > 0)
    if not paces:
        return (
            f"how long that takes is not known: no run in {folder.parent} "
            "has asked it of these checkpoints, or of others of their training runs, on "
            f"{'GPUs' if gpus else 'a processor'}"
        )
    seconds = sum(
        each.answers * (pace.gpu_seconds / gpus if gpus else pace.seconds)
        for each, pace in paces.items()
    )
    sentence = f"about {_duration(seconds)} of answering where none is stored, as fast as in "
    sentence += listed(dict.fromkeys(pace.source for pace in paces.values()))
    if gpus:
        sentence = f"{gpus:g} GPU{'s' if gpus > 1 else ''}: {sentence}"
    unknown = sum(each.answers for each in wanted if each not in paces)
    return sentence + (f"; not known for {unknown:,} of the answers" if unknown else "")


def _newest(folder: Path, wanted: Sequence[Wanted], *, on_gpus: bool) -> dict[Wanted, Pace]:
    """The pace to expect of each that has one; in a run, the same checkpoint's comes first."""
    found: dict[Wanted, Pace] = {}
    for earlier in earlier_runs(folder.parent, folder.name):
        missing = [each for each in wanted if each not in found]
        if not missing:
            break
        paces = [pace for pace in paces_of(earlier) if (pace.gpu_seconds > 0) == on_gpus]
        for each in missing:
            alike = filter(each.is_like, paces)
            best = min(alike, key=lambda pace: pace.checkpoint != each.checkpoint, default=None)
            if best is not None:
                found[each] = best
    return found


def _duration(seconds: float) -> str:
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    minutes = seconds / 60
    return counted(round(minutes), "minute") if minutes < 90 else f"{minutes / 60:.1f} hours"
