"""Samples that the baseline's checkpoint got right and this one does not, each as two lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._util.language import stored, tr
from ..results.summary import Summary


@dataclass(frozen=True, slots=True)
class LostSample:
    """One sample that was lost; the texts are single lines.

    Attributes:
        checkpoint: name.
        id: of the sample in its dataset.
        question: what was asked, shortened.
        expected: the right answer; empty where the sample does not state it.
        said: the checkpoint's answer, and how its program failed.
        before: the answer of the baseline's checkpoint; empty where it is not at hand.
        note: where that answer is read from, or why it is not at hand.
    """

    checkpoint: str
    id: str
    question: str
    expected: str
    said: str
    before: str
    note: str = ""

    @property
    def answers(self) -> str:
        """`expected X; said Y; baseline said Z`."""
        parts = [
            tr("expected {text}", text=self.expected) if self.expected else "",
            tr("said {text}", text=self.said) if self.said else "",
            tr("baseline said {text}", text=self.before) if self.before else "",
        ]
        return "; ".join(filter(None, parts))


def lost_notes(shown: Sequence[LostSample]) -> list[str]:
    """The samples' notes, each once."""
    return list(dict.fromkeys(stored(sample.note) for sample in shown if sample.note))


def lost_heading(summary: Summary, shown: Sequence[LostSample]) -> str:
    """`samples that the baseline got right, 3 of 66:`, over all gated protocols."""
    flips = (f for c in summary.checkpoints for b in c.benchmarks if b.primary for f in b.flips)
    total = sum(flip.change == "lost" for flip in flips)
    return tr(
        "samples that the baseline got right, {n} of {of}:", n=f"{len(shown):,}", of=f"{total:,}"
    )
