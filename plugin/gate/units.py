"""Differences and intervals of a comparison as text, in the unit of their metric."""

from __future__ import annotations

from .._util.text import (
    MISSING,
    _hundredfold,
    number,
    number_interval,
    percent,
    percent_interval,
    probability,
)
from .amounts import amount, signed_amount
from .verdict import Verdict

LESS_IS_BETTER = "↓"


NO_DROP = "no drop"


def points(difference: float | None, unit: str = "share") -> str:
    """A signed difference in the unit of its metric: `-1.31 pp`, `+0.024 bits/byte`."""
    return MISSING if difference is None else signed_amount(difference, unit)


def size(difference: float | None, unit: str = "share") -> str:
    """A difference whose direction the sentence gives: `1.31 pp`."""
    return MISSING if difference is None else amount(difference, unit)


def value(number_or_none: float | None, unit: str = "share") -> str:
    """A score in the unit of its metric: `67.78%`, `26.020`."""
    return percent(number_or_none) if unit == "share" else number(number_or_none)


def value_interval(interval: tuple[float, float] | None, unit: str = "share") -> str:
    """`[65.88, 69.62]`, in per cent of a share."""
    return percent_interval(interval) if unit == "share" else number_interval(interval)


def points_interval(interval: tuple[float, float] | None, unit: str = "share") -> str:
    """`[-2.10, +0.54]`, in percentage points of a share."""
    if interval is None:
        return MISSING
    if unit == "share":
        low, high = map(_hundredfold, interval)
        return f"[{low:+.2f}, {high:+.2f}]"
    low, high = interval
    return f"[{low:+.4g}, {high:+.4g}]"


def verdict_p(verdict: Verdict) -> str:
    """The p that a verdict used, by its name: `p worse, Holm = 0.0312`; empty without one."""
    if verdict.p_adjusted is None:
        return ""
    return probability(verdict.p_adjusted).replace("p", verdict.p_name, 1)
