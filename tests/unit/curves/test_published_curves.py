"""Thirty-three published rows: what their sample sizes support of what was concluded from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptbench.curves.conclude import conclude
from ckptbench.curves.conclusions import Conclusions, RunConclusions
from ckptbench.curves.measurement import Measurement

SHORT, LONG = "mlm_v2 (seq_len 1536)", "mlm_v2 (seq_len 2048)"


@pytest.fixture(scope="module")
def conclusions(published: tuple[Measurement, ...]) -> Conclusions:
    return conclude(published)


def run(conclusions: Conclusions, name: str) -> RunConclusions:
    return next(each for each in conclusions.runs if each.run == name)


def said(conclusions: Conclusions, *words: str) -> str:
    """The one sentence with all of the words in it."""
    (sentence,) = (s for s in conclusions.sentences if all(word in s for word in words))
    return sentence


def test_a_runs_two_sequence_lengths_are_two_runs(conclusions: Conclusions) -> None:
    assert [(each.run, len(each.measurements)) for each in conclusions.runs] == [
        (SHORT, 11),
        (LONG, 9),
        ("combined (seq_len 1536)", 5),
        ("combined (seq_len 2048)", 5),
        ("entity_ft", 3),
    ]


# The composites


def test_the_composites_are_made_again_from_their_parts(conclusions: Conclusions) -> None:
    made = {m.name: m.composite for m in run(conclusions, SHORT).measurements}
    assert made["checkpoint-65"] is not None
    assert made["checkpoint-65"].value == pytest.approx(0.6143, abs=5e-5)


def test_exactly_twenty_printed_ones_are_not_what_their_parts_give(
    conclusions: Conclusions,
) -> None:
    assert len(conclusions.mismatches) == 20
    assert {each.run for each in conclusions.mismatches} == {"mlm_v2"}
    first = conclusions.mismatches[0]
    assert (first.name, first.printed) == ("checkpoint-65", 0.6190)
    assert first.computed == pytest.approx(0.61434)
    assert said(conclusions, "20 of 33 stated composites")


def test_a_composite_that_rounding_explains_is_none_of_them(conclusions: Conclusions) -> None:
    """0.6096 is printed where the rounded parts give 0.60966."""
    assert "checkpoint-1230" not in {each.name for each in conclusions.mismatches}


# The claims


def test_peak_at_3_epochs(conclusions: Conclusions) -> None:
    (best,) = (each for each in run(conclusions, SHORT).best if each.metric == "real@1")
    assert (best.best, best.recommended) == ("checkpoint-390", "checkpoint-65")
    assert len(best.alike) == 10
    sentence = said(conclusions, SHORT, "real@1 peaks at epoch 3")
    assert "n = 2,400 cannot tell it from 10 of the 10 others" in sentence
    assert "checkpoint-65 (epoch 0.5), differs by -0.46 %p [-3.14, +2.22], p = 0.7370" in sentence


def test_half_an_epoch_is_already_best(conclusions: Conclusions) -> None:
    sentence = said(conclusions, LONG, "real@1 is already best at epoch 0.5")
    assert "n = 3,200 cannot tell it from 8 of the 8 others" in sentence
    assert "differs by -0.09 %p [-2.42, +2.24], p = 0.9397" in sentence


def test_overfits_by_1_37_points(conclusions: Conclusions) -> None:
    (peak,) = (each for each in run(conclusions, SHORT).peaks if each.metric == "real@1")
    assert peak.overfitted == "cannot tell"
    assert peak.comparison is not None
    assert peak.comparison.kind == "unpaired"
    assert peak.comparison.difference == pytest.approx(-0.0137)
    sentence = said(conclusions, SHORT, "real@1 overfits by 1.37 %p", "checkpoint-655 (epoch 5)")
    assert "n = 2,400 cannot tell (-1.37 %p [-4.06, +1.32], p = 0.3186" in sentence
    assert "it can see a fall of 5.01 %p" in sentence


def test_1536_beats_2048_by_0_73_points(conclusions: Conclusions) -> None:
    sentence = said(conclusions, f"{SHORT} beats {LONG} by 0.73 %p in real@1")
    assert "n = 2,400 and 3,200 cannot tell (+0.73 %p [-1.78, +3.24], p = 0.5690" in sentence


def test_the_lengths_are_told_as_one_family_whoever_names_the_runs(
    published: tuple[Measurement, ...],
) -> None:
    named = [replace(each, run=f"{each.run} {each.seq_len}") for each in published]
    assert said(conclude(named), "mlm_v2 1536 beats mlm_v2 2048 by 0.73 %p in real@1")


def test_a_hundred_times_the_samples_would_have_supported_all_of_them(
    published: tuple[Measurement, ...],
) -> None:
    """The same shares: it is the sample size that cannot tell."""

    def larger(each: Measurement) -> Measurement:
        benchmarks = tuple(
            replace(
                bench,
                scores=tuple(replace(s, n=100 * s.n, clusters=100 * s.n) for s in bench.scores),
            )
            for bench in each.benchmarks
        )
        return replace(each, benchmarks=benchmarks)

    conclusions = conclude([larger(each) for each in published if each.run == "mlm_v2"])
    assert "supported" in said(conclusions, "real@1 peaks at epoch 3")
    assert "supported" in said(conclusions, "real@1 overfits by 1.37 %p")
    assert "supported" in said(conclusions, "by 0.73 %p in real@1")
    # 0.09 %p lie between the first two at 2048: not even n = 320,000 tells those apart.
    at_2048 = said(conclusions, "real@1 is already best at epoch 0.5")
    assert "n = 320,000 cannot tell it from 1 of the 8 others" in at_2048


def test_of_112_differences_from_a_best_two_are_told_apart(conclusions: Conclusions) -> None:
    told = {
        (each.run, best.metric, rival.name)
        for each in conclusions.runs
        for best in each.best
        for rival in best.rivals
        if rival.distinguishable
    }
    assert told == {
        ("combined (seq_len 1536)", metric, "checkpoint-396") for metric in ("real@1", "score")
    }


def test_training_may_go_on_or_not_nobody_can_tell(conclusions: Conclusions) -> None:
    assert {each.stopping.stop for each in conclusions.runs if each.stopping} == {"cannot tell"}
    assert "it can see a gain of" in said(conclusions, SHORT, "cannot tell whether to stop")


def test_equal_epochs_are_put_side_by_side(conclusions: Conclusions) -> None:
    rows = [
        each
        for each in conclusions.compared
        if (each.left, each.right, each.metric) == (SHORT, LONG, "real@1")
    ]
    assert [row.at for row in rows[:2]] == ["epoch 0.5", "epoch 1"]
    assert len(rows) == 10
    assert (rows[0].left_checkpoint, rows[0].right_checkpoint) == ("checkpoint-65", "checkpoint-55")
    assert {row.differ for row in rows} == {"cannot tell"}


def test_the_reservations_are_said(conclusions: Conclusions) -> None:
    assert any("upper bound" in note for note in conclusions.notes)
    assert any("unpaired" in note for note in conclusions.notes)


def test_without_the_n_of_a_part_the_composite_is_untested_and_real_1_decides(
    published: tuple[Measurement, ...],
) -> None:
    def without_lambadas_n(each: Measurement) -> Measurement:
        real, lambada = each.benchmarks
        scores = tuple(replace(score, n=0, clusters=0) for score in lambada.scores)
        return replace(each, benchmarks=(real, replace(lambada, scores=scores)))

    conclusions = conclude([without_lambadas_n(each) for each in published])
    assert "not tested: lambada has no standard error" in said(conclusions, SHORT, "score peaks")
    assert "cannot tell (-0.61 %p, not tested" in said(conclusions, SHORT, "score overfits")
    assert "in real@1" in said(conclusions, SHORT, "cannot tell whether to stop")
    assert said(conclusions, f"{SHORT} beats {LONG} by 0.73 %p in real@1")
