"""How conclusions are said: the same words for the same thing in every sentence."""

from __future__ import annotations

from ..gate.verdict import Comparison
from ..reports.words import count, points, points_interval, probability, size
from ..scores.composite import METRIC
from .measurement import Measurement
from .order import place


def named(measurement: Measurement) -> str:
    """`checkpoint-390 (epoch 3)`."""
    where = place(measurement)
    return f"{measurement.name} ({where})" if where else measurement.name


def figures(comparison: Comparison | None, p_corrected: float | None) -> str:
    """`-1.37 %p [-4.05, +1.31], p = 0.3160, 1.0000 corrected`."""
    if comparison is None:
        return "nothing to compare"
    said = points(comparison.difference)
    if comparison.interval is not None:
        said += f" {points_interval(comparison.interval)}"
    if comparison.p_value is None:
        return f"{said}, not tested: no standard error"
    said += f", {probability(comparison.p_value)}"
    if p_corrected is not None and p_corrected != comparison.p_value:
        said += f", {probability(p_corrected).removeprefix('p ').removeprefix('= ')} corrected"
    return said


def samples(metric: str, comparison: Comparison | None, *sides: Measurement) -> str:
    """`n = 2,400`, or `n = 2,400 and 3,200` where two sides cannot be paired."""
    known = [score.n for side in sides if (score := side.score(metric)) is not None and score.n]
    if comparison is not None and comparison.kind == "paired" and comparison.n is not None:
        known = [comparison.n]
    if not known:
        return "an unstated n"
    said = f"n = {' and '.join(map(count, dict.fromkeys(known)))}"
    return f"{said} over all its parts" if metric == METRIC else said


def cannot_tell(metric: str, comparison: Comparison, *sides: Measurement) -> str:
    """`n = 2,400 cannot tell`, or `cannot tell` where it is not n that keeps it from being told."""
    if comparison.p_value is None:
        return "cannot tell"
    return f"{samples(metric, comparison, *sides)} cannot tell"


def can_see(comparison: Comparison | None, what: str) -> str:
    """`; it can see a fall of 4.70 %p`: what 80% power finds at the corrected level."""
    if comparison is None or comparison.mde is None:
        return ""
    return f"; it can see a {what} of {size(comparison.mde)}"
