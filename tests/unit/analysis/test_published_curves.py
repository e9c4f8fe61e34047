"""Thirty-three published rows: what their sample sizes support of what was concluded from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.conclusions import Conclusions, RunConclusions
from ckptbench.gate.measurement import Measurement

pytestmark = pytest.mark.slow

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
    assert said(conclusions, "20 of 33 reported composites")


def test_a_composite_that_rounding_explains_is_none_of_them(conclusions: Conclusions) -> None:
    """0.6096 is printed where the rounded parts give 0.60966."""
    assert "checkpoint-1230" not in {each.name for each in conclusions.mismatches}


# The claims


def test_peak_at_3_epochs(conclusions: Conclusions) -> None:
    (best,) = (each for each in run(conclusions, SHORT).best if each.metric == "real@1")
    assert (best.best, best.earliest) == ("checkpoint-390", "checkpoint-65")
    assert sum(not rival.distinguishable for rival in best.rivals) == 10
    sentence = said(conclusions, SHORT, "real@1 is highest at epoch 3")
    assert "statistically tied with all 10 others at n = 2,400" in sentence
    assert "checkpoint-65 (epoch 0.5), -0.46 pp [-3.17, +2.25], p = 0.7458" in sentence


def test_half_an_epoch_is_already_best(conclusions: Conclusions) -> None:
    sentence = said(conclusions, LONG, "real@1 is highest at the first checkpoint, epoch 0.5")
    assert "statistically tied with all 8 others at n = 3,200" in sentence
    assert "-0.09 pp [-2.45, +2.27], p = 0.9486" in sentence


def test_a_fall_by_1_37_points(conclusions: Conclusions) -> None:
    (peak,) = (each for each in run(conclusions, SHORT).peaks if each.metric == "real@1")
    assert (peak.fell, peak.overfitting) == ("cannot tell", "cannot tell")
    assert peak.comparison is not None
    assert peak.comparison.kind == "unpaired"
    assert peak.comparison.difference == pytest.approx(-0.0137)
    sentence = said(conclusions, SHORT, "real@1 at the last, checkpoint-655 (epoch 5)")
    assert "is statistically tied with its highest, checkpoint-390 (epoch 3)" in sentence
    assert "-1.37 pp [-4.09, +1.35], p = 0.3222" in sentence
    assert "MDE 5.07 pp at n = 2,400" in sentence


def test_1536_beats_2048_by_0_73_points(conclusions: Conclusions) -> None:
    sentence = said(conclusions, f"{SHORT} and {LONG} are statistically tied in real@1")
    assert "+0.73 pp [-1.81, +3.26], p = 0.5698" in sentence
    assert "at n = 2,400 and 3,200" in sentence


def test_the_lengths_are_told_as_one_family_whoever_names_the_runs(
    published: tuple[Measurement, ...],
) -> None:
    named = [replace(each, run=f"{each.run} {each.seq_len}") for each in published]
    mlm = [each for each in named if each.run.startswith("mlm_v2")]
    assert said(conclude(mlm), "mlm_v2 1536 and mlm_v2 2048 are statistically tied in real@1")


def test_a_hundred_times_the_samples_would_have_supported_all_of_them(
    published: tuple[Measurement, ...],
) -> None:
    """The same shares: it is the sample size that cannot tell. Of real@1 alone: it takes long."""

    def larger(each: Measurement) -> Measurement:
        (share,), (bench,) = zip(
            *((s, b) for b in each.benchmarks for s in b.scores if s.metric == "real@1"),
            strict=True,
        )
        share = replace(share, n=100 * share.n, clusters=100 * share.n)
        return replace(each, benchmarks=(replace(bench, scores=(share,)),))

    conclusions = conclude([larger(each) for each in published if each.run == "mlm_v2"])
    assert "significantly better" in said(conclusions, "real@1 is highest at epoch 3")
    assert said(conclusions, "real@1 fell by 1.37 pp")
    assert said(conclusions, f"{SHORT} beats {LONG} by 0.73 pp in real@1")
    # 0.09 pp lie between the first two at 2048: not even n = 320,000 tells those apart.
    at_2048 = said(conclusions, "real@1 is highest at the first checkpoint")
    assert "statistically tied with 1 of the 8 others at n = 320,000" in at_2048


def test_of_112_differences_from_a_best_one_is_told_apart(conclusions: Conclusions) -> None:
    told = {
        (each.run, best.metric, rival.name)
        for each in conclusions.runs
        for best in each.best
        for rival in best.rivals
        if rival.distinguishable
    }
    assert told == {("combined (seq_len 1536)", "real@1", "checkpoint-396")}


def test_training_may_go_on_or_not_nobody_can_tell(conclusions: Conclusions) -> None:
    assert {each.stopping.stop for each in conclusions.runs if each.stopping} == {"cannot tell"}
    sentence = said(conclusions, SHORT, "whether to stop is open")
    assert "recommended so far: checkpoint-195 (epoch 1.5), highest score" in sentence
    assert "MDE 3.62 pp" in sentence


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
    assert "not tested: lambada has no standard error" in said(conclusions, SHORT, "score is hi")
    sentence = said(conclusions, SHORT, "score at the last", "differs by -0.61 pp")
    assert "not tested, no standard error" in sentence
    assert "highest real@1" in said(conclusions, SHORT, "whether to stop is open")
    assert said(conclusions, f"{SHORT} and {LONG} are statistically tied in real@1")
