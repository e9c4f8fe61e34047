"""A score beside the baseline's: paired, unpaired, or as two bare numbers.

Higher is better in every metric. Differences are this run minus the baseline, as fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..scores.intervals import (
    cluster_standard_error,
    normal_interval,
    partition,
    proportion_standard_error,
    t_interval,
)
from ..scores.score import SampleValues, Score
from .mde import POWER, detectable_drop
from .permutation_test import NO_DIFFERENCE, PValues, mcnemar, sign_flip_test
from .verdict import Comparison

Column = Mapping[str, float]


def compare_paired(
    metric: str,
    current: Column,
    baseline: Column,
    clusters: Mapping[str, str],
    *,
    alpha: float = 0.05,
    seed: int = 0,
) -> Comparison | None:
    """Compare one metric over the samples that both sides have.

    The standard error is the cluster-robust one of the mean of the samples' differences, the
    interval the t interval with clusters - 1 degrees of freedom; both are None for one cluster.

    Args:
        current: value by sample hash.
        baseline: the same of the baseline.
        clusters: cluster name by sample hash, as this run has them.
        alpha: level of the test of this one metric, for `mde`: under Holm's
            correction the gate's alpha divided by the number of gated metrics.

    Returns:
        The comparison, or None when the two sides have no sample in common.
    """
    common = sorted(current.keys() & baseline.keys())
    if not common:
        return None
    now = np.array([current[sample] for sample in common], dtype=np.float64)
    then = np.array([baseline[sample] for sample in common], dtype=np.float64)
    names = [clusters[sample] for sample in common]
    return _paired(metric, [_Pairs(now, then, names)], alpha, seed)


def compare_composite(
    metric: str,
    weights: Mapping[str, float],
    tables: Sequence[SampleValues],
    baseline: Mapping[str, Column],
    *,
    alpha: float = 0.05,
    seed: int = 0,
) -> Comparison | None:
    """Compare a weighted mean of metrics over the samples that both sides have.

    Within a table a sample's differences are weighted and added before clusters are formed, so
    what its metrics share is in the error; tables are independent. Signs flip for a cluster as a
    whole, in all tables at once.

    Args:
        weights: weight of each metric; those of weight 0 are left out.
        tables: this run's tables, each metric in one of them.
        baseline: value by sample hash of each metric.

    Returns:
        The comparison, or None when a metric is in no table or has no sample in common.
    """
    weighted = {name: weight for name, weight in weights.items() if weight}
    used = [table for table in tables if not weighted.keys().isdisjoint(table.metrics)]
    held = {name for table in used for name in table.metrics} & baseline.keys()
    if not weighted or not weighted.keys() <= held:
        return None
    parts = []
    for table in used:
        names = [name for name in table.metrics if name in weighted]
        columns = [{**_column(table, name)} for name in names]
        sides = [*columns, *(baseline[name] for name in names)]
        common = sorted(set(table.samples).intersection(*sides))
        if not common:
            return None
        weight = np.array([weighted[name] for name in names])
        now = np.array([[column[sample] for column in columns] for sample in common])
        then = np.array([[baseline[name][sample] for name in names] for sample in common])
        cluster_of = dict(zip(table.samples, table.clusters, strict=True))
        parts.append(_Pairs(now @ weight, then @ weight, [cluster_of[name] for name in common]))
    return _paired(metric, parts, alpha, seed)


def compare_unpaired(
    metric: str,
    current: float,
    current_error: float | None,
    current_n: int,
    baseline: float,
    *,
    baseline_error: float | None = None,
    baseline_n: int | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Compare two numbers measured on samples that cannot be matched.

    The standard error of the difference is the root of the two squared ones, and the test is
    normal. A standard error the baseline does not state is that of a proportion over its n. When
    neither side varies at all, the test pools the two shares instead.

    Args:
        current_error: standard error of `current`.
        current_n: samples of this run.
        baseline_error: the standard error the baseline states.
        baseline_n: the n the baseline states.
        alpha: level of the test of this one metric, for `mde`.
    """
    from scipy import special  # type: ignore[import-untyped]

    difference = current - baseline
    if baseline_error is None and baseline_n is not None and 0 <= baseline <= 1:
        baseline_error = proportion_standard_error(baseline, baseline_n)
    if baseline_error is None or current_error is None:
        return Comparison(metric, "unpaired", current, baseline, current_n, difference)
    standard_error = sqrt(current_error**2 + baseline_error**2)
    tested = standard_error
    if not tested and difference and baseline_n:
        total = current_n + baseline_n
        pooled = (current * current_n + baseline * baseline_n) / total
        tested = sqrt(max(0.0, pooled * (1 - pooled)) * (1 / current_n + 1 / baseline_n))
    p = _normal(difference, tested)
    reach = float(special.ndtri(1 - alpha) + special.ndtri(POWER)) * standard_error
    return Comparison(
        metric,
        "unpaired",
        current,
        baseline,
        current_n,
        difference,
        standard_error=standard_error,
        interval=normal_interval(difference, standard_error),
        p_value=p.two_sided if p else None,
        p_worse=p.worse if p else None,
        mde=reach or None,
    )


