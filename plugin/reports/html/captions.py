"""The descriptions of charts in the page."""

from __future__ import annotations

from ..._util.language import tr
from ...gate import units
from ..plots.series import CurveChart, Point


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
