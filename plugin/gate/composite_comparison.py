"""Compare the composite, a weighted mean of metrics of several benchmarks, with the baseline's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan, sqrt

import numpy as np

from ..scores.intervals import cluster_standard_error
from ..scores.score import Score
from .baseline import BaselineBenchmark
from .comparison import EQUAL, common_samples, compare_numbers
from .difference_intervals import PairedColumns, composite_interval
from .mde import Rule, graded_mde
from .measurement import BenchmarkMeasurement
from .permutation_test import sign_flip_test
from .unpaired_test import share_error
from .verdict import Comparison


def compare_composite(
    score: Score,
    weights: Mapping[str, float],
    parts: Sequence[tuple[BenchmarkMeasurement, BaselineBenchmark]],
    rule: Rule,
) -> Comparison | None:
    """Compare a weighted mean of metrics.

    Paired over the samples that both sides have of every part: within a benchmark a sample's
    differences are weighted and added before clusters are formed, so what its metrics share is
    in the error; benchmarks are independent. Signs flip for a cluster as a whole. Where a part
    has no samples, the two numbers are compared with the errors of their parts: those of one
    benchmark add, those of different ones add in squares.

    Args:
        score: this run's composite.
        weights: weight of each metric; those of weight 0 are left out.
        parts: this run's benchmarks with the baseline's.

    Returns:
        The comparison, or None when either side lacks a part.
    """
    weighted = {name: weight for name, weight in weights.items() if weight}
    used = []
    for bench, reference in parts:
        known = {score.metric for score in bench.scores if score.value is not None}
        if names := [name for name in weighted if name in known and name in reference.scores]:
            used.append((bench, reference, names))
    found = [name for _, _, names in used for name in names]
    if sorted(found) != sorted(weighted):
        return None
    columns = [
        _common_columns(bench, reference, names, weighted) for bench, reference, names in used
    ]
    if all(columns):
        return _paired_composite(score, [each for each in columns if each], rule)
    return _composite_of_numbers(score, weighted, used, rule)


def _common_columns(
    bench: BenchmarkMeasurement,
    reference: BaselineBenchmark,
    names: Sequence[str],
    weights: Mapping[str, float],
) -> PairedColumns | None:
    pairs = common_samples(names, bench.table, reference)
    if not pairs:
        return None
    return PairedColumns(
        np.column_stack([each.now for each in pairs]),
        np.column_stack([each.then for each in pairs]),
        np.array([weights[name] for name in names]),
        pairs[0].groups,
    )


def _paired_composite(score: Score, tables: Sequence[PairedColumns], rule: Rule) -> Comparison:
    """Compare the sum of the tables' weighted means; the tables are independent of each other."""
    groups = [each.groups for each in tables]
    nows = [each.now @ each.weights for each in tables]
    thens = [each.then @ each.weights for each in tables]
    gains = [now - then for now, then in zip(nows, thens, strict=True)]
    for gain in gains:
        gain[np.abs(gain) < EQUAL] = 0.0
    moved = np.concatenate(
        [group.sums(gain) / len(gain) for group, gain in zip(groups, gains, strict=True)]
    )
    values = np.concatenate(
        [group.sums(then) / len(then) for group, then in zip(groups, thens, strict=True)]
    )
    p = sign_flip_test(moved, seed=rule.seed)
    changes = np.concatenate(gains)
    errors = list(map(cluster_standard_error, gains, groups))
    known = [error for error in errors if error is not None]
    whole = len(known) == len(errors)
    now, then = (float(sum(each.mean() for each in side)) for side in (nows, thens))
    count = len(moved)
    return Comparison(
        score.metric,
        "paired",
        now,
        then,
        len(changes),
        now - then,
        standard_error=sqrt(sum(e * e for e in known)) if whole else None,
        interval=composite_interval(tables),
        lost=int((changes < 0).sum()),
        won=int((changes > 0).sum()),
        p_value=p.two_sided,
        p_worse=p.worse,
        p_better=p.better,
        simulation_error=p.simulation_error,
        mde=graded_mde(moved * count, values * count, rule),
        identical=not changes.any(),
    )


def _composite_of_numbers(
    score: Score,
    weights: Mapping[str, float],
    used: Sequence[tuple[BenchmarkMeasurement, BaselineBenchmark, list[str]]],
    rule: Rule,
) -> Comparison | None:
    then, squares, counts = 0.0, 0.0, []
    for _, reference, names in used:
        of_benchmark = 0.0
        for name in names:
            reported = reference.scores[name]
            if reported.value is None:
                return None
            then += weights[name] * reported.value
            n = reported.n or reference.n
            counts.append(n or 0)
            error = reported.standard_error
            if n:
                error = max(error or 0.0, share_error(reported.value, n))
            of_benchmark += weights[name] * (nan if error is None else error)
        squares += of_benchmark**2
    return compare_numbers(
        score,
        then,
        n=min(counts) or None,
        standard_error=sqrt(squares) if isfinite(squares) else None,
        rule=rule,
    )
