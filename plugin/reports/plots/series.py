"""The data of the charts, whatever draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..._util.language import tr
from ...analysis.conclusions import Conclusions, RunConclusions
from ...gate.measurement import Measurement
from ...gate.verdict import Comparison
from ...readers.result import Result
from ..overview import Overview, checkpoint_label, headline_metrics, overview

Axis = Literal["epoch", "step", "checkpoint"]


@dataclass(frozen=True, slots=True)
class Point:
    """One checkpoint on a curve.

    Attributes:
        name: of the checkpoint.
        x: epoch, step, or its position in the run, from 1.
        value: a fraction of a share, and what it is of another number.
        interval: 95% interval `(low, high)`, or None.
    """

    name: str
    x: float
    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Curve:
    """One run in one metric, ordered by x. `run` is empty where it is not known."""

    run: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class CurveChart:
    """The learning curves of one metric.

    Attributes:
        axis: what x is, the same for every curve.
        unit: of the values, see `scores.metric.Unit`; `share` is of fractions, shown in per cent.
            Empty where it is not known, or not the same for all.
        higher_is_better: None where that is not known.
        baseline: what the baseline scored; None without one, or where there are several.
    """

    metric: str
    axis: Axis
    curves: tuple[Curve, ...]
    unit: str = "share"
    higher_is_better: bool | None = True
    baseline: float | None = None

    @property
    def values(self) -> Iterator[float]:
        """Every number that its y axis has to show."""
        points = [point for curve in self.curves for point in curve.points]
        yield from (value for each in points for value in (each.value, *(each.interval or ())))
        if self.baseline is not None:
            yield self.baseline

    @property
    def title(self) -> str:
        """`real@1 by epoch`."""
        title = tr("{metric} by {axis}", metric=self.metric, axis=tr(self.axis))
        lower = self.higher_is_better is False
        return tr("{title}, lower is better", title=title) if lower else title


@dataclass(frozen=True, slots=True)
class Bar:
    """One difference.

    Attributes:
        name: of the checkpoint.
        comparison: the checkpoint minus what it is compared with.
        conclusion: a verdict, or `significant` or not.
        p_value: the p behind the conclusion, after correction where there is one; None untested.
    """

    name: str
    comparison: Comparison
    conclusion: str
    p_value: float | None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Differences in one metric.

    Attributes:
        against: what every bar is compared with, such as `the baseline`.
    """

    metric: str
    against: str
    bars: tuple[Bar, ...]

    @property
    def unit(self) -> str:
        """The unit of the differences."""
        return self.bars[0].comparison.unit if self.bars else ""

    @property
    def values(self) -> Iterator[float]:
        """Every number that its x axis has to show."""
        known = [bar.comparison for bar in self.bars]
        yield from (value for each in known for value in (each.difference, *(each.interval or ())))
        yield 0.0

    @property
    def title(self) -> str:
        """`real@1: difference from the baseline`."""
        return tr("{metric}: difference from {against}", metric=self.metric, against=self.against)


Chart = CurveChart | BarChart


def charts(
    results: Sequence[Result], conclusions: Conclusions
) -> tuple[tuple[CurveChart, ...], tuple[BarChart, ...]]:
    """Every chart of a report."""
    table = overview(results, conclusions)
    return curve_charts(conclusions, table), bar_charts(table, conclusions)


def curve_charts(conclusions: Conclusions, table: Overview | None = None) -> tuple[CurveChart, ...]:
    """A chart for each headline metric that some run has at two checkpoints or more.

    x is the epoch where every checkpoint has one, so that runs are compared at equal epochs; else
    the step, else the position in the run.

    Args:
        table: where the baseline's values are; without it no chart has one.
    """
    runs = conclusions.runs
    axis, position = _axis(runs)
    charts = []
    for metric in headline_metrics([m for run in runs for m in run.measurements]):
        curves = tuple(_curve(run, metric, position) for run in runs)
        if any(len(curve.points) > 1 for curve in curves):
            shown = tuple(curve for curve in curves if curve.points)
            every = [m.score(metric) for run in runs for m in run.measurements]
            scores = [score for score in every if score is not None]
            units = {score.unit for score in scores}
            unit = units.pop() if len(units) == 1 else ""
            directions = {score.higher_is_better for score in scores}
            better = directions.pop() if len(directions) == 1 else None
            baseline = _baseline(table, metric) if table is not None else None
            charts.append(CurveChart(metric, axis, shown, unit, better, baseline))
    return tuple(charts)


def _baseline(table: Overview, metric: str) -> float | None:
    """The baseline's score, of the comparison over the most samples."""
    if (
        metric not in table.metrics
        or len({r.measured.baseline for r in table.rows if r.measured}) > 1
    ):
        return None
    index = table.metrics.index(metric)
    known = [cell.comparison for row in table.rows if (cell := row.cells[index]).comparison]
    return max(known, key=lambda each: each.n or 0).baseline if known else None


def bar_charts(table: Overview, conclusions: Conclusions) -> tuple[BarChart, ...]:
    """Differences from the baseline, or without one from the best checkpoint of each run."""
    found = _against_baseline(table) if table.compared else _against_best(conclusions)
    return tuple(chart for chart in found if chart.bars)


def _against_baseline(table: Overview) -> Iterator[BarChart]:
    for index, metric in enumerate(table.metrics):
        bars = []
        for label, cell in ((row.label, row.cells[index]) for row in table.rows):
            if cell.verdict is not None and (figures := cell.comparison) is not None:
                corrected = figures.difference < 0 and cell.verdict.p_adjusted is not None
                p = cell.verdict.p_adjusted if corrected else figures.p_value
                bars.append(Bar(label, figures, cell.word, p))
        yield BarChart(metric, tr("the baseline"), tuple(bars))


def _against_best(conclusions: Conclusions) -> Iterator[BarChart]:
    for run in conclusions.runs:
        for best in run.best:
            bars = tuple(
                Bar(
                    rival.name,  # the name of the best one, in the title, has the run
                    rival.comparison,
                    "significant" if rival.distinguishable else "not significant",
                    rival.p_adjusted,
                )
                for rival in best.rivals
                if rival.comparison is not None
            )
            against = checkpoint_label(conclusions, run.run, best.best)
            yield BarChart(best.metric, tr("{checkpoint}, the best", checkpoint=against), bars)


Position = Callable[[int, Measurement], float]


def _axis(runs: Sequence[RunConclusions]) -> tuple[Axis, Position]:
    if all(_is_axis([m.epoch for m in run.measurements]) for run in runs):
        return "epoch", lambda _, measurement: float(measurement.epoch or 0.0)
    if all(_is_axis([m.step for m in run.measurements]) for run in runs):
        return "step", lambda _, measurement: float(measurement.step or 0)
    return "checkpoint", lambda index, _: index + 1.0


def _is_axis(values: Sequence[float | None]) -> bool:
    """Whether all values are known and most differ: the last two checkpoints often share one."""
    return None not in values and 2 * len(set(values)) > len(values)


def _curve(run: RunConclusions, metric: str, position: Position) -> Curve:
    scores = [(index, m, m.score(metric)) for index, m in enumerate(run.measurements)]
    points = [
        Point(measurement.name, position(index, measurement), score.value, score.interval)
        for index, measurement, score in scores
        if score is not None and score.value is not None
    ]
    return Curve(run.run, tuple(sorted(points, key=lambda point: point.x)))
