"""From the outcomes of trials to the table of samples, and from the table to scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp

import numpy as np
from numpy.typing import NDArray

from .intervals import Partition, cluster_standard_error, interval_of_mean, partition
from .metric import BITS_PER_BYTE, UNKNOWN, Metric, wanted_among
from .reducers import Named, kinds_of, observed_by, perplexities_of
from .score import Reducer, SampleValues, Score

# Why a sample has no value of a metric.
_NO_VALUE = "too few trials, or a value that is no finite number"
_NATS = Metric("nats")
_NO_LIKELIHOOD = "their responses hold no likelihood of the right answer"


@dataclass(frozen=True, slots=True)
class TrialValue:
    """The values of one scored trial. Errors and skipped samples have none.

    Attributes:
        sample: content hash of the sample.
        cluster: name of its cluster.
        trial: which of the sample's trials, from 0.
        values: a value for each k the benchmark function was called with, or one value; then what
            the reducer observes in the response itself.
    """

    sample: str
    cluster: str
    trial: int
    values: tuple[float, ...]


def tabulate(trials: Iterable[TrialValue], reducer: Reducer, benchmark: str) -> SampleValues:
    """One row a sample, its trials reduced.

    The table is the same whatever order the trials come in: rows are sorted by sample hash and a
    sample's trials by number. A trial that comes twice was run again: the later one counts.

    Raises:
        ValueError: a trial does not have as many values as the reducer wants.
    """
    trials = list(trials)
    width = len(reducer.names) if isinstance(reducer, Named) else len(reducer.ks) or 1
    width += len(observed_by(reducer))
    for outcome in trials:
        if len(outcome.values) != width:
            raise ValueError(
                f"trial {outcome.trial} of sample {outcome.sample} of {benchmark} has "
                f"{len(outcome.values)} values where {width} are expected"
            )
    rows, clusters = rows_by_sample(trials)
    metrics = reducer.metrics(benchmark)
    # numpy turns the None of a metric that does not exist into NaN.
    reduced = np.array([reducer.reduce(row) for row in rows.values()], dtype=np.float64)
    return SampleValues(
        metrics,
        tuple(rows),
        clusters,
        reduced.reshape(len(rows), len(metrics)),
        perplexities_of(reducer, benchmark),
        isinstance(reducer, Named),
        kinds_of(reducer, benchmark),
        tuple(map(len, rows.values())),
    )


def rows_by_sample(
    trials: Iterable[TrialValue],
) -> tuple[dict[str, list[tuple[float, ...]]], tuple[str, ...]]:
    """Each sample's trials, both sorted, and its cluster; of a repeated trial the later counts."""
    latest = {(outcome.sample, outcome.trial): outcome for outcome in trials}
    rows: dict[str, list[tuple[float, ...]]] = {}
    cluster_of: dict[str, str] = {}
    for outcome in map(latest.__getitem__, sorted(latest)):
        rows.setdefault(outcome.sample, []).append(outcome.values)
        cluster_of[outcome.sample] = outcome.cluster
    return rows, tuple(cluster_of.values())


def only(table: SampleValues, wanted: Sequence[str] | None) -> SampleValues:
    """The columns of the wanted metrics; see `metric.wanted_among`."""
    if wanted is None:
        return table
    metrics = wanted_among(table.metrics, tuple(wanted))
    indexes = [table.metrics.index(metric) for metric in metrics]
    return replace(table, metrics=metrics, values=table.values[:, indexes])


def impossible(reducer: Reducer, benchmark: str, trials: int) -> tuple[str, ...]:
    """The metrics that cannot exist with so many trials a sample, such as pass@5 of one."""
    if not reducer.several_trials:
        return ()
    width = (len(reducer.ks) or 1) + len(observed_by(reducer))
    values = reducer.reduce([(0.0,) * width] * trials)
    return tuple(
        metric
        for metric, value in zip(reducer.metrics(benchmark), values, strict=True)
        if value is None
    )


def without(table: SampleValues, metrics: Sequence[str]) -> SampleValues:
    """The table without some of its columns."""
    if not metrics:
        return table
    return only(table, [metric for metric in table.metrics if metric not in metrics])


