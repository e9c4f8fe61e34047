"""Standard errors and intervals of a mean."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import optimize, stats

from ckptbench.scores.intervals import (
    Kind,
    cluster_standard_error,
    hall_t_interval,
    interval_of_mean,
    korn_graubard_interval,
    normal_interval,
    partition,
    proportion_standard_error,
    share_interval,
    t_interval,
    t_quantile,
)

ALONE = [str(i) for i in range(164)]


def test_72_of_164_has_a_standard_error_of_0_0389() -> None:
    values = np.array([1.0] * 72 + [0.0] * 92)
    assert cluster_standard_error(values, partition(ALONE)) == pytest.approx(0.0389, abs=5e-5)
    assert proportion_standard_error(72 / 164, 164) == pytest.approx(0.0389, abs=5e-5)


def test_with_one_sample_a_cluster_it_is_the_textbooks_standard_error() -> None:
    values = np.random.default_rng(1).normal(size=50)
    expected = values.std(ddof=1) / sqrt(50)
    assert cluster_standard_error(values, partition(ALONE[:50])) == pytest.approx(expected)


def test_clusters_of_unequal_size_by_hand() -> None:
    """Mean 0.6; cluster deviations (1+1-1.2), (0-0.6), (1+0-1.2): 0.8, -0.6, -0.2."""
    values = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    groups = partition(["a", "a", "b", "c", "c"])
    expected = sqrt(3 / 2 * (0.64 + 0.36 + 0.04)) / 5
    assert cluster_standard_error(values, groups) == pytest.approx(expected)
    assert groups.clusters == 3


def test_copies_of_a_sample_in_one_cluster_add_no_certainty() -> None:
    values = np.random.default_rng(2).random(40)
    once = cluster_standard_error(values, partition(ALONE[:40]))
    thrice = cluster_standard_error(np.repeat(values, 3), partition(np.repeat(ALONE[:40], 3)))
    assert thrice == pytest.approx(once)


def test_one_cluster_has_no_standard_error() -> None:
    assert cluster_standard_error(np.array([0.0, 1.0]), partition(["a", "a"])) is None
    assert proportion_standard_error(1.0, 1) is None


def test_the_partition_numbers_clusters_as_they_come() -> None:
    groups = partition(["b", "a", "b"])
    assert groups.index.tolist() == [0, 1, 0]
    assert groups.sizes.tolist() == [2, 1]
    assert not groups.independent
    assert groups.sums(np.array([1.0, 5.0, 2.0])).tolist() == [3, 5]


# Intervals


@pytest.mark.parametrize("hits", [0, 1, 72, 163, 164])
def test_a_share_has_clopper_and_pearsons_interval_but_for_the_quantile(hits: int) -> None:
    """At n = 164 the t quantile counts as 1.3% fewer samples."""
    n = 164 * (1.959964 / t_quantile(163)) ** 2
    share = hits / 164
    exact = stats.beta(share * n, (1 - share) * n + 1), stats.beta(share * n + 1, (1 - share) * n)
    low = exact[0].ppf(0.025) if hits else 0.0
    high = exact[1].ppf(0.975) if hits < 164 else 1.0
    assert share_interval(share, 164) == pytest.approx((low, high), abs=1e-7)


def test_72_of_164_by_figures() -> None:
    """Clopper and Pearson's own is 0.3618 to 0.5185."""
    assert share_interval(72 / 164, 164) == pytest.approx((0.3612, 0.5192), abs=5e-5)


@pytest.mark.parametrize("kind", ["share", "bounded"])
def test_0_1_values_have_the_interval_of_their_share(kind: Kind) -> None:
    values = np.array([1.0] * 72 + [0.0] * 92)
    found = interval_of_mean(values, partition(ALONE), kind)
    assert found.interval == pytest.approx(share_interval(72 / 164, 164))
    assert (found.method, found.reason) == ("korn-graubard", "")


