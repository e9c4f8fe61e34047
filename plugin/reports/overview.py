"""Checkpoints against metrics: the table that stands first in every report for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._util import text as words
from ..analysis.conclusions import Conclusions, RunConclusions
from ..gate.verdict import Verdict
from ..readers.result import Result
from ..results.measurement import Measurement
from ..results.summary import CheckpointResult
from ..scores.score import Score


@dataclass(frozen=True, slots=True)
class Cell:
    """One checkpoint in one metric.

    Attributes:
        metric: name, such as `real@1`, or the composite's.
        score: what was measured; None where it was not.
        verdict: the comparison with the baseline; None without one.
        best: whether it is the best of its run, of several checkpoints.
    """

    metric: str
    score: Score | None
    verdict: Verdict | None
    best: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One checkpoint.

    Attributes:
        measurement: what was measured of it.
        label: its name, with its run's before it where there are several runs.
        cells: one for each metric of the overview.
        recommended: the metric by which it is the recommended one of its run; empty for the
            others, and where its run has no other checkpoint.
        measured: the same checkpoint in the summary of its run; None for other origins.
    """

    measurement: Measurement
    label: str
    cells: tuple[Cell, ...]
    recommended: str
    measured: CheckpointResult | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Every checkpoint of every run, in the runs' order.

    Attributes:
        metrics: headline metrics in the order they were first met, the composite or the average
            last.
        rows: one for each checkpoint.
    """

    metrics: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def compared(self) -> bool:
        """Whether anything was compared with a baseline."""
        return any(cell.verdict for row in self.rows for cell in row.cells)


def overview(results: Sequence[Result], conclusions: Conclusions) -> Overview:
    """The table of everything that was measured.

    Args:
        results: what the measurements were read from; their summaries hold the verdicts.
        conclusions: what was concluded of them; its runs decide the order.
    """
    measurements = [m for run in conclusions.runs for m in run.measurements]
    metrics = headline_metrics(measurements)
    known = _summaries(results)
    rows = []
    for run in conclusions.runs:
        for measurement in run.measurements:
            found = known.get((measurement.source, measurement.name))
            cells = tuple(_cell(run, measurement, metric, found) for metric in metrics)
            recommended = run.by if measurement.name == run.recommended else ""
            label = checkpoint_label(conclusions, run.run, measurement.name)
            rows.append(Row(measurement, label, cells, recommended, found))
    return Overview(metrics, tuple(rows))


def headline_metrics(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """Metrics of the primary protocols, each once, then the composite or the average if any."""
    composites = [m.composite for m in measurements if m.composite is not None]
    names = [composite.metric for composite in composites if composite.value is not None]
    names += [m.average.metric for m in measurements if m.average is not None]
    metrics = [s.metric for m in measurements for b in m.primary_benchmarks() for s in b.scores]
    return tuple(dict.fromkeys([metric for metric in metrics if metric not in names] + names))


def checkpoint_label(conclusions: Conclusions, run: str, name: str) -> str:
    """`checkpoint-655`, or `base-2048/checkpoint-655` where there are several runs."""
    return f"{run}/{name}" if len(conclusions.runs) > 1 and run else name


def value_text(value: float | None, share: bool) -> str:
    """`67.78%` of a share, `26.020` of another number."""
    return words.percent(value) if share else words.number(value)


def interval_text(interval: tuple[float, float] | None, share: bool) -> str:
    """`[65.88, 69.62]`, in per cent of a share."""
    return words.percent_interval(interval) if share else words.number_interval(interval)


def verdicts_of(checkpoint: CheckpointResult) -> Iterator[Verdict]:
    """A checkpoint's verdicts on headline metrics, the composite's last."""
    for result in checkpoint.benchmarks:
        if result.primary:
            yield from result.verdicts
    if checkpoint.composite is not None and checkpoint.composite.verdict is not None:
        yield checkpoint.composite.verdict


def _summaries(results: Sequence[Result]) -> Mapping[tuple[str, str], CheckpointResult]:
    known: dict[tuple[str, str], CheckpointResult] = {}
    for result in results:
        if result.summary is None:
            continue
        by_name = {checkpoint.name: checkpoint for checkpoint in result.summary.checkpoints}
        for measurement in result.measurements:
            if measurement.name in by_name:
                key = (measurement.source, measurement.name)
                known.setdefault(key, by_name[measurement.name])
    return known


def _cell(
    run: RunConclusions, measurement: Measurement, metric: str, found: CheckpointResult | None
) -> Cell:
    verdicts = verdicts_of(found) if found else ()
    best = {best.metric: best.best for best in run.best}
    return Cell(
        metric,
        measurement.score(metric),
        next((verdict for verdict in verdicts if verdict.metric == metric), None),
        len(run.measurements) > 1 and best.get(metric) == measurement.name,
    )
