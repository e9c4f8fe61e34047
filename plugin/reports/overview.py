"""Checkpoints against metrics: the first table of every report for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._util import text as words
from .._util.language import stored, tr
from ..analysis.conclusions import Conclusions, RunConclusions, StepNoise
from ..gate import units
from ..gate.measurement import Measurement
from ..gate.verdict import Verdict
from ..readers.result import Result
from ..results.summary import CheckpointResult
from ..scores.score import Score
from .rows import MetricRow

NOISE_LEGEND = "SNR: range over step noise, the spread around a smooth curve"


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """One checkpoint.

    Attributes:
        measurement: what was measured of it.
        label: its name, with its run's before it where there are several runs.
        cells: one for each metric of the overview.
        recommended: the metric by which its run recommends it; empty for the others, and where
            its run has no other checkpoint.
        measured: the same checkpoint in the summary of its run; None for other origins.
    """

    measurement: Measurement
    label: str
    cells: tuple[MetricRow, ...]
    recommended: str
    measured: CheckpointResult | None

    @property
    def incomplete(self) -> str:
        """Why its scores are not of every planned sample; empty when they are."""
        reasons = dict.fromkeys(b.incomplete for b in self.measurement.benchmarks if b.incomplete)
        return "; ".join(map(stored, reasons))


@dataclass(frozen=True, slots=True)
class Overview:
    """Every checkpoint of every run, in the runs' order.

    Attributes:
        metrics: headline metrics in order of appearance, the composite or the average last.
        rows: one for each checkpoint.
    """

    metrics: tuple[str, ...]
    rows: tuple[CheckpointRow, ...]

    @property
    def compared(self) -> bool:
        """Whether anything was compared with a baseline."""
        return any(cell.verdict for row in self.rows for cell in row.cells)


def overview(results: Sequence[Result], conclusions: Conclusions) -> Overview:
    """The table of everything that was measured, in the order of the conclusions' runs."""
    measurements = [m for run in conclusions.runs for m in run.measurements]
    metrics = headline_metrics(measurements)
    known = {
        (measurement.source, measurement.name): checkpoint
        for result in reversed(results)  # of two with the same one, the first counts
        for measurement in result.measurements
        for checkpoint in (result.summary.checkpoints if result.summary else ())
        if checkpoint.name == measurement.name
    }
    rows = []
    for run in conclusions.runs:
        for measurement in run.measurements:
            found = known.get((measurement.source, measurement.name))
            cells = metric_cells(run, measurement, metrics, found)
            recommended = run.by if measurement.name == run.recommended else ""
            label = checkpoint_label(conclusions, run.run, measurement.name)
            rows.append(CheckpointRow(measurement, label, cells, recommended, found))
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


def metric_cells(
    run: RunConclusions,
    measurement: Measurement,
    metrics: Sequence[str],
    measured: CheckpointResult | None = None,
) -> tuple[MetricRow, ...]:
    """One checkpoint of a run in each metric, with the verdicts of its run's summary."""
    known: list[Verdict] = []
    if measured is not None:
        known = [v for result in measured.benchmarks if result.primary for v in result.verdicts]
        if measured.composite is not None and measured.composite.verdict is not None:
            known.append(measured.composite.verdict)
    verdicts = {verdict.metric: verdict for verdict in reversed(known)}  # the first of a metric
    best = {each.metric for each in run.best if each.best == measurement.name}
    several = len(run.measurements) > 1
    scores = {m: measurement.score(m) or Score(m, None, 0, 0) for m in metrics}
    return tuple(
        MetricRow(
            m,
            score,
            verdicts.get(m),
            gated=m not in verdicts or verdicts[m].gated,
            best=several and m in best,
        )
        for m, score in scores.items()
    )


def mismatch_rows(conclusions: Conclusions) -> list[tuple[str, ...]]:
    """Reported composites that differ from their parts, the header first; empty without any."""
    rows: list[tuple[str, ...]] = [(tr("checkpoint"), tr("reported"), tr("computed"))]
    for wrong in conclusions.mismatches:
        name = f"{wrong.run}/{wrong.name}" if wrong.run else wrong.name
        rows.append((name, words.percent(wrong.printed), words.percent(wrong.computed)))
    return rows if conclusions.mismatches else []


def by_signal(run: RunConclusions, metrics: Sequence[str]) -> tuple[str, ...]:
    """The metrics of a run: the deciding one, then those with the highest signal-to-noise ratio."""
    ratio = {each.metric: each.signal_to_noise or 0.0 for each in run.noise}
    others = sorted(metrics, key=lambda metric: -ratio.get(metric, -1.0))
    first = [run.by] if run.by in metrics else []
    return tuple(dict.fromkeys([*first, *others]))


def noise_rows(run: RunConclusions, noise: Iterable[StepNoise]) -> list[tuple[str, ...]]:
    """Metrics with their best and their noise beside their range, by signal; the header first."""
    best = {each.metric: each.best for each in run.best}
    known = {each.metric: each for each in noise}
    rows: list[tuple[str, ...]] = []
    header = (tr("metric"), tr("best"), tr("range"), tr("step noise"), tr("sampling error"))
    rows.append((*header, tr("SNR")))
    for each in map(known.__getitem__, by_signal(run, list(known))):
        sizes = (units.size(value, each.unit) for value in (each.span, each.step, each.sampling))
        ratio = each.signal_to_noise
        shown = words.MISSING if ratio is None else f"{ratio:.1f}"
        rows.append((each.metric, best.get(each.metric, words.MISSING), *sizes, shown))
    return rows
