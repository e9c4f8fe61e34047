"""What is concluded of training runs, as plain text: a table a run, then the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._util import text as words
from .._util.tables import aligned
from ..analysis.conclusions import Conclusions, RunConclusions, StepNoise
from ..analysis.eligibility import epoch_key
from ..gate import units
from ..results.measurement import Measurement
from ..scores.score import Score
from .noise_table import NOISE_LEGEND, by_signal, noise_rows
from .overview import headline_metrics

_BEST = "*"
_RECOMMENDED = "recommended"
# More do not fit on a terminal beside their intervals.
_METRICS_IN_A_TABLE = 4
# Rows of the metrics' table that a short report has: with 27 checkpoints it still fits a screen.
_METRICS_LISTED = 8


def curve_lines(
    conclusions: Conclusions, *, columns: int = 100, verbose: bool = False
) -> Iterator[str]:
    """Everything that was concluded: the sentences stand last, after the tables they are about.

    A run with more than four metrics has one table of its checkpoints, with the metric that
    decides and as many of the others as fit, those with the highest signal-to-noise ratio first.

    Args:
        columns: width of the terminal.
        verbose: all metrics with their intervals, in several tables, and every sentence on them.
    """
    for run in conclusions.runs:
        yield from run_table(run, columns=columns, verbose=verbose)
        yield ""
    if any(len(run.measurements) > 1 for run in conclusions.runs):
        legend = f"{_BEST} best of its run"
        if any(each.step is not None for run in conclusions.runs for each in run.noise):
            legend += f"; {NOISE_LEGEND}"
        yield from (legend, "")
    yield from mismatch_lines(conclusions)
    yield from conclusions.sentences
    if verbose:
        yield from other_details(conclusions)
    yield from (f"note: {note}" for note in conclusions.notes)


def other_details(conclusions: Conclusions) -> Iterator[str]:
    """What is concluded of the metrics that have no sentence of their own."""
    known = "\n".join(conclusions.sentences)
    for run in conclusions.runs:
        falls = [each for each in run.peaks if each.comparison is not None]
        details = [each.detail for each in run.best] + [each.detail for each in falls]
        for detail in details:
            if detail not in known:
                yield f"{run.run}: {detail}" if run.run else detail


def run_table(run: RunConclusions, *, columns: int = 100, verbose: bool = False) -> Iterator[str]:
    """One run: a line a checkpoint, and its metrics with their noise."""
    count = words.counted(len(run.measurements), "checkpoint")
    yield f"{run.run or 'checkpoints'}: {count}"
    metrics = headline_metrics(run.measurements)
    short = len(metrics) > _METRICS_IN_A_TABLE and not verbose
    if short:
        yield from _fitting(run, by_signal(run, metrics), columns)
    else:
        for start in range(0, len(metrics), _METRICS_IN_A_TABLE):
            yield from aligned_table(_rows(run, metrics[start : start + _METRICS_IN_A_TABLE]))
    yield from _metrics(run, short)
    yield from _incomplete(run.measurements)


def aligned_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows in columns; a column that says nothing is left out, the last one holds words."""
    columns = list(zip(*rows, strict=True))
    kept = [column for column in columns if any(cell.strip() for cell in column[1:])]
    yield from aligned(list(zip(*kept, strict=True)), words_last=kept[-1] is columns[-1])


def _fitting(run: RunConclusions, metrics: Sequence[str], columns: int) -> Iterator[str]:
    """The first metric with its interval, and as many of the others as the width takes."""
    lines = list(aligned_table(_rows(run, metrics[:1])))
    for number in range(2, len(metrics) + 1):
        wider = list(aligned_table(_rows(run, metrics[:number], intervals=1)))
        if max(map(words.width, wider)) > columns:
            break
        lines = wider
    yield from lines


def _rows(
    run: RunConclusions, metrics: Sequence[str], *, intervals: int | None = None
) -> list[list[str]]:
    """The cells of the checkpoints' table, the header first.

    Args:
        intervals: how many of the metrics, from the first, have a column for theirs; None for all.
    """
    best = {each.metric: each.best for each in run.best}
    several = len(run.measurements) > 1
    header = ["checkpoint", _place_title(run.measurements)]
    for place, metric in enumerate(metrics):
        header.append(_titled(metric, run.measurements))
        header += ["95% interval"] if intervals is None or place < intervals else []
    rows = [[*header, ""]]
    for measurement in run.measurements:
        row = [measurement.name, _place(measurement)]
        for place, metric in enumerate(metrics):
            score = measurement.score(metric)
            marked = several and best.get(metric) == measurement.name
            row.append(_value(score) + (_BEST if marked else " "))
            row += [_interval(score)] if intervals is None or place < intervals else []
        rows.append([*row, _RECOMMENDED if run.recommended == measurement.name else ""])
    return rows


def _titled(metric: str, measurements: Sequence[Measurement]) -> str:
    scores = [each.score(metric) for each in measurements]
    less = any(score is not None and score.higher_is_better is False for score in scores)
    return f"{metric} {units.LESS_IS_BETTER}" if less else metric


def _metrics(run: RunConclusions, short: bool) -> Iterator[str]:
    """The metrics with their noise; why there is none where no metric has any."""
    if len(run.measurements) < 2 or not run.noise:
        return
    if all(each.step is None for each in run.noise) and not short:
        yield f"  step-to-step noise is not known: {run.noise[0].reason}"
        return
    order = by_signal(run, [each.metric for each in run.noise])
    named: dict[str, StepNoise] = {each.metric: each for each in run.noise}
    chosen = [named[metric] for metric in order]
    shown = chosen[:_METRICS_LISTED] if short else chosen
    yield from aligned(noise_rows(run, shown), left=2)
    if len(shown) < len(chosen):
        yield f"  {words.counted(len(chosen) - len(shown), 'more metric')}: -v shows each"


def mismatch_lines(conclusions: Conclusions) -> Iterator[str]:
    """The stated composites that are not what their parts give; nothing when all are."""
    wrong = conclusions.mismatches
    if not wrong:
        return
    yield f"{words.counted(len(wrong), 'stated composite')} disagree with their parts:".replace(
        "composite disagree", "composite disagrees"
    )
    rows = [("run", "checkpoint", "stated", "its parts give", "diff")]
    for each in wrong:
        stated, computed = f"{each.printed:.4f}", f"{each.computed:.4f}"
        rows.append((each.run, each.name, stated, computed, f"{each.printed - each.computed:+.4f}"))
    yield from aligned(rows, left=2)
    yield ""


def _place_title(measurements: Sequence[Measurement]) -> str:
    return "epoch" if any(m.epoch is not None for m in measurements) else "step"


def _place(measurement: Measurement) -> str:
    epoch = epoch_key(measurement)
    if epoch is not None:
        return f"{epoch:g}"
    return "" if measurement.step is None else words.count(measurement.step)


def _value(score: Score | None) -> str:
    if score is None or score.value is None:
        return words.MISSING
    return units.value(score.value, score.unit)


def _interval(score: Score | None) -> str:
    if score is None or score.interval is None:
        return ""
    return units.value_interval(score.interval, score.unit)


def _incomplete(measurements: Sequence[Measurement]) -> Iterator[str]:
    for measurement in measurements:
        for bench in measurement.benchmarks:
            if bench.incomplete:
                yield f"  {measurement.name} {bench.protocol}: incomplete: {bench.incomplete}"
