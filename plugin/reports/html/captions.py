"""The titles and descriptions of charts in the page; inside a drawing they stay English."""

from __future__ import annotations

from ..._util.language import tr
from ...gate import units
from ..plots.series import BarChart, Chart, CurveChart, Point


def caption(chart: Chart) -> str:
    """`real@1 by epoch`, `real@1: difference from the baseline`."""
    if isinstance(chart, BarChart):
        against = chart.against
        if against == "the baseline":
            against = tr("the baseline")
        elif against.endswith(", the best"):
            against = tr("{checkpoint}, the best", checkpoint=against.removesuffix(", the best"))
        return tr("{metric}: difference from {against}", metric=chart.metric, against=against)
    title = tr("{metric} by {axis}", metric=chart.metric, axis=tr(chart.axis))
    lower = chart.higher_is_better is False
    return tr("{title}, lower is better", title=title) if lower else title


def description(chart: CurveChart) -> str:
    """The chart in words, for screen readers."""
    best, word = max, tr("highest")
    if chart.higher_is_better is False:
        best, word = min, tr("lowest")
    sentences = []
    for curve in chart.curves:
        extreme = best(curve.points, key=lambda point: point.value)
        first, top, last = (
            tr("{value} at {checkpoint}", value=units.value(p.value, chart.unit), checkpoint=p.name)
            for p in (curve.points[0], extreme, curve.points[-1])
        )
        sentences.append(f"{curve.run or tr('The run')}: {first}, {word} {top}, {last}.")
    return " ".join(sentences)


def point_title(chart: CurveChart, point: Point) -> str:
    """`checkpoint-655: 67.78% [65.88, 69.62]`."""
    interval = f" {units.value_interval(point.interval, chart.unit)}" if point.interval else ""
    return f"{point.name}: {units.value(point.value, chart.unit)}{interval}"