def compare_point(metric: str, current: float, baseline: float) -> Comparison:
    """Two numbers and their difference: without an n nothing can be tested."""
    return Comparison(metric, "point", current, baseline, None, current - baseline)


def compare_score(
    score: Score,
    table: SampleValues,
    *,
    outcomes: Column,
    value: float | None,
    standard_error: float | None = None,
    n: int | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Comparison | None:
    """The best comparison that what the baseline holds of a metric allows.

    Args:
        score: this run's score.
        table: the table it was folded from.
        outcomes: the baseline's value by sample hash; empty when it holds only numbers.
        value: the baseline's score; with its `standard_error` and `n` as far as it states them.

    Returns:
        `paired` when the baseline holds samples, and then None when none of them is in the
        table: other samples are another benchmark. Otherwise `unpaired` with an n or a standard
        error, `point` without. None when either side has no value.
    """
    if outcomes:
        clusters = dict(zip(table.samples, table.clusters, strict=True))
        current = _column(table, score.metric)
        return compare_paired(score.metric, current, outcomes, clusters, alpha=alpha, seed=seed)
    if value is None or score.value is None:
        return None
    if n is None and standard_error is None:
        return compare_point(score.metric, score.value, value)
    return compare_unpaired(
        score.metric,
        score.value,
        score.standard_error,
        score.n,
        value,
        baseline_error=standard_error,
        baseline_n=n,
        alpha=alpha,
    )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Values of the same n samples now and then, `[n]` each, and the samples' clusters."""

    now: NDArray[np.float64]
    then: NDArray[np.float64]
    clusters: Sequence[str]


def _paired(metric: str, parts: Sequence[_Pairs], alpha: float, seed: int) -> Comparison:
    """Compare the sum of the parts' means; the parts are independent of each other."""
    contributions, errors, degrees = [], [], 0
    closed_form = len(parts) == 1
    for part in parts:
        groups = partition(part.clusters)
        difference = part.now - part.then
        contributions.append(groups.sums(difference) / len(difference))
        errors.append(cluster_standard_error(difference, groups))
        degrees += groups.degrees_of_freedom
        closed_form &= groups.independent and _binary(part.now) and _binary(part.then)
    changes = np.concatenate([part.now - part.then for part in parts])
    # Equal values that were reached by other sums may differ in their last digit.
    lost, won = int((changes < -1e-12).sum()), int((changes > 1e-12).sum())
    moved = np.concatenate(contributions)
    p = mcnemar(lost, won) if closed_form else sign_flip_test(moved, seed=seed)
    known = [error for error in errors if error is not None]
    standard_error = sqrt(sum(e * e for e in known)) if len(known) == len(errors) else None
    now = float(sum(part.now.mean() for part in parts))
    then = float(sum(part.then.mean() for part in parts))
    shift = now - then
    return Comparison(
        metric,
        "paired",
        now,
        then,
        len(changes),
        shift,
        standard_error=standard_error,
        interval=None if standard_error is None else t_interval(shift, standard_error, degrees),
        lost=lost,
        won=won,
        p_value=p.two_sided,
        p_worse=p.worse,
        mde=detectable_drop(moved, n=len(changes), alpha=alpha),
    )


def _column(table: SampleValues, metric: str) -> dict[str, float]:
    """A metric's value by sample hash, of the samples that have one."""
    values = table.values[:, table.metrics.index(metric)]
    return {
        sample: float(value)
        for sample, value in zip(table.samples, values, strict=True)
        if np.isfinite(value)
    }


def _binary(values: NDArray[np.float64]) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _normal(difference: float, standard_error: float) -> PValues | None:
    from scipy import special  # type: ignore[import-untyped]

    if not standard_error:
        return None if difference else NO_DIFFERENCE
    z = difference / standard_error
    return PValues(
        float(special.ndtr(z)), float(special.ndtr(-z)), 2 * float(special.ndtr(-abs(z)))
    )
