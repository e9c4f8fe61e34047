"""Two measurements as the two sides that the gate compares."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..gate.baseline import BaselineBenchmark, BaselineScore
from ..gate.measured import Measured
from ..results.measurement import BenchmarkMeasurement
from ..scores.score import SampleValues


def measured_of(bench: BenchmarkMeasurement) -> Measured:
    """A benchmark as the side that is judged."""
    table = bench.table
    if table is None:
        table = SampleValues((), (), (), np.empty((0, 0)))
    return Measured(
        bench.benchmark,
        bench.protocol,
        bench.primary,
        table,
        bench.scores,
        bench.incomplete,
        bench.planned if bench.table is not None else None,
        bench.settings,
    )


def held_of(bench: BenchmarkMeasurement) -> BaselineBenchmark:
    """A benchmark as the side that is compared with."""
    table = bench.table
    scores = {
        s.metric: BaselineScore(
            s.value, s.standard_error, s.n or None, s.unit, s.higher_is_better, s.gated
        )
        for s in bench.scores
    }
    if table is None:
        return BaselineBenchmark(
            bench.benchmark,
            bench.protocol,
            bench.primary,
            bench.dataset,
            None,
            tuple(scores),
            scores,
            settings=bench.settings,
        )
    shared = Counter(table.clusters)
    return BaselineBenchmark(
        bench.benchmark,
        bench.protocol,
        bench.primary,
        bench.dataset,
        len(table.samples),
        table.metrics,
        scores,
        outcomes={
            sample: tuple(v if v == v else None for v in row)
            for sample, row in zip(table.samples, table.values.tolist(), strict=True)
        },
        settings=bench.settings,
        trials=dict(zip(table.samples, table.trials, strict=True)) if table.trials else 1,
        clusters={
            sample: cluster
            for sample, cluster in zip(table.samples, table.clusters, strict=True)
            if shared[cluster] > 1
        },
    )
