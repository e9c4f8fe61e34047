"""From trials to the table of samples, and from the table to scores."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, nan
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ckptbench import Score, first_choice, mean, pass_at_k, top_k
from ckptbench.scores.aggregate import (
    TrialValue,
    fold,
    impossible,
    only,
    tabulate,
    without,
)
from ckptbench.scores.metric import Metric
from ckptbench.scores.reducers import Named, with_bits_per_byte
from ckptbench.scores.score import SampleValues


def table(values: list[float], clusters: str = "") -> SampleValues:
    names = tuple(f"s{i}" for i in range(len(values)))
    column = np.array(values, dtype=np.float64).reshape(-1, 1)
    return SampleValues(("m",), names, tuple(clusters) or names, column)


# tabulate


def test_one_row_a_sample_sorted_by_hash() -> None:
    trials = [TrialValue("b", "t1", 0, (0.0, 1.0)), TrialValue("a", "t1", 0, (1.0, 1.0))]
    got = tabulate(trials, top_k(1, 5), "real")
    assert got.metrics == ("real@1", "real@5")
    assert got.samples == ("a", "b")
    assert got.clusters == ("t1", "t1")
    assert got.values.tolist() == [[1, 1], [0, 1]]


def test_trials_of_a_sample_are_reduced_never_pooled() -> None:
    """One problem passed 2 of 2, one 0 of 8: the mean over problems is 1/2, not 2/10."""
    trials = [TrialValue("a", "a", i, (1.0,)) for i in range(2)]
    trials += [TrialValue("b", "b", i, (0.0,)) for i in range(8)]
    got = tabulate(trials, pass_at_k(1, 5), "humaneval")
    pass_1, pass_5 = fold(got)
    assert pass_1.value == 0.5
    assert (pass_5.value, pass_5.n, pass_5.clusters) == (None, 1, 2)
    assert "pass@5 does not exist for 1 of 2 samples" in pass_5.reason
    assert got.trials == (2, 8)


def test_the_table_does_not_depend_on_the_order_trials_come_in() -> None:
    trials = [
        TrialValue(f"s{i}", f"c{i % 3}", trial, (0.1 * i + 0.01 * trial,))
        for i in range(10)
        for trial in range(5)
    ]
    shuffled = trials.copy()
    Random(0).shuffle(shuffled)
    first, second = tabulate(trials, mean(), "f1"), tabulate(shuffled, mean(), "f1")
    assert (first.samples, first.clusters) == (second.samples, second.clusters)
    assert np.array_equal(first.values, second.values)


def test_a_trial_that_was_run_again_counts_once_the_later_time() -> None:
    trials = [TrialValue("a", "a", 0, (0.0,)), TrialValue("a", "a", 0, (1.0,))]
    got = tabulate(trials, mean(), "m")
    assert (got.values.tolist(), got.trials) == ([[1.0]], (1,))


def test_a_trial_with_the_wrong_number_of_values_is_refused() -> None:
    with pytest.raises(ValueError, match="trial 0 of sample a of real has 1 values where 2"):
        tabulate([TrialValue("a", "a", 0, (1.0,))], top_k(1, 5), "real")


def test_no_trials_make_an_empty_table_and_scores_without_a_value() -> None:
    got = tabulate([], top_k(1, 5), "real")
    scores = fold(got)
    assert [(s.metric, s.value, s.n, s.reason) for s in scores] == [
        ("real@1", None, 0, "no sample was scored"),
        ("real@5", None, 0, "no sample was scored"),
    ]
    assert got.trials == ()


# fold


def test_independent_0_1_samples_have_the_interval_of_their_share() -> None:
    (score,) = fold(table([1.0] * 72 + [0.0] * 92))
    assert (score.n, score.clusters, score.method) == (164, 164, "korn-graubard")
    assert score.value == pytest.approx(72 / 164)
    assert score.standard_error == pytest.approx(0.0389, abs=5e-5)
    assert score.interval == pytest.approx((0.3612, 0.5192), abs=5e-5)


def test_clustered_samples_have_the_error_and_the_interval_of_their_clusters() -> None:
    (score,) = fold(table([1, 1, 0, 1, 0, 0, 1, 0], "aabbccdd"))
    # Mean 0.5, cluster deviations 1, 0, -1, 0: 4/3 * 2 = 2.667.
    assert (score.n, score.clusters, score.method) == (8, 4, "korn-graubard")
    assert score.standard_error == pytest.approx((8 / 3) ** 0.5 / 8)
    # v = 4 * 2.667 / 64 = 1/6, so 4 * (4/4 + 1/4) / (4/6 + 1/4) = 5.45 samples.
    assert score.interval == pytest.approx(as_if_of(0.5, 60 / 11, clusters=4))


def as_if_of(share: float, samples: float, clusters: int) -> tuple[float, float]:
    n = samples * (1.959964 / stats.t(clusters - 1).ppf(0.975)) ** 2
    low = stats.beta(share * n, (1 - share) * n + 1).ppf(0.025) if share else 0.0
    high = stats.beta(share * n + 1, (1 - share) * n).ppf(0.975) if share < 1 else 1.0
    return low, high


def test_graded_samples_have_the_same_kind_of_interval() -> None:
    (score,) = fold(table([0.2, 0.4, 0.9]))
    assert score.method == "korn-graubard"
    # s2 = 0.13 and m (1-m) = 0.25: 3 * (3/4 + 1/4) / (0.39 + 1/4) = 4.69 samples.
    assert score.interval == pytest.approx(as_if_of(0.5, 3 / 0.64, clusters=3))


def test_what_is_no_share_is_not_kept_within_0_and_1() -> None:
    (score,) = fold(table([12.0, 9.0, 15.0, 11.0]))
    assert score.interval is not None
    assert score.interval[1] > 12


def test_clusters_that_all_agree_do_not_claim_certainty() -> None:
    (score,) = fold(table([1.0] * 6, "aabbcc"))
    assert (score.value, score.standard_error, score.method) == (1.0, 0.0, "korn-graubard")
    # As wide as that of three independent samples.
    assert score.interval == pytest.approx(as_if_of(1.0, 3, clusters=3))


def test_one_cluster_has_a_value_and_says_why_it_has_no_error() -> None:
    (score,) = fold(table([1.0, 0.0], "aa"))
    assert (score.value, score.standard_error, score.interval) == (0.5, None, None)
    assert score.reason == "no standard error (only one cluster)"


def test_one_sample_has_neither_error_nor_interval() -> None:
    (score,) = fold(table([1.0]))
    assert (score.standard_error, score.interval, score.method) == (None, None, "")
    assert score.reason == "no standard error (only one cluster)"


def test_values_without_bounds_that_all_agree_say_why_there_is_no_interval() -> None:
    (score,) = fold(table([7.0] * 5))
    assert (score.value, score.interval) == (7.0, None)
    assert score.reason == "the values are all alike, which says nothing of them"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_is_never_nan_or_infinite(bad: float) -> None:
    (score,) = fold(table([1.0, bad, 0.0]))
    assert (score.value, score.standard_error, score.interval) == (None, None, None)
    assert "does not exist for 1 of 3 samples" in score.reason


# perplexity


def likelihoods(*logprobs: float) -> SampleValues:
    trials = [TrialValue(f"s{i}", f"s{i}", 0, (1.0, x)) for i, x in enumerate(logprobs)]
    return tabulate(trials, first_choice(), "lambada")


def test_perplexity_is_the_exponential_of_the_mean_surprise() -> None:
    hit, perplexity = fold(likelihoods(log(1 / 2), log(1 / 8)))
    assert (hit.metric, hit.value, hit.share) == ("lambada@1", 1.0, True)
    assert perplexity.metric == "lambada_perplexity"
    assert perplexity.value == pytest.approx(4.0)  # not 5, the mean of 2 and 8
    assert not perplexity.share


def test_its_interval_is_the_one_of_the_logarithm() -> None:
    table = likelihoods(-1.0, -2.0, -6.0)
    _, got = fold(table)
    plain = SampleValues(("m",), table.samples, table.clusters, table.values[:, 1:])
    (of_mean,) = fold(plain)
    assert of_mean.method == "hall-t"
    assert got.value is not None
    assert got.interval is not None
    assert of_mean.interval is not None
    assert got.interval == pytest.approx(tuple(exp(-x) for x in reversed(of_mean.interval)))
    assert 0 < got.interval[0] < got.value < got.interval[1]
    assert got.standard_error == pytest.approx(got.value * of_mean.standard_error)
    assert got.method == "log-hall-t"


def test_certain_words_have_the_perplexity_1_and_impossible_ones_none() -> None:
    assert fold(likelihoods(0.0, 0.0))[1].value == 1.0
    _, impossible = fold(likelihoods(-1.0, -np.inf))
    assert impossible.value is None
    assert not impossible.share
    assert "does not exist for 1 of 2 samples" in impossible.reason


@pytest.mark.parametrize(
    ("values", "share"), [([0.0, 0.4, 1.0], True), ([0.0, 1.5, 0.2], False), ([-2.0, 0.5], False)]
)
def test_a_mean_of_what_leaves_0_to_1_is_no_share(values: list[float], share: bool) -> None:
    """It is shown as a number and never compared in percentage points."""
    (score,) = fold(table(values))
    assert score.share is share
    assert score.value == pytest.approx(sum(values) / len(values))


# Metrics that a benchmark gives by name


def named(values: list[dict[str, float]], clusters: str = "") -> SampleValues:
    names = clusters or "abcdefgh"
    trials = [
        TrialValue(f"s{i}", names[i], 0, (row.get("em", nan), row.get("f1", nan)))
        for i, row in enumerate(values)
    ]
    return tabulate(trials, Named(("em", "f1")), "drop")


def test_a_metric_that_the_benchmark_gives_some_samples_is_the_mean_over_those() -> None:
    em, f1 = fold(named([{"em": 1, "f1": 0.5}, {"em": 0}, {"em": 1, "f1": 1.0}, {"em": 0}]))
    assert (em.value, em.n, em.share, em.reason) == (0.5, 4, True, "")
    assert (f1.value, f1.n, f1.clusters) == (0.75, 2, 2)
    assert f1.standard_error == pytest.approx(0.25)
    assert f1.reason == "of the 2 of 4 samples that have one; not gated"
    assert (em.gated, f1.gated) == (True, False)
    assert f1.share, "a mean over some of the samples keeps its unit"


def test_its_clusters_are_those_of_the_samples_that_have_it() -> None:
    rows = [{"em": 1, "f1": 0.2}, {"em": 1, "f1": 0.4}, {"em": 1}, {"em": 1, "f1": 0.9}]
    _, f1 = fold(named(rows, clusters="aabc"))
    assert (f1.n, f1.clusters) == (3, 2)


def test_a_metric_that_no_sample_has_does_not_exist() -> None:
    _, f1 = fold(named([{"em": 1}, {"em": 0}]))
    assert f1.value is None
    assert f1.share, "the gate tells that it is missing"


# bits per byte of the right answer


def bits(*values: float) -> tuple[Score, ...]:
    trials = [TrialValue(f"s{i}", f"s{i}", 0, (1.0, x)) for i, x in enumerate(values)]
    return fold(tabulate(trials, with_bits_per_byte(top_k(1)), "real"))


def test_bits_per_byte_are_their_mean_with_an_interval() -> None:
    hit, score = bits(1.0, 2.0, 6.0)
    assert (hit.metric, hit.value) == ("real@1", 1.0)
    assert (score.metric, score.value, score.n) == ("real_bits_per_byte", 3.0, 3)
    assert (score.unit, score.higher_is_better, score.gated) == ("bits_per_byte", False, False)
    assert score.interval is not None
    assert score.interval[0] < 3.0 < score.interval[1]


def test_an_answer_without_a_likelihood_leaves_the_share_as_it_is() -> None:
    hit, score = bits(1.0, np.nan)
    assert (hit.value, hit.n, hit.gated) == (1.0, 2, True)
    assert (score.value, score.gated) == (None, False)
    assert score.reason == (
        "real_bits_per_byte does not exist for 1 of 2 samples: "
        "their responses hold no likelihood of the right answer"
    )


@pytest.mark.parametrize(
    ("trials", "metrics"),
    [(1, ("code@2", "code@5")), (2, ("code@5",)), (4, ("code@5",)), (5, ())],
)
def test_metrics_that_need_more_trials_are_impossible(
    trials: int, metrics: tuple[str, ...]
) -> None:
    names = tuple(name.replace("code", "pass") for name in metrics)
    assert impossible(pass_at_k(1, 2, 5), "code", trials) == names
    assert impossible(top_k(1, 2, 5), "code", trials) == ()
    assert impossible(mean(), "code", trials) == ()


def test_columns_are_kept_and_left_out_by_name() -> None:
    made = tabulate([TrialValue("a", "a", 0, (0.0, 1.0))], top_k(1, 5), "real")
    assert only(made, None) is made
    assert only(made, ["real@5"]).values.tolist() == [[1.0]]
    assert without(made, []) is made
    assert without(made, ["real@5"]).metrics == ("real@1",)
    assert without(made, ["real@5"]).values.tolist() == [[0.0]]


def test_only_a_metric_that_some_samples_were_never_given_is_not_gated() -> None:
    whole = fold(table([1.0, 0.0], "aa"))[0]  # of one cluster, which is a reason too
    assert whole.reason
    assert whole.gated
    by_name = replace(table([1.0, 0.0], "aa"), by_name=True)
    assert fold(by_name)[0].gated
    assert not fold(replace(table([1.0, nan, 0.0]), by_name=True))[0].gated


def test_points_have_the_score_of_shares_a_hundredfold() -> None:
    shares = [0.2, 0.9, 0.4, 1.0, 0.0]
    points = replace(table([100 * v for v in shares]), kinds={"m": Metric("points")})
    (small,), (large,) = fold(table(shares)), fold(points)
    assert small.interval is not None
    assert large.interval == pytest.approx(tuple(100 * end for end in small.interval))
    assert (large.value, large.standard_error) == pytest.approx(
        (100 * (small.value or 0), 100 * (small.standard_error or 0))
    )
    assert (large.method, large.unit) == (small.method, "points")


def test_a_reducer_of_ones_own_gets_what_it_observes_too() -> None:
    class Mine:
        ks, several_trials, takes_k, observed = (), True, False, ("length",)

        def metrics(self, benchmark: str) -> tuple[str, ...]:
            return ("best", "best of three")

        def reduce(self, trials: Any) -> tuple[float | None, ...]:
            assert all(len(trial) == 2 for trial in trials)  # its value, and what it observes
            return 0.0, 0.0 if len(trials) >= 3 else None

    assert impossible(Mine(), "b", 2) == ("best of three",)  # type: ignore[arg-type]
    assert impossible(Mine(), "b", 3) == ()  # type: ignore[arg-type]
