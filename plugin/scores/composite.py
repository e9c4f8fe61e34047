"""The composite: one number, the weighted mean of several metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, isfinite, sqrt

import numpy as np

from .._util.errors import CkptbenchError
from .intervals import cluster_standard_error, partition
from .mover import METHOD as MOVER
from .mover import block_diagonal, correlations_of_means, mover
from .score import SampleValues, Score

DEFAULT_WEIGHTS: Mapping[str, float] = {"real@1": 0.4, "real@5": 0.3, "lambada@1": 0.3}
METRIC = "score"


def check_weights(weights: Mapping[str, float]) -> None:
    """Refuse weights that make no weighted mean.

    Raises:
        CkptbenchError: no weight, a negative or not finite weight, or a sum other than 1.
    """
    where = "weights of the composite"
    for metric, weight in weights.items():
        if not isfinite(weight) or weight < 0:
            raise CkptbenchError(
                f"the weight of {metric} is {weight}",
                where=where,
                remedy="Give each metric a number from 0 to 1.",
            )
    total = fsum(weights.values())
    if abs(total - 1) > 1e-6:
        remedy = "Give at least one weight."
        if total:
            scaled = ", ".join(f"{name}={weight / total:.4g}" for name, weight in weights.items())
            remedy = f"In the same proportions: {scaled}."
        raise CkptbenchError(f"the weights sum to {total:.6g}, not 1", where=where, remedy=remedy)


def weighted_mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The sum of weight times value, each metric of `weights` in it."""
    return fsum(weight * values[metric] for metric, weight in weights.items() if weight)


def composite(
    parts: Mapping[str, Score], weights: Mapping[str, float], tables: Sequence[SampleValues]
) -> Score:
    """The weighted mean of the parts, with an interval from theirs.

    Metrics of one table share its samples, so their correlation by cluster counts in both the
    standard error and the interval; tables are independent of each other. The standard error is
    the cluster-robust one of the samples' weighted values, tables added in squares. The interval
    is `mover.mover`'s, so it is no surer than the parts' intervals allow.

    Args:
        parts: scores by metric name; more than the weights name may be there.
        weights: weight of each metric, accepted by `check_weights`. A weight of 0 needs no part.
        tables: the tables that the parts were folded from, each metric in one of them.

    Returns:
        A score named `score`; n and clusters are those of all tables that take part. Its value
        is None when a part is missing, and the reason names each. Its interval is None when a
        part has none.

    Raises:
        ValueError: a weighted part is in no table, or in more than one.
    """
    weighted = {metric: weight for metric, weight in weights.items() if weight}
    missing = [_missing(metric, parts.get(metric)) for metric in weighted]
    if any(missing):
        reason = "; ".join(filter(None, missing))
        return Score(METRIC, None, 0, 0, reason=reason)
    used = [table for table in tables if not weighted.keys().isdisjoint(table.metrics)]
    used_names = [metric for table in used for metric in table.metrics if metric in weighted]
    if sorted(used_names) != sorted(weighted):
        raise ValueError(
            f"each of {sorted(weighted)} must be in one table, not {sorted(used_names)}"
        )
    value = weighted_mean({metric: parts[metric].value or 0.0 for metric in weighted}, weighted)
    groups = [partition(table.clusters) for table in used]
    n = sum(len(table.samples) for table in used)
    clusters = sum(group.clusters for group in groups)
    errors: list[float] = []
    blocks = []
    for table, group in zip(used, groups, strict=True):
        columns = [i for i, metric in enumerate(table.metrics) if metric in weighted]
        weight = np.array([weighted[table.metrics[i]] for i in columns])
        values = table.values[:, columns]
        error = cluster_standard_error(values @ weight, group)
        if error is None:
            return Score(METRIC, value, n, clusters, reason="no standard error (only one cluster)")
        errors.append(error)
        blocks.append(correlations_of_means(values, group))
    standard_error = sqrt(fsum(error * error for error in errors))
    intervals = [interval for name in used_names if (interval := parts[name].interval) is not None]
    if len(intervals) < len(used_names):
        without = ", ".join(name for name in used_names if parts[name].interval is None)
        reason = f"{without} has no interval"
        return Score(METRIC, value, n, clusters, standard_error, reason=reason)
    estimates = [parts[name].value or 0.0 for name in used_names]
    interval = mover(
        estimates, intervals, [weighted[name] for name in used_names], block_diagonal(blocks)
    )
    return Score(METRIC, value, n, clusters, standard_error, interval, MOVER)


def _missing(metric: str, part: Score | None) -> str:
    if part is None:
        return f"{metric} was not measured"
    if part.value is None:
        return f"{metric} has no value ({part.reason})"
    return ""
