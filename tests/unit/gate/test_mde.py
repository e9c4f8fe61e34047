"""The minimum detectable effect, and the number of samples that one needs."""

from __future__ import annotations

from math import comb, inf

import numpy as np
import pytest
from scipy import stats

from ckptbench.gate.mde import (
    Rule,
    clustered_shares_mde,
    critical_losses,
    errors_mde,
    graded_mde,
    loss_mde,
    loss_power,
    lost_and_won,
    paired_shares_mde,
    power_of_losses,
    shift_mde,
    unpaired_shares_mde,
)
from ckptbench.gate.permutation_test import mcnemar
from ckptbench.gate.unpaired_test import welch_degrees

RULE = Rule(0.05 / 3, 0.01)


def points(drop: float | None) -> float:
    """In percentage points."""
    assert drop is not None
    return 100 * drop


# The power of the rule


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_the_power_is_the_sum_over_every_outcome(tolerance: float) -> None:
    n, lost, won, alpha = 40, 0.2, 0.05, 0.05
    total = 0.0
    for down in range(n + 1):
        for up in range(n + 1 - down):
            chance = comb(n, down) * comb(n - down, up) * lost**down * won**up
            chance *= (1 - lost - won) ** (n - down - up)
            if (up - down) / n < -tolerance - 1e-9 and mcnemar(down, up).worse <= alpha:
                total += chance
    power = power_of_losses(n, lost, won, Rule(alpha, tolerance))
    assert power == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("alpha", np.geomspace(1e-7, 0.3, 30).tolist())
def test_critical_losses_are_the_fewest_that_are_significant(alpha: float) -> None:
    critical = critical_losses(1, 60, 1, alpha)
    for flips, losses in zip(range(1, 60), critical.tolist(), strict=True):
        if losses <= flips:
            assert mcnemar(losses, flips - losses).worse <= alpha
        assert mcnemar(losses - 1, flips - losses + 1).worse > alpha


def test_a_number_of_units_between_two_is_between_their_powers() -> None:
    powers = [power_of_losses(n, 0.1, 0.02, RULE) for n in (150, 150.25, 151)]
    assert powers[1] == pytest.approx(0.75 * powers[0] + 0.25 * powers[2])


def test_a_power_is_never_more_than_one() -> None:
    """Of 20,000 units not every number of flips is looked at, and rounding adds up."""
    assert power_of_losses(20_000, 0.5, 0.0, Rule(0.05, 0.0)) == 1.0


# Paired shares


@pytest.mark.parametrize(
    ("n", "flips", "expected", "within"),
    [
        (28, 0.0, 23.0, 0.3),
        (28, 0.03, 23.0, 0.3),
        (28, 0.12, 23.0, 0.3),
        (164, 0.03, 4.1, 0.06),
        (164, 0.12, 7.8, 0.1),
        (600, 0.0, 1.5, 0.03),
        (600, 0.06, 2.95, 0.04),
        (1_600, 0.0, 1.27, 0.01),
        (1_600, 0.06, 1.83, 0.03),
        (1_600, 0.12, 2.59, 0.04),
        (5_000, 0.0, 1.15, 0.02),
        (14_000, 0.0, 1.10, 0.03),
        (14_000, 0.12, 1.25, 0.05),
    ],
)
def test_check_figures(n: int, flips: float, expected: float, within: float) -> None:
    drop = paired_shares_mde(n, flips, 0.6, RULE)
    assert points(drop) == pytest.approx(expected, abs=within)


@pytest.mark.parametrize(("n", "flips"), [(28, 0.03), (164, 0.12), (1_600, 0.06)])
def test_the_drop_has_the_power_and_no_smaller_one_has(n: int, flips: float) -> None:
    drop = paired_shares_mde(n, flips, 0.6, RULE)
    assert drop is not None

    def power(d: float) -> float:
        total = max(flips, d)
        return power_of_losses(n, (total + d) / 2, (total - d) / 2, RULE)

    assert power(drop) == pytest.approx(0.8, abs=0.002)
    assert power(0.97 * drop) < 0.8


