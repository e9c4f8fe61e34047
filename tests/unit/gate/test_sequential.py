"""Group-sequential looks: published boundaries, the error rate that they keep, p over looks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import simpson

from ckptbench.gate.comparison import with_looks
from ckptbench.gate.difference_intervals import excluded_drop_p, paired_interval
from ckptbench.gate.sequential import LOOKS, Look, nominal_levels, sequential_p, spent, stage_of
from ckptbench.gate.verdict import Candidate, Comparison, Rules, decide
from ckptbench.scores.intervals import partition


def test_boundaries_are_the_published_ones() -> None:
    """Five equal looks, one-sided 0.025 (Jennison and Turnbull 2000, the O'Brien-Fleming-like)."""
    levels = nominal_levels((0.2, 0.4, 0.6, 0.8, 1.0), 0.025)
    assert stats.norm.isf(levels) == pytest.approx(
        [4.8769, 3.3569, 2.6803, 2.2898, 2.0310], abs=2e-4
    )


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
def test_the_looks_together_keep_the_level(alpha: float) -> None:
    random = np.random.default_rng(1)
    shares = np.array(LOOKS)
    steps = random.normal(size=(200_000, len(LOOKS))) * np.sqrt(np.diff([0.0, *shares]))
    scores = np.cumsum(steps, axis=1) / np.sqrt(shares)
    rejected = (scores >= stats.norm.isf(nominal_levels(LOOKS, alpha))).any(axis=1).mean()
    assert rejected == pytest.approx(alpha, abs=4 * np.sqrt(alpha / 200_000))


@pytest.mark.parametrize("alpha", [1e-4, 0.05, 0.9])
def test_each_look_spends_its_part_and_no_more(alpha: float) -> None:
    """The chance of a first crossing at each of three looks, by integrals over the paths."""
    shares = (0.1, 0.35, 1.0)
    bounds = stats.norm.isf(nominal_levels(shares, alpha)) * np.sqrt(shares)
    first = stats.norm.sf(bounds[0] / np.sqrt(0.1))
    assert first == pytest.approx(spent(alpha, 0.1), rel=1e-6, abs=1e-15)
    x = np.linspace(-9 * np.sqrt(0.1), bounds[0], 2_001)
    y = np.linspace(-9 * np.sqrt(0.35), bounds[1], 2_001)
    start = stats.norm.pdf(x, scale=np.sqrt(0.1))
    second = simpson(start * stats.norm.sf(bounds[1], x, 0.5), x=x)
    assert first + second == pytest.approx(spent(alpha, 0.35), rel=1e-6)
    gone_on = simpson(start * stats.norm.pdf(y[:, None], x, 0.5), x=x)
    third = simpson(gone_on * stats.norm.sf(bounds[2], y, np.sqrt(0.65)), x=y)
    assert first + second + third == pytest.approx(alpha, rel=1e-6)


@pytest.mark.parametrize(("alpha", "share"), [(0.05, 0.25), (0.3, 0.5)])
def test_what_a_share_spends_is_the_chance_beyond_a_level_of_brownian_motion(
    alpha: float, share: float
) -> None:
    expected = 2 * stats.norm.sf(stats.norm.isf(alpha / 2) / np.sqrt(share))
    assert spent(alpha, share) == pytest.approx(expected)


def test_levels_exist_however_little_or_much_is_to_be_kept() -> None:
    """No bound is beyond eight standard deviations; what the first look cannot spend, later do."""
    little, much = nominal_levels(LOOKS, 1e-12), nominal_levels(LOOKS, 1 - 1e-9)
    assert little[0] == pytest.approx(stats.norm.sf(8))
    assert little[-1] == pytest.approx(1e-12, rel=0.1)
    assert all(0 < level <= 1 for level in much)
    assert max(much) > 0.999
    assert sequential_p([1.0, 1.0], [0.5, 1.0]) == 1.0
    assert (sequential_p([0.5, 1e-30], [0.5, 1.0]) or 1) < 1e-11


def test_all_is_spent_at_the_end_and_little_at_first() -> None:
    assert spent(0.05, 1.0) == pytest.approx(0.05)
    assert spent(0.05, 0.1) < 1e-8


@pytest.mark.parametrize("last", range(1, len(LOOKS)))
def test_p_over_looks_is_alpha_where_a_look_is_at_its_boundary(last: int) -> None:
    level = nominal_levels(LOOKS, 0.05)[last]
    at, beyond = (sequential_p([1.0] * last + [p], LOOKS[: last + 1]) for p in (level, 1.1 * level))
    assert at == pytest.approx(0.05, rel=1e-3)
    assert beyond == pytest.approx(0.05, rel=0.2)
    assert beyond != pytest.approx(0.05, rel=1e-3)


def test_what_was_once_certain_stays_so() -> None:
    early = sequential_p([0.3, 1e-6], LOOKS[:2])
    assert early is not None
    assert early < 0.05
    assert sequential_p([0.3, 1e-6, 0.9], LOOKS[:3]) == pytest.approx(early, rel=1e-3)


def test_one_comparison_of_all_samples_is_not_changed() -> None:
    assert sequential_p([0.03], [1.0]) == 0.03
    assert sequential_p([None, 0.03], [0.5, 1.0]) == 0.03
    assert sequential_p([None], [0.5]) is None


def test_a_look_is_not_taken_twice() -> None:
    """The share of samples that were asked, and what is left of all without the others."""
    figures = Comparison("word@1", "paired", 0.5, 0.9, 44, -0.4, p_worse=1e-6)
    looks = (Look(12 / 120, 0.01, 0.99, None), Look(44 / 120, 1e-6, 1.0, None))
    asked = 1 - 76 / 120
    assert asked != 44 / 120
    once = sequential_p([0.01, 1e-6], [12 / 120, 44 / 120])
    assert with_looks(figures, looks, asked).p_worse == pytest.approx(once)
    assert once is not None
    assert once < 0.01
    with pytest.raises(ValueError, match="must ascend"):
        sequential_p([0.01, 1e-6], [0.1, 0.1])


def test_stages_are_random_parts_of_the_right_size_and_do_not_move() -> None:
    counted = Counter(stage_of(f"sample-{n}", 0) for n in range(20_000))
    shares = np.cumsum([counted[n] for n in range(len(LOOKS))]) / 20_000
    assert shares == pytest.approx(LOOKS, abs=0.01)
    assert [stage_of(name, 7) for name in ("a", "가", "\ud800")] == [
        stage_of(name, 7) for name in ("a", "가", "\ud800")
    ]
    assert any(stage_of(f"sample-{n}", 0) != stage_of(f"sample-{n}", 1) for n in range(20))


@pytest.mark.parametrize("kind", ["share", "unbounded"])
def test_a_drop_is_excluded_where_the_interval_excludes_it(kind: str) -> None:
    random = np.random.default_rng(3)
    now, then = (random.random((2, 300)) < 0.7).astype(float)
    groups = partition([str(n // 2) for n in range(300)])
    interval = paired_interval(now, then, groups, kind)  # type: ignore[arg-type]
    assert interval is not None
    p = excluded_drop_p(now - then, groups, kind, -interval[0])  # type: ignore[arg-type]
    assert p is not None
    if kind == "share":
        assert p == pytest.approx(0.025)
    else:  # Hall's interval is a little wider
        assert 0.015 < p <= 0.025


def test_a_drop_of_which_nothing_was_seen_is_not_certainly_excluded() -> None:
    same = np.ones(20)
    groups = partition([str(n) for n in range(20)])
    p = excluded_drop_p(same - same, groups, "share", 0.05)
    assert p is not None
    assert p > 0.2
    assert excluded_drop_p(same - same, groups, "unbounded", 0.05) is None


def _verdict(rules: Rules, **figures: float | None) -> str:
    comparison = Comparison("word@1", "paired", 0.80, 0.85, 400, -0.05, mde=0.2, **figures)  # type: ignore[arg-type]
    return decide([Candidate("word@1", comparison)], rules)[0].word


def test_comparisons_that_may_still_be_made_count_in_holms_correction() -> None:
    assert _verdict(Rules(), p_worse=0.03, p_better=0.97) == "regressed"
    assert _verdict(Rules(family=2), p_worse=0.03, p_better=0.97) == "inconclusive"
    assert _verdict(Rules(family=2), p_worse=0.02, p_better=0.98) == "regressed"


def test_an_excluded_drop_is_unchanged_though_the_mde_is_large() -> None:
    def word(p_excluded: float | None) -> str:
        figures = Comparison("word@1", "paired", 0.85, 0.85, 90, 0.0, p_worse=0.5, mde=0.2)
        figures = replace(figures, p_better=0.5, p_excluded=p_excluded)
        return decide([Candidate("word@1", figures)], Rules(looks=True))[0].word

    assert [word(None), word(0.06), word(0.04)] == ["inconclusive", "inconclusive", "unchanged"]
