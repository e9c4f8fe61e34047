"""Standard errors and intervals of a mean, for independent and for clustered samples.

Notation: n samples with values x in g clusters; S_c is the sum of cluster c's values and n_c its
size; the mean is m = sum(x) / n. One partition of the samples feeds the standard error, the
degrees of freedom and the bootstrap, so the three cannot disagree about what is independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]

CONFIDENCE = 0.95
_UPPER_TAIL = 0.5 + CONFIDENCE / 2
_NORMAL_QUANTILE = NormalDist().inv_cdf(_UPPER_TAIL)
_DRAWS_IN_MEMORY = 2_000_000


@dataclass(frozen=True, slots=True)
class Partition:
    """Which sample is in which cluster.

    Attributes:
        index: `[n]`, the number of each sample's cluster, from 0.
        sizes: `[g]`, samples in each cluster.
    """

    index: NDArray[np.intp]
    sizes: NDArray[np.float64]

    @property
    def clusters(self) -> int:
        """Number of clusters, g."""
        return len(self.sizes)

    @property
    def degrees_of_freedom(self) -> int:
        """g - 1: one is spent on the mean."""
        return self.clusters - 1

    @property
    def independent(self) -> bool:
        """Whether every cluster is one sample."""
        return self.clusters == len(self.index)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """`[g]`: the sum of `values`, `[n]`, within each cluster."""
        totals = np.bincount(self.index, weights=values, minlength=self.clusters)
        return totals.astype(np.float64)


def partition(clusters: Sequence[str]) -> Partition:
    """Number the clusters of n samples in the order they first appear."""
    numbers: dict[str, int] = {}
    index = np.fromiter(
        (numbers.setdefault(name, len(numbers)) for name in clusters), np.intp, len(clusters)
    )
    sizes = np.bincount(index, minlength=len(numbers)).astype(np.float64)
    return Partition(index, sizes)


def cluster_standard_error(values: NDArray[np.float64], groups: Partition) -> float | None:
    """Cluster-robust standard error of the mean of `values`, `[n]`.

    `sqrt(g / (g-1) * sum_c (S_c - n_c m)^2) / n` (Liang and Zeger 1986, with the usual
    small-sample factor; Miller 2024, "Adding Error Bars to Evals"). With one sample in each
    cluster it is the textbook `s / sqrt(n)`, and for 0/1 values `sqrt(p (1-p) / (n-1))`.

    Returns:
        The standard error in the unit of `values`, or None for fewer than two clusters.
    """
    if groups.clusters < 2:
        return None
    deviations = groups.sums(values - values.mean())
    correction = groups.clusters / groups.degrees_of_freedom
    return float(sqrt(correction * float(deviations @ deviations)) / len(values))


def proportion_standard_error(value: float, n: int) -> float | None:
    """`sqrt(p (1-p) / (n-1))`: `cluster_standard_error` when only the share and n are known."""
    return sqrt(value * (1 - value) / (n - 1)) if n > 1 else None


def t_interval(center: float, standard_error: float, degrees_of_freedom: float) -> Interval:
    """The 95% interval `center -+ t * standard_error`; unbounded quantities, so not clipped."""
    from scipy import special  # type: ignore[import-untyped]

    reach = float(special.stdtrit(degrees_of_freedom, _UPPER_TAIL)) * standard_error
    return center - reach, center + reach


def normal_interval(center: float, standard_error: float) -> Interval:
    """The 95% interval `center -+ 1.96 * standard_error`."""
    reach = _NORMAL_QUANTILE * standard_error
    return center - reach, center + reach


def wilson_interval(share: float, n: int) -> Interval:
    """Wilson's 95% score interval of a proportion (Wilson 1927), for n > 0 independent samples."""
    z = _NORMAL_QUANTILE
    shrink = 1 + z * z / n
    center = (share + z * z / (2 * n)) / shrink
    reach = z / shrink * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the bound is the share itself; rounding must not push it a hair outside.
    return min(max(center - reach, 0.0), share), max(min(center + reach, 1.0), share)


def bootstrap_means(
    values: NDArray[np.float64], groups: Partition, *, replicates: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Means of m columns over clusters drawn with replacement, all columns in one draw.

    A replicate draws g clusters and divides the sum of their values by the number of their
    samples. The standard deviation of a column of the result is that mean's standard error.

    Args:
        values: `[n, m]`.

    Returns:
        `[replicates, m]`.
    """
    g = groups.clusters
    sums = np.stack([groups.sums(column) for column in values.T] + [groups.sizes], axis=1)
    step = max(1, _DRAWS_IN_MEMORY // g)
    parts = []
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        drawn = rng.integers(g, size=(rows, g)) + g * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * g).reshape(rows, g)
        parts.append(times.astype(np.float64) @ sums)
    totals = np.concatenate(parts)
    means: NDArray[np.float64] = totals[:, :-1] / totals[:, -1:]
    return means