def test_it_grows_with_flips_tolerance_and_correction_and_falls_with_samples() -> None:
    def mde(n: int = 1_600, flips: float = 0.06, tests: int = 3, tolerance: float = 0.01) -> float:
        return points(paired_shares_mde(n, flips, 0.6, Rule(0.05 / tests, tolerance)))

    for larger in (mde(flips=0.12), mde(tests=60), mde(tolerance=0.02), mde(n=800)):
        assert larger > mde() + 0.1
    assert mde(n=6_400) < mde() - 0.3


def test_it_is_always_above_the_tolerance() -> None:
    for tolerance in (0.01, 0.02, 0.05):
        drop = paired_shares_mde(10**6, 0.05, 0.6, Rule(0.05, tolerance))
        assert tolerance < (drop or 0) < tolerance + 0.001


def test_a_drop_that_cannot_exist_is_none() -> None:
    """Of 28 samples five must be lost; a baseline of 10% has three."""
    assert paired_shares_mde(28, 0.0, 0.1, RULE) is None
    assert paired_shares_mde(28, 0.0, 0.0, RULE) is None
    assert paired_shares_mde(3, 0.0, 1.0, RULE) is None
    assert paired_shares_mde(1_600, 0.0, 0.01, RULE) is None
    drop = paired_shares_mde(164, 0.02, 0.05, RULE)
    assert drop is not None
    assert drop <= 0.05


# Clusters


def test_clusters_of_one_sample_are_single_samples() -> None:
    sums = np.array([-1.0] * 9 + [1.0] * 9 + [0.0] * 146)
    clustered = clustered_shares_mde(sums, np.ones(164), 18, 0.6, RULE)
    assert clustered == pytest.approx(paired_shares_mde(164, 18 / 164, 0.6, RULE))


def test_clusters_that_move_as_a_whole_are_worth_one_sample_each() -> None:
    """400 texts of 3 samples, 60 of which flip, all 3 samples at once."""
    sums = np.array([-3.0] * 30 + [3.0] * 30 + [0.0] * 340)
    clustered = clustered_shares_mde(sums, np.full(400, 3.0), 180, 0.6, RULE)
    single = paired_shares_mde(400, 0.15, 0.6, RULE)
    assert points(clustered) == pytest.approx(points(single), rel=0.02)


def test_without_any_flip_clusters_still_count() -> None:
    alone = paired_shares_mde(165, 0.0, 0.6, RULE)
    clustered = clustered_shares_mde(np.zeros(55), np.full(55, 3.0), 0, 0.6, RULE)
    assert points(alone) < points(clustered) < 3 * points(alone)


# Graded values


def test_pass_at_5_that_hardly_moved_needs_whole_problems_to_be_lost() -> None:
    """28 problems, differences of 0.001: four must be lost at alpha .05, five at .05 / 3."""
    values = np.array([1.0] * 20 + [0.0] * 8)
    moved = np.array([0.001, -0.001] * 10 + [0.0] * 8)
    drop = points(graded_mde(moved, values, Rule(0.05, 0.01)))
    assert drop == pytest.approx(20, abs=1)
    assert points(graded_mde(moved, values, RULE)) == pytest.approx(23, abs=1)


def test_0_and_1_as_graded_values_come_near_shares() -> None:
    """A share's flips are as many with a drop as without; graded losses come on top of them."""
    values = np.array([1.0] * 960 + [0.0] * 640)
    moved = np.array([-1.0] * 48 + [0.0] * 1_504 + [1.0] * 48)
    graded = points(graded_mde(moved, values, RULE))
    share = points(paired_shares_mde(1_600, 0.06, 0.6, RULE))
    assert share < graded < 1.2 * share


