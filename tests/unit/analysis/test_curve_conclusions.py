"""What is concluded of runs: best and alike, overfitted or not, stop or go on, one or the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ckptbench._util.errors import CkptbenchError
from ckptbench.analysis import runs
from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.conclusions import Conclusions
from ckptbench.analysis.eligibility import in_order
from ckptbench.gate.measurement import Measurement
from ckptbench.scores.score import Score

Make = Callable[..., Measurement]
N = 2_000


def passing(shares: Iterable[float], *, offset: int = 0) -> list[NDArray[np.float64]]:
    """Outcomes of N samples, the easiest passed first: a share's gain flips no sample twice."""
    order = np.random.default_rng(7).permutation(N)
    return [(order < round(share * N) + offset).astype(float) for share in shares]


def curve(asked: Make, shares: Iterable[float], **facts: object) -> list[Measurement]:
    return [
        asked(f"checkpoint-{100 * i}", values, step=100 * i, epoch=float(i), **facts)
        for i, values in enumerate(passing(shares), start=1)
    ]


def stop(conclusions: Conclusions) -> tuple[str, str]:
    stopping = conclusions.runs[0].stopping
    assert stopping is not None
    return stopping.stop, stopping.best


# Order


def test_names_are_ordered_as_numbers_when_nothing_else_is_known(asked: Make) -> None:
    names = ["checkpoint-110", "checkpoint-55", "checkpoint-1100"]
    ordered = in_order([asked(name, [1, 0]) for name in names])
    assert [each.name for each in ordered] == ["checkpoint-55", "checkpoint-110", "checkpoint-1100"]


def test_steps_come_before_epochs_and_epochs_before_names(asked: Make) -> None:
    a = asked("a", [1, 0], step=30, epoch=1.0)
    b = asked("b", [1, 0], step=20, epoch=2.0)
    c = asked("c", [1, 0], step=10, epoch=3.0)
    assert [each.name for each in in_order([a, b, c])] == ["c", "b", "a"]
    stepless = replace(b, step=None)
    assert [each.name for each in in_order([c, stepless, a])] == ["a", "b", "c"]


def test_the_order_given_is_not_the_order_of_the_run(asked: Make) -> None:
    run = curve(asked, [0.3, 0.4, 0.5])
    (concluded,) = conclude(run[::-1]).runs
    assert concluded.measurements == tuple(conclude(run).runs[0].measurements)
    assert concluded.best[0].best == "checkpoint-300"


# Best


def test_the_earliest_that_is_tied_with_the_best_is_named(asked: Make) -> None:
    (run,) = conclude(curve(asked, [0.40, 0.55, 0.599, 0.60, 0.598])).runs
    (best,) = run.best
    assert (best.best, best.earliest) == ("checkpoint-400", "checkpoint-300")
    tied = [rival.name for rival in best.rivals if not rival.distinguishable]
    assert tied == ["checkpoint-300", "checkpoint-500"]
    assert [rival.name for rival in best.rivals] == [
        f"checkpoint-{step}" for step in (100, 200, 300, 500)
    ]
    assert "statistically tied with 2 of the 4 others at n = 2,000" in best.detail
    assert run.recommended == "checkpoint-400"


def test_a_best_that_is_told_from_all_others_is_significantly_better(asked: Make) -> None:
    (best,) = conclude(curve(asked, [0.4, 0.6, 0.5])).runs[0].best
    assert best.earliest == "checkpoint-200"
    assert all(rival.distinguishable for rival in best.rivals)
    assert "significantly better than both others; the closest: checkpoint-300" in best.detail


def test_of_equal_ones_the_earliest_is_best(asked: Make) -> None:
    (best,) = conclude(curve(asked, [0.5, 0.6, 0.6])).runs[0].best
    assert best.best == "checkpoint-200"


