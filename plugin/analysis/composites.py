"""Numbers made of several metrics: the composite, and the average over tasks.

Composites are computed again from their parts; reported ones that differ from them are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt

import numpy as np

from ..gate.measurement import Measurement
from ..scores.composite import METRIC, composite, weighted_mean
from ..scores.intervals import Interval, normal_interval
from ..scores.mover import block_diagonal, mover
from ..scores.score import Score
from .compare import AVERAGE, benchmarks_of, first_of, standard_error_of
from .conclusions import CompositeMismatch

# Four decimals: half a unit from the weighted mean of rounded parts, half from the composite's own.
ROUNDING = 0.0001
BOUND = "upper-bound"
_LAST_DIGIT = 1e-9


def with_composite(measurement: Measurement, weights: Mapping[str, float]) -> Measurement:
    """The measurement with its composite computed with the weights, if it has others."""
    found = measurement.composite
    if found is not None and found.value is not None and dict(measurement.weights) == dict(weights):
        return measurement
    return replace(measurement, composite=composite_of(measurement, weights), weights=weights)


def composite_of(measurement: Measurement, weights: Mapping[str, float]) -> Score | None:
    """The weighted mean of a checkpoint's headline metrics.

    With every part's samples it is `scores.composite.composite`. Of numbers alone the standard
    error is an upper bound: the correlation between metrics of one benchmark is not known, so it
    is taken to be 1 and their weighted errors add; benchmarks have different samples and are
    independent, so their squares add:

        SE <= sqrt(sum over benchmarks (sum over its metrics  w SE)^2)

    The interval is that of `scores.mover` with correlations of 1 within a benchmark. The method is
    `upper-bound`, and n the sum over benchmarks.

    Returns:
        A score named `score`, its value None with a reason when some parts have a value and
        others do not; None when no part has one.
    """
    names = [name for name, weight in weights.items() if weight]
    parts = {name: score for name in names if (score := measurement.score(name)) is not None}
    if not any(score.value is not None for score in parts.values()):
        return None
    benches = benchmarks_of(measurement, METRIC, weights)
    tables = [bench.table for bench in benches if bench.table is not None]
    known = {name: score.value for name, score in parts.items() if score.value is not None}
    if len(tables) == len(benches) or len(known) < len(names):
        # With a part missing, the tables are not used: it only gives the reason.
        return composite(parts, weights, tables)
    value = weighted_mean(known, weights)
    n = sum(max(s.n for s in bench.scores if s.metric in parts) for bench in benches)
    shares: list[float] = []
    found: list[Score] = []
    intervals: list[Interval] = []
    blocks = []
    for bench in benches:
        scores = [score for score in bench.scores if score.metric in parts]
        errors = [standard_error_of(score) for score in scores]
        known_errors = [error for error in errors if error is not None]
        if len(known_errors) < len(errors):
            return Score(METRIC, value, n, 0, reason=f"{bench.benchmark} has no standard error")
        for score, error in zip(scores, known_errors, strict=True):
            if score.interval is None and not error:
                return Score(METRIC, value, n, 0, reason=f"{score.metric} has no interval")
            intervals.append(score.interval or normal_interval(score.value or 0.0, error))
        found.extend(scores)
        blocks.append(np.ones((len(scores), len(scores))))
        pairs = zip(scores, known_errors, strict=True)
        shares.append(fsum(weights[score.metric] * error for score, error in pairs))
    error = sqrt(fsum(share * share for share in shares))
    estimates = [score.value or 0.0 for score in found]
    part_weights = [weights[score.metric] for score in found]
    interval = mover(estimates, intervals, part_weights, block_diagonal(blocks))
    return Score(METRIC, value, n, n, error, interval, BOUND)


def composite_mismatches(
    measurements: Sequence[Measurement], weights: Mapping[str, float]
) -> tuple[CompositeMismatch, ...]:
    """The reported composites that differ from their parts' weighted mean by more than 0.0001.

    That much is rounding: parts given to four decimals move the mean by up to half a unit of the
    fourth, and the reported composite was rounded itself. A composite without its parts cannot be
    checked.

    Returns:
        In the order given.
    """
    names = [name for name, weight in weights.items() if weight]
    found = []
    for each in measurements:
        parts = {name: s.value for name in names if (s := each.score(name)) is not None}
        values = {name: value for name, value in parts.items() if value is not None}
        if each.printed_composite is None or len(values) < len(names):
            continue
        computed = weighted_mean(values, weights)
        if abs(each.printed_composite - computed) > ROUNDING + _LAST_DIGIT:
            found.append(CompositeMismatch(each.run, each.name, each.printed_composite, computed))
    return tuple(found)


_METHOD = "independent-tasks"


def with_average(checkpoints: Sequence[Measurement]) -> tuple[tuple[Measurement, ...], str]:
    """The checkpoints of a run with the average of their tasks, and why there is none.

    All tasks have equal weight, and each enters with its first metric that is a share of which
    more is better. Averages over different tasks cannot be compared, so there is one only where
    every checkpoint has a value in every task. A single task gets none.

    Returns:
        The checkpoints, and a sentence where there is no average although there are several
        tasks; else an empty one.
    """
    tasks = [
        {b.benchmark: score for b in each.primary_benchmarks() if (score := first_of(b))}
        for each in checkpoints
    ]
    names = list(dict.fromkeys(name for found in tasks for name in found))
    if len(names) < 2:
        return tuple(checkpoints), ""
    for each, found in zip(checkpoints, tasks, strict=True):
        for name in names:
            if name not in found or found[name].value is None:
                return tuple(checkpoints), f"no average of the tasks: {each.name} lacks {name}"
    kinds = {tuple(found[name].metric for name in names) for found in tasks}
    if len(kinds) > 1:
        return tuple(checkpoints), "no average of the tasks: their first metrics differ"
    made = [
        replace(each, average=average_of([found[name] for name in names]))
        for each, found in zip(checkpoints, tasks, strict=True)
    ]
    return tuple(made), ""


def average_of(scores: Sequence[Score]) -> Score:
    """The mean of the tasks' scores, shares, with `sqrt(sum of SE^2) / tasks` as standard error.

    Tasks have different samples, so their errors are independent.
    """
    values = [score.value or 0.0 for score in scores]
    value = fsum(values) / len(values)
    errors = [standard_error_of(score) for score in scores]
    n, clusters = sum(s.n for s in scores), sum(s.clusters for s in scores)
    known = [error for error in errors if error is not None]
    if len(known) < len(scores):
        missing = next(s.metric for s, e in zip(scores, errors, strict=True) if e is None)
        return Score(AVERAGE, value, n, clusters, reason=f"{missing} has no standard error")
    error = sqrt(fsum(e * e for e in known)) / len(scores)
    return Score(AVERAGE, value, n, clusters, error, normal_interval(value, error), _METHOD)
