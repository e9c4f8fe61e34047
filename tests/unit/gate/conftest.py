"""Benchmarks of few lines, and baselines made of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ckptbench.gate.baseline import FORMAT, Baseline, baseline_benchmark
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.scores.aggregate import fold
from ckptbench.scores.score import SampleValues

Scalar = str | int | float | bool | None


def measured(
    protocol: str,
    values: Mapping[str, list[float]],
    *,
    primary: bool = True,
    clusters: list[str] | None = None,
    settings: Mapping[str, Scalar] | None = None,
    trials: int = 1,
    start: int = 0,
    **more: object,
) -> BenchmarkMeasurement:
    """A benchmark with these values by metric; sample i is `s0007`."""
    columns = np.array(list(values.values()), dtype=np.float64).T
    names = tuple(f"s{start + i:05}" for i in range(len(columns)))
    table = SampleValues(
        tuple(values),
        names,
        tuple(clusters or names),
        columns,
        trials=(trials,) * len(names),
        **more,  # type: ignore[arg-type]
    )
    return BenchmarkMeasurement(
        protocol.partition("/")[0],
        protocol,
        primary,
        fold(table),
        table,
        planned=frozenset(names),
        settings=settings or {},
    )


def shares(n: int, *right: float, lost: int = 0, benchmark: str = "real") -> dict[str, list[float]]:
    """0/1 values of which the first are right; `lost` of the first metric's are wrong."""
    found = {}
    for k, share in zip((1, 5, 10), right, strict=False):
        column = [float(i < share * n) for i in range(n)]
        found[f"{benchmark}@{k}"] = column
    first = f"{benchmark}@1"
    found[first] = [0.0] * lost + found[first][lost:]
    return found


def as_baseline(*benchmarks: BenchmarkMeasurement) -> Baseline:
    """The baseline that a run with these benchmarks would write."""
    held = {m.protocol: baseline_benchmark(m) for m in benchmarks}
    return Baseline(FORMAT, "best", "f", {"seq_len": 512, "dtype": "fp32"}, "", "", held)