def test_what_cannot_be_tested_is_not_tied(stated: Make) -> None:
    run = [
        stated("checkpoint-1", 0.60, 0.80, 0.30, n=0),
        stated("checkpoint-2", 0.66, 0.82, 0.36, n=0),
    ]
    conclusions = conclude(run)
    best = conclusions.runs[0].best[0]
    assert (best.best, best.earliest) == ("checkpoint-2", "checkpoint-2")
    assert "not tested" in best.detail
    assert any("no n and no standard error" in note for note in conclusions.notes)


def test_one_checkpoint_has_no_peak_and_nothing_to_stop(asked: Make) -> None:
    (run,) = conclude(curve(asked, [0.5])).runs
    assert (run.peaks, run.stopping) == ((), None)
    assert run.best[0].rivals == ()


def test_nothing_measured_concludes_nothing() -> None:
    assert conclude([]) == Conclusions(())


# Peak and last


def test_a_fall_from_the_peak_is_found(asked: Make) -> None:
    conclusions = conclude(curve(asked, [0.4, 0.5, 0.6, 0.57]))
    (peak,) = conclusions.runs[0].peaks
    assert (peak.peak, peak.last, peak.fell) == ("checkpoint-300", "checkpoint-400", "yes")
    assert peak.comparison is not None
    assert peak.comparison.difference == pytest.approx(-0.03)
    assert peak.comparison.interval is not None
    assert peak.comparison.interval[1] < 0
    assert peak.p_adjusted == pytest.approx(3 * (peak.comparison.p_value or 0))
    assert peak.detail.startswith("real@1 fell by 3.00 pp from its highest, checkpoint-300")
    assert "overfitting" not in peak.detail
    assert peak.overfitting == "cannot tell"
    assert stop(conclusions) == ("yes", "checkpoint-300")


def test_a_run_that_ends_at_its_highest_has_not_fallen(asked: Make) -> None:
    for shares in ([0.4, 0.5, 0.6], [0.4, 0.6, 0.6]):
        (peak,) = conclude(curve(asked, shares)).runs[0].peaks
        assert (peak.fell, peak.overfitting) == ("no", "no")
        assert "real@1 is highest at the last checkpoint" in peak.detail


def test_a_small_fall_is_none_when_a_large_one_would_have_been_found(
    asked: Make,
) -> None:
    (peak,) = conclude(curve(asked, [0.4, 0.6, 0.5995])).runs[0].peaks
    assert peak.fell == "no"
    (peak,) = conclude(curve(asked, [0.4, 0.6, 0.5995]), tolerance={"*": 0.0001}).runs[0].peaks
    assert peak.fell == "cannot tell"
    assert "statistically tied" in peak.detail


@pytest.mark.parametrize(
    ("losses", "overfitting", "clause"),
    [
        ((1.2, 0.9), "yes", "; overfitting: the training loss kept falling, 1.2 to 0.9"),
        ((1.2, 2.4), "no", "; not overfitting: the training loss did not keep falling"),
        ((1.2, None), "cannot tell", ""),
    ],
    ids=["falls", "rises", "unknown"],
)
def test_a_fall_is_overfitting_only_where_the_training_loss_falls(
    asked: Make, losses: tuple[float | None, ...], overfitting: str, clause: str
) -> None:
    first, peak, last = curve(asked, [0.4, 0.6, 0.5])
    peak, last = (
        replace(each, facts={"train_loss": loss})
        for each, loss in zip((peak, last), losses, strict=True)
    )
    (found,) = conclude([first, peak, last]).runs[0].peaks
    assert (found.fell, found.overfitting) == ("yes", overfitting)
    assert ("overfitting" in found.detail) == bool(clause)
    assert clause in found.detail


# Stopping


def test_a_run_that_still_gains_goes_on(asked: Make) -> None:
    conclusions = conclude(curve(asked, [0.3, 0.4, 0.5, 0.55, 0.6]))
    assert stop(conclusions) == ("no", "checkpoint-500")
    assert conclusions.sentences[0].startswith(
        "run: continue training: real@1 improved by 20.00 pp in the last 3 checkpoints"
    )
    assert "recommended so far: checkpoint-500 (epoch 5)" in conclusions.sentences[0]


