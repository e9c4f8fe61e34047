"""The summary on a terminal, as lines that pytest's reporter prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._util import text as words
from ..gate import units
from ..gate.verdict import WORDS, verdict_p
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from . import phrases
from .conclusion import conclude
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
)

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions

FLIPS_SHOWN = 5


class Line(NamedTuple):
    """One line and how it is drawn: the keyword arguments of `TerminalReporter.write_line`."""

    text: str
    markup: Mapping[str, bool] = {}


Markup = Mapping[str, bool]
_RED: Markup = {"red": True}
_YELLOW: Markup = {"yellow": True}
_BOLD: Markup = {"bold": True}
_PLAIN: Markup = {}
_GREEN: Markup = {"green": True}
_BY_LEVEL = {"good": _GREEN, "warning": _YELLOW, "bad": _RED, "plain": _PLAIN}
_BY_VERDICT: Mapping[str, Markup] = {w: _BY_LEVEL[facts.level] for w, facts in WORDS.items()}
_BY_KIND = {"error": _RED, "noise": _PLAIN, "note": _YELLOW, **_BY_VERDICT}


def terminal_lines(
    summary: Summary,
    columns: int = 100,
    conclusions: Conclusions | None = None,
    *,
    verbose: bool = False,
) -> list[Line]:
    """The report on a run; the gate's sentence is the last line.

    Args:
        columns: width of the terminal. Where a whole row does not fit, its comparison goes on
            a line of its own; node ids and sentences are never cut.
        conclusions: those on several checkpoints. One table of them comes first then, followed by
            details only of those that need attention.
        verbose: details of all.
    """
    lines: list[Line] = []
    shown = summary.checkpoints
    if conclusions is not None:
        lines += [*_together(summary, conclusions, columns, verbose=verbose), Line("")]
        if not verbose:
            shown = tuple(filter(_needs_a_look, shown))
    for checkpoint in shown:
        lines += _checkpoint(summary, checkpoint, columns)
        lines.append(Line(""))
    rows = [row for checkpoint in shown for _, row in checkpoint_rows(checkpoint)]
    if any(row.less_is_better for row in rows):
        lines.append(Line(f"{units.LESS_IS_BETTER}: less is better"))
    if any(row.mde not in ("", words.MISSING) for row in rows):
        lines.append(Line("MDE: the smallest true worsening found in four runs of five"))
    lines += [Line(f"note: {note}") for note in summary.notes]
    lines += [Line(sentence, _RED) for sentence in summary.unwritten]
    conclusion = conclude(summary)
    markup = {**_BY_LEVEL[conclusion.level], "bold": True}
    return [*lines, Line(conclusion.text, markup)]


def _together(
    summary: Summary, conclusions: Conclusions, columns: int, *, verbose: bool
) -> Iterator[Line]:
    from .terminal_sweep import curve_lines

    answering = phrases.answering(*summary.checkpoints)
    yield Line(f"{len(summary.checkpoints)} checkpoints: {answering}; -v shows each", _BOLD)
    yield from map(Line, curve_lines(conclusions, columns=columns, verbose=verbose))
    yield from map(Line, phrases.noise_floors_together(summary))


def _needs_a_look(checkpoint: CheckpointResult) -> bool:
    """Whether a checkpoint's details are always shown: it regressed, or is incomplete."""
    words_found = [v.word for result in checkpoint.benchmarks for v in result.verdicts]
    failing = any("regress" in WORDS[word].fails for word in words_found)
    incomplete = not all(result.coverage.complete for result in checkpoint.benchmarks)
    return incomplete or bool(checkpoint.missing) or failing


def _checkpoint(summary: Summary, checkpoint: CheckpointResult, columns: int) -> Iterator[Line]:
    about = "; ".join(filter(None, [checkpoint.spec, phrases.settings(checkpoint.settings)]))
    yield Line(f"{checkpoint.name} ({about}): {phrases.answering(checkpoint)}", _BOLD)
    if checkpoint.baseline:
        yield Line(f"baseline: {checkpoint.baseline}")
    table = _table([row for _, row in checkpoint_rows(checkpoint)], columns)
    yield from next(table)
    for result in checkpoint.benchmarks:
        yield Line(result.protocol + ("" if result.primary else " (not gated)"))
        for _ in benchmark_rows(result):
            yield from next(table)
        yield from _remarks(result)
        yield from _flips(summary, result)
    if checkpoint.missing:
        yield Line("in the baseline only")
        for _ in checkpoint.missing:
            yield from next(table)
        for verdict, sentence in doubts(missing_rows(checkpoint)):
            yield Line(f"  {sentence}", _BY_VERDICT[verdict])
    if (composite := checkpoint.composite) is not None:
        yield Line(f"composite: {words.formula(composite.weights)} (not gated)")
        yield from next(table)


def _remarks(result: BenchmarkResult) -> Iterator[Line]:
    facts = result.coverage
    yield Line(f"  coverage: {phrases.coverage(facts)}", _PLAIN if facts.complete else _RED)
    for kind, sentence in benchmark_remarks(result):
        if kind != "remark":  # those are below their rows
            indent = "    " if kind == "error" else "  "
            yield Line(indent + sentence, _BY_KIND[kind])


def _flips(summary: Summary, result: BenchmarkResult) -> Iterator[Line]:
    if not result.flips or not result.primary:
        return
    yield Line(f"  {phrases.flips_heading(result)}")
    for change in ("lost", "won"):
        nodeids = [flip.nodeid for flip in result.flips if flip.change == change]
        for nodeid in nodeids[:FLIPS_SHOWN]:
            yield Line(f"    {change:4}  {phrases.rerun_command(summary, nodeid)}")


def _table(rows: Sequence[MetricRow], columns: int) -> Iterator[list[Line]]:
    """The lines of the header, then of each row, aligned whatever is printed between them."""
    compared = any(row.word for row in rows)
    lines = _aligned(rows, SCORE, *((COMPARISON, VERDICT) if compared else ()))
    split = compared and max(map(words.width, lines)) > columns
    header, *lines = _aligned(rows, SCORE, VERDICT) if split else lines
    yield [Line(header)]
    for row, line in zip(rows, lines, strict=True):
        markup = _BY_VERDICT.get(row.word, _PLAIN) if row.gated else _PLAIN
        found = [Line(line, markup)]
        if split and row.baseline:
            compared_line = f"    baseline {row.baseline}, diff {row.change}"
            compared_line += f", MDE {row.mde}" if row.mde != words.MISSING else ""
            p = verdict_p(row.verdict)
            compared_line += f", {p}" if p else ""
            found.append(Line(compared_line, markup))
        yield [*found, Line(f"    {row.remark}", _YELLOW)] if row.remark else found


def _aligned(rows: Sequence[MetricRow], *columns: Columns) -> list[str]:
    cells = [[title for some in columns for title in some], *(r.cells(*columns) for r in rows)]
    # An interval is one space from its number: together they read as one.
    tight = (len(SCORE) + 2,) if COMPARISON in columns else ()
    return list(words.aligned(cells, words_last=VERDICT in columns, tight=tight))
