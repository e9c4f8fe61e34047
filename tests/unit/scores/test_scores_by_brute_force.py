"""Scores against their definitions, and against every order, repetition and split of the trials."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptbench.scores.aggregate import TrialValue, fold, tabulate
from ckptbench.scores.reducers import Mean, PassAtK, TopK, estimate_pass_at_k
from ckptbench.scores.score import Reducer, SampleValues

QUICK = settings(max_examples=80, deadline=None)
# Outcomes by sample and trial, as they may come from anywhere, with the sample's cluster.
OUTCOMES = st.dictionaries(
    st.tuples(st.integers(0, 9), st.integers(0, 3)),
    st.sampled_from([0.0, 1.0, 0.25]),
    min_size=1,
    max_size=24,
)
REDUCERS: list[Reducer] = [Mean(), PassAtK((1, 2)), TopK((1,))]


def trials_of(outcomes: dict[tuple[int, int], float]) -> list[TrialValue]:
    return [
        TrialValue(f"s{sample}", f"c{sample // 3}", trial, (value,))
        for (sample, trial), value in outcomes.items()
    ]


def same(one: SampleValues, other: SampleValues) -> bool:
    named = [(t.metrics, t.samples, t.clusters, t.trials) for t in (one, other)]
    return named[0] == named[1] and np.array_equal(one.values, other.values, equal_nan=True)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 10))
@QUICK
def test_pass_at_k_is_the_share_of_the_subsets_of_k_trials_with_one_that_passed(
    passed: list[bool], k: int
) -> None:
    subsets = list(combinations(passed, k))
    share = float(Fraction(sum(map(any, subsets)), len(subsets))) if subsets else None
    assert estimate_pass_at_k(len(passed), sum(passed), k) == share
    assert PassAtK((k,)).reduce([(float(each),) for each in passed]) == (share,)


@given(OUTCOMES)
@QUICK
def test_a_mean_and_its_error_are_those_of_the_definition(
    outcomes: dict[tuple[int, int], float],
) -> None:
    by_sample: dict[int, list[float]] = {}
    for (sample, _), value in outcomes.items():
        by_sample.setdefault(sample, []).append(value)
    means = {sample: sum(values) / len(values) for sample, values in by_sample.items()}
    mean = sum(means.values()) / len(means)
    clusters: dict[int, float] = {}
    for sample, value in means.items():
        clusters[sample // 3] = clusters.get(sample // 3, 0.0) + value - mean
    (score,) = fold(tabulate(trials_of(outcomes), Mean(), "f1"))
    assert (score.n, score.clusters) == (len(means), len(clusters))
    assert score.value == pytest.approx(mean, abs=1e-12)
    if len(clusters) < 2:
        assert score.standard_error is None
        return
    spread = sum(total**2 for total in clusters.values()) * len(clusters) / (len(clusters) - 1)
    assert score.standard_error == pytest.approx(sqrt(spread) / len(means), abs=1e-12)
    if score.interval is not None:
        assert 0 <= score.interval[0] <= score.value <= score.interval[1] <= 1


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: type(reducer).__name__)
@given(outcomes=OUTCOMES, seed=st.integers(0, 99))
@QUICK
def test_neither_order_nor_repetition_changes_the_table_or_a_score(
    reducer: Reducer, outcomes: dict[tuple[int, int], float], seed: int
) -> None:
    whole = trials_of(outcomes)
    again = whole + [each for each in whole if each.trial % 2]
    Random(seed).shuffle(again)
    once, twice = tabulate(whole, reducer, "real"), tabulate(again, reducer, "real")
    assert same(once, twice)
    assert fold(once) == fold(twice)


@given(OUTCOMES, st.integers(1, 4))
@QUICK
def test_the_shards_of_a_run_make_the_table_of_the_whole(
    outcomes: dict[tuple[int, int], float], shards: int
) -> None:
    whole = trials_of(outcomes)
    parts = [
        [each for each in whole if int(each.sample[1:]) % shards == shard]
        for shard in range(shards)
    ]
    tables = [tabulate(part, PassAtK((1, 2)), "humaneval") for part in parts]
    rows = {s: tuple(r) for t in tables for s, r in zip(t.samples, t.values, strict=True)}
    table = tabulate(whole, PassAtK((1, 2)), "humaneval")
    assert sorted(rows) == list(table.samples)
    assert np.array_equal([rows[s] for s in table.samples], table.values, equal_nan=True)
    assert same(table, tabulate([each for part in parts for each in part], PassAtK((1, 2)), "x"))
