"""Conclusions on training runs as plain text: a table for each run, then the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from .._util import text as words
from .._util.language import counted, stored, tr
from ..analysis.conclusions import Conclusions, RunConclusions
from ..analysis.eligibility import epoch_key
from ..gate.measurement import Measurement
from .overview import NOISE_LEGEND, by_signal, headline_metrics, metric_cells, noise_rows

_BEST = "*"
# More do not fit on a terminal beside their intervals.
_METRICS_IN_A_TABLE = 4
# Rows of the metrics' table that a short report has: with 27 checkpoints it still fits a screen.
_METRICS_LISTED = 8
_NONE: Mapping[str, str] = MappingProxyType({})


def curve_lines(
    conclusions: Conclusions,
    *,
    columns: int = 100,
    verbose: bool = False,
    brief: bool = False,
    verdicts: Mapping[str, str] = _NONE,
) -> Iterator[str]:
    """Every conclusion: the sentences come last, after the tables that they are about.

    A run with more than four metrics has one table of its checkpoints, with the metric that
    decides and as many of the others as fit, those with the highest signal-to-noise ratio first.

    Args:
        columns: width of the terminal.
        verbose: all metrics with their intervals, in several tables, and every sentence on them.
        brief: only the checkpoints and the sentences, for the end of a session.
        verdicts: of each checkpoint, by its name.
    """
    for run in conclusions.runs:
        if brief and len(conclusions.runs) > 1:
            yield run.run
        yield from run_table(run, columns=columns, verbose=verbose, brief=brief, verdicts=verdicts)
        if not brief:
            yield ""
    if not brief and any(len(run.measurements) > 1 for run in conclusions.runs):
        legend = tr("* best of its run")
        if any(each.step is not None for run in conclusions.runs for each in run.noise):
            legend += f"; {tr(NOISE_LEGEND)}"
        yield from (legend, "")
    yield from _mismatches(conclusions)
    yield from conclusions.sentences
    if verbose:
        yield from other_details(conclusions)
    yield from (tr("note: {note}", note=stored(note)) for note in conclusions.notes)


def other_details(conclusions: Conclusions) -> Iterator[str]:
    """The conclusions on metrics that have no sentence of their own."""
    known = "\n".join(conclusions.sentences)
    for run in conclusions.runs:
        details = [each.detail for each in run.best]
        details += [each.detail for each in run.peaks if each.comparison is not None]
        new = (detail for detail in details if detail not in known)
        yield from (f"{run.run}: {detail}" if run.run else detail for detail in new)


def run_table(
    run: RunConclusions,
    *,
    columns: int = 100,
    verbose: bool = False,
    brief: bool = False,
    verdicts: Mapping[str, str] = _NONE,
) -> Iterator[str]:
    """One run: a line a checkpoint, and its metrics with their noise; see `curve_lines`."""
    if not brief:
        count = counted(len(run.measurements), "checkpoint")
        yield f"{run.run or tr('checkpoints')}: {count}"
    metrics = headline_metrics(run.measurements)
    short = brief or (len(metrics) > _METRICS_IN_A_TABLE and not verbose)
    if short:
        yield from _fitting(run, by_signal(run, metrics), columns, verdicts)
    else:
        for start in range(0, len(metrics), _METRICS_IN_A_TABLE):
            some = metrics[start : start + _METRICS_IN_A_TABLE]
            yield from aligned_table(_rows(run, some, verdicts))
    if not brief:
        yield from _metrics(run, short)
    for measurement in run.measurements:
        for bench in measurement.benchmarks:
            if bench.incomplete:
                why = f"{tr('incomplete')}: {stored(bench.incomplete)}"
                yield f"  {measurement.name} {bench.protocol}: {why}"


def aligned_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows in columns without the empty ones; the last one is left-aligned text."""
    columns = list(zip(*rows, strict=True))
    kept = [column for column in columns if any(cell.strip() for cell in column[1:])]
    yield from words.aligned(list(zip(*kept, strict=True)), words_last=kept[-1] is columns[-1])


def _fitting(
    run: RunConclusions, metrics: Sequence[str], columns: int, verdicts: Mapping[str, str]
) -> Iterator[str]:
    """The first metric with its interval, and as many of the others as the width takes."""
    lines = list(aligned_table(_rows(run, metrics[:1], verdicts)))
    for number in range(2, len(metrics) + 1):
        wider = list(aligned_table(_rows(run, metrics[:number], verdicts, intervals=1)))
        if max(map(words.width, wider)) > columns:
            break
        lines = wider
    yield from lines


def _rows(
    run: RunConclusions,
    metrics: Sequence[str],
    verdicts: Mapping[str, str],
    *,
    intervals: int | None = None,
) -> list[list[str]]:
    """The cells of the checkpoints' table, the header first.

    Args:
        intervals: how many of the metrics, from the first, have a column for theirs; None for all.
    """
    cells = [metric_cells(run, measurement, metrics) for measurement in run.measurements]
    epochs = any(m.epoch is not None for m in run.measurements)
    header = [tr("checkpoint"), tr("epoch") if epochs else tr("step")]
    for index, column in enumerate(zip(*cells, strict=True)):
        # A score of which less is better has an arrow in its label.
        header.append(max(column, key=lambda cell: cell.less_is_better).label)
        header += [tr("95% interval")] if intervals is None or index < intervals else []
    rows = [[*header, ""]]
    for measurement, of_one in zip(run.measurements, cells, strict=True):
        row = [measurement.name, _position(measurement)]
        for index, cell in enumerate(of_one):
            row.append(cell.value + (_BEST if cell.best else " "))
            if intervals is None or index < intervals:
                row.append(cell.interval if cell.score.interval else "")
        recommended = tr("recommended") if run.recommended == measurement.name else ""
        last = filter(None, [verdicts.get(measurement.name, ""), recommended])
        rows.append([*row, ", ".join(last)])
    return rows


def _metrics(run: RunConclusions, short: bool) -> Iterator[str]:
    if len(run.measurements) < 2 or not run.noise:
        return
    if all(each.step is None for each in run.noise) and not short:
        reason = stored(run.noise[0].reason)
        yield "  " + tr("step-to-step noise is not known: {reason}", reason=reason)
        return
    rows = noise_rows(run, run.noise)
    shown = rows[: 1 + _METRICS_LISTED] if short else rows
    yield from words.aligned(shown, left=2)
    if len(shown) < len(rows):
        more = counted(len(rows) - len(shown), "more metric")
        yield "  " + tr("{metrics}: -v shows each", metrics=more)


def _mismatches(conclusions: Conclusions) -> Iterator[str]:
    wrong = conclusions.mismatches
    if not wrong:
        return
    composites = counted(len(wrong), "reported composite")
    if len(wrong) == 1:
        yield tr("{composites} disagrees with their parts:", composites=composites)
    else:
        yield tr("{composites} disagree with their parts:", composites=composites)
    header = (tr("run"), tr("checkpoint"), tr("reported"), tr("from its parts"), tr("diff"))
    rows: list[tuple[str, ...]] = [header]
    for each in wrong:
        values = (f"{value:.4f}" for value in (each.printed, each.computed))
        rows.append((each.run, each.name, *values, f"{each.printed - each.computed:+.4f}"))
    yield from words.aligned(rows, left=2)
    yield ""


def _position(measurement: Measurement) -> str:
    epoch = epoch_key(measurement)
    if epoch is not None:
        return f"{epoch:g}"
    return "" if measurement.step is None else words.count(measurement.step)
