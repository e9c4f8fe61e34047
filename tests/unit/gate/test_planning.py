"""How many samples and trials a verdict needs: what is planned is what the gate then finds."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ckptbench.gate.mde import loss_mde, paired_shares_mde
from ckptbench.gate.permutation_test import mcnemar, sign_flip_test
from ckptbench.gate.planning import (
    Passes,
    Shares,
    Target,
    by_flips,
    by_trials,
    changed_beside_the_draw,
    clusters_needed,
    design_effect,
    mde_curve,
    samples_needed,
    trials_of,
)

TARGET = Target(drop=0.02, power=0.8, alpha=0.05, tolerance=0.01)


CHANCES = np.random.default_rng(4).beta(0.4, 0.4, 164)


def counts_of(trials: int, seed: int = 0) -> list[tuple[int, int]]:
    drawn = np.random.default_rng(seed).binomial(trials, CHANCES)
    return [(trials, int(c)) for c in drawn]


def passes(trials: int, k: int = 1, changed: float = 0.0, seed: int = 0) -> Passes:
    counts = counts_of(trials, seed=seed)
    return Passes(counts, k, [str(place) for place in range(len(counts))], changed)


# 0/1 outcomes


@pytest.mark.parametrize("flips", [0.03, 0.06, 0.12])
def test_with_the_samples_planned_the_drop_is_found_in_four_of_five_comparisons(
    flips: float,
) -> None:
    (row,) = by_flips(TARGET, [(flips, "")])
    assert row.needed is not None
    assert row.mde is None
    rng = np.random.default_rng(1)
    lost, won = (flips + 0.02) / 2, (flips - 0.02) / 2
    found = 0
    for a, b, _ in rng.multinomial(row.needed, [lost, won, 1 - lost - won], 2000):
        found += (a - b) / row.needed > 0.01 and mcnemar(int(a), int(b)).worse <= 0.05
    assert found / 2000 == pytest.approx(0.8, abs=0.03)


def test_more_flips_clusters_and_tests_need_more_samples() -> None:
    rows = by_flips(TARGET, [(0.03, ""), (0.06, ""), (0.12, "")])
    needed = [row.needed for row in rows]
    assert needed == sorted(needed)  # type: ignore[type-var]
    for harder in (
        by_flips(TARGET, [(0.06, "")], Shares(0.6, 500, 1.5)),
        by_flips(Target(0.05 / 3, 0.01, 0.8, drop=0.02), [(0.06, "")]),
        by_flips(Target(0.05, 0.01, 0.9, drop=0.02), [(0.06, "")]),
        by_flips(Target(0.05, 0.01, 0.8, drop=0.015), [(0.06, "")]),
    ):
        assert harder[0].needed > rows[1].needed  # type: ignore[operator]


def test_a_drop_larger_than_the_baseline_needs_no_number_of_samples() -> None:
    (row,) = by_flips(Target(0.05, 0.01, 0.8, drop=0.2), [(0.06, "")], Shares(0.1, 500, 1.0))
    assert row.needed is None


def test_the_mde_at_the_samples_needed_is_the_drop() -> None:
    for share in (0.06, 0.12):
        (row,) = by_flips(TARGET, [(share, "")], Shares(0.5, 1000, 1.0))
        assert row.needed is not None
        (drop,) = mde_curve(TARGET, share, [row.needed], Shares(0.5, 1000, 1.0))
        assert drop == pytest.approx(0.02, abs=0.0005)
        (same,) = mde_curve(TARGET, share, [row.needed])
        assert same == drop


def test_clustered_samples_are_worth_that_many_fewer() -> None:
    (row,) = by_flips(TARGET, [(0.06, "seen")], Shares(0.6, 900, 1.5))
    assert row.mde == paired_shares_mde(600, 0.06, 0.6, TARGET)
    assert (row.assumed, row.source) == (0.06, "seen")
    assert row.needed == samples_needed(0.02, TARGET, flips=0.06, baseline=0.6, design_effect=1.5)
    assert mde_curve(TARGET, 0.06, [900], Shares(0.6, 100, 1.5)) == (row.mde,)
    (unknown,) = by_flips(TARGET, [(0.06, "")])
    assert unknown.mde is None


def test_the_design_effect_is_that_of_the_standard_error() -> None:
    single = sqrt(0.3 * 0.7 / 399)
    assert design_effect(0.3, 400, single) == pytest.approx(1)
    assert design_effect(0.3, 400, 1.2 * single) == pytest.approx(1.44)
    assert design_effect(0.3, 400, 0.5 * single) == 1
    assert design_effect(0.3, 400, None) == 1
    assert design_effect(1.0, 400, 0.0) == 1


# Trials


def test_the_trials_are_read_off_the_shares_that_passed() -> None:
    assert trials_of([0.05, 0.5, 0.0, 1.0]) == 20
    assert trials_of([c / 7 for c in range(8)]) == 7
    assert trials_of([0.0, 1.0]) == 1
    assert trials_of([0.123456789]) is None
    assert (trials_of([1 / 1_000]), trials_of([1 / 1_001])) == (1_000, None)
    assert (trials_of([1 / 8, 1 / 125]), trials_of([1 / 999, 1 / 2])) == (1_000, None)


def draw_of(counts: list[tuple[int, int]], trials: int) -> float:
    """Mean variance of a share over so many trials, p (1 - p) without bias."""
    spreads = [c / n * (1 - c / n) * n / (n - 1) for n, c in counts]
    return float(np.mean(spreads)) / trials


def test_a_plan_of_trials_is_that_of_problems_lost_beside_the_draw() -> None:
    held = passes(10, changed=0.004)
    target = Target(0.05, 0.01, 0.8, drop=0.05)
    (row,) = by_trials(target, held, [6])
    values = np.array([c / 10 for _, c in held.counts])
    variance = 0.004 + 2 * draw_of(list(held.counts), 6)
    of_problems = {"unit": values @ values / values.sum(), "baseline": values.mean()}
    assert row.needed == clusters_needed(0.05, target, variance=variance, **of_problems)
    assert row.mde == pytest.approx(loss_mde(164, variance, rule=target, **of_problems))
    error = (values.var(ddof=1) - draw_of(list(held.counts), 10)) / 164
    error += draw_of(list(held.counts), 6) / 164
    assert row.standard_error == pytest.approx(sqrt(error), rel=0.01)


def test_what_changed_is_the_variance_of_the_differences_less_that_of_both_draws() -> None:
    left, right = [(10, 1), (10, 9), (10, 5)], [(20, 2), (20, 8), (20, 20)]
    now, then = Passes(left, 1, list("abc")), Passes(right, 1, list("abc"))
    differences = [0.0, 0.5, -0.5]
    expected = 0.5 / 3 - draw_of(left, 10) - draw_of(right, 20)
    found = changed_beside_the_draw(now, then, differences, (10, 20))
    assert found == pytest.approx(expected)
    assert changed_beside_the_draw(now, then, [d + 0.2 for d in differences], (10, 20)) == (
        pytest.approx(expected)
    )
    assert changed_beside_the_draw(now, then, [0.1, 0.1, 0.1], (10, 20)) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("trials", "k", "drop"), [(2, 1, 0.08), (5, 1, 0.05), (20, 5, 0.05)])
def test_with_the_problems_planned_the_drop_is_found(trials: int, k: int, drop: float) -> None:
    """Both sides draw anew, and the second has lost some of the problems altogether."""
    held = passes(trials, k)
    rows = by_trials(Target(0.05, 0.01, 0.8, drop=drop), held, [trials])
    needed = rows[0].needed
    assert needed is not None
    rng = np.random.default_rng(2)
    value = float(np.mean(held.values))
    table = np.array([Passes([(trials, c)], k, ["a"]).values[0] for c in range(trials + 1)])
    found = 0
    for _ in range(400):
        then = rng.choice(CHANCES, needed)
        now = np.where(rng.random(needed) < drop / value, 0, then)
        moved = table[rng.binomial(trials, now)] - table[rng.binomial(trials, then)]
        if moved.mean() < -0.01:
            found += sign_flip_test(moved, draws=2000).worse <= 0.05
    assert 0.72 <= found / 400 <= 0.9


def test_more_trials_need_fewer_problems_down_to_what_the_problems_themselves_need() -> None:
    rows = by_trials(Target(0.05, 0.01, 0.8, drop=0.05), passes(4), [4, 8, 16, 10_000])
    needed = [row.needed for row in rows]
    errors = [row.standard_error for row in rows]
    mdes = [row.mde for row in rows]
    for column in (needed, errors, mdes):
        assert column == sorted(column, reverse=True)  # type: ignore[type-var]
    noise = passes(4).noise
    assert noise is not None
    assert errors[0] == pytest.approx(noise.se_now)
    assert errors[1] == pytest.approx(noise.se_twice_trials)
    assert errors[3] == pytest.approx(sqrt(noise.share_of_problems) * noise.se_now, rel=1e-3)


def test_too_few_trials_for_an_estimate_give_no_row() -> None:
    assert by_trials(TARGET, passes(9, k=5), [9, 18]) == ()
    assert [row.assumed for row in by_trials(TARGET, passes(10, k=5), [4, 5, 10])] == [5, 10]
    never = Passes([(4, 0)] * 10, 1, [str(place) for place in range(10)])
    assert by_trials(TARGET, never, [4]) == ()


def test_what_changed_beside_the_draw_is_what_the_draw_does_not_explain() -> None:
    rng = np.random.default_rng(3)
    chances = rng.beta(2, 2, 4000)
    moved = np.clip(chances + rng.choice([-0.2, 0.2], 4000), 0, 1)
    left = [(10, int(c)) for c in rng.binomial(10, chances)]
    right = [(20, int(c)) for c in rng.binomial(20, moved)]
    names = [str(place) for place in range(4000)]
    now, then = Passes(left, 1, names), Passes(right, 1, names)
    differences = [a / 10 - b / 20 for (_, a), (_, b) in zip(left, right, strict=True)]
    truth = float(np.var(moved - chances))
    assert changed_beside_the_draw(now, then, differences, (10, 20)) == pytest.approx(
        truth, rel=0.1
    )
    again = Passes([(10, int(c)) for c in rng.binomial(10, chances)], 1, names)
    same = [a / 10 - b / 10 for (_, a), (_, b) in zip(left, again.counts, strict=True)]
    assert changed_beside_the_draw(now, again, same, (10, 10)) < truth / 20


def test_what_differs_beside_the_draw_needs_more_problems() -> None:
    target = Target(0.05, 0.01, 0.8, drop=0.05)
    (alone,), (both,) = (by_trials(target, passes(10, changed=c), [10]) for c in (0.0, 0.05))
    assert both.needed > alone.needed  # type: ignore[operator]
    assert both.mde > alone.mde  # type: ignore[operator]


def test_what_is_not_known_to_change_does_not() -> None:
    counts = [(10, c % 11) for c in range(40)]
    names = [str(place) for place in range(40)]
    target = Target(0.05, 0.01, 0.8, drop=0.05)
    known = by_trials(target, Passes(counts, 1, names), [10])
    assert known == by_trials(target, Passes(counts, 1, names, changed=0.0), [10])
    assert known != by_trials(target, Passes(counts, 1, names, changed=0.02), [10])
