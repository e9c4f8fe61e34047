"""The texts of samples that a run lost, and what the baseline's checkpoint answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from .._util.errors import CkptbenchError
from ..gate.verdict import SEVERITY
from ..readers.baseline import load
from ..readers.result import SampleRow, Samples
from ..readers.run import SUMMARY, read_summary, sample_rows
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from .flips import changed_rows
from .lost_samples import LostSample
from .sample_texts import expected_text, one_line, question_text, response_text

QUESTION_CHARS = 70  # with wide characters two lines of a terminal
ANSWER_CHARS = 60
RUNS_SEARCHED = 50  # for the baseline's answers, the newest first


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
    in_turn = zip_longest(*(list(_lost(*each, folder, rows, most)) for each in worst_first))
    return [sample for turn in in_turn for sample in turn if sample is not None][:most]


def _lost(
    checkpoint: CheckpointResult, result: BenchmarkResult, folder: Path, rows: Samples, most: int
) -> Iterator[LostSample]:
    lost = [flip.nodeid for flip in result.flips if flip.change == "lost"][:most]
    found = rows(checkpoint.name, result.benchmark)
    own = changed_rows(found, result.protocol, dict.fromkeys(lost, "lost"), by_hash=False)
    hashes = dict.fromkeys((row.hash for row in own.values()), "won")
    before = _rows_before(checkpoint, result, folder, hashes)
    for row in (own[nodeid] for nodeid in lost if nodeid in own):
        yield _as_text(checkpoint.name, row, before.get(row.hash))


def _severity(result: BenchmarkResult) -> int:
    return min((SEVERITY.index(v.word) for v in result.verdicts if v.gated), default=len(SEVERITY))


def _rows_before(
    checkpoint: CheckpointResult, result: BenchmarkResult, folder: Path, hashes: Mapping[str, str]
) -> Mapping[str, SampleRow]:
    """The samples as the baseline's checkpoint answered them, where a run of it is at hand.

    That is the run whose folder is the baseline, or one beside this run. An answer that was not
    right is of another setting than the baseline's, and left out.
    """
    path = Path(checkpoint.baseline)
    try:
        fingerprint = load(path).fingerprint
        for run in _runs_with(fingerprint, path if path.is_dir() else path.parent, folder):
            for measured in read_summary(run).checkpoints:
                if measured.fingerprint == fingerprint:
                    rows = sample_rows(run, measured.name, result.benchmark)
                    found = changed_rows(rows, result.protocol, hashes, by_hash=True)
                    if right := {k: row for k, row in found.items() if row.status == "passed"}:
                        return right
    except (CkptbenchError, OSError):
        pass  # texts are an aid to a reader: one side of them is better than none
    return {}


def _runs_with(fingerprint: str, first: Path, folder: Path) -> Iterator[Path]:
    """The folders of runs that measured a checkpoint, the baseline's own first."""
    if not fingerprint:
        return
    others = (path for path in folder.parent.glob(f"*/{SUMMARY}") if path.parent != folder)
    newest = sorted(others, key=lambda path: -path.stat().st_mtime)[:RUNS_SEARCHED]
    for path in (first / SUMMARY, *newest):
        if path.is_file() and fingerprint in path.read_text(encoding="utf-8"):
            yield path.parent


def _as_text(checkpoint: str, row: SampleRow, before: SampleRow | None) -> LostSample:
    return LostSample(
        checkpoint,
        one_line(row.id, ANSWER_CHARS),
        question_text(row.fields, QUESTION_CHARS),
        one_line(expected_text(row.fields), ANSWER_CHARS),
        _said(row),
        _said(before) if before is not None else "",
    )


def _said(row: SampleRow) -> str:
    said = one_line(response_text(row.response), ANSWER_CHARS) or "nothing"
    return f"{said} ({one_line(row.reason, ANSWER_CHARS)})" if row.reason else said