def test_the_interval_holds_its_mean_stays_within_0_and_1_and_has_a_width() -> None:
    rng = np.random.default_rng(5)
    for g in (2, 3, 10, 40):
        sizes = rng.integers(1, 5, g).astype(float)
        sums = sizes * rng.choice([0.0, 0.3, 0.5, 1.0], (50, g))
        sums[:3] = [np.zeros(g), sizes, sizes / 2]
        low, high = korn_graubard_interval(sums, sizes)
        means = sums.sum(axis=1) / sizes.sum()
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low <= means).all()
        assert (means <= high).all()
        assert (high - low > 0).all()


def test_values_that_vary_less_than_0_1_outcomes_have_a_narrower_interval() -> None:
    graded = np.tile([0.4, 0.6], 82)
    whole = np.tile([0.0, 1.0], 82)
    groups = partition(ALONE)
    assert width(graded, "bounded") < 0.5 * width(whole, "bounded")
    # 164 values that agree are no more certain than 27,060 right and wrong answers.
    same = interval_of_mean(np.full(164, 0.5), groups, "bounded").interval
    assert same is not None
    assert same[0] < 0.4945
    assert same[1] > 0.5055


def width(values: np.ndarray, kind: Kind) -> float:
    found = interval_of_mean(values, partition(ALONE[: len(values)]), kind).interval
    assert found is not None
    return found[1] - found[0]


def test_copies_of_a_sample_in_one_cluster_leave_the_interval_as_it_was() -> None:
    names = partition(np.repeat(ALONE[:40], 3))
    for values in ((np.arange(40) < 9).astype(float), np.zeros(40), np.arange(40) / 40):
        once = interval_of_mean(values, partition(ALONE[:40]), "bounded").interval
        thrice = interval_of_mean(values.repeat(3), names, "bounded").interval
        assert thrice == pytest.approx(once)


def test_points_of_100_have_the_interval_of_shares_a_hundredfold() -> None:
    values = np.random.default_rng(6).random(50)
    groups = partition(ALONE[:50])
    small = interval_of_mean(values, groups, "bounded").interval
    large = interval_of_mean(100 * values, groups, "bounded", scale=100).interval
    assert small is not None
    assert large == pytest.approx((100 * small[0], 100 * small[1]))


def test_a_value_out_of_its_declared_range_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="values from 0 to 72, not 0 to 1"):
        interval_of_mean(np.array([0.0, 72.0]), partition(ALONE[:2]), "bounded")
    with pytest.raises(ValueError, match=r"values from -0\.1 to 1, not 0 to 1"):
        interval_of_mean(np.array([-0.1, 1.0]), partition(ALONE[:2]), "bounded")


def test_one_cluster_has_no_interval() -> None:
    found = interval_of_mean(np.array([0.0, 1.0]), partition(["a", "a"]), "share")
    assert (found.interval, found.method, found.reason) == (
        None,
        "",
        "no interval (only one cluster)",
    )
    assert share_interval(1.0, 1) is None


