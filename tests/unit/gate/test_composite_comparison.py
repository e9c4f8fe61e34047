"""The composite against the baseline's, by its formulas."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from ckptbench.gate.baseline import BaselineBenchmark, BaselineScore
from ckptbench.gate.composite_comparison import compare_composite
from ckptbench.gate.difference_intervals import PairedColumns, composite_interval
from ckptbench.gate.mde import Rule, graded_mde
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.gate.permutation_test import sign_flip_test
from ckptbench.gate.unpaired_test import share_error
from ckptbench.scores.composite import composite
from ckptbench.scores.intervals import partition
from ckptbench.scores.score import Score

from .conftest import as_baseline, measured

RULE = Rule(0.05, 0.01)
WEIGHTS = {"real@1": 0.4, "real@5": 0.3, "lambada@1": 0.3, "other@1": 0.0}
DRAWN = np.random.default_rng(11)
TEXTS = [f"t{i // 2}" for i in range(40)]


def side(shift: float) -> list[BenchmarkMeasurement]:
    """40 samples of 20 texts with two metrics, and 30 single ones with one."""
    real = (DRAWN.random((2, 40)) < 0.5 + shift).astype(float)
    lambada = (DRAWN.random(30) < 0.4 + shift).astype(float)
    return [
        measured("real/x", {"real@1": list(real[0]), "real@5": list(real[1])}, clusters=TEXTS),
        measured("lambada/x", {"lambada@1": list(lambada)}),
    ]


NOW, THEN = side(0.0), side(0.2)


def score_of(benchmarks: list[BenchmarkMeasurement]) -> Score:
    scores = {score.metric: score for bench in benchmarks for score in bench.scores}
    used = {name: weight for name, weight in WEIGHTS.items() if weight}
    return composite(scores, used, [bench.table for bench in benchmarks])


def held() -> list[BaselineBenchmark]:
    return list(as_baseline(*THEN).benchmarks.values())


def test_paired_parts_are_weighted_within_a_benchmark_and_flipped_by_cluster() -> None:
    found = compare_composite(
        score_of(NOW), WEIGHTS, list(zip(NOW, held(), strict=True)), Rule(0.05, 0.01, seed=3)
    )
    assert found is not None
    weights = (np.array([0.4, 0.3]), np.array([0.3]))
    nows, thens = (
        [b.table.values @ w for b, w in zip(s, weights, strict=True)] for s in (NOW, THEN)
    )  # type: ignore[union-attr]
    gains = [now - then for now, then in zip(nows, thens, strict=True)]
    assert found.current == pytest.approx(nows[0].mean() + nows[1].mean())
    assert found.difference == pytest.approx(gains[0].mean() + gains[1].mean())
    assert found.baseline == pytest.approx(found.current - found.difference)
    assert (found.kind, found.n, found.identical) == ("paired", 70, False)
    moved = np.concatenate(gains)
    assert (found.lost, found.won) == ((moved < -1e-9).sum(), (moved > 1e-9).sum())
    # The textbook's error of 20 clusters of two, and of 30 single samples.
    sums = gains[0].reshape(20, 2).sum(axis=1)
    errors = sqrt(20 / 19 * ((sums - sums.mean()) ** 2).sum()) / 40, gains[1].std(ddof=1) / sqrt(30)
    assert found.standard_error == pytest.approx(sqrt(errors[0] ** 2 + errors[1] ** 2))
    parts = np.concatenate([sums / 40, gains[1] / 30])
    p = sign_flip_test(np.round(parts, 12), seed=3)
    assert (found.p_worse, found.p_better) == pytest.approx((p.worse, p.better), abs=0.004)
    assert found.p_value == pytest.approx(p.two_sided, abs=0.008)
    assert found.simulation_error == pytest.approx(p.simulation_error, abs=1e-4)
    values = np.concatenate([thens[0].reshape(20, 2).sum(axis=1) / 40, thens[1] / 30])
    assert found.mde == pytest.approx(graded_mde(50 * parts, 50 * values, RULE))
    tables = [
        PairedColumns(now.table.values, then.table.values, w, partition(list(now.table.clusters)))  # type: ignore[union-attr]
        for now, then, w in zip(NOW, THEN, weights, strict=True)
    ]
    assert found.interval == pytest.approx(composite_interval(tables))
    same = compare_composite(
        score_of(THEN), WEIGHTS, list(zip(THEN, held(), strict=True)), Rule(0.05, 0.01)
    )
    assert same is not None
    assert (same.identical, same.lost, same.won) == (True, 0, 0)


def test_a_part_of_one_cluster_leaves_the_composite_without_an_error() -> None:
    one = [replace(each, table=replace(each.table, clusters=("t",) * 30)) for each in NOW[1:]]  # type: ignore[type-var]
    found = compare_composite(
        score_of(NOW), WEIGHTS, list(zip([NOW[0], *one], held(), strict=True)), RULE
    )
    assert found is not None
    assert (found.kind, found.standard_error, found.interval) == ("paired", None, None)


def test_numbers_have_the_errors_of_their_n_where_those_are_larger() -> None:
    """Of one benchmark errors add, of two their squares; the smallest n is that of the whole."""
    given = {
        "real@1": BaselineScore(0.7, 0.2, 40),  # larger than 40 samples need
        "real@5": BaselineScore(0.8, 0.001, 40),  # smaller than they can have
        "lambada@1": BaselineScore(0.6, None, None),  # of the benchmark's 30
    }
    real, lambada = (replace(each, outcomes={}, scores=given) for each in held())
    real = replace(real, scores={name: given[name] for name in ("real@1", "real@5")}, n=None)
    lambada = replace(lambada, scores={"lambada@1": given["lambada@1"]}, n=30)
    ours = score_of(NOW)
    found = compare_composite(ours, WEIGHTS, list(zip(NOW, (real, lambada), strict=True)), RULE)
    assert found is not None
    assert found.baseline == pytest.approx(0.4 * 0.7 + 0.3 * 0.8 + 0.3 * 0.6)
    errors = 0.4 * 0.2 + 0.3 * share_error(0.8, 40), 0.3 * share_error(0.6, 30)
    theirs = sqrt(errors[0] ** 2 + errors[1] ** 2)
    assert (found.kind, found.baseline_n) == ("unpaired", 30)
    mine = max(ours.standard_error or 0.0, share_error(found.current, ours.n))
    theirs = max(theirs, share_error(found.baseline, 30))
    assert found.standard_error == pytest.approx(sqrt(mine**2 + theirs**2))
    none = replace(real, scores={**real.scores, "real@5": BaselineScore(None)})
    parts = list(zip(NOW, (none, lambada), strict=True))
    assert compare_composite(ours, WEIGHTS, parts, RULE) is None
    assert compare_composite(ours, WEIGHTS, parts[:1], RULE) is None
