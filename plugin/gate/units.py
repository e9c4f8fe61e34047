"""Values, differences and intervals as text, in the unit of their metric."""

from __future__ import annotations

from .._util.text import MISSING, hundredfold, number, percent

LESS_IS_BETTER = "↓"
NO_DROP = "no drop"
_NAMES = {"bits_per_byte": "bits/byte", "seconds": "s", "perplexity": ""}


def value(number_or_none: float | None, unit: str = "share") -> str:
    """A score in the unit of its metric: `67.78%`, `26.020`."""
    return percent(number_or_none) if unit == "share" else number(number_or_none)


def value_interval(interval: tuple[float, float] | None, unit: str = "share") -> str:
    """`[65.88, 69.62]`, in per cent of a share; `[24.981, 27.102]` of other numbers."""
    if interval is None:
        return MISSING
    ends = (f"{hundredfold(end):.2f}" if unit == "share" else number(end) for end in interval)
    return f"[{', '.join(ends)}]"


def size(difference: float | None, unit: str = "share") -> str:
    """A difference without its sign: `1.31 pp` of a share, `0.024 bits/byte`, `1.20 points`."""
    if difference is None:
        return MISSING
    if unit == "share":
        return f"{abs(round(difference * 100, 2)):.2f} pp"
    if unit == "points":
        return f"{abs(difference):.2f} points"
    return f"{abs(difference):.4g} {_NAMES.get(unit, unit)}".rstrip()


def points(difference: float | None, unit: str = "share") -> str:
    """A signed difference in the unit of its metric: `-1.31 pp`, `+0.024 bits/byte`."""
    if difference is None:
        return MISSING
    amount = size(difference, unit)
    # A tiny negative number, which prints as 0.00, has no minus sign.
    sign = "-" if round(difference, 12) < 0 and float(amount.split()[0]) else "+"
    return f"{sign}{amount}"


def points_interval(interval: tuple[float, float] | None, unit: str = "share") -> str:
    """`[-2.10, +0.54]`, in percentage points of a share."""
    if interval is None:
        return MISSING
    ends = (f"{hundredfold(end):+.2f}" if unit == "share" else f"{end:+.4g}" for end in interval)
    return f"[{', '.join(ends)}]"