def test_a_run_that_stands_still_stops(asked: Make) -> None:
    conclusions = conclude(curve(asked, [0.4, 0.6, 0.6, 0.5995, 0.6]))
    assert stop(conclusions) == ("yes", "checkpoint-200")
    assert "stop and keep checkpoint-200" in conclusions.sentences[0]
    assert "MDE 1.24 pp at n = 2,000" in conclusions.sentences[0]


def test_nobody_can_tell_when_a_gain_of_the_tolerance_would_not_be_seen(asked: Make) -> None:
    run = curve(asked, [0.4, 0.6, 0.6, 0.5995, 0.6])
    conclusions = conclude(run, tolerance={"real@1": 0.0005})
    assert stop(conclusions)[0] == "cannot tell"
    assert conclusions.sentences[0].startswith("run: recommended so far: checkpoint-200 (epoch 2)")
    assert "whether to stop is open" in conclusions.sentences[0]
    assert "MDE 0.34 pp at n = 2,000" in conclusions.sentences[0]


def test_nor_after_three_checkpoints(asked: Make) -> None:
    conclusions = conclude(curve(asked, [0.5, 0.5, 0.5]))
    assert stop(conclusions)[0] == "cannot tell"
    assert "3 checkpoints are too few" in conclusions.sentences[0]


def test_a_composite_that_cannot_be_tested_gives_way_to_a_metric_that_can(stated: Make) -> None:
    def without_n(each: Measurement) -> Measurement:
        real, lambada = each.benchmarks
        scores = tuple(replace(score, n=0, clusters=0) for score in lambada.scores)
        return replace(each, benchmarks=(real, replace(lambada, scores=scores)))

    run = [without_n(stated(f"checkpoint-{i}", 0.6, 0.8, 0.3, n=2_400)) for i in range(1, 6)]
    stopping = conclude(run).runs[0].stopping
    assert stopping is not None
    assert stopping.metric == "real@1"


# What takes part


def test_an_incomplete_checkpoint_takes_no_part_and_is_named(asked: Make) -> None:
    *early, last = curve(asked, [0.4, 0.5, 0.9])
    broken = replace(last.benchmarks[0], incomplete="3 of 2,000 samples are errors")
    conclusions = conclude([*early, replace(last, benchmarks=(broken,))])
    (run,) = conclusions.runs
    assert run.best[0].best == "checkpoint-200"
    assert len(run.measurements) == 3
    assert (
        "left out of real@1: run: checkpoint-300: 3 of 2,000 samples are errors"
        in conclusions.notes
    )


def test_so_does_one_under_another_protocol(asked: Make) -> None:
    *early, last = curve(asked, [0.4, 0.5, 0.9])
    other = replace(last.benchmarks[0], protocol="real/origin")
    conclusions = conclude([*early, replace(last, benchmarks=(other,))])
    assert conclusions.runs[0].best[0].best == "checkpoint-200"
    assert any(
        "its protocol is real/origin, the others' real/whole-word" in n for n in conclusions.notes
    )


def test_the_later_of_two_results_of_one_checkpoint_counts(asked: Make) -> None:
    first, second = curve(asked, [0.4, 0.5])
    again = replace(second, name=first.name)
    conclusions = conclude([first, again])
    assert conclusions.runs[0].best[0].value == pytest.approx(0.5)
    assert any("measured more than once" in note for note in conclusions.notes)


def with_losses(asked: Make, values: list[float], better: bool | None) -> list[Measurement]:
    """Equal outcomes, and a loss beside them whose errors are 0.01."""
    run = []
    for each, value in zip(curve(asked, [0.5] * len(values)), values, strict=True):
        (bench,) = each.benchmarks
        loss = Score("real_loss", value, N, N, 0.01, unit="nats", higher_is_better=better)
        run.append(replace(each, benchmarks=(replace(bench, scores=(*bench.scores, loss)),)))
    return run


