"""The time of day is what a file says: seconds that the clock was moved by, from one call on."""

from __future__ import annotations

import time
from pathlib import Path

MOVED = Path(__file__).parent / "clock_moved_by"
_now = time.time


def moved() -> float:
    """The seconds since the epoch that a clock shows which somebody has moved."""
    try:
        return _now() + float(MOVED.read_text() or 0)
    except (OSError, ValueError):
        return _now()


time.time = moved
