"""The texts of samples that a run lost, and what the baseline's checkpoint answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from ..gate.verdict import SEVERITY
from ..readers.result import SampleRow, Samples
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from .baseline_answers import BaselineAnswers, changed_rows
from .lost_samples import LostSample
from .sample_texts import expected_text, one_line, question_text, response_text

QUESTION_CHARS = 70  # with wide characters two lines of a terminal
ANSWER_CHARS = 60


def lost_samples(summary: Summary, folder: Path, rows: Samples, most: int) -> list[LostSample]:
    """The first lost samples of a run, of each regressed benchmark in turn.

    Args:
        folder: the run's.
        rows: reads its samples.
    """
    found = [
        (checkpoint, result)
        for checkpoint in summary.checkpoints
        for result in checkpoint.benchmarks
        if result.primary and any(flip.change == "lost" for flip in result.flips)
    ]
    worst_first = sorted(found, key=lambda each: _severity(each[1]))[:most]
    answers = lru_cache(maxsize=1)(BaselineAnswers)
    in_turn = zip_longest(
        *(list(_lost(*each, folder, rows, most, answers)) for each in worst_first)
    )
    return [sample for turn in in_turn for sample in turn if sample is not None][:most]


def _lost(
    checkpoint: CheckpointResult,
    result: BenchmarkResult,
    folder: Path,
    rows: Samples,
    most: int,
    answers: Callable[[str, Path], BaselineAnswers],
) -> Iterator[LostSample]:
    lost = [flip.nodeid for flip in result.flips if flip.change == "lost"][:most]
    found = rows(checkpoint.name, result.benchmark)
    own = changed_rows(found, result.protocol, dict.fromkeys(lost, "lost"), by_hash=False)
    hashes = dict.fromkeys((row.hash for row in own.values()), "won")
    known = answers(checkpoint.baseline, folder)
    before = known.rows(result.benchmark, result.protocol, hashes)
    for row in (own[nodeid] for nodeid in lost if nodeid in own):
        yield _as_text(checkpoint.name, row, before.get(row.hash), known.note)


def _severity(result: BenchmarkResult) -> int:
    return min((SEVERITY.index(v.word) for v in result.verdicts if v.gated), default=len(SEVERITY))


def _as_text(checkpoint: str, row: SampleRow, before: SampleRow | None, note: str) -> LostSample:
    return LostSample(
        checkpoint,
        one_line(row.id, ANSWER_CHARS),
        question_text(row.fields, QUESTION_CHARS),
        one_line(expected_text(row.fields), ANSWER_CHARS),
        _said(row),
        _said(before) if before is not None else "",
        note,
    )


def _said(row: SampleRow) -> str:
    said = one_line(response_text(row.response), ANSWER_CHARS) or "nothing"
    return f"{said} ({one_line(row.reason, ANSWER_CHARS)})" if row.reason else said