def test_where_less_is_better_the_lowest_is_best_and_a_rise_is_worse(asked: Make) -> None:
    run = with_losses(asked, [3.0, 2.0, 1.5, 2.5], better=False)
    (concluded,) = conclude(run, by="real_loss").runs
    best = concluded.best[1]
    assert (best.metric, best.best) == ("real_loss", "checkpoint-300")
    assert all(rival.distinguishable for rival in best.rivals)
    assert "real_loss is lowest at epoch 3 (checkpoint-300, 1.5000)" in best.detail
    peak = concluded.peaks[1]
    assert (peak.peak, peak.fell) == ("checkpoint-300", "yes")
    assert "real_loss got worse by 1 nats from its lowest, checkpoint-300" in peak.detail
    assert concluded.stopping is not None
    assert (concluded.stopping.stop, concluded.stopping.best) == ("yes", "checkpoint-300")
    falling = with_losses(asked, [3.0, 2.5, 2.0, 1.5, 1.0], better=False)
    assert stop(conclude(falling, by="real_loss")) == ("no", "checkpoint-500")


def test_two_runs_of_which_less_is_better(asked: Make) -> None:
    left = with_losses(asked, [3.0, 2.0], better=False)
    right = [replace(each, run="b") for each in with_losses(asked, [3.0, 2.5], better=False)]
    rows = conclude([*left, *right]).compared
    row = next(r for r in rows if (r.metric, r.at) == ("real_loss", "each one's best"))
    assert row.differ == "yes"
    assert row.detail.startswith("run beats b by 0.5 nats in real_loss")


def test_a_metric_of_unknown_direction_is_never_best_and_a_note_says_so(asked: Make) -> None:
    conclusions = conclude(with_losses(asked, [3.0, 2.0], better=None))
    assert [best.metric for best in conclusions.runs[0].best] == ["real@1"]
    (note,) = (n for n in conclusions.notes if "whether more is better" in n)
    assert note.endswith("real_loss")


def test_weights_that_make_no_mean_are_refused(asked: Make) -> None:
    with pytest.raises(CkptbenchError, match=r"sum to 0\.9"):
        conclude(curve(asked, [0.5]), weights={"real@1": 0.9})


def test_common_samples_are_counted_where_they_are_not_all(asked: Make) -> None:
    first, second = curve(asked, [0.4, 0.5])
    short = replace(asked("checkpoint-200", passing([0.5])[0][:1_500]), step=200, epoch=2.0)
    notes = conclude([first, short]).notes
    assert any("over common samples only" in n and "(1,500 of 2,000)" in n for n in notes)
    assert second.name == short.name


# Runs side by side


def test_two_runs_are_compared_at_equal_epochs_and_each_ones_best(asked: Make) -> None:
    left = curve(asked, [0.40, 0.55, 0.60], run="a")
    right = curve(asked, [0.45, 0.55, 0.56, 0.57], run="b")
    rows = conclude([*left, *right]).compared
    assert [(row.at, row.differ) for row in rows] == [
        ("epoch 1", "yes"),
        ("epoch 2", "no"),
        ("epoch 3", "yes"),
        ("each one's best", "yes"),
    ]
    assert (rows[-1].left_checkpoint, rows[-1].right_checkpoint) == (
        "checkpoint-300",
        "checkpoint-400",
    )
    assert "a beats b by 3.00 pp in real@1" in rows[-1].detail


