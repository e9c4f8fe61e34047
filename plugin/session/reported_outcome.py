"""An item's outcome, attached to its pytest reports in whatever process it ran."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

import pytest

from ..results.evaluate import Outcome
from ..results.outcome import ATTRIBUTE

if TYPE_CHECKING:
    from .item import SampleItem


def write_into(report: pytest.TestReport, item: SampleItem, error: str) -> None:
    """Write an item's outcome into a report of it.

    Args:
        error: what went wrong, in one line; empty when the item has an outcome.
    """
    outcome = Outcome("error", (), error) if error else item.outcome
    if outcome is None:
        return
    report.user_properties += _properties(outcome.values, item.group.metrics)
    if report.when != "teardown" or error:
        # Why a word was missed is the response itself; a program's failure is told nowhere else.
        told_why = outcome.status in ("skipped", "error") or item.group.executes
        reason = outcome.detail if told_why else ""
        told = _told(outcome.status, outcome.values, reason, outcome.seconds)
        setattr(report, ATTRIBUTE, told)


@lru_cache(maxsize=4096)
def _told(
    status: str, values: tuple[float, ...], reason: str, seconds: float
) -> tuple[str, tuple[float, ...], str, float]:
    # What is equal shares this object, and only plain numbers reach another process.
    return status, tuple(map(float, values)), reason, seconds


@lru_cache(maxsize=4096)
def _properties(
    values: tuple[float, ...], metrics: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    pairs = zip(metrics, values, strict=False)
    return tuple((name, float(value)) for name, value in pairs if isfinite(value))
