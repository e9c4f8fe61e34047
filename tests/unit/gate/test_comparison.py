"""A score beside the baseline's: paired, unpaired, and as two bare numbers."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

from ckptbench.gate.baseline import BaselineBenchmark, BaselineScore
from ckptbench.gate.comparison import compare_numbers, compare_score, effective_samples
from ckptbench.gate.mde import Rule, graded_mde, shift_mde
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.gate.permutation_test import mcnemar
from ckptbench.gate.trials_test import trials_test
from ckptbench.gate.verdict import Comparison
from ckptbench.scores.metric import BITS_PER_BYTE, PERPLEXITY
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
    low, high = c.interval or (0.0, 0.0)
    assert low <= c.difference <= high


# Unpaired


def number(value: float, n: int, *, error: float | None = None) -> Score:
    return Score("m", value, n, n, error)


def test_a_baseline_of_100_percent_of_two_samples_is_not_known_exactly() -> None:
    c = compare_numbers(number(0.59, 232), 1.0, n=2, standard_error=None, rule=RULE)
    assert (c.kind, c.n, c.baseline_n) == ("unpaired", 232, 2)
    assert c.p_worse is not None
    assert c.p_worse > 0.05
    assert c.interval is not None
    assert c.interval[0] < 0 < c.interval[1] + 0.2


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
