"""A baseline file of ours, read as a result."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._util.names import epoch_in, step_in
from ..gate.baseline import BaselineBenchmark
from ..results.measurement import BenchmarkMeasurement, Measurement
from ..scores.composite import METRIC
from ..scores.metric import Metric
from ..scores.score import SampleValues, Score
from .baseline import load
from .reported import stated_score
from .result import Result


def read_baseline(path: Path) -> Result:
    """Read a baseline file.

    Raises:
        CkptbenchError: it is no baseline of this version.
    """
    baseline = load(path)
    seq_len = baseline.settings.get("seq_len")
    composite = baseline.composite
    measurement = Measurement(
        name=baseline.checkpoint,
        step=step_in(baseline.checkpoint),
        epoch=epoch_in(baseline.checkpoint),
        seq_len=seq_len if isinstance(seq_len, int) else None,
        benchmarks=tuple(_benchmark(held) for held in baseline.benchmarks.values()),
        composite=_composite(composite.value) if composite else None,
        weights=composite.weights if composite else {},
        source=str(path),
        fingerprint=baseline.fingerprint,
        facts={k: v for k, v in baseline.settings.items() if k != "seq_len"},
    )
    return Result(path, "ckptbench", (measurement,))


def _benchmark(held: BaselineBenchmark) -> BenchmarkMeasurement:
    scores = tuple(
        stated_score(
            metric,
            score.value,
            n=score.n if score.n is not None else held.n,
            standard_error=score.standard_error,
            kind=Metric(score.unit, score.higher_is_better, score.gated),
        )
        for metric, score in held.scores.items()
    )
    return BenchmarkMeasurement(
        held.benchmark,
        held.protocol,
        held.primary,
        scores,
        table_of(held) if held.outcomes else None,
        held.dataset,
        settings=held.settings,
    )


def table_of(held: BaselineBenchmark) -> SampleValues:
    """The samples' values that a baseline holds, the trials of each reduced."""
    samples = tuple(sorted(held.outcomes))
    rows = [[np.nan if v is None else v for v in held.outcomes[s]] for s in samples]
    scores = held.scores.items()
    return SampleValues(
        held.metrics,
        samples,
        tuple(held.clusters.get(sample, sample) for sample in samples),
        np.array(rows, dtype=np.float64).reshape(len(samples), len(held.metrics)),
        kinds={name: Metric(s.unit, s.higher_is_better, s.gated) for name, s in scores},
        perplexities=tuple(name for name, s in scores if s.unit == "perplexity"),
        trials=tuple(held.trials_of(sample) for sample in samples),
    )


def _composite(value: float | None) -> Score:
    reason = "a baseline keeps no standard error of its composite"
    return Score(METRIC, value, 0, 0, reason=reason)
