"""How many samples, or problems, a drop needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from ckptbench.gate.mde import (
    Rule,
    loss_power,
    lost_and_won,
    paired_shares_mde,
    power_of_losses,
)
from ckptbench.gate.planning import clusters_needed, samples_needed

RULE = Rule(0.05 / 3, 0.01)


@pytest.mark.parametrize("flips", [0.0, 0.03, 0.12])
@pytest.mark.parametrize("drop", [0.015, 0.02, 0.05, 0.2])
def test_the_samples_needed_have_that_mde(drop: float, flips: float) -> None:
    n = samples_needed(drop, RULE, flips=flips)
    assert n is not None
    mde = paired_shares_mde(n, flips, 0.6, RULE)
    assert mde == pytest.approx(drop, rel=0.05)


@pytest.mark.parametrize("flips", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("drop", [0.03, 0.1, 0.3])
def test_from_the_samples_needed_on_the_power_stays_near_what_is_wanted(
    drop: float, flips: float
) -> None:
    n = samples_needed(drop, RULE, flips=flips, baseline=0.7)
    assert n is not None

    def power(samples: int) -> float:
        return power_of_losses(samples, *lost_and_won(drop, flips, 0.7), RULE)

    assert power(n) >= 0.8
    assert min(map(power, range(n, n * 21 // 20 + 1))) >= 0.785
    assert min(map(power, range(n * 9 // 10, n))) < 0.8
    assert max(map(power, range(1, n * 4 // 5))) < 0.8


def test_more_samples_are_needed_for_smaller_drops_and_more_power() -> None:
    needed = [samples_needed(drop, RULE, flips=0.06) or 0 for drop in (0.1, 0.05, 0.03, 0.02)]
    assert all(few < many for few, many in pairwise(needed))
    assert (samples_needed(0.02, replace(RULE, power=0.9), flips=0.06) or 0) > needed[-1]


def test_clusters_need_as_many_times_the_samples() -> None:
    alone = samples_needed(0.02, RULE, flips=0.06)
    clustered = samples_needed(0.02, RULE, flips=0.06, design_effect=1.5)
    assert alone is not None
    assert clustered == pytest.approx(1.5 * alone, rel=0.03)


def test_no_number_of_samples_finds_what_the_tolerance_allows() -> None:
    assert samples_needed(0.01, RULE, flips=0.06) is None
    assert samples_needed(0.2, RULE, flips=0.06, baseline=0.1) is None
    assert clusters_needed(0.01, RULE, variance=0.01, unit=0.8) is None


def test_the_problems_needed_have_that_power() -> None:
    noise = {"variance": 0.02, "unit": 0.8, "baseline": 0.5}
    problems = clusters_needed(0.03, RULE, **noise)
    assert problems is not None
    power = loss_power(0.03, problems, rule=RULE, **noise)
    assert power == pytest.approx(0.8, abs=0.02)
    less_noise = clusters_needed(0.03, RULE, variance=0.005, unit=0.8, baseline=0.5)
    assert (less_noise or 0) < problems


def test_no_share_falls_by_more_than_all() -> None:
    assert samples_needed(1.01, RULE, flips=0.0) is None
    assert samples_needed(1.0, RULE, flips=0.0) is not None
    assert samples_needed(0.5, RULE, flips=0.0, baseline=0.49) is None
