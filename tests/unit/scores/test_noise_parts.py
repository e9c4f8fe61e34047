"""Where a score's error comes from: the draw of answers or the choice of problems."""

from __future__ import annotations

from itertools import product
from math import comb, sqrt

import numpy as np
import pytest

from ckptbench.scores.aggregate import TrialValue
from ckptbench.scores.noise import (
    draw_variance,
    noise_of,
    noise_of_passes,
    noise_of_values,
    variance_of_mean,
    variance_of_pass_at_k,
)
from ckptbench.scores.reducers import FirstChoice, Mean, PassAtK, TopK, estimate_pass_at_k


def expectation(n: int, p: float, value_of: object) -> float:
    """The expected value over the binomial count of passed trials."""
    chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    return sum(chance * value_of(c) for c, chance in enumerate(chances))  # type: ignore[operator]


def true_variance(n: int, p: float, k: int) -> float:
    def estimate(c: int) -> float:
        return estimate_pass_at_k(n, c, k) or 0.0

    mean = expectation(n, p, estimate)
    return expectation(n, p, lambda c: (estimate(c) - mean) ** 2)


@pytest.mark.parametrize(("k", "n"), [(1, 2), (1, 10), (2, 4), (2, 7), (5, 10), (5, 13)])
@pytest.mark.parametrize("p", [0.03, 0.4, 0.9])
def test_the_variance_of_pass_at_k_is_unbiased(k: int, n: int, p: float) -> None:
    """The sum over all counts is the expectation itself, not a simulation of it."""
    for trials in (n, 2 * n, k):
        made = expectation(n, p, lambda c, t=trials: variance_of_pass_at_k(n, c, k, t))
        assert made == pytest.approx(true_variance(trials, p, k), abs=1e-12)


def test_the_variance_of_pass_at_1_is_that_of_a_mean() -> None:
    for n, c in product((2, 5, 20), (0, 1, 2)):
        values = [1.0] * c + [0.0] * (n - c)
        assert variance_of_pass_at_k(n, c, 1, n) == pytest.approx(variance_of_mean(values, n))


def test_fewer_than_2k_trials_give_no_estimate() -> None:
    assert variance_of_pass_at_k(9, 3, 5, 9) is None
    assert variance_of_mean([1.0], 1) is None
    with pytest.raises(ValueError, match="trials"):
        variance_of_pass_at_k(10, 3, 5, 4)


@pytest.mark.parametrize("k", [1, 5])
def test_the_draws_part_is_unbiased_with_unequal_trials(k: int) -> None:
    """Over many draws of the answers of the same problems, its mean is their true variance."""
    rng = np.random.default_rng(5)
    chances = rng.beta(0.7, 0.7, 40)
    trials = [20 if place % 2 else 12 for place in range(40)]
    truth = sum(true_variance(t, p, k) for t, p in zip(trials, chances, strict=True)) / 40**2
    found = []
    for _ in range(400):
        counts = [(t, int(rng.binomial(t, p))) for t, p in zip(trials, chances, strict=True)]
        made = draw_variance(
            trials, lambda place, t, held=counts: variance_of_pass_at_k(*held[place], k, t)
        )
        assert made is not None
        found.append(made)
    spread = np.std(found) / sqrt(len(found))
    assert np.mean(found) == pytest.approx(truth, abs=4 * spread)
    assert spread < truth / 20


def test_samples_of_one_trial_have_the_variance_of_the_others() -> None:
    """Which samples have one trial is decided before they are asked, so the estimate stays true."""
    rng = np.random.default_rng(6)
    found, truth = [], []
    for _ in range(600):
        chances = rng.beta(2, 2, 30)
        trials = [1] * 15 + [6] * 15
        values = [
            list((rng.random(t) < p).astype(float)) for t, p in zip(trials, chances, strict=True)
        ]
        made = draw_variance(trials, lambda place, t, held=values: variance_of_mean(held[place], t))
        assert made is not None
        found.append(made)
        truth.append(sum(p * (1 - p) / t for t, p in zip(trials, chances, strict=True)) / 30**2)
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.03)


