"""Compare a score with the baseline's: paired, unpaired, or as two bare numbers.

Values and differences are in the metric's own unit; differences are this run minus the baseline.
A *gain* is a difference that is positive when this run is better.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from ..scores.intervals import (
    Kind,
    Partition,
    cluster_standard_error,
    partition,
    share_interval,
    t_interval,
)
from ..scores.metric import Metric
from ..scores.reducers import estimate_pass_at_k
from ..scores.score import SampleValues, Score
from .baseline import BaselineBenchmark
from .difference_intervals import excluded_drop_p, paired_interval, unpaired_interval
from .mde import (
    Rule,
    clustered_shares_mde,
    errors_mde,
    graded_mde,
    paired_shares_mde,
    shift_mde,
    unpaired_shares_mde,
)
from .permutation_test import PValues, sign_flip_test
from .sequential import Look, sequential_p
from .trials_test import trials_test
from .unpaired_test import share_error, suissa_shuster_test, welch_degrees, welch_test
from .verdict import Comparison, drop_to_see

_PASS_AT_K = re.compile(r"pass@(\d+)")
# Equal values that were summed in another order may differ in their last digit.
EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Pairs:
    """A metric's values of the same n samples now and then.

    Attributes:
        now: `[n]`, this run's.
        then: `[n]`, the baseline's.
        groups: the samples' clusters.
        now_trials: `[n]`, answers that a value was reduced from.
        then_trials: `[n]`, likewise.
    """

    now: NDArray[np.float64]
    then: NDArray[np.float64]
    groups: Partition
    now_trials: NDArray[np.int64]
    then_trials: NDArray[np.int64]


def compare_score(
    score: Score, table: SampleValues | None, reference: BaselineBenchmark, rule: Rule
) -> Comparison | None:
    """The best comparison that the baseline's data on a metric allow.

    Args:
        table: the table that the score was computed from; None where only numbers are known.

    Returns:
        `paired` when both sides have samples, and then None when they have none in common: other
        samples are another benchmark. Otherwise `unpaired` with an n or a standard error, `point`
        without. None when either side has no value.
    """
    pairs = common_samples([score.metric], table, reference)
    if pairs is not None and table is not None:
        compare = _perplexity if score.metric in table.perplexities else _paired
        return compare(score, pairs[0], rule) if pairs else None
    reported = reference.scores.get(score.metric)
    if reported is None or reported.value is None or score.value is None:
        return None
    n = reported.n if reported.n is not None else reference.n
    return compare_numbers(
        score, reported.value, n=n or None, standard_error=reported.standard_error, rule=rule
    )


def common_samples(
    metrics: Sequence[str], table: SampleValues | None, reference: BaselineBenchmark
) -> list[Pairs] | None:
    """The values of each metric over the samples that have all of them on both sides.

    Returns:
        One for each metric, over the same samples, and an empty list without a common sample;
        None where a side has no sample's value of one of them.
    """
    columns = [reference.column(metric) for metric in metrics]
    if table is None or not {*metrics} <= {*table.metrics} or not all(columns):
        return None
    values = table.values[:, [table.metrics.index(metric) for metric in metrics]]
    rows = [
        row
        for row in np.flatnonzero(np.isfinite(values).all(axis=1)).tolist()
        if all(table.samples[row] in column for column in columns)
    ]
    if not rows:
        return []
    samples = [table.samples[row] for row in rows]
    clusters = [table.clusters[row] for row in rows]
    groups = partition([reference.clusters.get(name, name) for name in clusters])
    trials = np.array(table.trials or (1,) * len(table.samples), np.int64)[rows]
    then_trials = np.array([reference.trials_of(sample) for sample in samples], np.int64)
    return [
        Pairs(
            values[rows, number],
            np.array([column[sample] for sample in samples], np.float64),
            groups,
            trials,
            then_trials,
        )
        for number, column in enumerate(columns)
    ]


def compare_numbers(
    score: Score,
    baseline: float,
    *,
    n: int | None,
    standard_error: float | None,
    rule: Rule,
) -> Comparison:
    """Compare this run's score with a number whose samples are not known.

    Shares with an n on both sides by a score test, with this run's n divided by the design
    effect of its clusters; standard errors by Welch's t, where that of a share is never below
    the least that its n allows. Without either it is a point comparison.

    Args:
        baseline: the baseline's number.
        n: samples behind it; None where the baseline does not report it.
        standard_error: likewise.
    """
    assert score.value is not None
    figures = Comparison(
        score.metric,
        "unpaired",
        score.value,
        baseline,
        score.n or None,
        score.value - baseline,
        unit=score.unit,
        higher_is_better=score.higher_is_better is not False,
        baseline_n=n,
    )
    if n is None and standard_error is None:
        return replace(figures, kind="point")
    if score.share and n is not None and standard_error is None and score.n:
        return _shares(figures, score, n, rule)
    return _errors(figures, score, standard_error, n, rule)


def _paired(score: Score, pairs: Pairs, rule: Rule) -> Comparison:
    sign = 1.0 if score.higher_is_better is not False else -1.0
    largest = Metric(score.unit).largest
    kind: Kind = "unbounded" if largest is None else "bounded"
    gains = sign * (pairs.now - pairs.then)
    gains[np.abs(gains) < EQUAL] = 0.0
    p = _p_values(score, pairs, gains, rule.seed)
    now, then = float(pairs.now.mean()), float(pairs.then.mean())
    return Comparison(
        score.metric,
        "paired",
        now,
        then,
        len(gains),
        now - then,
        standard_error=cluster_standard_error(pairs.now - pairs.then, pairs.groups),
        interval=paired_interval(pairs.now, pairs.then, pairs.groups, kind, scale=largest or 1.0),
        lost=int((gains < 0).sum()),
        won=int((gains > 0).sum()),
        p_value=p.two_sided,
        p_worse=p.worse,
        p_better=p.better,
        simulation_error=p.simulation_error,
        mde=_paired_mde(score, pairs, rule),
        unit=score.unit,
        higher_is_better=sign > 0,
        identical=not gains.any(),
        p_excluded=None
        if rule.must_see is None
        else excluded_drop_p(
            gains,
            pairs.groups,
            kind,
            drop_to_see(rule.must_see, score.unit, then),
            scale=largest or 1.0,
        ),
    )


def with_looks(figures: Comparison, looks: Sequence[Look], fraction: float) -> Comparison:
    """A comparison with the p values that hold over all looks that were taken.

    Args:
        looks: the looks before this comparison, and perhaps this one.
        fraction: share of the samples that the comparison is of.
    """
    now = Look(fraction, figures.p_worse, figures.p_better, figures.p_excluded)
    # This one may be among them, as a share that was divided otherwise.
    taken = [*(look for look in looks if look.fraction < fraction - EQUAL), now]
    shares = [look.fraction for look in taken]
    return replace(
        figures,
        p_worse=sequential_p([look.p_worse for look in taken], shares),
        p_better=sequential_p([look.p_better for look in taken], shares),
        p_excluded=sequential_p([look.p_excluded for look in taken], shares),
    )


def _perplexity(score: Score, pairs: Pairs, rule: Rule) -> Comparison:
    """Perplexities, by the paired differences of the samples' log likelihoods.

    A perplexity is `exp(-mean)`; the test and the interval are of the difference d of the mean log
    likelihoods, which changes the perplexity by the factor `exp(-d)`.
    """
    logs = replace(score, unit="nats", higher_is_better=True)
    then = exp(-float(pairs.then.mean()))
    tolerance = log1p(rule.tolerance / then)
    # What must be seen is a factor of the perplexity, and none of its logs.
    of_logs = _paired(logs, pairs, replace(rule, tolerance=tolerance, must_see=None))

    def difference(gain: float) -> float:
        return then * (exp(-gain) - 1)

    interval = of_logs.interval and tuple(sorted(map(difference, of_logs.interval)))
    error = of_logs.standard_error
    return replace(
        of_logs,
        current=exp(-of_logs.current),
        baseline=then,
        difference=exp(-of_logs.current) - then,
        standard_error=None if error is None else error * exp(-of_logs.current),
        interval=interval,  # type: ignore[arg-type]
        mde=None if of_logs.mde is None else difference(-of_logs.mde),
        unit="perplexity",
        higher_is_better=False,
    )


def _p_values(score: Score, pairs: Pairs, gains: NDArray[np.float64], seed: int) -> PValues:
    """Sign flips of the clusters' sums; with unequal numbers of trials, labels too."""
    found = _PASS_AT_K.fullmatch(score.metric)
    if found is None or (pairs.now_trials == pairs.then_trials).all():
        return sign_flip_test(pairs.groups.sums(gains), seed=seed)
    k = int(found[1])
    sides = [(pairs.now, pairs.now_trials), (pairs.then, pairs.then_trials)]
    now, then = ((_passes(values, trials, k), trials) for values, trials in sides)
    return trials_test(now, then, k, seed=seed)


