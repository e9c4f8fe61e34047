"""Intervals of differences between this run and the baseline."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from ckptbench.gate.difference_intervals import (
    PairedColumns,
    composite_interval,
    excluded_drop_p,
    paired_interval,
    unpaired_interval,
)
from ckptbench.scores.intervals import partition, share_interval, t_quantile


def alone(n: int) -> list[str]:
    return [str(i) for i in range(n)]


def outcomes(n: int, lost: int, won: int) -> tuple[np.ndarray, np.ndarray]:
    now, then = np.zeros(n), np.zeros(n)
    then[:lost] = 1.0
    now[lost : lost + won] = 1.0
    return now, then


@pytest.mark.parametrize(("n", "lost", "won"), [(30, 0, 0), (164, 5, 2), (1_600, 38, 9)])
def test_single_0_1_samples_have_bonett_and_prices_interval(n: int, lost: int, won: int) -> None:
    found = paired_interval(*outcomes(n, lost, won), partition(alone(n)), "share")
    p_lost, p_won = (lost + 1) / (n + 2), (won + 1) / (n + 2)
    center = p_won - p_lost
    reach = t_quantile(n - 1) * sqrt((p_lost + p_won - center**2) / (n + 2))
    assert found == pytest.approx((center - reach, center + reach))


def test_clusters_of_graded_values_have_the_interval_of_the_docstring() -> None:
    """Two clusters of the usual size are added, which move by r in either direction."""
    sizes = [1, 2, 2, 3, 5, 1]
    names = [str(cluster) for cluster, size in enumerate(sizes) for _ in range(size)]
    rng = np.random.default_rng(2)
    now, then = rng.random((2, 14)).round(1)
    ends = np.cumsum([0, *sizes])
    d = [(now - then)[a:b].sum() for a, b in pairwise(ends)]
    n, k = 14, sum(size**2 for size in sizes) / 14
    r2 = (sum(x**4 for x in d) + k**4 / 4) / (sum(x**2 for x in d) + k**2 / 4)
    m = sum(d) / (n + 2 * k)
    squares = sum((x - size * m) ** 2 for x, size in zip(d, sizes, strict=True))
    error = sqrt(squares + (sqrt(r2) - k * m) ** 2 + (sqrt(r2) + k * m) ** 2) / (n + 2 * k)
    found = paired_interval(now, then, partition(names), "bounded")
    reach = t_quantile(5) * error
    assert found == pytest.approx((m - reach, m + reach))
    p = excluded_drop_p(now - then, partition(names), "bounded", 0.2)
    assert p == pytest.approx(stats.t.sf((m + 0.2) / error, 5))
    tenfold = excluded_drop_p(10 * (now - then), partition(names), "bounded", 2.0, scale=10.0)
    assert tenfold == pytest.approx(p)
    assert excluded_drop_p(now - then, partition(["a"] * 14), "bounded", 0.2) is None
    gains = np.array([0.3, -0.1, 0.4, 0.0, 0.1])
    plain = excluded_drop_p(gains, partition(alone(5)), "unbounded", 0.1)
    assert plain == pytest.approx(stats.ttest_1samp(gains, -0.1, alternative="greater").pvalue)


def test_without_any_flip_30_samples_do_not_exclude_a_drop_of_2_pp() -> None:
    found = paired_interval(*outcomes(30, 0, 0), partition(alone(30)), "share")
    assert found is not None
    assert found[0] < -0.02 < 0.02 < found[1]


def test_more_is_lost_than_can_be_lost_nowhere() -> None:
    low, high = paired_interval(np.zeros(28), np.ones(28), partition(alone(28)), "share") or (0, 0)
    assert low == -1.0
    assert -1.0 < high < 0


def test_copies_in_one_cluster_add_no_certainty() -> None:
    now, then = outcomes(60, 6, 3)
    once = paired_interval(now, then, partition(alone(60)), "share")
    names = [str(i // 3) for i in range(180)]
    thrice = paired_interval(now.repeat(3), then.repeat(3), partition(names), "share")
    assert thrice == pytest.approx(once)


def test_small_movements_of_graded_values_are_not_blurred_by_whole_flips() -> None:
    rng = np.random.default_rng(0)
    then = rng.random(600) * 0.8 + 0.1
    now = then + rng.normal(0, 0.02, 600)
    low, high = paired_interval(now, then, partition(alone(600)), "bounded") or (0, 0)
    plain = 2 * t_quantile(599) * (now - then).std(ddof=1) / sqrt(600)
    assert plain < high - low < 0.01


def test_graded_values_that_all_agree_have_the_width_of_0_1_outcomes() -> None:
    same = np.full(40, 0.3)
    graded = paired_interval(same, same, partition(alone(40)), "bounded")
    assert graded == pytest.approx(
        paired_interval(*outcomes(40, 0, 0), partition(alone(40)), "share")
    )


def test_points_of_100_have_the_interval_of_shares_a_hundredfold() -> None:
    rng = np.random.default_rng(1)
    now, then, groups = rng.random(50), rng.random(50), partition(alone(50))
    small = paired_interval(now, then, groups, "bounded") or (0, 0)
    large = paired_interval(100 * now, 100 * then, groups, "bounded", scale=100.0)
    assert large == pytest.approx((100 * small[0], 100 * small[1]))


def test_values_without_bounds_keep_their_unit_and_need_a_spread() -> None:
    rng = np.random.default_rng(2)
    now, then, groups = rng.normal(5, 1, 80), rng.normal(9, 1, 80), partition(alone(80))
    low, high = paired_interval(now, then, groups, "unbounded") or (0, 0)
    assert low < float((now - then).mean()) < high < -3
    assert paired_interval(now + 1, now, groups, "unbounded") is None


def test_one_cluster_has_no_interval() -> None:
    assert paired_interval(np.ones(2), np.zeros(2), partition(["a", "a"]), "share") is None


def test_the_order_of_samples_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    now, then = rng.random(90), rng.random(90)
    names = np.array([str(i // 3) for i in range(90)])
    order = rng.permutation(90)
    assert paired_interval(now, then, partition(list(names)), "bounded") == pytest.approx(
        paired_interval(now[order], then[order], partition(list(names[order])), "bounded")
    )


# Unpaired


def test_two_shares_of_which_only_n_is_known() -> None:
    mine, theirs = share_interval(0.59, 200), share_interval(1.0, 20)
    assert mine is not None
    assert theirs is not None
    found = unpaired_interval(0.59, mine, 1.0, theirs)
    # 20 of 20 is no certainty: it may be a share of 0.83.
    assert found[0] == pytest.approx(-0.41 - (0.59 - mine[0]), abs=0.01)
    assert found[1] == pytest.approx(-0.41 + sqrt((mine[1] - 0.59) ** 2 + (1 - theirs[0]) ** 2))


def test_unpaired_shares_never_have_zero_width_and_stay_within_1() -> None:
    all_, none = share_interval(1.0, 28), share_interval(0.0, 28)
    assert all_ is not None
    assert none is not None
    low, high = unpaired_interval(1.0, all_, 0.0, none)
    assert low < high == 1.0


# Composites


def columns(now: np.ndarray, then: np.ndarray, weights: list[float]) -> PairedColumns:
    return PairedColumns(now, then, np.array(weights), partition(alone(len(now))))


def test_a_composite_of_one_metric_has_that_metrics_interval() -> None:
    now, then = outcomes(164, 9, 4)
    table = columns(np.stack([now, now], axis=1), np.stack([then, then], axis=1), [1.0, 0.0])
    assert composite_interval([table]) == pytest.approx(
        paired_interval(now, then, partition(alone(164)), "share")
    )


def test_metrics_of_one_table_move_together_and_tables_apart() -> None:
    now, then = outcomes(164, 9, 4)
    both = columns(np.stack([now, now], axis=1), np.stack([then, then], axis=1), [0.5, 0.5])
    half = columns(now[:, None], then[:, None], [0.5])
    one = paired_interval(now, then, partition(alone(164)), "share") or (0, 0)
    assert composite_interval([both]) == pytest.approx(one)
    low, high = composite_interval([half, half]) or (0, 0)
    assert high - low == pytest.approx((one[1] - one[0]) / sqrt(2), rel=0.01)


def test_a_part_without_interval_leaves_the_composite_without() -> None:
    single = columns(np.ones((1, 1)), np.zeros((1, 1)), [1.0])
    assert composite_interval([single]) is None
    assert composite_interval([]) is None
