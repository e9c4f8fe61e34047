"""All of a run as lines that pytest's reporter prints: what `-v` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .._util import text as words
from .._util.language import tr
from ..gate import units
from ..gate.verdict import WORDS
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from . import phrases
from .rows import (
    COMPARISON,
    SCORE,
    VERDICT,
    Columns,
    MetricRow,
    benchmark_remarks,
    benchmark_rows,
    checkpoint_rows,
    doubts,
    missing_rows,
    not_gated,
    titles,
)
from .verdict_text import verdict_p

FLIPS_SHOWN = 5


class Line(NamedTuple):
    """One line and how it is drawn: the keyword arguments of `TerminalReporter.write_line`."""

    text: str
    markup: Mapping[str, bool] = {}


Markup = Mapping[str, bool]
RED: Markup = {"red": True}
YELLOW: Markup = {"yellow": True}
BOLD: Markup = {"bold": True}
PLAIN: Markup = {}
GREEN: Markup = {"green": True}
BY_LEVEL = {"good": GREEN, "warning": YELLOW, "bad": RED, "plain": PLAIN}
BY_VERDICT: Mapping[str, Markup] = {w: BY_LEVEL[facts.level] for w, facts in WORDS.items()}
BY_KIND = {"error": RED, "noise": PLAIN, "note": YELLOW, **BY_VERDICT}


def detailed_lines(summary: Summary, columns: int) -> Iterator[Line]:
    """Every protocol, comparison and flip of each checkpoint, then the legend of the tables."""
    for checkpoint in summary.checkpoints:
        yield from _checkpoint(summary, checkpoint, columns)
        yield Line("")
    rows = [row for checkpoint in summary.checkpoints for _, row in checkpoint_rows(checkpoint)]
    if any(row.less_is_better for row in rows):
        yield Line(f"{units.LESS_IS_BETTER}: {tr('less is better')}")
    if any(row.mde not in ("", words.MISSING) for row in rows):
        yield Line(tr("MDE: the smallest true worsening found in four runs of five"))


def _checkpoint(summary: Summary, checkpoint: CheckpointResult, columns: int) -> Iterator[Line]:
    about = "; ".join(filter(None, [checkpoint.spec, phrases.settings(checkpoint.settings)]))
    name = f"{checkpoint.name} ({about})" if about else checkpoint.name
    yield Line(f"{name}: {phrases.answering(checkpoint)}", BOLD)
    if bill := phrases.bill(checkpoint):
        yield Line(tr("all sessions of the run: {bill}", bill=bill))
    if checkpoint.baseline:
        yield Line(tr("baseline: {name}", name=checkpoint.baseline))
    table = _table([row for _, row in checkpoint_rows(checkpoint)], columns)
    yield from next(table)
    for result in checkpoint.benchmarks:
        yield Line(result.protocol if result.primary else not_gated(result.protocol))
        for _ in benchmark_rows(result):
            yield from next(table)
        yield from _remarks(result)
        yield from _flips(summary, result)
    if checkpoint.missing:
        yield Line(tr("in the baseline only"))
        for _ in checkpoint.missing:
            yield from next(table)
        for verdict, sentence in doubts(missing_rows(checkpoint)):
            yield Line(f"  {sentence}", BY_VERDICT[verdict])
    if (composite := checkpoint.composite) is not None:
        yield Line(not_gated(tr("composite: {formula}", formula=words.formula(composite.weights))))
        yield from next(table)


def _remarks(result: BenchmarkResult) -> Iterator[Line]:
    facts = result.coverage
    yield Line(
        "  " + tr("coverage: {facts}", facts=phrases.coverage(facts)),
        PLAIN if facts.complete else RED,
    )
    for kind, sentence in benchmark_remarks(result):
        if kind != "remark":  # those are below their rows
            indent = "    " if kind == "error" else "  "
            yield Line(indent + sentence, BY_KIND[kind])


def _flips(summary: Summary, result: BenchmarkResult) -> Iterator[Line]:
    if not result.flips or not result.primary:
        return
    yield Line(f"  {phrases.flips_heading(result)}")
    for change in ("lost", "won"):
        nodeids = [flip.nodeid for flip in result.flips if flip.change == change]
        for nodeid in nodeids[:FLIPS_SHOWN]:
            yield Line(
                f"    {words.padded(tr(change), 4)}  {phrases.rerun_command(summary, nodeid)}"
            )


def _table(rows: Sequence[MetricRow], columns: int) -> Iterator[list[Line]]:
    """The lines of the header, then of each row, aligned whatever is printed between them."""
    compared = any(row.word for row in rows)
    lines = aligned_rows(rows, SCORE, *((COMPARISON, VERDICT) if compared else ()))
    split = compared and max(map(words.width, lines)) > columns
    header, *lines = aligned_rows(rows, SCORE, VERDICT) if split else lines
    yield [Line(header)]
    for row, line in zip(rows, lines, strict=True):
        markup = BY_VERDICT.get(row.word, PLAIN) if row.gated else PLAIN
        found = [Line(line, markup)]
        if split and row.baseline:
            parts = [
                tr("baseline {name}", name=row.baseline),
                tr("diff {change}", change=row.change),
            ]
            parts += [tr("MDE {size}", size=row.mde)] if row.mde != words.MISSING else []
            parts += filter(None, [verdict_p(row.verdict)])
            found.append(Line(f"    {', '.join(parts)}", markup))
        yield [*found, Line(f"    {row.remark}", YELLOW)] if row.remark else found


def aligned_rows(rows: Sequence[MetricRow], *columns: Columns) -> list[str]:
    """The rows as lines, the header first."""
    cells = [titles(*columns), *(r.cells(*columns) for r in rows)]
    # An interval is one space from its number: together they read as one.
    tight = (len(SCORE) + 2,) if COMPARISON in columns else ()
    return list(words.aligned(cells, words_last=VERDICT in columns, tight=tight))
