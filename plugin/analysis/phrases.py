"""How conclusions are worded: the same words for the same thing in every sentence."""

from __future__ import annotations

from collections.abc import Sequence

from .._util.text import count, probability
from ..gate.units import points, points_interval, size
from ..gate.verdict import Comparison
from ..results.measurement import Measurement
from ..scores.composite import METRIC
from .compare import AVERAGE, direction
from .order import place


def named(measurement: Measurement) -> str:
    """`checkpoint-390 (epoch 3)`."""
    where = place(measurement)
    return f"{measurement.name} ({where})" if where else measurement.name


def superlative(metric: str, checkpoints: Sequence[Measurement]) -> str:
    """What the best value of a metric is: `highest` or `lowest`."""
    return "lowest" if direction(metric, checkpoints) < 0 else "highest"


def worsened(comparison: Comparison) -> str:
    """`fell by 1.37 pp`; `got worse by 0.02 bits/byte` where less is better."""
    verb = "fell" if comparison.higher_is_better else "got worse"
    return f"{verb} by {size(comparison.difference, comparison.unit)}"


def difference(comparison: Comparison) -> str:
    """`-1.37 pp [-4.05, +1.31]`."""
    return points(comparison.difference, comparison.unit) + _interval(comparison)


def evidence(comparison: Comparison, p_corrected: float | None) -> str:
    """`[-4.05, +1.31], p = 0.3160, 1.0000 corrected`; why nothing was tested otherwise."""
    interval = _interval(comparison).strip()
    if comparison.p_value is None:
        return ", ".join(filter(None, [interval, "not tested: no standard error"]))
    parts = [interval, probability(comparison.p_value)]
    if p_corrected is not None and p_corrected != comparison.p_value:
        parts.append(f"{probability(p_corrected).removeprefix('p ').removeprefix('= ')} corrected")
    return ", ".join(filter(None, parts))


def figures(comparison: Comparison | None, p_corrected: float | None) -> str:
    """`-1.37 pp [-4.05, +1.31], p = 0.3160, 1.0000 corrected`."""
    if comparison is None:
        return "nothing to compare"
    gap = " " if comparison.interval is not None else ", "
    shown = points(comparison.difference, comparison.unit)
    return f"{shown}{gap}{evidence(comparison, p_corrected)}"


def samples(metric: str, comparison: Comparison | None, *sides: Measurement) -> str:
    """`n = 2,400`, or `n = 2,400 and 3,200` where two sides cannot be paired; empty if unknown."""
    known = [score.n for side in sides if (score := side.score(metric)) is not None and score.n]
    if comparison is not None and comparison.kind == "paired" and comparison.n is not None:
        known = [comparison.n]
    if not known:
        return ""
    shown = f"n = {' and '.join(map(count, dict.fromkeys(known)))}"
    return f"{shown} over all its parts" if metric in (METRIC, AVERAGE) else shown


def sensitivity(metric: str, comparison: Comparison | None, *sides: Measurement) -> str:
    """`; MDE 4.70 pp at n = 2,400`: tolerance and corrected level included."""
    if comparison is None or comparison.p_value is None:
        return ""
    n = samples(metric, comparison, *sides)
    at = f" at {n}" if n else ""
    if comparison.mde is None:
        return f"; MDE: no possible change would be found{at}"
    return f"; MDE {size(comparison.mde, comparison.unit)}{at}"


def _interval(comparison: Comparison) -> str:
    if comparison.interval is None:
        return ""
    return f" {points_interval(comparison.interval, comparison.unit)}"
