"""What is always shown of a run: a row for each gated metric, and what to know of the numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from .._util.language import stored, tr
from .._util.names import name_list
from ..gate.verdict import DOUBTFUL, SEVERITY
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from . import phrases
from .rows import (
    ERRORS_SHOWN,
    MetricRow,
    benchmark_rows,
    checkpoint_rows,
    composite_row,
    missing_rows,
)

# Notes that change no number. Every other note is always shown.
_CHANGES_NOTHING = re.compile(r"(^|: )(sequence length [\d,]+ tokens: |sandbox: L3 )")


def essential_rows(checkpoint: CheckpointResult) -> tuple[MetricRow, ...]:
    """A row for each gated metric, and for each other one of a benchmark that has none.

    A metric that two benchmarks have is named with its benchmark.
    """
    rows: list[tuple[str, MetricRow]] = []
    for result in checkpoint.benchmarks:
        own = benchmark_rows(result) if result.primary else ()
        shown = [row for row in own if _decides(row) or _is_odd(row)]
        shown = shown or [replace(row, gated=False) for row in own]
        rows += [(result.benchmark, row) for row in shown]
    if not rows:
        rows = [(label, replace(row, gated=False)) for label, row in checkpoint_rows(checkpoint)]
    rows += [("", row) for row in missing_rows(checkpoint)]
    times = Counter(row.metric for _, row in rows)
    return tuple(
        row if times[row.metric] == 1 else replace(row, metric=f"{name} {row.metric}")
        for name, row in rows
    )


def verdict_phrase(checkpoint: CheckpointResult) -> str:
    """The most severe of a checkpoint's verdicts, and how many: `regressed (2 of 3)`."""
    return worst_verdict(checkpoint)[1]


def worst_verdict(checkpoint: CheckpointResult) -> tuple[str, str]:
    """`(word, phrase)` of the most severe verdict; both empty without one."""
    found = Counter(row.word for row in essential_rows(checkpoint) if row.word and row.gated)
    for word in SEVERITY:
        if found[word]:
            n, of = f"{found[word]:,}", f"{found.total():,}"
            phrase = tr(word) if n == of else tr("{word} ({n} of {of})", word=tr(word), n=n, of=of)
            return word, phrase
    return "", ""


def caveats(summary: Summary) -> Iterator[tuple[str, str]]:
    """`(kind, sentence)`: what could make a wrong number look normal.

    Errors, samples without a score, scores that do not exist, comparisons that are not of all
    samples, and notes. The kind is `error`, `noise` or `note`. What is true of several
    checkpoints is one sentence.
    """
    found: dict[tuple[str, str], list[str]] = {}
    of = len(summary.checkpoints)
    for checkpoint in summary.checkpoints:
        for each in _of_checkpoint(checkpoint, alone=of == 1):
            found.setdefault(each, []).append(checkpoint.name)
    for (kind, sentence), names in found.items():
        yield kind, f"{stored(name_list(names, of))}: {sentence}" if of > 1 else sentence
    if of > 1:
        yield from (("noise", sentence) for sentence in phrases.noise_floors_together(summary))
    yield from (
        ("note", tr("note: {note}", note=stored(note)))
        for note in summary.notes
        if not _CHANGES_NOTHING.search(note)
    )
    yield from (("error", sentence) for sentence in summary.unwritten)


def _of_checkpoint(checkpoint: CheckpointResult, *, alone: bool) -> Iterator[tuple[str, str]]:
    for result in checkpoint.benchmarks:
        yield from _of_benchmark(result)
        if alone and result.primary and (floor := phrases.noise_floor(result)):
            yield "noise", f"{result.protocol}: {floor}"
    composite = checkpoint.composite
    if composite is not None and composite.score.value is None:
        yield "note", composite_row(composite).remark


def _of_benchmark(result: BenchmarkResult) -> Iterator[tuple[str, str]]:
    facts = result.coverage
    partial = facts.scored < facts.planned or facts.reachable is not None
    if not facts.complete or (partial and result.primary):
        kind = "note" if facts.complete else "error"
        yield kind, f"{result.protocol}: {phrases.coverage(facts)}"
    first_of_a_kind: dict[str, str] = {}
    for line in result.errors:
        first_of_a_kind.setdefault(line.partition("]: ")[2], line.partition("\n")[0])
    for line in list(first_of_a_kind.values())[:ERRORS_SHOWN]:
        yield "error", tr("error: {line}", line=line)
    if result.primary:
        yield from (("note", note) for note in phrases.comparison_notes(result))
        rows = benchmark_rows(result)
        yield from (("note", row.remark) for row in rows if row.remark and _is_odd(row))


def _decides(row: MetricRow) -> bool:
    """Whether a metric can fail a run."""
    return row.verdict.gated if row.verdict is not None else row.score.gated


def _is_odd(row: MetricRow) -> bool:
    """Whether a score does not exist, or is to be read with a remark."""
    doubtful = row.gated and row.word in DOUBTFUL and row.score.value is None
    remark = bool(row.score.reason or (row.verdict is not None and row.verdict.remark))
    return doubtful or row.score.value is None or remark
