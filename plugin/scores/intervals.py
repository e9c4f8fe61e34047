"""Standard errors and intervals of a mean, for independent and for clustered samples.

Notation: n samples with values x in g clusters; S_c is the sum of cluster c's values and n_c its
size; the mean is m = sum(x) / n. One partition of the samples feeds the standard error, the
degrees of freedom and the interval, so the three cannot disagree about what is independent.

There are two methods, and the metric decides which: `korn-graubard` where values lie in a known
range (shares, pass@k, graded answers), `hall-t` where they do not (log likelihoods, bits per byte,
seconds). The choice does not depend on the values. `tests/bench/coverage.py` measures the coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]

CONFIDENCE = 0.95
_UPPER_TAIL = 0.5 + CONFIDENCE / 2
_NORMAL_QUANTILE = NormalDist().inv_cdf(_UPPER_TAIL)
BOUNDED_METHOD = "korn-graubard"
UNBOUNDED_METHOD = "hall-t"
# Sums that should be equal differ in their last digits with the order of addition.
_ROUNDING = 1e-12

Kind = Literal["share", "bounded", "unbounded"]
Floats = NDArray[np.float64]


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
    correction = groups.clusters / (groups.clusters - 1)
    return float(sqrt(correction * float(deviations @ deviations)) / len(values))


def proportion_standard_error(value: float, n: int) -> float | None:
    """`sqrt(p (1-p) / (n-1))`: `cluster_standard_error` when only the share and n are known."""
    return sqrt(value * (1 - value) / (n - 1)) if n > 1 else None


def normal_interval(center: float, standard_error: float) -> Interval:
    """The 95% interval `center -+ 1.96 * standard_error`, of a source that gives only these."""
    return t_interval(center, standard_error, inf)


def t_quantile(degrees_of_freedom: float) -> float:
    """The 97.5% quantile of a t distribution; the normal one at infinity."""
    if degrees_of_freedom == inf:
        return _NORMAL_QUANTILE
    from scipy import special  # type: ignore[import-untyped]

    return float(special.stdtrit(degrees_of_freedom, _UPPER_TAIL))


def t_interval(center: float, standard_error: float, degrees_of_freedom: float) -> Interval:
    """The 95% interval `center -+ t * standard_error`."""
    reach = t_quantile(degrees_of_freedom) * standard_error
    return center - reach, center + reach


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """The interval of a mean.

    Attributes:
        interval: 95%, in the unit of the values; None where it cannot be estimated.
        method: `korn-graubard` or `hall-t`; empty without an interval.
        reason: why there is no interval; empty with one.
    """

    interval: Interval | None
    method: str = ""
    reason: str = ""


def interval_of_mean(
    values: Floats, groups: Partition, kind: Kind, *, scale: float = 1.0
) -> MeanInterval:
    """The 95% interval of the mean of one metric.

    Args:
        values: `[n]`, a value a sample, n > 0.
        groups: the samples' clusters.
        kind: of the metric, whatever values it has in this run: a `share` of right answers and a
            `bounded` mean of values from 0 to `scale` have one formula, `korn_graubard_interval`;
            `unbounded` ones have `hall_t_interval`.
        scale: the largest value there can be of a bounded metric, such as 100 points.

    Raises:
        ValueError: a value of a bounded metric is below 0 or above `scale`.
    """
    if kind != "unbounded" and (values.min() < 0 or values.max() > scale):
        raise ValueError(f"values from {values.min():g} to {values.max():g}, not 0 to {scale:g}")
    if groups.clusters < 2:
        return MeanInterval(None, reason="no interval (only one cluster)")
    if kind == "unbounded":
        low, high = hall_t_interval(groups.sums(values), groups.sizes)
        if not low < high:
            return MeanInterval(None, reason="the values are all alike, which says nothing of them")
        return MeanInterval((float(low), float(high)), UNBOUNDED_METHOD)
    low, high = korn_graubard_interval(groups.sums(values / scale), groups.sizes)
    return MeanInterval((float(low) * scale, float(high) * scale), BOUNDED_METHOD)


def share_interval(
    share: float, n: int | None, standard_error: float | None = None
) -> Interval | None:
    """`korn_graubard_interval` of a share whose n, standard error, or both are all that is known.

    Without a standard error the n samples are independent and 0/1. With one the effective n is
    K = n and v = n SE^2 put into the formula there, and plainly `m (1-m) / SE^2` without an n.

    Returns:
        The interval, or None for n below 2, as for one cluster, and where it cannot be estimated
        (a standard error of 0 without an n).
    """
    if n is not None and n < 2:
        return None
    worst = share * (1 - share)
    if n is not None:
        seen = worst if standard_error is None else n * standard_error**2
        effective = n * (n * worst + 0.25) / (n * seen + 0.25)
    elif standard_error and worst > 0:
        effective = worst / standard_error**2
    else:
        return None
    degrees_of_freedom = inf if n is None else n - 1
    low, high = _beta_interval(np.array([share]), np.array([effective]), degrees_of_freedom)
    return float(low[0]), float(high[0])


def korn_graubard_interval(sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """95% interval of a mean of values in [0, 1], 0/1 or not, clustered or not.

    The exact (Clopper and Pearson 1934) interval at the effective number of samples, with the t
    quantile of g - 1 degrees of freedom (Korn and Graubard 1998, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data"). The
    effective number is how many independent 0/1 samples have a mean as certain as this one:

        K = n^2 / sum n_c^2          (g for clusters of one size)
        v = min(K V, m (1-m))        V the cluster-robust variance of the mean
        effective n = K (g m (1-m) + 1/4) / (g v + 1/4)

    Values in [0, 1] with mean m vary at most as 0/1 values do, by m (1-m). The 1/4, the variance
    of a coin, is one more observation which says that they do; without it, values that happen to
    agree would claim certainty. For independent 0/1 samples v is m (1-m) and the effective n is n.

    Wilson's interval has a coverage of 0.90 for shares near 0.02 at n = 28 to 50; this one has
    at least 0.95 for every share and n of independent 0/1 samples.

    Args:
        sums: `[..., g]`, sums of the values within clusters; g > 1.
        sizes: `[g]`, samples in each cluster.

    Returns:
        Low and high, `[...]` each, within 0 and 1 and never equal.
    """
    n, g = sizes.sum(), len(sizes)
    means = sums.sum(axis=-1) / n
    worst = means * (1 - means)
    kish = n * n / (sizes @ sizes)
    seen = np.minimum(kish * squared_error(sums, sizes, means), worst)
    effective = kish * (g * worst + 0.25) / (g * seen + 0.25)
    return _beta_interval(means, effective, g - 1)


def hall_t_interval(sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """95% interval of a mean of values without bounds.

    The t interval on the cluster-robust standard error, and the one that Hall's transformation
    takes for the skewness of the clusters' deviations (Hall 1992, "On the removal of skewness by
    transformation"); of each bound the outer one. Surprisal is skewed, and the t interval alone
    has a coverage of 0.87 for n = 28 values of a gamma distribution of shape 1/4.

    The reach is made wider by 1 + 1/g: with few clusters the rare large values are often not among
    those seen (coverage 0.924 without it where jumps make a tenth of n = 28 differences).

    With T = (m - mu) / SE and a = skewness / sqrt(g), `T + a T^2 / 3 + a^2 T^3 / 27 + a / 6` is
    nearly normal, whatever the skewness, and is solved for mu in closed form.

    Args:
        sums: `[..., g]`, sums of the values within clusters; g > 1.
        sizes: `[g]`, samples in each cluster.

    Returns:
        Low and high, `[...]` each; equal to the mean when all clusters agree (but for rounding),
        which is no interval.
    """
    n, g = sizes.sum(), len(sizes)
    means = sums.sum(axis=-1) / n
    errors = np.sqrt(squared_error(sums, sizes, means))
    largest = np.abs(sums / sizes).max(axis=-1)
    errors = np.where(errors > _ROUNDING * largest, errors, 0.0)
    deviations = sums - sizes * means[..., None]
    squares = deviations * deviations
    spread = np.sqrt(squares.mean(axis=-1) * g / (g - 1))
    skewness = (squares * deviations).mean(axis=-1) / np.where(errors > 0, spread, np.inf) ** 3
    quantile = t_quantile(g - 1)
    upper = _hall_inverse(quantile, skewness / sqrt(g))
    lower = _hall_inverse(-quantile, skewness / sqrt(g))
    errors = errors * (1 + 1 / g)
    low = means - errors * np.maximum(upper, quantile)
    return low, means - errors * np.minimum(lower, -quantile)


def squared_error(sums: Floats, sizes: Floats, means: Floats) -> Floats:
    """`[...]`: the square of `cluster_standard_error`, from the sums of clusters `[..., g]`."""
    deviations = sums - sizes * means[..., None]
    g = len(sizes)
    squared: Floats = (deviations**2).sum(axis=-1) * (g / (g - 1)) / sizes.sum() ** 2
    return squared


def _beta_interval(
    shares: Floats, effective: Floats, degrees_of_freedom: float
) -> tuple[Floats, Floats]:
    """Clopper and Pearson's bounds of `shares` at `effective` samples, which need not be whole.

    The quantile of t instead of the normal one enters as fewer samples, as Korn and Graubard do.
    """
    from scipy import special

    quantile = t_quantile(degrees_of_freedom)
    n = effective * (_NORMAL_QUANTILE / quantile) ** 2
    hits, misses = shares * n, (1 - shares) * n
    # A beta distribution with a parameter of 0 is a point; shares a rounding error from it too.
    none, all_ = shares <= _ROUNDING, shares >= 1 - _ROUNDING
    low = special.betaincinv(np.where(none, 1.0, hits), misses + 1, 1 - _UPPER_TAIL)
    high = special.betaincinv(hits + 1, np.where(all_, 1.0, misses), _UPPER_TAIL)
    low, high = np.where(none, 0.0, low), np.where(all_, 1.0, high)
    below: Floats = np.minimum(low, shares)
    above: Floats = np.maximum(high, shares)
    return below, above


def _hall_inverse(value: float, a: Floats) -> Floats:
    """T for which `T + a T^2 / 3 + a^2 T^3 / 27 + a / 6` is `value`; `value` itself at a = 0."""
    straight = np.abs(a) < 1e-6
    divisor = np.where(straight, 1.0, a)
    bent = 3 * (np.cbrt(1 + divisor * (value - divisor / 6)) - 1) / divisor
    solved: Floats = np.where(straight, value, bent)
    return solved
