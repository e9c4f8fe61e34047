"""The verdict's words and the exit status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptbench.gate.verdict import (
    SEVERITY,
    WORDS,
    Candidate,
    Comparison,
    Gate,
    Rules,
    Verdict,
    Word,
    decide,
    fails,
)


def compared(
    difference: float, *, p_worse: float = 0.4, p_better: float = 0.6, mde: float | None = 0.0187
) -> Comparison:
    return Comparison(
        "real@1",
        "paired",
        0.6 + difference,
        0.6,
        1_600,
        difference,
        standard_error=0.005,
        lost=61,
        won=24,
        p_value=2 * min(p_worse, p_better),
        p_worse=p_worse,
        p_better=p_better,
        mde=mde,
    )


def verdict(comparison: Comparison | None, **given: object) -> Verdict:
    return decide([Candidate("real@1", comparison, **given)])[0]  # type: ignore[arg-type]


WORSE = {"p_worse": 1e-4, "p_better": 0.9999}
BETTER = {"p_worse": 0.9999, "p_better": 1e-4}


@pytest.mark.parametrize(
    ("comparison", "word"),
    [
        (compared(-0.0231, **WORSE), "regressed"),
        (compared(-0.0231), "inconclusive"),
        (compared(-0.0100, **WORSE), "unchanged"),
        (compared(-0.0050, **WORSE), "unchanged"),
        (compared(0.0), "unchanged"),
        (compared(0.0050, **BETTER), "unchanged"),
        (compared(0.0231), "unchanged"),
        (compared(0.0231, **BETTER), "improved"),
        (compared(0.2000, **BETTER), "improved"),
        # Noise is no rise, however large: 23% of unchanged runs of 28 problems rise by 10 pp.
        (compared(0.2000), "unchanged"),
        (None, "incomplete"),
    ],
)
def test_the_word(comparison: Comparison | None, word: Word) -> None:
    assert verdict(comparison).word == word


def test_unchanged_is_only_said_where_a_drop_would_have_been_found() -> None:
    assert verdict(compared(0.0, mde=0.05)).word == "unchanged"
    blind = verdict(compared(0.0, mde=0.0501))
    assert blind.word == "inconclusive"
    assert "a drop of 5.00 pp would not have been found: MDE 5.01 pp" in blind.detail
    nothing = verdict(compared(0.0, mde=None))
    assert nothing.word == "inconclusive"
    assert "no drop at n = 1,600 would be found" in nothing.detail
    (wider,) = decide([Candidate("real@1", compared(0.0, mde=0.08))], Rules(must_see=0.1))
    assert wider.word == "unchanged"


def test_identical_outcomes_need_no_power() -> None:
    same = replace(compared(0.0, mde=None), identical=True)
    assert verdict(same).word == "identical"


@pytest.mark.parametrize(("now", "then"), [(0.66, 0.67), (0.29, 0.30), (0.57, 0.58)])
def test_a_drop_of_exactly_the_tolerance_is_allowed_whatever_the_rounding(
    now: float, then: float
) -> None:
    assert verdict(compared(now - then, **WORSE)).word == "unchanged"


def test_the_tolerance_is_the_metrics_own() -> None:
    assert verdict(compared(-0.0231, **WORSE), tolerance=0.03).word == "unchanged"
    assert verdict(compared(-0.0001, **WORSE), tolerance=0.0).word == "regressed"


def test_a_large_significant_rise_is_improved_with_a_remark() -> None:
    assert verdict(compared(0.0999, **BETTER)).remark == ""
    large = verdict(compared(0.1, **BETTER))
    assert (large.word, large.remark) == ("improved", "unusually large: read some answers")
    assert verdict(compared(0.1)).remark == ""


def test_less_is_better_where_the_metric_says_so() -> None:
    bits = replace(
        compared(-0.05, **BETTER), unit="bits_per_byte", higher_is_better=False, mde=0.01
    )
    assert verdict(bits).word == "improved"
    worse = replace(bits, difference=0.05, p_worse=1e-4, p_better=0.9999)
    assert verdict(worse).word == "regressed"
    assert verdict(worse).detail.startswith("worse by 0.05 bits/byte, tolerance 0.01 bits/byte")


def test_a_bound_on_the_mde_is_in_the_metrics_unit() -> None:
    """5 pp of a share are five default tolerances: 5 points, 0.05 bits, 5% of a perplexity."""
    points = replace(compared(0.0, mde=5.0), unit="points", baseline=30.0)
    assert verdict(points, tolerance=1.0).word == "unchanged"
    assert verdict(replace(points, mde=5.1), tolerance=1.0).word == "inconclusive"
    perplexity = replace(compared(0.0, mde=1.0), unit="perplexity", baseline=20.0)
    assert verdict(perplexity, tolerance=0.2).word == "unchanged"
    assert verdict(replace(perplexity, mde=1.01), tolerance=0.2).word == "inconclusive"


@pytest.mark.parametrize("word", ["incomparable", "missing", "incomplete"])
def test_what_is_not_judged_keeps_its_reason(word: Word) -> None:
    got = verdict(compared(-0.2, **WORSE), not_judged=word, reason="3 of 1,600 samples are errors")
    assert (got.word, got.detail) == (word, "3 of 1,600 samples are errors")


def test_holm_corrects_over_everything_gated_in_both_directions() -> None:
    """0.02 alone is significant, among three it is 0.06."""
    fallen = Candidate("a", compared(-0.02, p_worse=0.02, p_better=0.98))
    risen = Candidate("a", compared(0.02, p_worse=0.98, p_better=0.02))
    others = [Candidate(name, compared(0.0, p_worse=0.5, p_better=0.5)) for name in "bc"]
    assert decide([fallen])[0].word == "regressed"
    assert decide([risen])[0].word == "improved"
    together = decide([fallen, *others])
    assert together[0].word == "inconclusive"
    assert [v.p_adjusted for v in together] == pytest.approx([0.06, 1.0, 1.0])
    assert decide([risen, *others])[0].word == "unchanged"
    ungated = [replace(other, gated=False) for other in others]
    assert decide([fallen, *ungated])[0].word == "regressed"
    assert decide([fallen, *ungated])[1].p_adjusted == 0.5


def test_metrics_that_cannot_be_tested_take_no_part_in_holms_correction() -> None:
    one = Candidate("a", compared(-0.02, p_worse=0.02, p_better=0.98))
    point = Candidate("b", Comparison("b", "point", 0.6, 0.6, None, 0.0))
    incomplete = Candidate("c", compared(0.0), not_judged="incomplete", reason="1 error")
    assert decide([one, point, incomplete])[0].p_adjusted == 0.02


def test_a_point_comparison_cannot_be_tested_and_says_so() -> None:
    for difference in (-0.04, 0.04, 0.24, 0.0):
        point = verdict(Comparison("real@1", "point", 0.66 + difference, 0.66, None, difference))
        assert point.word == "inconclusive"
        assert "not tested: the baseline gives neither n nor standard error" in point.detail


def test_the_detail_of_a_regression_holds_its_evidence() -> None:
    assert verdict(compared(-0.0231, **WORSE)).detail == (
        "worse by 2.31 pp, tolerance 1.00 pp, 61 lost and 24 won of 1,600, p worse, Holm = 0.0001"
    )


def test_an_inconclusive_drop_says_how_small_a_drop_would_be_found() -> None:
    assert verdict(compared(-0.0131, p_worse=0.06)).detail == (
        "worse by 1.31 pp, tolerance 1.00 pp, but p worse, Holm = 0.06; MDE 1.87 pp at n = 1,600"
    )


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        (
            {"difference": 0.0231, **BETTER},
            "better by 2.31 pp, 61 lost and 24 won of 1,600, p better, Holm = 0.0001",
        ),
        ({}, "no difference; MDE 1.87 pp at n = 1,600"),
        ({"difference": 0.005}, "better by 0.50 pp; MDE 1.87 pp at n = 1,600"),
        ({"n": None}, "no difference; MDE 1.87 pp"),
        (
            {"difference": -0.004, "p_excluded": 0.05, "mde": 0.2},
            "worse by 0.40 pp at n = 1,600; a drop of 5.00 pp is excluded (p = 0.05)",
        ),
        (
            {"p_excluded": 0.051, "mde": None},
            "no difference; a drop of 5.00 pp would not have been found: "
            "MDE: no drop at n = 1,600 would be found in four runs of five",
        ),
        (
            {"mde": 0.2, "unit": "bits_per_byte", "higher_is_better": False},
            "no difference; a rise of 0.05 bits/byte would not have been found: "
            "MDE 0.2 bits/byte at n = 1,600",
        ),
        (
            {"difference": -0.02, "kind": "unpaired", "lost": None, "won": None, **WORSE},
            "worse by 2.00 pp, tolerance 1.00 pp, p worse, Holm = 0.0001",
        ),
        (
            {"p_worse": None, "kind": "unpaired"},
            "no difference; not tested: one side has no standard error",
        ),
    ],
)
def test_the_detail(changed: dict[str, object], detail: str) -> None:
    assert verdict(replace(compared(0.0), **changed)).detail == detail  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("unit", "rise", "large"),
    [("points", 10.0, True), ("points", 9.9, False), ("perplexity", 50.0, False)],
)
def test_a_rise_is_large_in_the_unit_of_shares_and_points_only(
    unit: str, rise: float, large: bool
) -> None:
    figures = replace(compared(rise, **BETTER), unit=unit)
    found = verdict(figures, tolerance=1.0)
    assert (found.word, bool(found.remark)) == ("improved", large)
    assert (found.p_adjusted, found.tolerance, found.alpha) == (1e-4, 1.0, 0.05)


# Exit status


def given(*words: Word) -> list[Verdict]:
    return [Verdict("m", word, "", 0.01, 0.05) for word in words]


@pytest.mark.parametrize(
    ("gate", "failing"),
    [
        ("regress", {"incomparable", "missing", "regressed", "incomplete"}),
        ("strict", {"incomparable", "missing", "regressed", "incomplete", "inconclusive"}),
        ("off", set()),
    ],
)
def test_what_each_gate_fails_for(gate: Gate, failing: set[Word]) -> None:
    assert {word for word in WORDS if fails(given("unchanged", word), gate, True)} == failing


def test_the_words_are_in_the_order_of_their_severity() -> None:
    levels = [WORDS[word].level for word in SEVERITY]
    assert levels == sorted(levels, key=["bad", "warning", "good", "plain"].index)


@pytest.mark.parametrize("gate", ["regress", "strict", "off"])
def test_an_incomplete_run_fails_every_gate(gate: Gate) -> None:
    assert fails([], gate, complete=False)
    assert not fails([], gate, complete=True)
