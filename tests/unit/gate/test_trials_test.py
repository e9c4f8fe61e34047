"""Sampled trials: equal numbers by sign flips, unequal ones by the larger of two tests."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from ckptbench.gate.permutation_test import sign_flip_test
from ckptbench.gate.trials_test import label_permutation_test, pass_at_k, trials_test

Counts = NDArray[np.int64]
Sides = tuple[Counts, Counts, Counts, Counts]


def sides(seed: int, problems: int, now_trials: int, then_trials: int) -> Sides:
    rng = np.random.default_rng(seed)
    here, there = np.full(problems, now_trials), np.full(problems, then_trials)
    strengths = rng.beta(0.5, 0.7, size=problems)
    return rng.binomial(here, strengths), here, rng.binomial(there, strengths), there


def enumerate_labels(now: Counts, n: Counts, then: Counts, m: Counts, k: int) -> tuple[float, ...]:
    """Worse and better by brute force: every number of passes each problem can have here."""

    def value(passed: int, trials: int) -> float:
        return 1 - comb(trials - passed, k) / comb(trials, k)

    def difference(i: int, x: int) -> float:
        return value(x, n[i]) - value(total[i] - x, m[i])

    total = (now + then).tolist()
    problems = range(len(total))
    seen = sum(difference(i, int(now[i])) for i in problems)
    ranges = [range(max(0, total[i] - m[i]), min(total[i], n[i]) + 1) for i in problems]
    worse = better = 0.0
    for passes in product(*ranges):
        weight = 1.0
        for i, x in enumerate(passes):
            weight *= comb(n[i], x) * comb(m[i], total[i] - x) / comb(n[i] + m[i], total[i])
        reached = sum(difference(i, x) for i, x in enumerate(passes))
        tied = abs(reached - seen) < 1e-9
        worse += weight * (0.5 if tied else float(reached < seen))
        better += weight * (0.5 if tied else float(reached > seen))
    return worse, better


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [1, 2])
def test_permuted_labels_are_the_enumeration(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 6, size=4), rng.integers(2, 5, size=4)
    now, then = rng.binomial(n, 0.5), rng.binomial(m, 0.6)
    p = label_permutation_test((now, n), (then, m), k)
    assert (p.worse, p.better) == pytest.approx(enumerate_labels(now, n, then, m, k), abs=1e-12)


def test_equal_numbers_of_trials_flip_the_signs_of_the_differences() -> None:
    now, n, then, m = sides(1, 60, 20, 20)
    for k in (1, 5):
        expected = sign_flip_test(pass_at_k(now, n, k) - pass_at_k(then, m, k))
        assert trials_test((now, n), (then, m), k) == expected


@pytest.mark.parametrize(("now_trials", "then_trials"), [(20, 1), (1, 20), (20, 5)])
def test_of_unequal_numbers_the_larger_p_counts(now_trials: int, then_trials: int) -> None:
    now, n, then, m = sides(2, 60, now_trials, then_trials)
    signs = sign_flip_test(pass_at_k(now, n, 1) - pass_at_k(then, m, 1))
    labels = label_permutation_test((now, n), (then, m), 1)
    p = trials_test((now, n), (then, m), 1)
    assert p[:3] == tuple(max(pair) for pair in zip(signs[:3], labels[:3], strict=True))
    assert signs.worse != labels.worse


def test_the_order_of_problems_is_without_effect() -> None:
    now, n, then, m = sides(3, 80, 20, 5)
    order = np.random.default_rng(0).permutation(80)
    for k in (1, 5):
        assert trials_test((now[order], n[order]), (then[order], m[order]), k) == trials_test(
            (now, n), (then, m), k
        )


def test_many_alike_problems_are_exact_for_one_k_and_drawn_for_another() -> None:
    """Sums of pass@5 differences take too many values for a convolution over 600 problems."""
    now, n, then, m = sides(4, 600, 20, 10)
    assert label_permutation_test((now, n), (then, m), 1).simulation_error == 0
    drawn = [
        label_permutation_test((now, n), (then, m), 5, draws=4_000, seed=seed) for seed in range(2)
    ]
    assert drawn[0].simulation_error > 0
    spread = 5 * drawn[0].simulation_error
    assert drawn[0].worse == pytest.approx(drawn[1].worse, abs=spread)


def test_drawn_labels_approach_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    now, n, then, m = sides(5, 200, 20, 5)
    exact = label_permutation_test((now, n), (then, m), 1)
    monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", 0)
    drawn = label_permutation_test((now, n), (then, m), 1)
    assert 0 < drawn.simulation_error < 0.002
    assert drawn.worse == pytest.approx(exact.worse, abs=4 * drawn.simulation_error)
    assert drawn.better == pytest.approx(exact.better, abs=4 * drawn.simulation_error)


def test_drawn_labels_have_a_p_of_at_most_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many passes here as there: what is seen is in the middle, and ties with much."""
    n, m = np.full(40, 4), np.full(40, 2)
    now, then = np.array([4, 0] * 20), np.array([1, 1] * 20)
    monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", 0)
    p = label_permutation_test((now, n), (then, m), 1, draws=500)
    assert p.two_sided == 1.0
    smaller = min(p.worse, p.better)
    assert p.simulation_error == pytest.approx((smaller * (1 - smaller) / 500) ** 0.5)
    assert p.worse + p.better == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("problems", [2, 90])
