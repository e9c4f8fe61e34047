"""The composite: one number, the weighted mean of several metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite

import numpy as np

from ..errors import CkptbenchError, nearest
from .intervals import bootstrap_means, partition
from .score import SampleValues, Score

DEFAULT_WEIGHTS: Mapping[str, float] = {"real@1": 0.4, "real@5": 0.3, "lambada@1": 0.3}
REPLICATES = 2_000
METRIC = "score"


def check_weights(weights: Mapping[str, float], known: Iterable[str] | None = None) -> None:
    """Refuse weights that make no weighted mean.

    Args:
        known: every metric a weight may name; None does not check the names.

    Raises:
        CkptbenchError: no weight, a negative or not finite weight, a sum other than 1, or an
            unknown metric.
    """
    where = "weights of the composite"
    names = None if known is None else sorted(known)
    for metric, weight in weights.items():
        if names is not None and metric not in names:
            raise CkptbenchError(
                f"unknown metric {metric!r}{nearest(metric, names)}",
                where=where,
                remedy=f"Known are {', '.join(names) or 'none'}.",
            )
        if not isfinite(weight) or weight < 0:
            raise CkptbenchError(
                f"the weight of {metric} is {weight}",
                where=where,
                remedy="Give each metric a number from 0 to 1.",
            )
    total = fsum(weights.values())
    if abs(total - 1) > 1e-6:
        scaled = (
            ", ".join(f"{name}={weight / total:.4g}" for name, weight in weights.items())
            if (total)
            else ""
        )
        raise CkptbenchError(
            f"the weights sum to {total:.6g}, not 1",
            where=where,
            remedy=f"In the same proportions: {scaled}." if scaled else "Give at least one weight.",
        )


def weighted_mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The sum of weight times value, each metric of `weights` in it."""
    return fsum(weight * values[metric] for metric, weight in weights.items() if weight)


def composite(
    parts: Mapping[str, Score],
    weights: Mapping[str, float],
    tables: Sequence[SampleValues],
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Score:
    """The weighted mean of the parts, with an interval from the joint resampling of clusters.

    Metrics of one table share its samples and are resampled together, so the correlation of
    Real@1 and Real@5 is in the interval; tables are resampled independently of each other. The
    standard error is the standard deviation of the replicates and the interval runs from their
    2.5th to their 97.5th percentile.

    Args:
        parts: scores by metric name; more than the weights name may be there.
        weights: weight of each metric, accepted by `check_weights`. A weight of 0 needs no part.
        tables: the tables that the parts were folded from, each metric in one of them.

    Returns:
        A score named `score`; n and clusters are those of all tables that take part. Its value
        is None when a part is missing, and the reason names each.

    Raises:
        ValueError: a weighted part is in no table, or in more than one.
    """
    weighted = {metric: weight for metric, weight in weights.items() if weight}
    missing = [_missing(metric, parts.get(metric)) for metric in weighted]
    if any(missing):
        reason = "; ".join(filter(None, missing))
        return Score(METRIC, None, 0, 0, reason=reason)
    used = [table for table in tables if not weighted.keys().isdisjoint(table.metrics)]
    held = [metric for table in used for metric in table.metrics if metric in weighted]
    if sorted(held) != sorted(weighted):
        raise ValueError(f"each of {sorted(weighted)} must be in one table, not {sorted(held)}")
    value = weighted_mean({metric: parts[metric].value or 0.0 for metric in weighted}, weighted)
    groups = [partition(table.clusters) for table in used]
    n = sum(len(table.samples) for table in used)
    clusters = sum(group.clusters for group in groups)
    if min(group.clusters for group in groups) < 2:
        return Score(METRIC, value, n, clusters, reason="one cluster has no standard error")
    rng = np.random.default_rng(seed)
    drawn = np.zeros(replicates)
    for table, group in zip(used, groups, strict=True):
        columns = [i for i, metric in enumerate(table.metrics) if metric in weighted]
        weight = np.array([weighted[table.metrics[i]] for i in columns])
        means = bootstrap_means(table.values[:, columns], group, replicates=replicates, rng=rng)
        drawn += means @ weight
    low, high = np.percentile(drawn, [2.5, 97.5])
    standard_error = float(drawn.std(ddof=1))
    interval = float(low), float(high)
    return Score(METRIC, value, n, clusters, standard_error, interval, "cluster-bootstrap")


def _missing(metric: str, part: Score | None) -> str:
    if part is None:
        return f"{metric} was not measured"
    if part.value is None:
        return f"{metric} has no value ({part.reason})"
    return ""