def test_a_graded_drop_is_in_the_unit_of_the_values() -> None:
    values = np.array([1.0] * 60 + [0.5] * 40)
    drop = graded_mde(np.zeros(100), values, Rule(0.05, 0.0))
    small = graded_mde(np.zeros(100), values / 200, Rule(0.05, 0.0))
    assert small == pytest.approx((drop or 0.0) / 200)


def test_a_graded_drop_is_none_where_there_is_nothing_to_lose() -> None:
    assert graded_mde(np.zeros(28), np.zeros(28), RULE) is None
    assert graded_mde(np.zeros(28), np.full(28, 0.008), RULE) is None


def test_differences_larger_than_what_can_be_lost_still_have_an_mde() -> None:
    rng = np.random.default_rng(0)
    values = np.full(2_000, 0.2)
    drop = graded_mde(rng.choice([-1.0, 1.0], size=2_000), values, RULE)
    assert drop == pytest.approx(0.068, abs=0.01)


# Metrics without bounds


def test_bits_per_byte_shift_in_their_own_unit() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(1.1, 0.3, size=400)
    moved = rng.normal(0, 0.04, size=400)
    drop = shift_mde(moved, values, Rule(0.05, 0.0))
    assert drop == pytest.approx((1.645 + 0.842) * 0.04 / 20, rel=0.1)
    with_tolerance = shift_mde(moved, values, Rule(0.05, 0.02))
    assert with_tolerance == pytest.approx(0.02 + 0.842 * 0.04 / 20, rel=0.02)
    assert shift_mde(10 * moved, 10 * values, Rule(0.05, 0.0)) == pytest.approx(10 * (drop or 0))


def test_the_printed_shift_is_found_in_four_runs_of_five() -> None:
    from ckptbench.gate.permutation_test import sign_flip_test

    rng = np.random.default_rng(2)
    caught = 0
    for _ in range(300):
        moved = rng.normal(0, 0.04, size=60)
        drop = shift_mde(moved, rng.normal(1.1, 0.3, size=60), Rule(0.05, 0.0))
        assert drop is not None
        again = rng.normal(-drop, 0.04, size=60)
        caught += sign_flip_test(again, draws=2_000).worse <= 0.05
    assert 0.72 <= caught / 300 <= 0.88


def test_values_that_agree_exactly_do_not_see_everything() -> None:
    values = np.random.default_rng(3).normal(1.1, 0.3, size=100)
    drop = shift_mde(np.zeros(100), values, Rule(0.05, 0.0))
    assert drop == pytest.approx(2.5 * 0.1 * 0.3 / 100, rel=0.2)
    assert shift_mde(np.zeros(1), np.ones(1), Rule(0.05, 0.0)) is None


# Unpaired


@pytest.mark.parametrize(("now_n", "then_n"), [(20, 200), (164, 28), (1_600, 1_600)])
def test_unpaired_shares_agree_with_the_normal_approximation(now_n: int, then_n: int) -> None:
    drop = points(unpaired_shares_mde(now_n, 0.6, then_n, RULE))
    error = (0.25 / now_n + 0.25 / then_n) ** 0.5
    assert drop == pytest.approx(100 * (2.128 + 0.842) * error, rel=0.12)


def test_a_baseline_of_two_samples_sees_next_to_nothing() -> None:
    assert unpaired_shares_mde(20, 1.0, 2, RULE) is None
    assert points(unpaired_shares_mde(1_600, 1.0, 2, RULE)) > 60
    assert unpaired_shares_mde(200, 0.05, 20, RULE) is None


def test_an_effective_n_of_clusters_widens_it() -> None:
    alone = points(unpaired_shares_mde(300, 0.6, 300, RULE))
    assert points(unpaired_shares_mde(300 / 2, 0.6, 300, RULE)) > 1.15 * alone


