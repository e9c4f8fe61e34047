"""What is concluded of training runs, as plain text: a table a run, then the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..curves.conclusions import Conclusions, RunConclusions
from ..curves.measurement import Measurement
from ..curves.order import epoch_key
from ..scores.score import Score
from . import words
from .columns import aligned
from .overview import headline_metrics

_HIGHEST = "*"
# More do not fit on a terminal: the others follow in a table below.
_METRICS_IN_A_TABLE = 4


def curve_lines(conclusions: Conclusions) -> Iterator[str]:
    """Everything that was concluded: the sentences stand last, after the tables they are about."""
    for run in conclusions.runs:
        yield from run_table(run)
        yield ""
    if any(len(run.measurements) > 1 for run in conclusions.runs):
        yield f"{_HIGHEST} highest of its run; as good: the earliest that is not told apart from it"
        yield ""
    yield from mismatch_lines(conclusions)
    yield from conclusions.sentences
    yield from (f"note: {note}" for note in conclusions.notes)


def run_table(run: RunConclusions) -> Iterator[str]:
    """One run: a line a checkpoint, with each headline score and its 95% interval."""
    count = words.counted(len(run.measurements), "checkpoint")
    yield f"{run.run or 'checkpoints'}: {count}"
    metrics = headline_metrics(run.measurements)
    for start in range(0, len(metrics), _METRICS_IN_A_TABLE):
        yield from _table(run, metrics[start : start + _METRICS_IN_A_TABLE])
    yield from _incomplete(run.measurements)


def _table(run: RunConclusions, metrics: Sequence[str]) -> Iterator[str]:
    best = {each.metric: each.best for each in run.best}
    header = ["checkpoint", _place_title(run.measurements)]
    for metric in metrics:
        header += [metric, "95% interval"]
    rows = [[*header, "as good"]]
    for measurement in run.measurements:
        row = [measurement.name, _place(measurement)]
        for metric in metrics:
            score = measurement.score(metric)
            highest = len(run.measurements) > 1 and best.get(metric) == measurement.name
            row += [_value(score) + (_HIGHEST if highest else " "), _interval(score)]
        rows.append([*row, _recommended(run, measurement, metrics)])
    # A column that says nothing is left out.
    columns = list(zip(*rows, strict=True))
    kept = [column for column in columns if any(cell.strip() for cell in column[1:])]
    yield from aligned(list(zip(*kept, strict=True)), words_last=kept[-1] is columns[-1])


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
    return words.percent(score.value) if score.share else words.number(score.value)


def _interval(score: Score | None) -> str:
    if score is None or score.interval is None:
        return ""
    if not score.share:
        return words.number_interval(score.interval)
    return words.percent_interval(score.interval)


def _recommended(run: RunConclusions, measurement: Measurement, metrics: Sequence[str]) -> str:
    if len(run.measurements) < 2:
        return ""
    names = [each.metric for each in run.best if each.recommended == measurement.name]
    return ", ".join(name for name in names if name in metrics)


def _incomplete(measurements: Sequence[Measurement]) -> Iterator[str]:
    for measurement in measurements:
        for bench in measurement.benchmarks:
            if bench.incomplete:
                yield f"  {measurement.name} {bench.protocol}: incomplete: {bench.incomplete}"
