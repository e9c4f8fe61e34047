"""Baselines: what other rooms import. Reading needs pydantic, which is imported when it is done."""

from __future__ import annotations

from .baseline_file import baseline_schema, dump, load, write
from .baseline_values import (
    FORMAT,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    BaselineScore,
    bare_baseline,
    baseline_benchmark,
    check_protocol,
    protocol_note,
    settings_note,
    unmatched_metrics,
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
    "check_protocol",
    "dump",
    "load",
    "protocol_note",
    "settings_note",
    "unmatched_metrics",
    "write",
]