def _passes(values: NDArray[np.float64], trials: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """`[n]`: how many trials passed, of values of pass@k, which grows with their number."""
    found = np.zeros(len(values), np.int64)
    for n in np.unique(trials).tolist():
        known = np.array([estimate_pass_at_k(n, c, k) for c in range(n + 1)], np.float64)
        rows = trials == n
        found[rows] = np.abs(values[rows, None] - known[None, :]).argmin(axis=1)
    return found


def _shares(figures: Comparison, score: Score, n: int, rule: Rule) -> Comparison:
    ours = effective_samples(score)
    now, then = figures.current, figures.baseline
    if not figures.higher_is_better:
        now, then = 1 - now, 1 - then
    p = suissa_shuster_test(now, ours, then, n)
    theirs = share_interval(figures.baseline, n)
    mine = score.interval
    if mine is None and score.clusters != 1:  # of one cluster nothing is known of the spread
        mine = share_interval(figures.current, score.n, score.standard_error)
    interval = None
    if mine is not None and theirs is not None:
        interval = unpaired_interval(figures.current, mine, figures.baseline, theirs)
    return replace(
        figures,
        standard_error=sqrt(share_error(now, ours) ** 2 + share_error(then, n) ** 2),
        interval=interval,
        p_value=p.two_sided,
        p_worse=p.worse,
        p_better=p.better,
        mde=unpaired_shares_mde(ours, then, n, rule),
    )


def _errors(
    figures: Comparison, score: Score, reported: float | None, n: int | None, rule: Rule
) -> Comparison:
    """By standard errors; that of a share is never below the least that its n allows."""
    ours, theirs = score.standard_error, reported
    if ours is None or theirs is None:
        return figures
    if score.share:
        ours = max(ours, share_error(figures.current, score.n)) if score.n else ours
        theirs = max(theirs, share_error(figures.baseline, n)) if n else theirs
    # A reported error without an n is taken as exact.
    degrees = max(1, score.clusters - 1) if score.clusters else inf
    sign = 1.0 if figures.higher_is_better else -1.0
    now, then = sign * figures.current, sign * figures.baseline
    p = welch_test(now, ours, degrees, then, theirs, then_n=n)
    error, together = sqrt(ours**2 + theirs**2), welch_degrees(ours, degrees, theirs, n)
    largest = figures.baseline if score.share and figures.higher_is_better else inf
    return replace(
        figures,
        standard_error=error,
        interval=t_interval(figures.difference, error, together) if error else None,
        p_value=p.two_sided,
        p_worse=p.worse,
        p_better=p.better,
        mde=errors_mde(error, together, rule, largest=largest),
    )


def effective_samples(score: Score) -> float:
    """A share's samples, divided by the design effect of their clusters.

    The design effect is the squared standard error over that of independent samples, at least 1.
    """
    value, error = score.value, score.standard_error
    if value is None or error is None or score.n < 2 or not 0 < value < 1:
        return float(score.clusters or score.n)
    independent = value * (1 - value) / (score.n - 1)
    return score.n / max(1.0, error**2 / independent)


def _paired_mde(score: Score, pairs: Pairs, rule: Rule) -> float | None:
    groups, n = pairs.groups, len(pairs.now)
    sign = 1.0 if score.higher_is_better is not False else -1.0
    gains = sign * (pairs.now - pairs.then)
    sums = groups.sums(gains)
    bounded = score.share and sign > 0
    if bounded and np.isin([pairs.now, pairs.then], (0.0, 1.0)).all():
        flips = int(np.abs(gains).sum())
        baseline = float(pairs.then.mean())
        if groups.independent:
            return paired_shares_mde(n, flips / n, baseline, rule)
        return clustered_shares_mde(sums, groups.sizes, flips, baseline, rule)
    weight = groups.clusters / n
    values = groups.sums(pairs.then) * weight
    find = graded_mde if bounded else shift_mde
    return find(sums * weight, values, rule)