def simulated_counts(problems: int, trials: int, seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    chances = rng.beta(0.5, 0.5, problems)
    return [(trials, int(c)) for c in rng.binomial(trials, chances)]


@pytest.mark.parametrize("k", [1, 5])
def test_errors_are_predicted_for_twice_the_trials_and_twice_the_problems(k: int) -> None:
    """What is predicted of half the data is what the whole shows, on the average."""
    predicted, shown = [], []
    for seed in range(200):
        half = noise_of_passes(simulated_counts(80, 10, seed), list(map(str, range(80))), k)
        more = noise_of_passes(simulated_counts(80, 20, 9000 + seed), list(map(str, range(80))), k)
        twice = noise_of_passes(
            simulated_counts(160, 10, 20000 + seed), list(map(str, range(160))), k
        )
        assert half is not None
        assert more is not None
        assert twice is not None
        predicted.append((half.se_twice_trials, half.se_twice_problems))
        shown.append((more.se_now, twice.se_now))
    assert np.mean(predicted, axis=0) == pytest.approx(np.mean(shown, axis=0), rel=0.03)


def test_easy_and_hard_problems_ask_for_more_problems() -> None:
    counts = [(10, 10)] * 20 + [(10, 0)] * 20
    noise = noise_of_passes(counts, list(map(str, range(40))), 1)
    assert noise is not None
    assert (noise.share_of_draw, noise.share_of_problems) == (0.0, 1.0)
    assert noise.se_twice_trials == noise.se_now
    assert noise.se_twice_problems == pytest.approx(noise.se_now / sqrt(2))
    assert noise.remedy == "more problems"


def test_problems_that_are_all_alike_ask_for_more_trials() -> None:
    counts = [(2, c) for c in [1] * 20 + [0] * 10 + [2] * 10]
    noise = noise_of_passes(counts, list(map(str, range(40))), 1)
    assert noise is not None
    # Half of two trials passed on the average: p (1 - p) / 2 is all the variance that there is.
    assert noise.share_of_draw == pytest.approx(39 / 40)
    assert noise.remedy == "more trials"


def test_what_a_cluster_has_in_common_is_the_choice_of_problems() -> None:
    counts = [(2, c) for c in [1, 1, 2, 2, 0, 0, 1, 1]]
    alone = noise_of_passes(counts, list("abcdefgh"), 1)
    together = noise_of_passes(counts, list("aabbccdd"), 1)
    assert alone is not None
    assert together is not None
    assert together.se_now > alone.se_now
    assert together.share_of_draw < alone.share_of_draw
    draw = together.share_of_draw * together.se_now**2
    assert draw == pytest.approx(alone.share_of_draw * alone.se_now**2)


def test_graded_values_are_split_as_shares_are() -> None:
    values = [[0.2, 0.4], [0.9, 0.7], [0.5, 0.5]]
    noise = noise_of_values("f1", values, ["a", "b", "c"])
    assert noise is not None
    assert noise.share_of_draw * noise.se_now**2 == pytest.approx((0.02 / 2 + 0.02 / 2) / 9)


def trials_of(passed: dict[str, list[float]]) -> list[TrialValue]:
    return [
        TrialValue(sample, sample, number, (value,))
        for sample, values in passed.items()
        for number, value in enumerate(values)
    ]


def test_metrics_with_too_few_trials_are_left_out() -> None:
    table = {"a": [1.0, 0.0, 1.0, 1.0], "b": [0.0, 0.0, 1.0, 0.0], "c": [1.0, 1.0, 1.0, 1.0]}
    metrics = ("pass@1", "pass@2", "pass@3")
    found = noise_of(trials_of(table), PassAtK((1, 2, 3)), "own", metrics)
    assert [noise.metric for noise in found] == ["pass@1", "pass@2"]
    assert noise_of(trials_of(table), PassAtK((1, 2)), "own", ("pass@2",))[0].metric == "pass@2"


def test_one_trial_says_nothing_of_the_draw() -> None:
    table = {"a": [1.0], "b": [0.0], "c": [1.0]}
    assert noise_of(trials_of(table), TopK((1,)), "real", ("real@1",)) == ()
    # And one sample with two of them does not speak for the others.
    assert noise_of(trials_of({**table, "d": [1.0, 0.0]}), TopK((1,)), "real", ("real@1",)) == ()


def test_a_trial_that_was_run_again_counts_once() -> None:
    table = {"a": [1.0, 0.0], "b": [0.0, 0.0], "c": [1.0, 1.0]}
    again = [*trials_of(table), TrialValue("b", "b", 1, (1.0,))]
    changed = trials_of({**table, "b": [0.0, 1.0]})
    assert noise_of(again, Mean(), "own", ("own",)) == noise_of(changed, Mean(), "own", ("own",))


def test_perplexities_are_left_out() -> None:
    trials = [
        TrialValue(sample, sample, number, (float(number), -2.0 * number))
        for sample in "abc"
        for number in range(2)
    ]
    metrics = FirstChoice().metrics("lambada")
    found = noise_of(
        [*trials, TrialValue("d", "d", 0, (1.0, -1.0))], FirstChoice(), "lambada", metrics
    )
    assert [noise.metric for noise in found] == ["lambada@1"]


def test_a_score_without_an_error_has_no_noise() -> None:
    assert noise_of_passes([(4, 4)] * 5, list("abcde"), 1) is None
    assert noise_of_passes([(4, 1), (4, 3)], list("aa"), 1) is None


def test_a_draw_that_varies_more_than_the_score_is_all_of_its_error() -> None:
    """By chance: the samples' means are nearly one, their trials far apart."""
    values = [[0.0, 1.0], [0.0, 1.0], [0.2, 1.0]]
    found = noise_of_values("m", values, "abc")
    assert found is not None
    means = np.array([0.5, 0.5, 0.6])
    error = means.std(ddof=1) / sqrt(3)
    draw = (0.5 + 0.5 + 0.32) / 2 / 9
    assert draw > 2 * error**2
    assert (found.share_of_draw, found.share_of_problems) == (1.0, 0.0)
    assert found.se_twice_trials == pytest.approx(error / sqrt(2))
    assert found.se_twice_problems == pytest.approx(error / sqrt(2))
    assert found.remedy == "more trials"


def test_two_problems_need_enough_trials_for_an_estimate() -> None:
    assert noise_of_passes([(10, 3), (9, 1), (9, 8)], "abc", 5) is None
    assert noise_of_passes([(10, 3), (10, 1), (9, 8)], "abc", 5) is not None
    assert noise_of_values("m", [[0.0, 1.0], [1.0], [0.0]], "abc") is None
    assert noise_of_values("m", [[0.0, 1.0], [1.0, 1.0], [0.0]], "abc") is not None
