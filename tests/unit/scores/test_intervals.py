"""Standard errors and intervals of a mean."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ckptbench.scores.intervals import (
    bootstrap_means,
    cluster_standard_error,
    normal_interval,
    partition,
    proportion_standard_error,
    t_interval,
    wilson_interval,
)

ALONE = [str(i) for i in range(164)]


def test_72_of_164_has_a_standard_error_of_0_0389() -> None:
    values = np.array([1.0] * 72 + [0.0] * 92)
    assert cluster_standard_error(values, partition(ALONE)) == pytest.approx(0.0389, abs=5e-5)
    assert proportion_standard_error(72 / 164, 164) == pytest.approx(0.0389, abs=5e-5)


def test_a_bootstrap_is_the_standard_deviation_of_its_replicates_and_divided_by_nothing() -> None:
    values = np.array([[1.0]] * 72 + [[0.0]] * 92)
    rng = np.random.default_rng(0)
    means = bootstrap_means(values, partition(ALONE), replicates=20_000, rng=rng)
    assert means.std(ddof=1) == pytest.approx(0.0389, abs=8e-4)


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
    assert groups.degrees_of_freedom == 2


def test_copies_of_a_sample_in_one_cluster_add_no_certainty() -> None:
    values = np.random.default_rng(2).random(40)
    once = cluster_standard_error(values, partition(ALONE[:40]))
    thrice = cluster_standard_error(np.repeat(values, 3), partition(np.repeat(ALONE[:40], 3)))
    assert thrice == pytest.approx(once)


def test_the_clustered_bootstrap_agrees_with_the_formula() -> None:
    rng = np.random.default_rng(3)
    groups = partition([str(i // 3) for i in range(900)])
    values = ((rng.random(300).repeat(3) + rng.random(900)) > 1.0).astype(float)
    means = bootstrap_means(values[:, None], groups, replicates=4_000, rng=rng)
    formula = cluster_standard_error(values, groups)
    assert means.std(ddof=1) == pytest.approx(formula, rel=0.05)
    assert means.mean() == pytest.approx(values.mean(), abs=0.003)


def test_columns_are_resampled_together() -> None:
    values = np.random.default_rng(4).random((60, 1))
    both = np.hstack([values, 1 - values])
    means = bootstrap_means(
        both, partition(ALONE[:60]), replicates=50, rng=np.random.default_rng(0)
    )
    assert means.sum(axis=1) == pytest.approx(np.ones(50))


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


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [(72, 164, 0.3653, 0.5155), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (1, 1, 0.2065, 1.0)],
)
def test_wilson(passed: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(passed / n, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_holds_its_share_and_stays_within_0_and_1() -> None:
    for n in range(1, 60):
        for passed in range(n + 1):
            low, high = wilson_interval(passed / n, n)
            assert 0 <= low <= passed / n <= high <= 1


def test_the_t_interval_is_wider_for_few_clusters() -> None:
    assert t_interval(0.5, 0.1, 2) == pytest.approx((0.5 - 0.43027, 0.5 + 0.43027), abs=1e-5)
    assert t_interval(0.5, 0.1, 10**9) == pytest.approx(normal_interval(0.5, 0.1))
