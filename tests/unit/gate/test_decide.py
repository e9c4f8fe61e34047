"""The verdict's words and the exit status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptbench.gate.decide import Candidate, Gate, decide, fails
from ckptbench.gate.verdict import Comparison, Verdict, Word


def compared(difference: float, *, p_worse: float = 0.4, p_value: float = 0.8) -> Comparison:
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
        p_value=p_value,
        p_worse=p_worse,
        mde=0.0187,
    )


def verdict(comparison: Comparison | None, **given: object) -> Verdict:
    return decide([Candidate("real@1", comparison, **given)])[0]  # type: ignore[arg-type]


SURE = {"p_worse": 1e-4, "p_value": 2e-4}
SURELY_BETTER = {"p_worse": 0.9999, "p_value": 2e-4}


@pytest.mark.parametrize(
    ("comparison", "word"),
    [
        (compared(-0.0231, **SURE), "regressed"),
        (compared(-0.0231), "inconclusive"),
        (compared(-0.0100, **SURE), "unchanged"),
        (compared(-0.0050, **SURE), "unchanged"),
        (compared(0.0), "unchanged"),
        (compared(0.0050, **SURELY_BETTER), "unchanged"),
        (compared(0.0231), "unchanged"),
        (compared(0.0231, **SURELY_BETTER), "improved"),
        (compared(0.0999, **SURELY_BETTER), "improved"),
        (compared(0.1000, **SURELY_BETTER), "suspicious"),
        (compared(0.2000), "suspicious"),
        (None, "incomplete"),
    ],
)
def test_the_word(comparison: Comparison | None, word: Word) -> None:
    assert verdict(comparison).word == word


@pytest.mark.parametrize(("now", "then"), [(0.66, 0.67), (0.29, 0.30), (0.57, 0.58)])
def test_a_drop_of_exactly_the_tolerance_is_allowed_whatever_the_rounding(
    now: float, then: float
) -> None:
    assert verdict(compared(now - then, **SURE)).word == "unchanged"


def test_the_tolerance_is_the_metrics_own() -> None:
    assert verdict(compared(-0.0231, **SURE), tolerance=0.03).word == "unchanged"
    assert verdict(compared(-0.0001, **SURE), tolerance=0.0).word == "regressed"


def test_incomplete_coverage_comes_before_everything() -> None:
    got = verdict(compared(-0.2, **SURE), incomplete="3 of 1,600 samples are errors")
    assert (got.word, got.detail) == ("incomplete", "3 of 1,600 samples are errors")
    assert got.comparison is not None


def test_holm_corrects_over_the_gated_metrics_only() -> None:
    """0.02 alone is significant, among three it is 0.06."""
    one = Candidate("a", compared(-0.02, p_worse=0.02))
    others = [Candidate(name, compared(0.0, p_worse=0.5)) for name in "bc"]
    assert decide([one])[0].word == "regressed"
    together = decide([one, *others])
    assert together[0].word == "inconclusive"
    assert [v.p_adjusted for v in together] == pytest.approx([0.06, 1.0, 1.0])
    ungated = [replace(other, gated=False) for other in others]
    assert decide([one, *ungated])[0].word == "regressed"
    assert decide([one, *ungated])[1].p_adjusted is None


def test_metrics_that_cannot_be_tested_take_no_part_in_holms_correction() -> None:
    one = Candidate("a", compared(-0.02, p_worse=0.02))
    point = Candidate("b", Comparison("b", "point", 0.6, 0.6, None, 0.0))
    incomplete = Candidate("c", compared(0.0), incomplete="1 error")
    assert decide([one, point, incomplete])[0].p_adjusted == 0.02


def test_a_point_comparison_cannot_be_tested_and_says_so() -> None:
    worse = verdict(Comparison("real@1", "point", 0.62, 0.66, None, -0.04))
    assert worse.word == "inconclusive"
    assert "worse by 4.00 %p" in worse.detail
    assert "point comparison only: the baseline states no n" in worse.detail
    better = verdict(Comparison("real@1", "point", 0.70, 0.66, None, 0.04))
    assert better.word == "unchanged"
    assert "point comparison only" in better.detail
    assert verdict(Comparison("real@1", "point", 0.90, 0.66, None, 0.24)).word == "suspicious"


def test_the_detail_of_a_regression_holds_its_evidence() -> None:
    assert verdict(compared(-0.0231, **SURE)).detail == (
        "worse by 2.31 %p, more than the tolerance of 1.00 %p: 61 lost, 24 won of 1,600, p = 0.0001"
    )


def test_the_detail_of_an_inconclusive_drop_says_how_small_a_drop_would_be_seen() -> None:
    assert verdict(compared(-0.0131, p_worse=0.06)).detail == (
        "worse by 1.31 %p, more than the tolerance of 1.00 %p, but p = 0.06; "
        "with these flips, n = 1,600 can detect a drop of 1.87 %p (80% power)"
    )


def test_every_tested_verdict_says_what_it_could_have_seen() -> None:
    for difference in (0.0, -0.004, 0.004, 0.03):
        assert "can detect a drop of 1.87 %p" in verdict(compared(difference)).detail


def test_an_unpaired_comparison_without_an_error_is_said_to_be_untestable() -> None:
    got = verdict(Comparison("m", "unpaired", 0.0, 0.66, 1, -0.66))
    assert got.word == "inconclusive"
    assert "cannot be tested" in got.detail


# Exit status


def said(*words: Word) -> list[Verdict]:
    return [Verdict("m", word, "", 0.01, 0.05) for word in words]


@pytest.mark.parametrize(
    ("gate", "failing"),
    [
        ("regress", {"regressed", "incomplete"}),
        ("strict", {"regressed", "incomplete", "inconclusive"}),
        ("off", set()),
    ],
)
def test_what_each_gate_fails_for(gate: Gate, failing: set[Word]) -> None:
    every: tuple[Word, ...] = (
        "unchanged",
        "improved",
        "suspicious",
        "regressed",
        "inconclusive",
        "incomplete",
    )
    assert {word for word in every if fails(said("unchanged", word), gate, True)} == failing


@pytest.mark.parametrize("gate", ["regress", "strict", "off"])
def test_an_incomplete_run_fails_every_gate(gate: Gate) -> None:
    assert fails([], gate, complete=False)
    assert not fails([], gate, complete=True)
