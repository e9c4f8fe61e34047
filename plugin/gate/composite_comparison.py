"""The composite beside the baseline's: a weighted mean of metrics of several benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt

import numpy as np

from ..scores.intervals import Interval, cluster_standard_error
from ..scores.score import Score
from .baseline import BaselineBenchmark
from .comparison import EQUAL, Pairs, Terms, common_samples, compare_numbers
from .difference_intervals import PairedColumns, composite_interval
from .mde import graded_mde
from .measurement import BenchmarkMeasurement
from .permutation_test import sign_flip_test
from .unpaired_test import share_error
from .verdict import Comparison


def compare_composite(
    score: Score,
    weights: Mapping[str, float],
    parts: Sequence[tuple[BenchmarkMeasurement, BaselineBenchmark]],
    terms: Terms,
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
        tables = [each for each in columns if each is not None]
        pairs = [_weighted_sums(each) for each in tables]
        return _paired_composite(score, pairs, composite_interval(tables), terms)
    return _composite_of_numbers(score, weighted, used, terms)


def _common_columns(
    bench: BenchmarkMeasurement,
    reference: BaselineBenchmark,
    names: Sequence[str],
    weights: Mapping[str, float],
) -> PairedColumns | None:
    """A benchmark's weighted metrics now and then; None without common samples."""
    pairs = common_samples(names, bench.table, reference)
    if not pairs:
        return None
    return PairedColumns(
        np.column_stack([each.now for each in pairs]),
        np.column_stack([each.then for each in pairs]),
        np.array([weights[name] for name in names]),
        pairs[0].groups,
        ["share" for _ in names],
    )


def _weighted_sums(columns: PairedColumns) -> Pairs:
    ones = np.ones(len(columns.now), np.int64)
    now, then = columns.now @ columns.weights, columns.then @ columns.weights
    return Pairs(now, then, columns.groups, ones, ones)


def _paired_composite(
    score: Score, parts: Sequence[Pairs], interval: Interval | None, terms: Terms
) -> Comparison:
    """Compare the sum of the parts' means; the parts are independent of each other."""
    gains = [each.now - each.then for each in parts]
    for gain in gains:
        gain[np.abs(gain) < EQUAL] = 0.0
    moved = np.concatenate(
        [p.groups.sums(gain) / len(gain) for p, gain in zip(parts, gains, strict=True)]
    )
    values = np.concatenate([p.groups.sums(p.then) / len(p.then) for p in parts])
    p = sign_flip_test(moved, seed=terms.seed)
    changes = np.concatenate(gains)
    errors = [
        cluster_standard_error(gain, each.groups) for each, gain in zip(parts, gains, strict=True)
    ]
    known = [error for error in errors if error is not None]
    whole = len(known) == len(errors)
    now = float(sum(each.now.mean() for each in parts))
    then = float(sum(each.then.mean() for each in parts))
    count = len(moved)
    return Comparison(
        score.metric,
        "paired",
        now,
        then,
        len(changes),
        now - then,
        standard_error=sqrt(sum(e * e for e in known)) if whole else None,
        interval=interval,
        lost=int((changes < 0).sum()),
        won=int((changes > 0).sum()),
        p_value=p.two_sided,
        p_worse=p.worse,
        p_better=p.better,
        simulation_error=p.simulation_error,
        mde=graded_mde(moved * count, values * count, terms.rule),
        identical=not changes.any(),
    )


def _composite_of_numbers(
    score: Score,
    weights: Mapping[str, float],
    used: Sequence[tuple[BenchmarkMeasurement, BaselineBenchmark, list[str]]],
    terms: Terms,
) -> Comparison | None:
    then, squares, counts = 0.0, 0.0, []
    for _, reference, names in used:
        of_benchmark: float | None = 0.0
        for name in names:
            reported = reference.scores[name]
            if reported.value is None:
                return None
            then += weights[name] * reported.value
            n = reported.n or reference.n
            counts.append(n)
            error = reported.standard_error
            if n:
                error = max(error or 0.0, share_error(reported.value, n))
            if error is None or of_benchmark is None:
                of_benchmark = None
            else:
                of_benchmark += weights[name] * error
        squares += float("nan") if of_benchmark is None else of_benchmark**2
    known = [n for n in counts if n]
    smallest = min(known) if len(known) == len(counts) else None
    return compare_numbers(
        score,
        then,
        n=smallest,
        standard_error=sqrt(squares) if isfinite(squares) else None,
        terms=terms,
    )