def test_standard_errors_make_an_mde_that_welchs_test_finds() -> None:
    degrees = welch_degrees(0.03, 1e6, 0.04, None)
    drop = errors_mde(0.05, degrees, Rule(0.05, 0.01))
    assert drop == pytest.approx((1.645 + 0.842) * 0.05, rel=1e-3)
    assert errors_mde(0.3, 9, RULE, largest=0.4) is None
    assert errors_mde(0.0, 9, RULE) is None


# By their formulas


@pytest.mark.parametrize(
    ("drop", "flips", "baseline", "expected"),
    [
        (0.1, 0.3, None, (0.2, 0.1)),
        (0.1, 0.05, None, (0.1, 0.0)),  # all flips are losses
        (0.1, 0.5, 0.25, (0.25, 0.15)),  # no more is lost than the baseline has
        (0.1, 0.5, 0.9, (0.2, 0.1)),  # nor is more won than it lacks
        (0.3, 0.4, 0.2, (0.3, 0.0)),
    ],
)
def test_a_drop_is_so_many_losses_more_than_gains(
    drop: float, flips: float, baseline: float | None, expected: tuple[float, float]
) -> None:
    assert lost_and_won(drop, flips, baseline) == pytest.approx(expected)


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_the_mde_of_a_t_test(tolerance: float) -> None:
    rule = Rule(0.05, tolerance)
    t_alpha, t_power = stats.t.ppf([0.95, 0.8], 7)
    expected = max(tolerance, t_alpha * 0.2) + t_power * 0.2
    assert errors_mde(0.2, 7, rule) == pytest.approx(expected)
    assert errors_mde(0.2, 7, rule, largest=expected + 1e-9) == pytest.approx(expected)
    assert errors_mde(0.2, 7, rule, largest=expected - 1e-9) is None
    assert errors_mde(0.2, 7, rule, largest=inf) == pytest.approx(expected)


def test_two_clusters_have_the_t_of_one_degree_of_freedom() -> None:
    rule = Rule(0.05, 0.0)
    t_alpha, t_power = stats.t.ppf([0.95, 0.8], 1)
    # Differences of 0.1 and 0.3 have the standard deviation 0.1 sqrt 2, and the error 0.1.
    drop = shift_mde(np.array([0.1, 0.3]), np.array([1.0, 1.0]), rule)
    assert drop == pytest.approx((t_alpha + t_power) * 0.1)
    # Those that agree count as if one had moved by a tenth of the values' standard deviation.
    drop = shift_mde(np.array([0.2, 0.2]), np.array([1.0, 3.0]), rule)
    assert drop == pytest.approx((t_alpha + t_power) * 0.1 / 2)


def test_losses_take_a_unit_from_some_of_the_values() -> None:
    """50 values of 0.5, of which a drop of 0.1 takes 0.25 from 40%; variance 0.01."""
    rule = Rule(0.05, 0.02)
    # Differences of variance 0.01 are 0.01 / 0.25^2 = 16% flips, less what is lost: 1 - 0.1 / 0.5.
    noise = 0.16 * 0.8
    expected = power_of_losses(50, noise / 2 + 0.4, noise / 2, Rule(0.05, 0.02 / 0.25))
    assert loss_power(0.1, 50, 0.01, 0.25, 0.5, rule) == pytest.approx(expected)
    # Where differences are larger than the unit, they are: 0.5 is the root of 2 * 0.125.
    noise = 0.5 * 0.8
    expected = power_of_losses(50, noise / 2 + 0.2, noise / 2, Rule(0.05, 0.02 / 0.5))
    assert loss_power(0.1, 50, 0.125, 0.25, 0.5, rule) == pytest.approx(expected)
    # A tolerance is in units, too: of 50 values more than 18 must be lost to fall by 0.09.
    noise, strict = 0.16 * 0.8, Rule(0.05, 0.09)
    expected = power_of_losses(50, noise / 2 + 0.4, noise / 2, Rule(0.05, 0.36))
    assert loss_power(0.1, 50, 0.01, 0.25, 0.5, strict) == pytest.approx(expected)
    assert 0.3 < expected < 0.9
    drop = loss_mde(50, 0.01, 0.25, 0.5, rule)
    assert drop is not None
    assert loss_power(drop, 50, 0.01, 0.25, 0.5, rule) >= 0.8 - 1e-9
    assert loss_power(0.99 * drop, 50, 0.01, 0.25, 0.5, rule) < 0.8


