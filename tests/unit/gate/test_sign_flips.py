"""Sign flips: the closed form, the permutation, and both against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ckptbench.gate.sign_flips import PValues, detectable_drop, mcnemar, permute_signs


def enumerate_signs(contributions: list[float]) -> PValues:
    """The p-values by brute force: every one of the 2^g sign flips."""
    seen = sum(contributions)
    sums = [
        sum(sign * c for sign, c in zip(signs, contributions, strict=True))
        for signs in product((-1, 1), repeat=len(contributions))
    ]
    extreme = sum(abs(total) >= abs(seen) - 1e-12 for total in sums)
    below = sum(total < seen - 1e-12 for total in sums)
    tied = sum(abs(total - seen) <= 1e-12 for total in sums)
    return PValues(extreme / len(sums), (below + tied / 2) / len(sums))


# McNemar, in closed form


@pytest.mark.parametrize(("lost", "won", "p"), [(38, 9, 2.49e-5), (59, 28, 0.00117)])
def test_check_figures(lost: int, won: int, p: float) -> None:
    assert mcnemar(lost, won).two_sided == pytest.approx(p, rel=2e-3)


@pytest.mark.parametrize("lost", range(7))
@pytest.mark.parametrize("won", range(6))
def test_the_closed_form_is_the_enumeration_of_sign_flips(lost: int, won: int) -> None:
    assert mcnemar(lost, won) == pytest.approx(enumerate_signs([-1.0] * lost + [1.0] * won))


def test_no_flips_say_nothing() -> None:
    assert mcnemar(0, 0) == (1.0, 0.5)


def test_the_mid_p_values_of_worse_and_better_sum_to_one() -> None:
    assert mcnemar(31, 12).worse + mcnemar(12, 31).worse == pytest.approx(1.0)


def test_many_flips_do_not_underflow_to_a_wrong_side() -> None:
    p = mcnemar(60_000, 50_000)
    assert 0 <= p.worse < 1e-100
    assert mcnemar(50_000, 60_000).worse == pytest.approx(1.0)


# The permutation


@pytest.mark.parametrize(
    "contributions",
    [
        [-3.0, 1.0, -2.0, -1.0, 2.0, -1.0, -1.0],
        [-0.25, 0.5, 0.125, -0.75, -0.3, 0.2, -0.9, -0.4],
        [0.4, 0.4, 0.1, -0.2, 0.3],
    ],
)
def test_the_permutation_approaches_the_enumeration(contributions: list[float]) -> None:
    p = permute_signs(np.array(contributions), seed=3)
    assert p == pytest.approx(enumerate_signs(contributions), abs=0.015)


def test_the_permutation_approaches_mcnemar() -> None:
    flips = np.array([-1.0] * 59 + [1.0] * 40 + [0.0] * 500)
    assert permute_signs(flips) == pytest.approx(mcnemar(59, 40), abs=0.01)


def test_clusters_that_did_not_move_change_nothing() -> None:
    moved = np.array([-2.0, 1.0, -1.0])
    assert permute_signs(np.append(moved, np.zeros(50))) == permute_signs(moved)


def test_nothing_is_ever_below_one_in_draws_plus_one() -> None:
    p = permute_signs(np.full(500, -1.0))
    assert p.two_sided == p.worse == 1 / 10_001
    assert permute_signs(np.full(500, -1.0), draws=99).two_sided == 1 / 100


def test_no_movement_says_nothing() -> None:
    assert permute_signs(np.zeros(10)) == (1.0, 0.5)


def test_the_same_seed_gives_the_same_p() -> None:
    values = np.random.default_rng(0).normal(size=300)
    assert permute_signs(values, seed=1) == permute_signs(values, seed=1)
    assert permute_signs(values, seed=1) != permute_signs(values, seed=2)


def test_the_p_value_does_not_depend_on_the_unit() -> None:
    """Sums of 1/1,600ths are not exact in binary; ties must still be ties."""
    flips = np.array([-1.0] * 30 + [1.0] * 22 + [2.0, -3.0])
    assert permute_signs(flips / 1_600) == permute_signs(flips)


def test_memory_does_not_grow_with_clusters_times_draws() -> None:
    """20,000 clusters x 1,000 draws are 160 MB as floats."""
    import tracemalloc

    values = np.random.default_rng(1).normal(size=20_000)
    tracemalloc.start()
    permute_signs(values, draws=1_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 80e6


# How small a drop can be detected


def flips(lost: int, won: int, n: int) -> np.ndarray:
    return np.array([-1.0] * lost + [1.0] * won + [0.0] * (n - lost - won)) / n


def test_the_detectable_drop_solves_connors_equation() -> None:
    n, lost, won = 1_600, 60, 36
    drop = detectable_drop(flips(lost, won, n), n=n, alpha=0.05)
    share = (lost + won) / n
    needed = 1.644854 * share**0.5 + 0.841621 * (share - drop**2) ** 0.5
    assert drop * n**0.5 == pytest.approx(needed, rel=1e-6)


def test_more_flips_hide_a_larger_drop_and_more_samples_show_a_smaller_one() -> None:
    drop = detectable_drop(flips(48, 48, 1_600), n=1_600, alpha=0.05)
    assert detectable_drop(flips(96, 96, 1_600), n=1_600, alpha=0.05) > drop
    assert detectable_drop(flips(96, 96, 3_200), n=3_200, alpha=0.05) < drop
    assert detectable_drop(flips(48, 48, 1_600), n=1_600, alpha=0.05 / 3) > drop


def test_without_flips_four_losses_must_come_by_themselves() -> None:
    """Four losses and no win have the mid-p 1/32; a Poisson mean of 5.52 gives four or more in
    80% of runs."""
    drop = detectable_drop(np.zeros(1_600), n=1_600, alpha=0.05)
    assert drop == pytest.approx(5.515 / 1_600, rel=1e-3)


def test_a_drop_is_finite_even_with_one_cluster() -> None:
    assert 0 < detectable_drop(np.zeros(1), n=1, alpha=0.05) <= 1
    assert 0 < detectable_drop(np.array([-1.0]), n=1, alpha=0.05) <= 1.5


def test_small_graded_changes_need_a_drop_of_their_own_size() -> None:
    contributions = flips(50, 46, 1_600)
    tenth = detectable_drop(contributions / 10, n=1_600, alpha=0.05)
    assert tenth == pytest.approx(detectable_drop(contributions, n=1_600, alpha=0.05) / 10)