def fold(table: SampleValues) -> tuple[Score, ...]:
    """The score of each metric of a table.

    A metric exists only when every sample has a value of it: the mean over those that happen to
    have enough trials would be another, easier or harder, benchmark. Where the benchmark itself
    gives some samples no value of a metric (`SampleValues.by_name`), the mean over the others is
    shown with that remark; it is no share of all samples, and not gated.
    """
    groups = partition(table.clusters)
    return tuple(
        _with_meaning(_column(table, metric, table.values[:, column], groups), table, column)
        for column, metric in enumerate(table.metrics)
    )


def _with_meaning(score: Score, table: SampleValues, column: int) -> Score:
    """The score with the declared meaning of its metric; values that are no shares are named."""
    # The unit is never guessed from values: a share of 27 comes from a scorer with another scale.
    kind = table.kind(score.metric)
    if kind.unit == "share":
        values = table.values[:, column]
        known = values[np.isfinite(values)]
        if len(known) and (known.min() < 0 or known.max() > 1):
            why = f"values from {known.min():.9g} to {known.max():.9g} are no shares (0 to 1)"
            return replace(score.of(UNKNOWN), reason=score.reason or why)
    if score.reason and score.value is not None and table.by_name and score.n < len(table.samples):
        return replace(score.of(kind), gated=False)
    return score.of(kind)


def _column(
    table: SampleValues, metric: str, values: NDArray[np.float64], groups: Partition
) -> Score:
    if metric in table.perplexities:
        return _perplexity(metric, values, groups)
    known = np.isfinite(values)
    if not table.by_name or known.all() or not known.any():
        return _score(metric, values, groups, table.kind(metric))
    clusters = [name for name, has in zip(table.clusters, known, strict=True) if has]
    score = _score(metric, values[known], partition(clusters), table.kind(metric))
    remark = f"of the {score.n:,} of {len(values):,} samples that have one; not gated"
    return replace(score, reason=remark)


def _score(metric: str, values: NDArray[np.float64], groups: Partition, kind: Metric) -> Score:
    n = len(values)
    if not n:
        return Score(metric, None, 0, 0, reason="no sample was scored")
    missing = int(n - np.isfinite(values).sum())
    if missing:
        why = _NO_LIKELIHOOD if kind.unit == BITS_PER_BYTE.unit else _NO_VALUE
        reason = f"{metric} does not exist for {missing:,} of {n:,} samples: {why}"
        return Score(metric, None, n - missing, groups.clusters, reason=reason)
    return _mean(metric, values, groups, kind)


def _mean(metric: str, values: NDArray[np.float64], groups: Partition, kind: Metric) -> Score:
    standard_error = cluster_standard_error(values, groups)
    largest = kind.largest
    # Values outside of the declared bounds are no such metric; the caller says so.
    bounded = largest is not None and values.min() >= 0 and values.max() <= largest
    made = interval_of_mean(
        values, groups, "bounded" if bounded else "unbounded", scale=largest or 1.0
    )
    reason = made.reason if standard_error is not None else "no standard error (only one cluster)"
    return Score(
        metric,
        float(values.mean()),
        len(values),
        groups.clusters,
        standard_error,
        made.interval,
        made.method,
        reason,
    )


def _perplexity(metric: str, logprobs: NDArray[np.float64], groups: Partition) -> Score:
    """`exp(-mean)` of log likelihoods, as lm-eval's `perplexity` is; lower is better.

    The standard error is that of the mean logarithm times the perplexity (the delta method); the
    interval is the one of the mean logarithm, taken through the exponential, so never below 0.
    """
    if not len(logprobs) or not np.isfinite(logprobs).all():
        return _score(metric, logprobs, groups, _NATS)
    of_mean = _mean(metric, logprobs, groups, _NATS)
    value = exp(-float(logprobs.mean()))
    error = of_mean.standard_error
    known = of_mean.interval
    return replace(
        of_mean,
        value=value,
        standard_error=None if error is None else error * value,
        interval=None if known is None else (exp(-known[1]), exp(-known[0])),
        method=f"log-{of_mean.method}" if known else "",
    )