def test_drawn_labels_count_what_is_seen_among_the_draws(
    monkeypatch: pytest.MonkeyPatch, problems: int
) -> None:
    """Problems of 3 passes in 4 and 2 trials; many alike are drawn by how many have each value."""
    monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", 0)
    n, m = np.full(problems, 4), np.full(problems, 2)
    now, then = np.full(problems, 3), np.full(problems, 0)
    now[: problems // 2] -= 2
    then[: problems // 2] += 2
    p = label_permutation_test((now, n), (then, m), 1, draws=300, seed=4)
    values = np.array([x / 4 - (3 - x) / 2 for x in (1, 2, 3)])
    odds = np.array([comb(4, x) * comb(2, 3 - x) / comb(6, 3) for x in (1, 2, 3)])
    rng = np.random.default_rng(4)
    if problems == 2:
        sums = sum(
            np.array([values[int(u > 0.2) + int(u > 0.8)] for u in rng.random(300)]) for _ in n
        )
    else:
        sums = rng.multinomial(problems, odds, size=300) @ values
    seen = (now / 4 - then / 2).sum()
    below, tied, above = (sums < seen - 1e-9).sum(), (abs(sums - seen) < 1e-9).sum() + 1, 0
    above = 301 - below - tied
    assert p.worse == pytest.approx((below + tied / 2) / 301)
    assert p.better == pytest.approx((above + tied / 2) / 301)
    assert p.two_sided == pytest.approx(min(1.0, 2 * (min(below, above) + tied) / 301))


def test_a_drawn_p_is_never_smaller_than_its_draws_can_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", 0)
    n, m = np.full(60, 4), np.full(60, 2)
    p = label_permutation_test((np.full(60, 1), n), (np.full(60, 2), m), 1, draws=99)
    assert (p.worse, p.two_sided, p.better) == (1 / 100, 2 / 100, 0.995)


def test_a_drawn_p_is_that_of_the_first_seed_unless_one_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, n, then, m = sides(5, 60, 20, 5)
    monkeypatch.setattr("ckptbench.gate.lattice.AFFORDABLE", 0)
    test = [
        trials_test((now, n), (then, m), 1, draws=999, **given)
        for given in ({}, {"seed": 0}, {"seed": 1})
    ]
    assert test[0] == test[1] != test[2]


def test_problems_that_pass_or_miss_alike_say_nothing() -> None:
    n, m = np.full(9, 20), np.full(9, 1)
    now, then = np.array([20] * 4 + [0] * 5), np.array([1] * 4 + [0] * 5)
    p = trials_test((now, n), (then, m), 1)
    assert (p.worse, p.better, p.two_sided) == (0.5, 0.5, 1.0)


def test_a_problem_with_fewer_trials_than_k_is_refused() -> None:
    with pytest.raises(ValueError, match="pass@5 does not exist with 3 trials"):
        trials_test((np.array([1]), np.array([20])), (np.array([1]), np.array([3])), 5)
