"""Differences and values in the unit of their metric, as text."""

from __future__ import annotations

_NAMES = {
    "points": "points",
    "bits_per_byte": "bits/byte",
    "nats": "nats",
    "seconds": "s",
    "perplexity": "",
    "": "",
}


def amount(value: float, unit: str) -> str:
    """The size of a difference: `1.31 pp` of a share, `0.024 bits/byte`, `1.20 points`."""
    if unit == "share":
        return f"{abs(round(value * 100, 2)):.2f} pp"
    if unit == "points":
        return f"{abs(value):.2f} points"
    return f"{abs(value):.4g} {_NAMES.get(unit, unit)}".rstrip()


def signed_amount(value: float, unit: str) -> str:
    """A difference with its sign: `-1.31 pp`."""
    # Rounding first and adding zero keeps a tiny negative number from printing as -0.00.
    sign = "-" if round(value, 12) < 0 and float(amount(value, unit).split()[0]) else "+"
    return f"{sign}{amount(value, unit)}"
