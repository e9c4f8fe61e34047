"""Baselines as measurements, and measurements of any source as baseline files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import Scalar, pretty
from .._util.names import epoch_in, step_in
from .._util.version import __version__
from ..gate.baseline import (
    FORMAT,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    baseline_benchmark,
    baseline_numbers,
)
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..scores.composite import METRIC
from ..scores.intervals import proportion_standard_error
from ..scores.metric import Metric
from ..scores.score import SampleValues, Score
from .baseline import dump, load
from .reported import reported_score
from .result import Result


def read_baseline(path: Path) -> Result:
    """Read a baseline file.

    Raises:
        CkptbenchError: it is no baseline of this version.
    """
    baseline = load(path)
    seq_len, facts = sequence_and_facts(baseline.settings)
    composite = baseline.composite
    reason = "a baseline has no standard error of its composite"
    measurement = Measurement(
        name=baseline.checkpoint,
        step=step_in(baseline.checkpoint),
        epoch=epoch_in(baseline.checkpoint),
        seq_len=seq_len,
        benchmarks=tuple(_benchmark(stored) for stored in baseline.benchmarks.values()),
        composite=Score(METRIC, composite.value, 0, 0, reason=reason) if composite else None,
        weights=composite.weights if composite else {},
        source=str(path),
        fingerprint=baseline.fingerprint,
        facts=facts,
    )
    return Result(path, "ckptbench", (measurement,))


def sequence_and_facts(
    settings: Mapping[str, Scalar],
) -> tuple[int | None, dict[str, Scalar]]:
    """The sequence length of an engine's settings, and the other settings."""
    seq_len = settings.get("seq_len")
    others = {name: value for name, value in settings.items() if name != "seq_len"}
    return seq_len if isinstance(seq_len, int) else None, others


def _benchmark(stored: BaselineBenchmark) -> BenchmarkMeasurement:
    scores = tuple(
        reported_score(
            metric,
            score.value,
            n=score.n if score.n is not None else stored.n,
            standard_error=score.standard_error,
            kind=Metric(score.unit, score.higher_is_better, score.gated),
        )
        for metric, score in stored.scores.items()
    )
    return BenchmarkMeasurement(
        stored.benchmark,
        stored.protocol,
        stored.primary,
        scores,
        table_of(stored) if stored.outcomes else None,
        stored.dataset,
        settings=stored.settings,
    )


def table_of(stored: BaselineBenchmark) -> SampleValues:
    """The samples' values in a baseline, with the trials of each reduced."""
    samples = tuple(sorted(stored.outcomes))
    rows = [[np.nan if v is None else v for v in stored.outcomes[s]] for s in samples]
    scores = stored.scores.items()
    return SampleValues(
        stored.metrics,
        samples,
        tuple(stored.clusters.get(sample, sample) for sample in samples),
        np.array(rows, dtype=np.float64).reshape(len(samples), len(stored.metrics)),
        kinds={name: Metric(s.unit, s.higher_is_better, s.gated) for name, s in scores},
        perplexities=tuple(name for name, s in scores if s.unit == "perplexity"),
        trials=tuple(stored.trials_of(sample) for sample in samples),
    )


def baseline_text(
    measurement: Measurement, result: Result, protocols: Mapping[str, str] | None = None
) -> str:
    """The text of a baseline file.

    Our own format where every benchmark has a protocol, else bare numbers by metric.

    Args:
        result: the source of the measurement.
        protocols: the protocol of a benchmark whose source reports none, such as
            `{"real": "real/whole-word"}`.

    Raises:
        CkptbenchError: a protocol is given for a benchmark that is not there or has its own, a
            checkpoint is incomplete, or there is no score.
    """
    given = dict(protocols or {})
    unstated = [b.benchmark for b in measurement.benchmarks if not b.protocol]
    for name in given:
        if name not in unstated:
            raise CkptbenchError(
                f"no benchmark {name!r} lacks a protocol{nearest(name, unstated)}",
                where="--protocol",
                remedy=f"Without one are {', '.join(unstated) or 'none'}.",
            )
    for bench in measurement.benchmarks:
        if bench.incomplete:
            raise CkptbenchError(
                f"{bench.protocol} is incomplete: {bench.incomplete}",
                where=measurement.source,
                remedy="Continue the run with the same --run-id first.",
            )
    if any(name not in given for name in unstated):
        return pretty(_bare(measurement))
    return dump(_baseline(measurement, result, given))


def _baseline(measurement: Measurement, result: Result, given: Mapping[str, str]) -> Baseline:
    benchmarks = {}
    for bench in measurement.benchmarks:
        protocol = bench.protocol or given[bench.benchmark]
        benchmarks[protocol] = _stored_benchmark(bench, protocol, result.origin)
    seq_len = {} if measurement.seq_len is None else {"seq_len": measurement.seq_len}
    summary = result.summary
    settings: Mapping[str, Any] = {}
    if summary is not None:
        settings = next(c.settings for c in summary.checkpoints if c.name == measurement.name)
    composite = measurement.composite
    return Baseline(
        format=FORMAT,
        checkpoint=measurement.name,
        fingerprint=measurement.fingerprint,
        settings=settings or seq_len,
        created=summary.started if summary is not None else "",
        ckptbench=__version__,
        benchmarks=benchmarks,
        composite=BaselineComposite(measurement.weights, composite.value) if composite else None,
    )


def _stored_benchmark(bench: BenchmarkMeasurement, protocol: str, origin: str) -> BaselineBenchmark:
    bench = replace(bench, protocol=protocol)
    # Samples of other tools have hashes of their own: later runs would find none in common.
    if bench.table is not None and origin == "ckptbench":
        return baseline_benchmark(bench)
    scores = tuple(score for score in bench.scores if score.higher_is_better is not None)
    return baseline_numbers(replace(bench, scores=scores))


def _bare(measurement: Measurement) -> dict[str, Any]:
    scores: dict[str, Score] = {}
    for bench in measurement.primary_benchmarks():
        for score in bench.scores:
            if score.value is None or score.higher_is_better is None:
                continue
            if score.metric in scores:
                raise CkptbenchError(
                    f"two benchmarks have the metric {score.metric}",
                    where=measurement.source,
                    remedy="Give their protocols with --protocol.",
                )
            scores[score.metric] = score
    if not scores:
        raise CkptbenchError("holds no score", where=measurement.source)
    n = {metric: score.n for metric, score in scores.items() if score.n}
    values: dict[str, Any] = {
        metric: {"value": score.value, "standard_error": score.standard_error}
        if _has_own_error(score)
        else score.value
        for metric, score in scores.items()
    }
    return {**values, "n": n} if n else values


def _has_own_error(score: Score) -> bool:
    """Whether a standard error is not the one that follows from n."""
    if score.standard_error is None or score.value is None:
        return False
    implied = proportion_standard_error(score.value, score.n) if score.share and score.n else None
    return score.standard_error != implied
