"""Two shares that cannot be matched, by enumeration; two numbers with standard errors."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from ckptbench.gate.unpaired_test import (
    critical_score,
    p_of_lower,
    power_of_shares,
    share_error,
    suissa_shuster_test,
    welch_degrees,
    welch_test,
)


def largest_false_alarm(now_n: int, then_n: int, alpha: float) -> float:
    """The largest false-alarm rate over true shares of .01 to .99, by enumeration.

    For each count of the baseline the counts here that are "worse" are those up to a bound, which
    does not fall as the baseline's count rises.
    """
    bounds, most = [], -1
    for passed in range(then_n + 1):
        most = max(most - 1, -1)
        while most < now_n and worse(most + 1, now_n, passed, then_n) <= alpha:
            most += 1
        bounds.append(most)
    counts = np.arange(then_n + 1)
    shares = np.arange(0.01, 1, 0.01)
    return max(
        float(stats.binom.pmf(counts, then_n, p) @ stats.binom.cdf(bounds, now_n, p))
        for p in shares
    )


def worse(now: int, now_n: int, then: int, then_n: int) -> float:
    return p_of_lower(now / now_n, now_n, then / then_n, then_n)


@pytest.mark.parametrize(
    ("sizes", "alpha"),
    [
        ((20, 200), 0.05),
        ((20, 200), 0.05 / 3),
        ((200, 20), 0.05),
        ((28, 28), 0.05 / 3),
        ((28, 164), 0.05),
        ((164, 28), 0.05 / 60),
    ],
)
def test_false_alarms_keep_alpha_for_every_share(sizes: tuple[int, int], alpha: float) -> None:
    rate = largest_false_alarm(*sizes, alpha)
    assert 0.8 * alpha < rate <= alpha


def test_one_hundred_percent_of_two_samples_is_no_evidence() -> None:
    """That p was 6e-20 when the baseline counted as known exactly."""
    p = suissa_shuster_test(0.59, 1_600, 1.0, 2)
    assert p.worse == pytest.approx(0.31, abs=0.01)
    assert suissa_shuster_test(0.41, 1_600, 0.0, 2).better == p.worse


def test_it_is_at_least_as_sharp_as_fishers_test() -> None:
    for now, then in ((8, 150), (12, 160), (3, 90), (17, 190)):
        fisher = stats.fisher_exact([[now, then], [20 - now, 200 - then]], alternative="less")
        assert worse(now, 20, then, 200) <= fisher.pvalue + 2e-6


def test_it_is_close_to_boschloos_test() -> None:
    boschloo = stats.boschloo_exact([[11, 120], [9, 80]], alternative="less")
    assert worse(11, 20, 120, 200) == pytest.approx(boschloo.pvalue, abs=0.01)


def test_large_samples_approach_the_normal_limit() -> None:
    p = suissa_shuster_test(0.48, 14_000, 0.49, 14_000)
    z = -0.01 / sqrt(2 * 0.485 * 0.515 / 14_000)
    assert p.worse == pytest.approx(stats.norm.cdf(z), rel=0.02)


def test_better_and_worse_change_places_with_the_sides() -> None:
    there = suissa_shuster_test(0.4, 20, 0.6, 200)
    back = suissa_shuster_test(0.6, 200, 0.4, 20)
    assert there.worse == pytest.approx(back.better, rel=1e-3)
    assert there.two_sided == 2 * there.worse


def test_a_design_effect_makes_the_same_shares_less_certain() -> None:
    alone = suissa_shuster_test(0.50, 300, 0.60, 300)
    clustered = suissa_shuster_test(0.50, 300 / 1.8, 0.60, 300)
    assert alone.worse < clustered.worse
    assert suissa_shuster_test(0.50, 166.67, 0.60, 300) == clustered


@pytest.mark.parametrize("values", [(1.2, 20, 0.5, 20), (0.5, 20, -0.1, 20), (0.5, 0, 0.5, 20)])
def test_what_is_no_share_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="share"):
        suissa_shuster_test(*values)


# Standard errors


def test_welchs_t_is_that_of_the_samples() -> None:
    rng = np.random.default_rng(0)
    now, then = rng.normal(5.0, 1, 30), rng.normal(5.5, 3, 12)
    expected = stats.ttest_ind(now, then, equal_var=False, alternative="less")
    p = welch_test(
        now.mean(),
        now.std(ddof=1) / sqrt(30),
        29,
        then.mean(),
        then.std(ddof=1) / sqrt(12),
        then_n=12,
    )
    assert p.worse == pytest.approx(expected.pvalue)
    assert p.worse + p.better == pytest.approx(1.0)
    assert p.two_sided == pytest.approx(2 * p.worse)


def test_a_share_is_never_surer_than_its_n_allows() -> None:
    """A baseline of 100% with an error of 0, of ten samples."""
    sure = welch_test(0.8, 0.02, 399, 1.0, 0.0)
    floored = welch_test(0.8, 0.02, 399, 1.0, share_error(1.0, 10), then_n=10)
    assert sure.worse < 1e-6 < 0.01 < floored.worse


def test_the_floor_is_the_plain_error_in_the_middle_and_positive_at_the_ends() -> None:
    assert share_error(0.4, 100) == pytest.approx(sqrt(0.24 / 100), rel=1e-6)
    assert share_error(1.0, 2) == pytest.approx(sqrt(0.75 * 0.25 / 4))
    assert share_error(0.0, 2) == share_error(1.0, 2)


def test_without_any_error_nothing_is_decided() -> None:
    assert welch_test(0.5, 0.0, 9, 0.7, 0.0) == (0.5, 0.5, 1.0, 0.0)


def test_without_any_error_equal_numbers_are_equal() -> None:
    assert welch_test(0.5, 0.0, 9, 0.5, 0.0).worse == 0.5


# By enumeration of every pair of counts


def scores(now_n: int, then_n: int) -> np.ndarray:
    """`[now_n + 1, then_n + 1]`: the score of every pair of counts, by its formula."""
    x, y = np.arange(now_n + 1)[:, None], np.arange(then_n + 1)[None, :]
    pooled = (x + y) / (now_n + then_n)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / now_n + 1 / then_n))
    difference = x / now_n - y / then_n
    return np.divide(difference, spread, out=np.zeros_like(difference), where=spread > 0)


@pytest.mark.parametrize(
    ("now", "now_n", "then", "then_n"),
    [
        (2, 9, 6, 7),
        (0, 5, 3, 12),
        (4, 8, 5, 9),
        (11, 12, 6, 6),
        (7, 7, 4, 4),
        (0, 6, 0, 3),
        (3, 4, 1, 3),
    ],
)
def test_p_is_the_largest_probability_of_what_is_as_extreme(
    now: int, now_n: int, then: int, then_n: int
) -> None:
    table = scores(now_n, then_n)
    extreme = table <= table[now, then] + 1e-9
    passed, n = now + then, now_n + then_n
    low = stats.beta.ppf(5e-7, passed, n - passed + 1) if passed else 0.0
    high = stats.beta.ppf(1 - 5e-7, passed + 1, n - passed) if passed < n else 1.0
    largest = max(
        float(
            stats.binom.pmf(np.arange(now_n + 1), now_n, p)
            @ extreme
            @ stats.binom.pmf(np.arange(then_n + 1), then_n, p)
        )
        for p in np.sin(np.linspace(np.arcsin(sqrt(low)), np.arcsin(sqrt(high)), 2_001)) ** 2
    )
    # What the interval of the share misses is added, and the grid is finer here.
    p = p_of_lower(now / now_n, now_n, then / then_n, then_n)
    assert 0.995 * largest + 1e-6 <= p <= min(1.0, largest + 1.1e-6)


@pytest.mark.parametrize(
    ("now_n", "then_n", "then", "alpha"),
    [
        (12, 20, 0.5, 0.05),
        (30, 25, 0.8, 0.05),
        (9, 40, 0.1, 0.05),
        (25, 25, 0.52, 0.01),
        (10, 40, 1.0, 0.05),
    ],
)
def test_the_critical_score_lies_between_what_is_significant_and_what_is_not(
    now_n: int, then_n: int, then: float, alpha: float
) -> None:
    significant = [p_of_lower(x / now_n, now_n, then, then_n) <= alpha for x in range(now_n + 1)]
    last = significant.index(False) - 1
    column = scores(now_n, then_n)[:, round(then * then_n)]
    critical = critical_score(now_n, then_n, then, alpha)
    if last < 0:
        assert critical < column[0]
    else:
        assert column[last] < critical < column[last + 1]
        assert critical == pytest.approx((column[last] + column[last + 1]) / 2)


def test_the_critical_score_of_many_samples_is_the_normal_quantile() -> None:
    assert critical_score(500, 500, 0.4, 0.05) == pytest.approx(-1.6448536)
    assert critical_score(499, 500, 0.4, 0.05) != pytest.approx(-1.6448536, abs=1e-6)
    assert critical_score(500, 499, 0.4, 0.05) != pytest.approx(-1.6448536, abs=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize(
    ("now", "now_n", "then", "then_n"),
    [(0.4, 30, 0.7, 40), (0.05, 25, 0.3, 20), (0.9, 40, 1.0, 12), (0.5, 120, 0.6, 140)],
)
def test_power_is_the_probability_of_every_pair_of_counts_that_is_found(
    now: float, now_n: int, then: float, then_n: int, tolerance: float
) -> None:
    x, y = np.arange(now_n + 1)[:, None], np.arange(then_n + 1)[None, :]
    found = scores(now_n, then_n) <= -1.5 + 1e-9
    found &= x / now_n < y / then_n - tolerance - 1e-9
    wanted = stats.binom.pmf(x[:, 0], now_n, now) @ found @ stats.binom.pmf(y[0], then_n, then)
    power = power_of_shares(now, now_n, then, then_n, -1.5, tolerance)
    assert power == pytest.approx(wanted, abs=1e-7)


def test_power_over_many_counts_is_summed_in_steps() -> None:
    wanted = 0.0
    x, y = np.arange(1_201), np.arange(2_001)
    bounds = np.array([(scores_of(x, 1_200, count, 2_000) <= -1.6).sum() - 1 for count in y])
    wanted = stats.binom.pmf(y, 2_000, 0.5) @ stats.binom.cdf(bounds, 1_200, 0.46)
    assert power_of_shares(0.46, 1_200, 0.5, 2_000, -1.6, 0.0) == pytest.approx(wanted, abs=2e-3)


def scores_of(x: np.ndarray, now_n: int, then: int, then_n: int) -> np.ndarray:
    pooled = (x + then) / (now_n + then_n)
    spread = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / now_n + 1 / then_n))
    return (x / now_n - then / then_n) / spread


def test_welchs_degrees_of_freedom() -> None:
    # (4 + 9)^2 / (16 / 5 + 81 / 9), of 6 and 10 samples.
    assert welch_degrees(2.0, 5.0, 3.0, 10.0) == pytest.approx(169 / (16 / 5 + 9))
    assert welch_degrees(2.0, 5.0, 3.0, None) == pytest.approx(169 / (16 / 5))
    assert welch_degrees(2.0, 0.5, 0.0, 10.0) == 1.0
    assert welch_degrees(0.0, 5.0, 0.0, 1.0) == 1e9
    assert welch_degrees(0.0, 5.0, 3.0, 1.0) == 1.0
