"""What a session left, compared sample by sample with a run that nobody disturbed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run_folder import RunFolder, scores_in

from ckptbench.results.integrity import UNREADABLE, read_only

ANSWERED = ("passed", "missed", "skipped")


@dataclass(frozen=True)
class Reference:
    """An undisturbed run.

    Attributes:
        outcomes: `(status, values)` by protocol, sample and trial.
        scores: the values by metric.
    """

    outcomes: dict[tuple[str, str, int], tuple[str, dict[str, float]]]
    scores: dict[str, float | None]

    @classmethod
    def of(cls, run: Path) -> Reference:
        """That of a run's folder."""
        folder = RunFolder(run)
        assert {status for status, _ in folder.outcomes.values()} <= {*ANSWERED}
        return cls(folder.outcomes, folder.values)


@dataclass(frozen=True)
class Findings:
    """How a session's results differ from the reference.

    Attributes:
        different: samples that have another outcome; those without one are not among them.
        wrong_scores: metrics that have another value; those without one are not among them.
        missing: samples without an outcome.
        complete: whether the results say that they are.
    """

    different: tuple[str, ...]
    wrong_scores: tuple[str, ...]
    missing: int
    complete: bool

    def looks_normal(self, status: int) -> bool:
        """Whether nothing tells a reader that the results are wrong, though they are."""
        wrong = bool(self.different or self.wrong_scores or self.missing)
        return (status == 0 and (wrong or not self.complete)) or (
            status == 1 and self.complete and wrong
        )


def compare(run: Path, references: Sequence[Reference]) -> Findings:
    """Compare a run with the one of several references that is most like it."""
    return min((_compare(run, each) for each in references), key=lambda f: len(f.different))


def _compare(run: Path, reference: Reference) -> Findings:
    folder = RunFolder(run)
    found = {key: each for key, each in folder.outcomes.items() if each[0] in ANSWERED}
    summary: dict[str, Any] = {}
    if (run / "summary.json").exists():
        summary = folder.summary
    scores = [scores_in(checkpoint) for checkpoint in summary.get("checkpoints", ())]
    values = [(metric, s["value"]) for each in scores for metric, s in each.items()]
    wanted = reference.outcomes
    return Findings(
        tuple(
            f"{'/'.join(map(str, key))}: {each}, not {wanted.get(key)}"
            for key, each in found.items()
            if each != wanted.get(key)
        ),
        tuple(
            f"{metric}: {value}, not {reference.scores.get(metric)}"
            for metric, value in values
            if value is not None and value != reference.scores.get(metric)
        ),
        len(wanted.keys() - found.keys()),
        bool(summary.get("complete")),
    )


def stored_texts(store: Path) -> set[str]:
    """The texts whose answers a store has; none where it cannot be read."""
    query = "SELECT fields FROM responses JOIN samples ON hash = sample"
    try:
        if not store.is_file():
            return set()
        with closing(read_only(store)) as db:
            rows = [json.loads(fields) for (fields,) in db.execute(query)]
    except UNREADABLE:
        return set()
    return {str(row.get("text", row.get("prompt"))).strip() for row in rows}
