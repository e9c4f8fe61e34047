"""95% intervals of the difference between two measurements of one metric.

Differences are this run minus the baseline, in the unit of the metric. As for a single mean
(`scores.intervals`), the metric decides the formula, and not the values that it happened to have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..scores.intervals import (
    Floats,
    Interval,
    Kind,
    Partition,
    cluster_standard_error,
    hall_t_interval,
    t_quantile,
)
from ..scores.mover import block_diagonal, correlations_of_means, mover

# Both imagined movements together weigh half an observation when the size of one is estimated.
_WEIGHT = 0.25


def paired_interval(
    now: Floats, then: Floats, groups: Partition, kind: Kind, *, scale: float = 1.0
) -> Interval | None:
    """Interval of the mean difference over the samples that both sides have.

    Args:
        now: `[n]`, values of this run.
        then: `[n]`, the baseline's of the same samples.
        groups: the samples' clusters.
        kind: of the metric, as in `scores.intervals.interval_of_mean`: `bonett_price_interval` for
            shares and bounded values, `hall_t_interval` of the differences for others.
        scale: the largest value there can be of a bounded metric.

    Returns:
        The interval, in the unit of the values; None for one cluster, and for unbounded values
        whose differences all agree. Never of zero width.
    """
    if groups.clusters < 2:
        return None
    sums = groups.sums((now - then) / scale)
    if kind == "unbounded":
        low, high = hall_t_interval(sums, groups.sizes)
        if not low < high:
            return None
    else:
        low, high = bonett_price_interval(sums, groups.sizes)
    return float(low) * scale, float(high) * scale


def excluded_drop_p(
    gains: Floats, groups: Partition, kind: Kind, drop: float, *, scale: float = 1.0
) -> float | None:
    """One-sided p of a smaller drop: small where a drop of this size can be excluded.

    By the statistic of the paired interval: Bonett and Price's mean and standard error for shares
    and bounded values, the cluster-robust ones for others, with t of g - 1 degrees of freedom.

    Args:
        gains: `[n]`, differences that are positive where this run is better.
        drop: in the unit of the gains, positive.
        scale: as in `paired_interval`.

    Returns:
        p, or None for one cluster and for unbounded values whose differences all agree.
    """
    from scipy import special  # type: ignore[import-untyped]

    if groups.clusters < 2:
        return None
    if kind == "unbounded":
        mean, error = float(gains.mean()), cluster_standard_error(gains, groups)
    else:
        means, errors = _bonett_price(groups.sums(gains / scale), groups.sizes)
        mean, error = float(means) * scale, float(errors) * scale
    if not error:
        return None
    return float(special.stdtr(groups.clusters - 1, -(mean + drop) / error))


def bonett_price_interval(sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """95% interval of the mean difference of paired values in [0, 1].

    For single 0/1 samples it is Bonett and Price's ("Improved confidence intervals for a
    difference between proportions in paired designs", 2012): Wald's interval after one lost and
    one won sample have been added. Two clusters are added here which move by r in either
    direction; D_c are the clusters' summed differences, n_c their sizes:

        k = sum n_c^2 / n                        size of the clusters added
        r^2 = (sum D^4 + k^4/4) / (sum D^2 + k^2/4)
        m = sum D / (n + 2k)
        SE^2 = (sum (D_c - n_c m)^2 + (r - k m)^2 + (r + k m)^2) / (n + 2k)^2

    r is the size of a movement among those seen, weighted by what they add to the variance, and k
    (a whole cluster flips) where nothing moved. So graded values, which move a little in many
    samples, are not blurred by two whole flips. The quantile is that of t with g - 1 degrees of
    freedom.

    Args:
        sums: `[..., g]`, sums of the differences within clusters; g > 1.
        sizes: `[g]`, samples in each cluster.

    Returns:
        Low and high, `[...]` each, within -1 and 1 and never equal.
    """
    means, errors = _bonett_price(sums, sizes)
    reach = t_quantile(len(sizes) - 1) * errors
    seen = sums.sum(axis=-1) / sizes.sum()
    low = np.maximum(np.minimum(means - reach, seen), -1.0)
    return low, np.minimum(np.maximum(means + reach, seen), 1.0)


def _bonett_price(sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """m and SE of `bonett_price_interval`."""
    n = sizes.sum()
    added = (sizes @ sizes) / n
    squared = sums * sums
    squares, fourths = squared.sum(axis=-1), (squared * squared).sum(axis=-1)
    square = (fourths + _WEIGHT * added**4) / (squares + _WEIGHT * added**2)
    total = n + 2 * added
    means = sums.sum(axis=-1) / total
    # The two added clusters: (r - k m)^2 + (r + k m)^2.
    within = ((sums - sizes * means[..., None]) ** 2).sum(axis=-1)
    return means, np.sqrt(within + 2 * square + 2 * (added * means) ** 2) / total


def unpaired_interval(
    now: float, now_interval: Interval, then: float, then_interval: Interval
) -> Interval:
    """Interval of `now - then`, two independent estimates with their intervals (MOVER).

    From two intervals of shares this is Newcombe's construction (1998, "Interval estimation for
    the difference between independent proportions", method 10, there from Wilson's intervals).
    """
    return mover([now, then], [now_interval, then_interval], [1.0, -1.0])


@dataclass(frozen=True, slots=True)
class PairedColumns:
    """The weighted shares of one table, over the samples that both sides have.

    Attributes:
        now: `[n, m]`, values of this run.
        then: `[n, m]`, the baseline's of the same samples.
        weights: `[m]`.
        groups: the samples' clusters.
    """

    now: NDArray[np.float64]
    then: NDArray[np.float64]
    weights: Floats
    groups: Partition


def composite_interval(tables: Sequence[PairedColumns]) -> Interval | None:
    """Interval of the difference of two weighted sums of metrics, from those of the metrics.

    MOVER with the correlations of the differences within a table; tables are independent.

    Returns:
        The interval, or None when a metric of weight other than 0 has none.
    """
    estimates: list[float] = []
    intervals: list[Interval] = []
    weights: list[float] = []
    blocks: list[Floats] = []
    for table in tables:
        used = [i for i, weight in enumerate(table.weights.tolist()) if weight]
        for i in used:
            now, then = table.now[:, i], table.then[:, i]
            interval = paired_interval(now, then, table.groups, "share")
            if interval is None:
                return None
            estimates.append(float((now - then).mean()))
            intervals.append(interval)
            weights.append(float(table.weights[i]))
        blocks.append(correlations_of_means((table.now - table.then)[:, used], table.groups))
    if not weights:
        return None
    return mover(estimates, intervals, weights, block_diagonal(blocks))
