"""Baselines: what other rooms import. Reading needs pydantic, which is imported when it is done."""

from __future__ import annotations

from ..readers.baseline import baseline_schema, dump, load, write
from .baseline_values import (
    FORMAT,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    BaselineScore,
    bare_baseline,
    baseline_benchmark,
    protocol_note,
    settings_note,
)

__all__ = [
    "FORMAT",
    "Baseline",
    "BaselineBenchmark",
    "BaselineComposite",
    "BaselineScore",
    "bare_baseline",
    "baseline_benchmark",
    "baseline_schema",
    "dump",
    "load",
    "protocol_note",
    "settings_note",
    "write",
]