def test_very_many_curves_are_compared_at_their_last_common_epoch(
    asked: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_AT_EPOCHS", 2)
    left = curve(asked, [0.40, 0.55, 0.60], run="a")
    right = curve(asked, [0.45, 0.55, 0.56, 0.57], run="b")
    conclusions = conclude([*left, *right])
    assert [row.at for row in conclusions.compared] == ["epoch 3", "each one's best"]
    assert any("only their last common epoch" in note for note in conclusions.notes)


def test_epochs_a_trainer_rounds_are_equal_and_steps_stand_in_for_unknown_ones(
    asked: Make,
) -> None:
    left = curve(asked, [0.4, 0.5], run="a")
    late = [replace(each, epoch=(each.epoch or 0) - 0.0013) for each in left]
    right = [replace(each, run="b") for each in late]
    assert [row.at for row in conclude([*left, *right]).compared][:2] == ["epoch 1", "epoch 2"]
    unknown = [replace(each, epoch=None) for each in right]
    rows = conclude([*left, *unknown]).compared
    assert [row.at for row in rows][:2] == ["step 100", "step 200"]


def test_of_two_checkpoints_at_one_epoch_the_last_stands_for_it(asked: Make) -> None:
    left = curve(asked, [0.4, 0.5], run="a")
    end = asked("checkpoint-205", passing([0.5])[0], run="a", step=205, epoch=2.0)
    right = curve(asked, [0.4, 0.5], run="b")
    rows = conclude([*left, end, *right]).compared
    assert [row.left_checkpoint for row in rows if row.at == "epoch 2"] == ["checkpoint-205"]


def test_runs_under_two_protocols_are_not_compared_and_both_are_named(asked: Make) -> None:
    left = curve(asked, [0.4, 0.5], run="a")
    right = [
        replace(each, run="b", benchmarks=(replace(each.benchmarks[0], protocol="real/origin"),))
        for each in curve(asked, [0.4, 0.6])
    ]
    (row,) = conclude([*left, *right]).compared
    assert (row.comparison, row.differ) == (None, "cannot tell")
    assert "real/whole-word and real/origin are two different measurements" in row.detail


def test_equal_values_of_few_samples_are_not_called_equal(asked: Make) -> None:
    outcomes = [1, 0] * 6
    left, right = asked("a", outcomes, run="baseline"), asked("b", outcomes, run="critic")
    (row,) = conclude([left, right]).compared
    assert row.differ == "cannot tell"
    assert row.detail.startswith("baseline and critic are statistically tied in real@1")
    assert "+0.00 pp" in row.detail
    assert "equal" not in row.detail.replace("equally", "")


@pytest.mark.parametrize("seed", range(12))
def test_no_sentence_claims_and_denies(asked: Make, seed: int) -> None:
    """Runs that rise, stand still and collapse, on many samples and on few."""
    rng = np.random.default_rng(seed)
    n = (40, 2_000)[seed % 2]
    shares = (np.linspace(0.2, 0.7, 6), np.full(6, 0.5), np.array([0.3, 0.6, 0.6, 0.6, 0.4, 0.2]))
    run = [
        asked(f"checkpoint-{i}", rng.random(n) < share, step=100 * i, epoch=float(i))
        for i, share in enumerate(shares[seed % 3], start=1)
    ]
    conclusions = conclude(run)
    (concluded,) = conclusions.runs
    for sentence in conclusions.sentences:
        # One of these at most: a fall that was found, a tie, or that nothing changed.
        claims = (
            "fell by",
            "at the last, checkpoint-6 (epoch 6), is statistically",
            "has not worsened",
        )
        assert sum(claim in sentence for claim in claims) <= 1
        assert "cannot tell" not in sentence
        assert "overfit" not in sentence
    assert f" {concluded.recommended} (" in conclusions.sentences[0]
    assert concluded.stopping is not None
    assert concluded.stopping.best == concluded.recommended == concluded.best[0].best


def test_the_same_measurements_conclude_the_same(asked: Make) -> None:
    rng = np.random.default_rng(3)
    run = [asked(f"checkpoint-{i}", rng.random(300) < 0.5, size=3) for i in range(4)]
    assert conclude(run, seed=5).runs[0].best == conclude(run, seed=5).runs[0].best
