"""A score beside the baseline's: paired, unpaired, and as two bare numbers."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log1p, sqrt

import numpy as np
import pytest
from scipy import stats

from ckptbench.gate.baseline import BaselineBenchmark, BaselineScore
from ckptbench.gate.comparison import (
    common_samples,
    compare_numbers,
    compare_score,
    effective_samples,
)
from ckptbench.gate.difference_intervals import (
    excluded_drop_p,
    paired_interval,
    unpaired_interval,
)
from ckptbench.gate.mde import (
    Rule,
    clustered_shares_mde,
    errors_mde,
    graded_mde,
    paired_shares_mde,
    shift_mde,
    unpaired_shares_mde,
)
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.gate.permutation_test import mcnemar
from ckptbench.gate.trials_test import pass_at_k, trials_test
from ckptbench.gate.unpaired_test import (
    share_error,
    suissa_shuster_test,
    welch_degrees,
    welch_test,
)
from ckptbench.gate.verdict import Comparison
from ckptbench.scores.intervals import partition, share_interval
from ckptbench.scores.metric import BITS_PER_BYTE, PERPLEXITY, Metric
from ckptbench.scores.score import Score

from .conftest import as_baseline, measured

N = 164
RULE = Rule(alpha=0.05, tolerance=0.01)


def pair(
    now: list[float],
    then: list[float],
    *,
    metric: str = "m",
    clusters: list[str] | None = None,
    trials: tuple[int, int] = (1, 1),
    **more: object,
) -> tuple[BenchmarkMeasurement, BaselineBenchmark]:
    ours = measured("b/p", {metric: now}, clusters=clusters, trials=trials[0], **more)  # type: ignore[arg-type]
    theirs = measured("b/p", {metric: then}, clusters=clusters, trials=trials[1], **more)  # type: ignore[arg-type]
    return ours, next(iter(as_baseline(theirs).benchmarks.values()))


def compare(now: list[float], then: list[float], **more: object) -> Comparison:
    ours, held = pair(now, then, **more)  # type: ignore[arg-type]
    found = compare_score(ours.scores[0], ours.table, held, RULE)
    assert found is not None
    return found


def flips(lost: int, won: int, kept: int, n: int = N) -> tuple[list[float], list[float]]:
    """This run's and the baseline's 0/1 values: flips first, then `kept` that both pass."""
    now = [0.0] * lost + [1.0] * won + [1.0] * kept
    then = [1.0] * lost + [0.0] * won + [1.0] * kept
    pad = [0.0] * (n - len(now))
    return now + pad, then + pad


# Paired


def test_38_lost_and_9_won_of_164() -> None:
    c = compare(*flips(38, 9, 63))
    assert (c.kind, c.n, c.lost, c.won) == ("paired", 164, 38, 9)
    assert c.difference == pytest.approx(-0.1768, abs=5e-5)
    assert c.standard_error == pytest.approx(0.0396, abs=5e-5)
    assert c.p_value == pytest.approx(2.49e-5, rel=1e-3)
    assert (c.p_worse, c.p_better) == (mcnemar(38, 9).worse, mcnemar(38, 9).better)
    assert c.simulation_error == 0


def test_only_common_samples_are_compared() -> None:
    ours = measured("b/p", {"m": [1.0, 0.0, 1.0]}, start=0)
    theirs = measured("b/p", {"m": [1.0, 1.0, 1.0]}, start=1)
    held = next(iter(as_baseline(theirs).benchmarks.values()))
    c = compare_score(ours.scores[0], ours.table, held, RULE)
    assert c is not None
    assert (c.n, c.lost, c.won, c.current, c.baseline) == (2, 1, 0, 0.5, 1.0)
    other = measured("b/p", {"m": [1.0]}, start=9)
    assert compare_score(other.scores[0], other.table, held, RULE) is None


def test_the_error_of_clustered_differences_is_the_textbooks() -> None:
    c = compare(
        [1.0, 1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0, 1.0], clusters=list("xxyyzz")
    )
    # Differences 1 1 | -1 0 | 0 -1: mean 0, cluster sums 2, -1, -1; 3/2 * (4 + 1 + 1) = 9.
    assert c.difference == 0
    assert c.standard_error == pytest.approx(sqrt(9) / 6)
    assert (c.lost, c.won) == (2, 2)


def test_samples_of_one_text_do_not_count_as_independent() -> None:
    """Each text loses three samples at once: 12 losses are 4 coin flips."""
    clusters = [text for text in "wxyz" for _ in range(3)]
    clustered = compare([0.0] * 12, [1.0] * 12, clusters=clusters)
    assert clustered.p_value == pytest.approx(2 / 2**4)
    assert compare([0.0] * 12, [1.0] * 12).p_value == pytest.approx(2 / 2**12)


def test_clusters_that_only_the_baseline_knows_count() -> None:
    ours = measured("b/p", {"m": [0.0] * 12})
    clusters = [text for text in "wxyz" for _ in range(3)]
    theirs = measured("b/p", {"m": [1.0] * 12}, clusters=clusters)
    held = next(iter(as_baseline(theirs).benchmarks.values()))
    c = compare_score(ours.scores[0], ours.table, held, RULE)
    assert c is not None
    assert c.p_value == pytest.approx(2 / 2**4)


def test_a_clustered_p_depends_neither_on_the_seed_nor_on_the_order() -> None:
    rng = np.random.default_rng(7)
    now, then = (rng.random((2, 90)) < 0.6).astype(float)
    clusters = [f"c{i // 3}" for i in range(90)]
    ours, held = pair(list(now), list(then), clusters=clusters)
    ps = {
        compare_score(ours.scores[0], ours.table, held, Rule(seed=seed)).p_worse  # type: ignore[union-attr]
        for seed in range(10)
    }
    order = rng.permutation(30)
    index = [3 * int(c) + i for c in order for i in range(3)]
    shuffled = compare(
        [now[i] for i in index],
        [then[i] for i in index],
        clusters=[clusters[i] for i in index],
    )
    assert {*ps, shuffled.p_worse} == {shuffled.p_worse}


def test_unequal_trials_are_tested_by_labels_too() -> None:
    """With 20 trials against 1, sign flips alone raise false alarms above alpha."""
    rng = np.random.default_rng(3)
    strength = rng.beta(0.3, 2.0, 40)
    now = list((rng.random(40) < strength).astype(float))
    then = list(rng.binomial(20, strength) / 20)
    uneven = compare(now, then, metric="pass@1", trials=(1, 20))
    even = compare(now, then, metric="pass@1")
    assert uneven.p_worse is not None
    assert even.p_worse is not None
    assert uneven.p_worse >= even.p_worse
    ones, twenties = np.full(40, 1), np.full(40, 20)
    passes = np.array(now, np.int64), np.rint(20 * np.array(then)).astype(np.int64)
    expected = trials_test((passes[0], ones), (passes[1], twenties), 1)
    assert uneven.p_worse == expected.worse != even.p_worse
    # Of another metric the values are all that is known.
    assert compare(now, then, metric="m", trials=(1, 20)).p_worse == even.p_worse


def test_identical_means_every_outcome() -> None:
    same = compare([1.0, 0.0, 1.0], [1.0, 0.0, 1.0])
    assert same.identical
    assert not compare([1.0, 0.0], [0.0, 1.0]).identical


def test_equal_values_reached_by_other_sums_are_no_flips() -> None:
    c = compare([0.1 + 0.2, 0.5], [0.3, 0.5])
    assert (c.lost, c.won, c.identical) == (0, 0, True)


# Perplexity


def test_perplexities_are_compared_by_the_samples_log_likelihoods() -> None:
    rng = np.random.default_rng(0)
    then = list(-3 + rng.normal(size=400))
    now = [value - 0.2 + 0.01 * (i % 2 - 0.5) for i, value in enumerate(then)]
    more = {
        "metric": "lambada_perplexity",
        "perplexities": ("lambada_perplexity",),
        "kinds": {"lambada_perplexity": PERPLEXITY},
    }
    c = compare(now, then, **more)
    assert (c.unit, c.higher_is_better) == ("perplexity", False)
    assert c.baseline == pytest.approx(exp(-np.mean(then)))
    assert c.current == pytest.approx(c.baseline * exp(0.2))
    assert c.difference == pytest.approx(c.baseline * (exp(0.2) - 1))
    assert (c.lost, c.won) == (400, 0)
    assert c.p_worse is not None
    assert c.p_worse < 1e-4
    assert c.improvement < 0
    # By the factor exp(-d) of what holds of the mean log likelihood.
    gains, groups = np.array(now) - np.array(then), partition([str(i) for i in range(400)])
    ends = paired_interval(np.array(now), np.array(then), groups, "unbounded") or (0.0, 0.0)
    assert c.interval == pytest.approx([c.baseline * (exp(-end) - 1) for end in ends[::-1]])
    assert c.standard_error == pytest.approx(gains.std(ddof=1) / sqrt(400) * c.current)
    logs = Rule(0.05, log1p(0.01 / c.baseline))
    drop = shift_mde(gains, np.array(then), logs)
    assert c.mde == pytest.approx(c.baseline * (exp(drop or 0.0) - 1))


@pytest.mark.parametrize(
    ("kind", "drop", "scale"),
    [(Metric(), 0.05, 1.0), (Metric("points"), 5.0, 100.0), (BITS_PER_BYTE, 0.05, None)],
)
def test_whether_a_drop_can_be_excluded_is_tested_on_request(
    kind: Metric, drop: float, scale: float | None
) -> None:
    rng = np.random.default_rng(5)
    now, then = (scale or 1.0) * rng.random((2, 50))
    ours, held = pair(list(now), list(then), kinds={"m": kind})
    gains = then - now if kind is BITS_PER_BYTE else now - then
    groups = partition([str(i) for i in range(50)])
    c = compare_score(ours.scores[0], ours.table, held, Rule(0.05, 0.01, must_see=0.05))
    assert c is not None
    bounds = ("unbounded", 1.0) if scale is None else ("bounded", scale)
    expected = excluded_drop_p(gains, groups, bounds[0], drop, scale=bounds[1])  # type: ignore[arg-type]
    assert c.p_excluded == pytest.approx(expected)
    assert 1e-4 < (expected or 0) < 0.9
    assert compare(list(now), list(then), kinds={"m": kind}).p_excluded is None
    ends = paired_interval(now, then, groups, bounds[0], scale=bounds[1])  # type: ignore[arg-type]
    assert c.interval == pytest.approx(ends)
    assert c.higher_is_better == (kind is not BITS_PER_BYTE)


# Unpaired


@pytest.mark.parametrize("better", [True, False])
def test_two_shares_with_an_n_are_tested_by_their_counts(better: bool) -> None:
    """Of shares of which less is better, what counts is the share that missed."""
    ours = replace(number(0.3, 200, error=0.0458), clusters=100, higher_is_better=better)
    effective = 200 / (0.0458**2 / (0.21 / 199))
    c = compare_numbers(ours, 0.4, n=150, standard_error=None, rule=RULE)
    now, then = (0.3, 0.4) if better else (0.7, 0.6)
    p = suissa_shuster_test(now, effective, then, 150)
    assert (c.p_worse, c.p_better, c.p_value) == (p.worse, p.better, p.two_sided)
    assert (c.p_worse < c.p_better) == better
    errors = share_error(0.3, effective), share_error(0.4, 150)
    assert c.standard_error == pytest.approx(sqrt(errors[0] ** 2 + errors[1] ** 2))
    assert c.mde == unpaired_shares_mde(effective, then, 150, RULE)
    mine, theirs = share_interval(0.3, 200, 0.0458), share_interval(0.4, 150)
    assert mine is not None
    assert theirs is not None
    assert c.interval == pytest.approx(unpaired_interval(0.3, mine, 0.4, theirs))
    assert (c.kind, c.n, c.baseline_n, c.higher_is_better) == ("unpaired", 200, 150, better)
    assert c.simulation_error == 0


@pytest.mark.parametrize("clusters", [0, 1, 9])
@pytest.mark.parametrize("n", [None, 12])
def test_two_errors_are_tested_by_welch_with_the_degrees_of_both(
    clusters: int, n: int | None
) -> None:
    ours = Score("word_perplexity", 20.0, 30, clusters, 0.5).of(PERPLEXITY)
    c = compare_numbers(ours, 19.0, n=n, standard_error=0.3, rule=Rule(0.05, 0.1))
    degrees = {0: inf, 1: 1, 9: 8}[clusters]
    p = welch_test(-20.0, 0.5, degrees, -19.0, 0.3, then_n=n)
    assert (c.p_worse, c.p_better, c.p_value) == (p.worse, p.better, p.two_sided)
    together = welch_degrees(0.5, degrees, 0.3, n)
    assert c.standard_error == pytest.approx(sqrt(0.34))
    assert c.mde == pytest.approx(errors_mde(sqrt(0.34), together, Rule(0.05, 0.1)))
    reach = stats.t.ppf(0.975, together) * sqrt(0.34)
    assert c.interval == pytest.approx((1 - reach, 1 + reach))
    assert compare_numbers(ours, 19.0, n=n, standard_error=0.0, rule=RULE).standard_error == 0.5
    unknown = replace(ours, standard_error=None)
    bare = compare_numbers(unknown, 19.0, n=n, standard_error=0.3, rule=RULE)
    assert (bare.kind, bare.p_worse, bare.interval) == ("unpaired", None, None)


def number(value: float, n: int, *, error: float | None = None) -> Score:
    return Score("m", value, n, n, error)


def test_a_baseline_of_100_percent_of_two_samples_is_not_known_exactly() -> None:
    c = compare_numbers(number(0.59, 232), 1.0, n=2, standard_error=None, rule=RULE)
    assert (c.kind, c.n, c.baseline_n) == ("unpaired", 232, 2)
    assert c.p_worse is not None
    assert c.p_worse > 0.05
    assert c.interval is not None
    assert c.interval[0] < 0 < c.interval[1] + 0.2


def test_of_one_cluster_there_is_no_interval() -> None:
    ours = replace(number(0.59, 232), clusters=1)
    c = compare_numbers(ours, 0.7, n=200, standard_error=None, rule=RULE)
    assert c.interval is None
    assert c.p_worse is not None
    assert c.p_worse > 0.05


def test_an_error_alone_is_tested_by_welch_and_never_below_its_shares() -> None:
    ours = number(0.59, 232, error=0.0323)
    stated = compare_numbers(ours, 0.68, n=None, standard_error=0.03, rule=RULE)
    assert stated.standard_error == pytest.approx(sqrt(0.0323**2 + 0.03**2), rel=0.01)
    exact = compare_numbers(ours, 1.0, n=20, standard_error=0.0, rule=RULE)
    assert exact.standard_error is not None
    assert exact.standard_error > 0.05


def test_less_is_better_among_numbers_too() -> None:
    ours = Score("word_perplexity", 20.0, 100, 100, 0.5).of(PERPLEXITY)
    c = compare_numbers(ours, 18.0, n=100, standard_error=0.5, rule=Rule(tolerance=0.1))
    assert c.p_worse is not None
    assert c.p_worse < 0.01
    assert c.improvement < 0


def test_a_share_cannot_fall_by_more_than_the_baseline() -> None:
    share = compare_numbers(
        number(0.06, 50, error=0.05), 0.05, n=None, standard_error=0.05, rule=RULE
    )
    assert (share.p_worse is not None, share.mde) == (True, None)
    ours = Score("word_perplexity", 2.0, 50, 50, 2.0).of(PERPLEXITY)
    more = compare_numbers(ours, 2.0, n=None, standard_error=2.0, rule=RULE)
    assert more.mde is not None
    assert more.mde > 2.0


def test_without_n_and_error_it_is_a_point() -> None:
    c = compare_numbers(number(0.6, 100), 0.66, n=None, standard_error=None, rule=RULE)
    assert (c.kind, c.p_value, c.interval, c.mde) == ("point", None, None, None)


def test_a_baselines_number_is_used_where_it_holds_no_samples() -> None:
    ours = measured("b/p", {"m": [1.0] * 60 + [0.0] * 40})
    held = BaselineBenchmark("b", "b/p", True, "", 100, ("m",), {"m": BaselineScore(0.7)})
    c = compare_score(ours.scores[0], ours.table, held, RULE)
    assert c is not None
    assert (c.kind, c.baseline_n) == ("unpaired", 100)


def test_without_a_value_on_either_side_nothing_is_compared() -> None:
    held = BaselineBenchmark("b", "b/p", True, "", 100, ("m",), {"m": BaselineScore(0.7)})
    assert compare_score(number(0.6, 100), None, held, RULE) is not None
    assert compare_score(replace(number(0.6, 100), value=None), None, held, RULE) is None
    assert compare_score(replace(number(0.6, 100), metric="other"), None, held, RULE) is None
    none = replace(held, scores={"m": BaselineScore(None)})
    assert compare_score(number(0.6, 100), None, none, RULE) is None
    # An n of 0 is none; that of the metric comes before that of the benchmark.
    for own, of_all, n in ((50, 100, 50), (None, 100, 100), (0, 100, None), (None, None, None)):
        score = BaselineScore(0.7, 0.05, own)
        c = compare_score(
            number(0.6, 100), None, replace(held, n=of_all, scores={"m": score}), RULE
        )
        assert c is not None
        assert c.baseline_n == n


def test_clusters_make_samples_count_less() -> None:
    clusters = [f"c{i // 3}" for i in range(300)]
    values = [float(i // 3 % 2) for i in range(300)]
    alike = measured("b/p", {"m": values}, clusters=clusters)
    assert effective_samples(alike.scores[0]) == pytest.approx(100, rel=0.02)
    single = measured("b/p", {"m": values})
    assert effective_samples(single.scores[0]) == pytest.approx(300, rel=0.01)


@pytest.mark.parametrize(
    ("value", "n", "clusters", "error", "effective"),
    [
        (0.5, 101, 50, 0.1, 101 / 4),  # the error of 25 samples
        (0.5, 101, 50, 0.05, 101),
        (0.5, 101, 50, 0.01, 101),  # never more than there are
        (0.5, 101, 50, None, 50),
        (1.0, 101, 50, 0.0, 50),
        (0.0, 101, 50, 0.0, 50),
        (None, 101, 50, 0.1, 50),
        (0.5, 1, 1, 0.1, 1),
        (0.5, 9, 0, None, 9),
    ],
)
def test_effective_samples_by_the_design_effect(
    value: float | None, n: int, clusters: int, error: float | None, effective: float
) -> None:
    score = Score("m", value, n, clusters, error)
    assert effective_samples(score) == pytest.approx(effective)


def test_graded_shares_lose_and_metrics_without_bounds_shift() -> None:
    rng = np.random.default_rng(4)
    then = rng.choice([0.25, 0.5, 0.75, 1.0], size=60)
    now = np.clip(then + rng.choice([-0.25, 0.0, 0.25], size=60), 0, 1)
    c = compare(now.tolist(), then.tolist())
    assert c.mde == pytest.approx(graded_mde(now - then, then, RULE))
    bits = compare(now.tolist(), then.tolist(), kinds={"m": BITS_PER_BYTE})
    assert bits.mde == pytest.approx(shift_mde(then - now, then, RULE))
    assert bits.mde != pytest.approx(c.mde)


def test_the_mde_of_clusters_is_that_of_their_sums() -> None:
    """20 texts of one to four samples; a mean over samples weighs each by its size."""
    rng = np.random.default_rng(6)
    names = [f"t{text}" for text in range(20) for _ in range(1 + text % 4)]
    groups, n = partition(names), len(names)
    then = rng.choice([0.25, 0.5, 1.0], size=n)
    now = np.clip(then + rng.choice([-0.25, 0.0, 0.25], size=n), 0, 1)
    sums, values = groups.sums(now - then) * 20 / n, groups.sums(then) * 20 / n
    graded = compare(list(now), list(then), clusters=names)
    assert graded.mde == pytest.approx(graded_mde(sums, values, RULE))
    bits = compare(list(now), list(then), clusters=names, kinds={"m": BITS_PER_BYTE})
    assert bits.mde == pytest.approx(shift_mde(-sums, values, RULE))
    now, then = (rng.random((2, n)) < 0.6).astype(float)
    sums, flips = groups.sums(now - then), int(abs(now - then).sum())
    expected = clustered_shares_mde(sums, groups.sizes, flips, float(then.mean()), RULE)
    assert compare(list(now), list(then), clusters=names).mde == pytest.approx(expected)
    alone = paired_shares_mde(n, flips / n, float(then.mean()), RULE)
    assert compare(list(now), list(then)).mde == pytest.approx(alone) != expected


def test_without_a_number_of_trials_there_was_one_of_each_sample() -> None:
    now, then = [1.0, 0.0, 1.0, 0.0, 1.0], [0.5, 0.25, 1.0, 0.75, 0.0]
    ours, held = pair(now, then, metric="pass@1", trials=(1, 4))
    assert ours.table is not None
    bare = replace(ours.table, trials=())
    assert compare_score(ours.scores[0], bare, held, RULE) == (
        compare_score(ours.scores[0], ours.table, held, RULE)
    )


def test_passes_are_read_off_the_values_of_pass_at_k() -> None:
    rng = np.random.default_rng(8)
    strength = rng.beta(0.5, 0.5, 30)
    passed = rng.binomial(20, strength), rng.binomial(10, strength)
    trials = np.full(30, 20), np.full(30, 10)
    now, then = (pass_at_k(c, n, 3) for c, n in zip(passed, trials, strict=True))
    c = compare(list(now), list(then), metric="pass@3", trials=(20, 10))
    # Of 20 trials 18 passes, and of 10 eight, make as sure of one in three as all of them do.
    most = np.minimum(passed[0], 18), np.minimum(passed[1], 8)
    expected = trials_test((most[0], trials[0]), (most[1], trials[1]), 3)
    assert (c.p_worse, c.p_better) == (expected.worse, expected.better)


def test_a_sample_counts_where_both_sides_have_a_value_of_every_metric() -> None:
    nan = float("nan")
    ours = measured("b/p", {"a": [1.0, 0.0, nan, 1.0], "b": [1.0, 0.5, 0.5, 0.5]})
    theirs = measured("b/p", {"a": [0.0, 0.0, 1.0, 1.0], "b": [0.5, nan, 0.5, 1.0]})
    held = next(iter(as_baseline(theirs).benchmarks.values()))
    both = common_samples(["a", "b"], ours.table, held)
    assert both is not None
    assert [(p.now.tolist(), p.then.tolist()) for p in both] == [
        ([1.0, 1.0], [0.0, 1.0]),
        ([1.0, 0.5], [0.5, 1.0]),
    ]
    assert both[0].groups.clusters == 2
    (alone,) = common_samples(["a"], ours.table, held) or ()
    assert alone.now.tolist() == [1.0, 0.0, 1.0]
    for missing in (["c"], ["a", "c"]):
        assert common_samples(missing, ours.table, held) is None
    assert common_samples(["a"], None, held) is None