def test_graded_values_lose_their_mean_weighted_by_itself() -> None:
    values = np.array([0.5] * 20 + [1.0] * 20)
    moved = np.array([0.1, -0.1] * 20)
    # sum v^2 / sum v = 25 / 30; the differences and one more of the values' standard deviation.
    variance = (40 * 0.01 + 0.0625) / 40
    expected = loss_mde(40, variance, 25 / 30, 0.75, RULE)
    assert graded_mde(moved, values, RULE) == pytest.approx(expected)


@pytest.mark.parametrize(("flips", "moved"), [(0, 0), (6, 6)])
def test_where_all_flips_are_losses_the_clusters_that_move_count(flips: int, moved: int) -> None:
    """100 texts of 10 samples, by hand from the formulas of the docstring."""
    sums = np.array([-1.0] * moved + [0.0] * (100 - moved))
    drop = clustered_shares_mde(sums, np.full(100, 10.0), flips, 0.6, RULE)
    assert drop is not None
    effect = (flips + 10 * (1 + 9 * 0.25)) / (flips + 10)
    correlation = (effect - 1) / 9

    def power(d: float) -> float:
        assert d > flips / 1_000  # so that all flips are losses
        clusters = 100 * (correlation * d + (1 - correlation) * (1 - (1 - d) ** 10))
        singles = 1_000 / (effect + 9 * d) * d
        assert clusters > singles
        each = clusters / 100 / d
        return power_of_losses(100, d * each, 0.0, Rule(RULE.alpha, RULE.tolerance * each))

    assert power(drop * 1.001) >= 0.8 > power(drop * 0.98)


def test_where_flips_are_losses_and_gains_samples_count_by_their_design_effect() -> None:
    """60 texts of 2 and 40 of 6 samples, 80 flips, by hand from the formulas of the docstring."""
    sums = np.array(
        [-2.0] * 6 + [2.0] * 4 + [0.0] * 50 + [-3.0] * 8 + [3.0] * 6 + [1.0] * 18 + [0.0] * 8
    )
    sizes = np.array([2.0] * 60 + [6.0] * 40)
    drop = clustered_shares_mde(sums, sizes, 80, 0.6, RULE)
    assert drop is not None
    size = (60 * 4 + 40 * 36) / 360
    effect = (sums @ sums + size * (1 + (size - 1) * 0.25)) / (80 + size)
    share = 80 / 360
    assert drop < share  # so that some are won

    def power(d: float) -> float:
        lost, won = (share + d) / 2, (share - d) / 2
        units = 360 / (effect + (size - 1) * d**2 / share)
        return power_of_losses(units, lost, won, RULE)

    assert power(drop * 1.001) >= 0.8 > power(drop * 0.995)


def test_flips_that_cancel_in_their_clusters_do_not_make_samples_count_more() -> None:
    drop = clustered_shares_mde(np.zeros(200), np.full(200, 2.0), 80, 0.6, RULE)
    assert drop is not None

    def power(d: float) -> float:
        units = 400 / (1 + d**2 / 0.2)  # a design effect of 1, and what the drop adds
        return power_of_losses(units, (0.2 + d) / 2, (0.2 - d) / 2, RULE)

    assert power(drop * 1.001) >= 0.8 > power(drop * 0.995)


def test_a_baseline_of_one_sample_has_no_mde() -> None:
    assert unpaired_shares_mde(200, 1.0, 1, RULE) is None
    assert unpaired_shares_mde(0.5, 0.5, 200, RULE) is None
