"""Holm's step-down correction for several tests (Holm 1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values, in the order given: reject where one is at most alpha.

    The i-th smallest of m (from 0) is multiplied by m - i, at most 1, and never below a smaller
    one's. The chance of any false rejection stays at most alpha, whatever the dependence.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    running = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = running
    return tuple(adjusted)
