"""Measured checkpoints to conclude from: with samples, with numbers only, and published ones."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
from ckptbench.scores.aggregate import fold
from ckptbench.scores.score import SampleValues, Score

PUBLISHED = Path(__file__).parents[2] / "data" / "published_curves.csv"
SAMPLES_AT = {1536: 2_400, 2048: 3_200}


def asked(name: str, outcomes: Sequence[Any], *, size: int = 1, **facts: Any) -> Measurement:
    """A checkpoint that was asked samples; `outcomes` are `[n]` of real@1, or `[n, 2]` with real@5.

    `size` is how many samples a cluster holds.
    """
    values = np.asarray(outcomes, dtype=np.float64)
    values = values.reshape(len(values), -1)
    metrics = ("real@1", "real@5")[: values.shape[1]]
    samples = tuple(f"{i:08x}" for i in range(len(values)))
    clusters = tuple(f"text-{i // size}" for i in range(len(values)))
    table = SampleValues(metrics, samples, clusters, values)
    real = BenchmarkMeasurement("real", "real/whole-word", True, tuple(fold(table)), table)
    return Measurement(name, **{"run": "run", "benchmarks": (real,), **facts})


def stated(
    name: str, real1: float, real5: float, lambada1: float, n: int, **facts: Any
) -> Measurement:
    """A checkpoint of which only numbers and their n are known."""
    real = BenchmarkMeasurement(
        "real", "", True, (Score("real@1", real1, n, n), Score("real@5", real5, n, n))
    )
    lambada = BenchmarkMeasurement("lambada", "", True, (Score("lambada@1", lambada1, n, n),))
    return Measurement(name, **{"run": "run", "benchmarks": (real, lambada), **facts})


@pytest.fixture(name="asked")
def _asked() -> Callable[..., Measurement]:
    return asked


@pytest.fixture(name="stated")
def _stated() -> Callable[..., Measurement]:
    return stated


@pytest.fixture(scope="session")
def published() -> tuple[Measurement, ...]:
    """The 33 published rows."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        return tuple(
            stated(
                row["checkpoint"],
                float(row["real1"]),
                float(row["real5"]),
                float(row["lambada"]),
                SAMPLES_AT[int(row["seq_len"])],
                run=row["run"],
                epoch=float(row["epoch"]),
                seq_len=int(row["seq_len"]),
                printed_composite=float(row["printed_composite"]),
            )
            for row in csv.DictReader(file)
        )
