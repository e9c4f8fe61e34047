"""Sign flips: the closed form, the convolution and the random flips, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ckptbench.gate.permutation_test import (
    NO_DIFFERENCE,
    PValues,
    mcnemar,
    random_flips,
    sign_flip_test,
)


def enumerate_signs(contributions: NDArray[np.float64]) -> PValues:
    """The p-values by brute force: every one of the 2^g sign flips."""
    g = len(contributions)
    signs = 2 * ((np.arange(2**g)[:, None] >> np.arange(g)) & 1) - 1
    sums, seen = signs @ contributions, contributions.sum()
    below, above = (sums < seen - 1e-9).mean(), (sums > seen + 1e-9).mean()
    tied = 1 - below - above
    extreme = (np.abs(sums) >= abs(seen) - 1e-9).mean()
    return PValues(float(below + tied / 2), float(above + tied / 2), float(extreme))


def with_its_own_sizes(rng: np.random.Generator, g: int) -> NDArray[np.float64]:
    """Contributions of no common unit."""
    return rng.normal(-0.2, 1, size=g)


# McNemar, in closed form


@pytest.mark.parametrize(("lost", "won", "p"), [(38, 9, 2.49e-5), (59, 28, 0.00117)])
def test_check_figures(lost: int, won: int, p: float) -> None:
    assert mcnemar(lost, won).two_sided == pytest.approx(p, rel=2e-3)


@pytest.mark.parametrize("lost", range(7))
@pytest.mark.parametrize("won", range(6))
def test_the_closed_form_is_the_enumeration_of_sign_flips(lost: int, won: int) -> None:
    flips = np.array([-1.0] * lost + [1.0] * won)
    expected = enumerate_signs(flips) if len(flips) else NO_DIFFERENCE
    assert mcnemar(lost, won) == pytest.approx(expected)


def test_no_flips_say_nothing() -> None:
    assert mcnemar(0, 0) == NO_DIFFERENCE == (0.5, 0.5, 1.0, 0.0)


def test_worse_of_one_direction_is_better_of_the_other() -> None:
    there, back = mcnemar(31, 12), mcnemar(12, 31)
    assert there.worse == back.better
    assert there.worse + there.better == pytest.approx(1.0)


def test_many_flips_do_not_underflow_to_a_wrong_side() -> None:
    p = mcnemar(60_000, 50_000)
    assert 0 <= p.worse < 1e-100
    assert p.better == pytest.approx(1.0)


# Whole multiples of a unit: exact


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_the_unit_of_the_contributions_is_without_effect(scale: float) -> None:
    whole = np.random.default_rng(1).integers(-40, 30, size=60).astype(np.float64)
    for values in (whole, whole[:12] + 0.1 * np.sqrt(np.arange(12)), whole + np.pi**-20):
        scaled, plain = sign_flip_test(scale * values), sign_flip_test(values)
        assert scaled == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_cluster_sums_are_convolved_to_the_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sums = rng.integers(-4, 4, size=rng.integers(1, 17)).astype(np.float64)
    p = sign_flip_test(sums)
    assert p == pytest.approx(enumerate_signs(sums), abs=1e-12)
    assert p.simulation_error == 0


@pytest.mark.parametrize("unit", [1 / 20, 1 / 1_600, 0.3 / 600, 1 / 15_504])
def test_multiples_of_any_unit_are_exact(unit: float) -> None:
    rng = np.random.default_rng(7)
    sums = rng.integers(-60, 50, size=400).astype(np.float64)
    p = sign_flip_test(sums * unit)
    assert p == pytest.approx(sign_flip_test(sums), abs=1e-12)
    assert p.simulation_error == 0


def test_clusters_of_one_size_are_mcnemars_test() -> None:
    flips = np.array([-3.0] * 59 + [3.0] * 28 + [0.0] * 500)
    assert sign_flip_test(flips / 1_761) == mcnemar(59, 28)


def test_the_convolution_joins_mcnemars_test_where_one_cluster_differs() -> None:
    """A cluster of two beside thousands of ones changes little, far into the tail."""
    flips = np.array([-1.0] * 6_200 + [1.0] * 5_800)
    alone = mcnemar(6_200, 5_800)
    with_two = sign_flip_test(np.append(flips, [-2.0, 2.0]))
    assert alone.worse == pytest.approx(1.3e-4, rel=0.05)
    assert with_two.worse == pytest.approx(alone.worse, rel=0.01)


def test_the_tails_are_right_down_to_their_limit() -> None:
    """60 clusters that all fell: only one flip of 2^60 is as extreme."""
    sums = np.array([-1.0] * 30 + [-2.0] * 30)
    assert sign_flip_test(sums).worse == pytest.approx(2.0**-61, rel=1e-9)
    assert sign_flip_test(np.tile(sums, 3)).worse == 1e-20


def test_neither_the_order_nor_the_seed_changes_an_exact_p() -> None:
    rng = np.random.default_rng(3)
    sums = rng.integers(-3, 4, size=900) / 2_700
    first = sign_flip_test(sums)
    for seed in range(5):
        assert sign_flip_test(rng.permutation(sums), seed=seed) == first


def test_ten_thousand_clusters_agree_with_the_normal_limit() -> None:
    from scipy import stats

    sums = np.random.default_rng(4).integers(-30, 31, size=10_000).astype(np.float64)
    z = sums.sum() / np.sqrt(sums @ sums)
    p = sign_flip_test(sums)
    assert p.simulation_error == 0
    assert p.worse == pytest.approx(stats.norm.cdf(z), abs=1e-4)


def test_clusters_that_did_not_move_change_nothing() -> None:
    moved = np.array([-2.0, 1.0, -1.0])
    assert sign_flip_test(np.append(moved, np.zeros(50))) == sign_flip_test(moved)


def test_no_movement_says_nothing() -> None:
    assert sign_flip_test(np.zeros(10)) == NO_DIFFERENCE


# No common unit


@pytest.mark.parametrize("g", [1, 2, 7, 16])
def test_few_contributions_of_any_size_are_enumerated(g: int) -> None:
    values = with_its_own_sizes(np.random.default_rng(g), g)
    p = sign_flip_test(values)
    assert p == pytest.approx(enumerate_signs(values), abs=1e-12)
    assert p.simulation_error == 0


@pytest.mark.parametrize("seed", range(4))
def test_many_are_flipped_at_random_within_the_error_that_is_named(seed: int) -> None:
    values = with_its_own_sizes(np.random.default_rng(seed), 20)
    exact = enumerate_signs(values)
    p = sign_flip_test(values, seed=seed)
    assert 0 < p.simulation_error < 0.001
    assert p.worse == pytest.approx(exact.worse, abs=4 * p.simulation_error)
    assert p.better == pytest.approx(exact.better, abs=4 * p.simulation_error)
    assert p.two_sided == pytest.approx(exact.two_sided, abs=8 * p.simulation_error)


def test_the_simulation_error_is_the_spread_over_seeds() -> None:
    values = np.random.default_rng(6).normal(size=40)
    results = [sign_flip_test(values, draws=2_000, seed=seed) for seed in range(200)]
    spread = np.std([p.worse for p in results])
    assert spread == pytest.approx(results[0].simulation_error, rel=0.2)


def test_random_flips_depend_on_the_seed_alone() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=300)
    first = sign_flip_test(values, seed=1)
    assert sign_flip_test(rng.permutation(values), seed=1) == first
    assert sign_flip_test(values, seed=2) != first


def test_both_directions_have_the_same_p() -> None:
    values = with_its_own_sizes(np.random.default_rng(2), 200)
    there, back = sign_flip_test(values), sign_flip_test(-values)
    assert (there.worse, there.better) == (back.better, back.worse)


def test_a_drawn_p_is_never_smaller_than_its_draws_can_show() -> None:
    values = -np.abs(with_its_own_sizes(np.random.default_rng(1), 500))
    p = sign_flip_test(values)
    assert (p.worse, p.two_sided) == (0.5 / 100_001, 1 / 100_001)
    assert sign_flip_test(values, draws=99).two_sided == 1 / 100


@pytest.mark.parametrize("shift", [-0.4, -0.1, 0.0, 0.1, 0.4])
@pytest.mark.parametrize("draws", [60, 3_000])
def test_a_drawn_p_counts_what_is_seen_among_the_draws(shift: float, draws: int) -> None:
    """Two-sided (1 + as extreme) / (1 + draws); one side has half of it, what ties half of that."""
    values = np.random.default_rng(8).normal(shift, 1, size=60)
    sizes = np.sort(np.abs(values))
    sums = np.abs(random_flips(sizes, draws, np.random.default_rng(3)))
    beyond = int((sums > abs(values.sum())).sum())  # no sum of normal values ties
    p = sign_flip_test(values, draws=draws, seed=3)
    tail = max(beyond + 0.5, 1) / (draws + 1) / 2
    assert p.two_sided == pytest.approx((beyond + 1) / (draws + 1), rel=1e-12)
    smaller, larger = (p.worse, p.better) if values.sum() < 0 else (p.better, p.worse)
    assert (smaller, larger) == pytest.approx((tail, 1 - tail), rel=1e-12)
    # Of `draws` draws, each as extreme with twice the tail's probability; half of it on this side.
    assert p.simulation_error == pytest.approx(np.sqrt(2 * tail * (1 - 2 * tail) / draws) / 2)


def test_sums_that_tie_with_what_is_seen_count_half() -> None:
    """Sixteen of one size and one without a common unit: many flips have the sum that is seen."""
    values = np.array([1.0, -1.0] * 8 + [np.pi])
    p = sign_flip_test(values, draws=2_000, seed=5)
    sizes = np.sort(np.abs(values))
    sums = np.abs(random_flips(sizes, 2_000, np.random.default_rng(5)))
    beyond, tied = int((sums > np.pi + 1e-6).sum()), int((abs(sums - np.pi) < 1e-6).sum()) + 1
    assert tied > 100
    assert p.better == pytest.approx((beyond + tied / 2) / 2_001 / 2)
    assert p.two_sided == pytest.approx((beyond + tied) / 2_001)


def test_a_drawn_sum_of_nothing_says_nothing() -> None:
    values = np.random.default_rng(9).normal(size=30)
    assert sign_flip_test(np.concatenate([values, -values]), draws=999) == NO_DIFFERENCE


def test_memory_does_not_grow_with_clusters_times_draws() -> None:
    """20,000 clusters x 10,000 draws are 1.6 GB as floats."""
    import tracemalloc

    values = np.random.default_rng(1).normal(size=20_000)
    tracemalloc.start()
    sign_flip_test(values, draws=10_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 20e6


def test_rounding_in_the_last_digits_is_no_movement() -> None:
    moved = np.array([-0.1, 0.1, -0.1])
    noise = np.array([1e-17, -2e-17, 3e-17])
    assert sign_flip_test(np.concatenate([moved, noise])) == sign_flip_test(moved)
