"""The order of a run's checkpoints, and how a place in it is said."""

from __future__ import annotations

import re


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """Sorts `checkpoint-55` before `checkpoint-110`: runs of digits compare as numbers."""
    pieces = re.split(r"(\d+)", text)
    return tuple((0, int(p)) if p.isdecimal() else (1, p) for p in pieces if p)