def test_the_order_of_samples_changes_nothing() -> None:
    rng = np.random.default_rng(7)
    values, order = rng.gamma(0.5, size=90), rng.permutation(90)
    names = [str(i // 3) for i in range(90)]
    for kind in ("bounded", "unbounded"):
        data = values / values.max() if kind == "bounded" else values
        once = interval_of_mean(data, partition(names), kind).interval  # type: ignore[arg-type]
        again = interval_of_mean(
            data[order],
            partition([names[i] for i in order]),
            kind,  # type: ignore[arg-type]
        )
        assert again.interval == pytest.approx(once, rel=1e-12)


# Values without bounds


def test_without_skewness_the_interval_is_the_t_interval_made_wider_by_one_of_g() -> None:
    values = np.concatenate([np.arange(1.0, 21.0), -np.arange(1.0, 21.0)]) + 3
    groups = partition(ALONE[:40])
    error = cluster_standard_error(values, groups)
    assert error is not None
    low, high = interval_of_mean(values, groups, "unbounded").interval or (0, 0)
    plain = t_interval(3.0, error, 39)
    # Hall's transformation still bends by the square of a = 0, which is not at all.
    assert (low, high) == pytest.approx(
        (3 - (3 - plain[0]) * 41 / 40, 3 + (plain[1] - 3) * 41 / 40), rel=1e-6
    )


def test_skewed_values_reach_further_to_the_long_side() -> None:
    values = np.random.default_rng(8).exponential(size=60)
    groups = partition(ALONE[:60])
    low, high = interval_of_mean(values, groups, "unbounded").interval or (0, 0)
    mean = float(values.mean())
    assert high - mean > 1.1 * (mean - low)
    mirrored = interval_of_mean(-values, groups, "unbounded").interval
    assert mirrored == pytest.approx((-high, -low))


def test_the_interval_of_skewed_values_by_halls_formula() -> None:
    values = np.array([0.0, 0.1, 0.2, 0.4, 0.5, 0.9, 1.5, 4.0])
    g, mean = len(values), float(values.mean())
    spread = float(values.std(ddof=1))
    a = float(((values - mean) ** 3).mean()) / spread**3 / sqrt(g)
    quantile = float(stats.t.ppf(0.975, g - 1))

    def solved(t: float) -> float:
        def bent(x: float) -> float:
            return x + a * x**2 / 3 + a**2 * x**3 / 27 + a / 6 - t

        return float(optimize.brentq(bent, -50, 50))

    error = spread / sqrt(g) * (1 + 1 / g)
    expected = (
        mean - error * max(solved(quantile), quantile),
        mean - error * min(solved(-quantile), -quantile),
    )
    found = interval_of_mean(values, partition(ALONE[:g]), "unbounded")
    assert found.interval == pytest.approx(expected, rel=1e-9)


def test_values_without_bounds_that_all_agree_say_nothing() -> None:
    found = interval_of_mean(np.full(9, 0.1), partition(ALONE[:9]), "unbounded")
    assert (found.interval, found.method) == (None, "")
    assert found.reason == "the values are all alike, which says nothing of them"


def test_clusters_that_agree_but_for_rounding_have_no_width() -> None:
    sizes = np.array([1.0, 2.0, 3.0])
    low, high = hall_t_interval(np.array([0.1, 0.2, 0.3 + 1e-16]), sizes)
    assert (low, high) == pytest.approx((0.1, 0.1), abs=1e-12)


def test_halls_transformation_is_solved() -> None:
    from ckptbench.scores.intervals import _hall_inverse

    for a in (-0.4, 1e-7, 0.2):
        t = float(_hall_inverse(2.0, np.array(a)))
        assert t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6 == pytest.approx(2.0, abs=1e-6)


# Of numbers alone


def test_a_stated_standard_error_counts_as_so_many_samples() -> None:
    """Twice the error of a proportion is a quarter of the samples."""
    assert share_interval(0.4, None, sqrt(0.24 / 100)) == pytest.approx((0.3033, 0.5028), abs=1e-4)
    assert share_interval(0.4, 10_000, sqrt(0.24 / 100)) == pytest.approx(
        share_interval(0.4, None, sqrt(0.24 / 100)), abs=1e-3
    )


def test_a_stated_error_of_0_is_no_certainty() -> None:
    assert share_interval(1.0, 20, 0.0) == pytest.approx(share_interval(1.0, 20))
    assert share_interval(1.0, None, 0.0) is None


def test_a_share_of_one_sample_has_no_interval_and_one_of_two_has() -> None:
    assert share_interval(0.5, 1) is None
    assert share_interval(0.5, 2) is not None


def test_the_t_interval_is_wider_for_few_clusters() -> None:
    assert t_interval(0.5, 0.1, 2) == pytest.approx((0.5 - 0.43027, 0.5 + 0.43027), abs=1e-5)
    assert t_interval(0.5, 0.1, 10**9) == pytest.approx(normal_interval(0.5, 0.1))
