"""Two shares that cannot be matched, by enumeration; two numbers with standard errors."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from ckptbench.gate.unpaired_test import p_of_lower, share_error, suissa_shuster_test, welch_test


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


def test_without_any_error_equal_numbers_are_equal() -> None:
    assert welch_test(0.5, 0.0, 9, 0.5, 0.0).worse == 0.5
