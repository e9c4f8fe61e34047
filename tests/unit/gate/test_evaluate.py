"""A run against a baseline: what is compared with what, and what is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptbench.gate.baseline import Baseline, BaselineScore, bare_baseline
from ckptbench.gate.evaluate import (
    Evaluation,
    evaluate,
    evaluate_composite,
    evaluate_matched,
)
from ckptbench.gate.matching import match_baseline
from ckptbench.gate.mde import Rule, paired_shares_mde
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.gate.scope import Scope
from ckptbench.gate.sequential import Look, sequential_p
from ckptbench.gate.verdict import Comparison, Rules
from ckptbench.scores.aggregate import fold
from ckptbench.scores.composite import composite
from ckptbench.scores.metric import BITS_PER_BYTE
from ckptbench.scores.score import Score

from .conftest import as_baseline, measured, shares

N = 1_600
WEIGHTS = {"real@1": 0.4, "real@5": 0.3, "lambada@1": 0.3}
REAL = measured("real/whole-word", shares(N, 0.6, 0.8))
LAMBADA = measured("lambada/greedy", shares(N, 0.4, benchmark="lambada"))
BEST = as_baseline(REAL, LAMBADA)


def run(
    *benchmarks: BenchmarkMeasurement, baseline: Baseline = BEST, **scope: object
) -> Evaluation:
    (found,) = evaluate([benchmarks], baseline, scope=Scope(**scope))  # type: ignore[arg-type]
    return found


def words(evaluation: Evaluation) -> list[list[str]]:
    return [[verdict.word for verdict in each] for each in evaluation.verdicts]


def test_the_same_answers_are_identical() -> None:
    same = run(REAL, LAMBADA)
    assert words(same) == [["identical", "identical"], ["identical"]]
    assert (same.in_baseline, same.compared, same.missing) == (3, 3, ())


def test_each_metric_has_its_own_verdict_and_holm_covers_all_benchmarks() -> None:
    fallen = measured("real/whole-word", shares(N, 0.6, 0.8, lost=40))
    (real_1, real_5), (lambada_1,) = run(fallen, LAMBADA).verdicts
    assert (real_1.word, real_5.word, lambada_1.word) == ("regressed", "identical", "identical")
    assert real_1.comparison is not None
    assert real_1.comparison.p_worse is not None
    assert real_1.p_adjusted == pytest.approx(3 * real_1.comparison.p_worse)


def test_holms_family_is_every_checkpoint_of_the_session() -> None:
    fallen = measured("real/whole-word", shares(N, 0.6, 0.8, lost=40))
    two = evaluate([[fallen, LAMBADA], [REAL, LAMBADA]], BEST)
    first = two[0].verdicts[0][0]
    assert first.comparison is not None
    assert first.p_adjusted == pytest.approx(6 * (first.comparison.p_worse or 0))
    alone = run(fallen, LAMBADA).verdicts[0][0].comparison
    assert alone is not None
    assert alone.mde is not None
    assert first.comparison.mde is not None
    assert first.comparison.mde > alone.mde, "the MDE is that of the corrected level"


def test_before_all_are_asked_the_looks_and_the_tests_to_come_count() -> None:
    """Half of the samples asked, one look before; six tests, of which three are made here."""
    fallen = measured("real/whole-word", shares(400, 0.6, 0.8, lost=9))
    look = Look(0.2, 0.2, 0.8, 0.3)
    half = replace(fallen, asked=0.5, looks={"real@1": (look,)}, planned=None)
    held = as_baseline(measured("real/whole-word", shares(400, 0.6, 0.8)))

    def found(bench: BenchmarkMeasurement, **rules: object) -> Comparison:
        (whole,) = evaluate([[bench]], held, rules=Rules(**rules))  # type: ignore[arg-type]
        comparison = whole.verdicts[0][0].comparison
        assert comparison is not None
        return comparison

    plain, later = found(fallen), found(half, looks=True, family=6)
    assert plain.p_excluded is None
    tested = found(fallen, looks=True).p_excluded
    assert tested is not None
    for one, of_look, over in (
        (plain.p_worse, look.p_worse, later.p_worse),
        (plain.p_better, look.p_better, later.p_better),
        (tested, look.p_excluded, later.p_excluded),
    ):
        assert over == pytest.approx(sequential_p([of_look, one], [0.2, 0.5]))
        assert over != one
    share = 9 / 400
    assert plain.mde == paired_shares_mde(400, share, 0.6, Rule(0.05 / 2, 0.01))
    assert later.mde == paired_shares_mde(400, share, 0.6, Rule(0.05 / 6, 0.01))
    # A look of which there is none for this metric is one at this share.
    alone = found(replace(half, looks={}))
    assert alone.p_worse == pytest.approx(sequential_p([plain.p_worse], [0.5]))


def test_of_many_metrics_that_were_left_out_five_are_named() -> None:
    many = [measured(f"b{i}/x", {f"b{i}@1": [1.0, 0.0]}) for i in range(7)]
    (note,) = run(many[0], baseline=as_baseline(*many), selection=("-k", "a file")).notes
    assert note == (
        "6 of 7 gated metrics of the baseline were left out by -k, a file: "
        "b1/b1@1, b2/b2@1, b3/b3@1, b4/b4@1, b5/b5@1 ..."
    )
    (note,) = run(*many[:2], baseline=as_baseline(*many), selection=("-k",)).notes
    assert note.endswith(": b2/b2@1, b3/b3@1, b4/b4@1, b5/b5@1, b6/b6@1")


def test_a_protocol_that_is_not_primary_is_judged_alone() -> None:
    origin = measured("real/origin", shares(N, 0.6, 0.8), primary=False)
    fallen = measured("real/origin", shares(N, 0.6, 0.8, lost=40), primary=False)
    gated, ungated = run(REAL, fallen, baseline=as_baseline(REAL, origin)).verdicts
    assert [v.word for v in ungated] == ["regressed", "identical"]
    assert [v.gated for v in (*gated, *ungated)] == [True, True, False, False]


# What the baseline has and the run lacks


def test_a_benchmark_that_was_not_asked_is_missing() -> None:
    found = run(REAL)
    assert [(v.metric, v.word) for v in found.missing] == [("lambada/lambada@1", "missing")]
    assert "this run did not measure lambada" in found.missing[0].detail
    assert (found.compared, found.in_baseline) == (2, 3)


def test_what_the_user_deselected_is_a_note() -> None:
    found = run(REAL, selection=("-k",))
    assert found.missing == ()
    assert found.notes == (
        "1 of 3 gated metrics of the baseline were left out by -k: lambada/lambada@1",
    )


def test_a_metric_that_the_benchmark_lacks_is_missing() -> None:
    only_1 = measured("real/whole-word", shares(N, 0.6))
    found = run(only_1, LAMBADA)
    assert words(found) == [["identical", "missing"], ["identical"]]
    assert (found.compared, found.in_baseline) == (2, 3)
    # -k selects items, so it explains no metric of a benchmark that was asked.
    assert words(run(only_1, LAMBADA, selection=("-k",)))[0] == ["identical", "missing"]
    chosen = run(only_1, LAMBADA, chosen_metrics={"real": "--k"})
    assert words(chosen) == [["identical"], ["identical"]]
    assert "left out by --k: real/real@5" in chosen.notes[0]


def test_a_metric_that_needs_more_trials_is_no_metric_of_the_run() -> None:
    many = measured("code/raw", {"pass@1": [0.5] * 40, "pass@5": [0.9] * 40}, trials=20)
    one = replace(measured("code/raw", {"pass@1": [1.0, 0.0] * 20}), unavailable=("pass@5",))
    found = run(one, baseline=as_baseline(many))
    assert [v.metric for v in found.verdicts[0]] == ["pass@1"]
    assert "left out by the number of trials: code/pass@5" in found.notes[0]


def test_a_dataset_that_lost_samples_is_incomplete() -> None:
    cut = measured("real/whole-word", shares(160, 0.6, 0.8))
    found = run(cut, LAMBADA)
    assert words(found)[0] == ["incomplete", "incomplete"]
    assert found.verdicts[0][0].detail == (
        "1,440 of the baseline's 1,600 samples are not in this run's dataset"
    )
    limited = run(cut, LAMBADA, limited=("--limit",))
    assert "incomplete" not in words(limited)[0]
    assert "1,440 of the baseline's 1,600 samples" in limited.notes[0]


@pytest.mark.parametrize(("deselected", "explained"), [(1_440, True), (1_439, False), (None, True)])
def test_a_selection_explains_no_more_samples_than_it_deselected(
    deselected: int | None, explained: bool
) -> None:
    cut = replace(measured("real/whole-word", shares(160, 0.6, 0.8)), deselected=deselected)
    found = run(cut, LAMBADA, selection=("a file argument",))
    assert ("incomplete" not in words(found)[0]) == explained


def test_a_run_that_does_not_say_what_it_planned_has_lost_nothing() -> None:
    found = run(replace(REAL, planned=None), LAMBADA)
    assert words(found)[0] == ["identical", "identical"]


@pytest.mark.parametrize("primary", [True, False])
def test_a_metric_is_missing_only_where_both_sides_gate_the_protocol(primary: bool) -> None:
    only_1 = measured("real/whole-word", shares(N, 0.6), primary=primary)
    both = measured("real/whole-word", shares(N, 0.6, 0.8), primary=not primary)
    found = run(only_1, LAMBADA, baseline=as_baseline(both, LAMBADA))
    assert words(found)[0] == ["identical"]


def test_a_protocol_that_is_gated_no_more_is_missing_from_the_gate() -> None:
    first = measured("real/single-mask", shares(N, 0.5, 0.6))
    second = measured("real/whole-word", shares(N, 0.6, 0.8, lost=400), primary=False)
    found = run(first, second, LAMBADA)
    assert words(found) == [[], ["regressed", "identical"], ["identical"]]
    assert not any(verdict.gated for verdict in found.verdicts[1])
    assert [(verdict.metric, verdict.word) for verdict in found.missing] == [
        ("real/real@1", "missing"),
        ("real/real@5", "missing"),
    ]
    assert found.missing[0].detail == (
        "the baseline gates real@1 of real/whole-word, which this run measures beside the protocol "
        "that it gates"
    )
    assert (found.in_baseline, found.compared) == (3, 1)
    chosen = run(first, second, LAMBADA, chosen_protocols={"real": "--protocol"})
    assert chosen.missing == ()
    assert "left out by --protocol: real/real@1, real/real@5" in chosen.notes[0]


def test_values_of_another_unit_do_not_take_a_metric_out_of_the_gate() -> None:
    usual = [1.0, 0.0] * 50
    then = as_baseline(measured("task/v1", {"task acc": usual}))
    now = measured("task/v1", {"task acc": [2.0, *usual[1:]]})
    found = run(now, baseline=then)
    ((verdict,),) = found.verdicts
    assert (verdict.word, verdict.gated) == ("incomplete", True)
    assert verdict.detail == "values from 0 to 2 are no shares (0 to 1)"


def test_new_samples_are_left_out_of_the_comparison() -> None:
    more = measured("real/whole-word", shares(2 * N, 0.3, 0.4))
    (real_1, _), _ = run(more, LAMBADA).verdicts
    assert real_1.comparison is not None
    assert (real_1.word, real_1.comparison.n) == ("identical", N)


def test_a_metric_that_some_samples_never_had_is_not_gated() -> None:
    def named(*values: float) -> BenchmarkMeasurement:
        return measured("task/v1", {"task f1": list(values)}, by_name=True)

    some = named(1.0, np.nan, 0.5, 1.0)
    assert not any(v.gated for v in run(some, baseline=as_baseline(some)).verdicts[0])
    ((verdict,),) = run(some, baseline=as_baseline(named(1.0, 1.0, 0.5, 1.0))).verdicts
    assert (verdict.word, verdict.gated) == ("incomplete", True), "the baseline gates it"
    assert "1 of 4 samples have no value of it" in verdict.detail


def test_incomplete_coverage_is_incomplete_whatever_the_scores() -> None:
    broken = replace(REAL, incomplete="3 of 1,600 samples are errors")
    assert {v.word for v in run(broken, LAMBADA).verdicts[0]} == {"incomplete"}


def test_a_score_that_does_not_exist_any_more_is_incomplete_with_its_reason() -> None:
    values = REAL.table.values.copy()
    values[0, 1] = np.nan
    table = replace(REAL.table, values=values)
    found = run(replace(REAL, table=table, scores=fold(table)), LAMBADA)
    assert words(found)[0] == ["identical", "incomplete"]
    assert "does not exist for 1 of 1,600 samples" in found.verdicts[0][1].detail


# The same measurement?

GREEDY = {"temperature": 0.0, "max_tokens": 512}


def test_other_settings_are_incomparable_with_both_values() -> None:
    then = measured("code/raw", {"pass@1": [1.0, 0.0] * 50}, settings=GREEDY)
    now = replace(then, settings={"temperature": 0.8, "top_p": 0.95, "max_tokens": 512})
    found = run(now, baseline=as_baseline(then))
    assert words(found) == [["incomparable"]]
    assert found.verdicts[0][0].detail == "temperature 0 in the baseline, 0.8 here"
    assert found.verdicts[0][0].comparison is None
    assert (found.compared, found.in_baseline) == (0, 1)


def test_a_mismatch_that_was_allowed_is_a_note() -> None:
    then = measured("code/raw", {"pass@1": [1.0, 0.0] * 50}, settings=GREEDY)
    now = replace(then, settings={**GREEDY, "temperature": 0.8})
    found = run(now, baseline=as_baseline(then), allowed=frozenset({"temperature"}))
    assert words(found) == [["identical"]]
    assert found.notes == ("code/raw: allowed mismatch: temperature 0 in the baseline, 0.8 here",)


def test_another_protocol_is_incomparable() -> None:
    origin = measured("real/origin", shares(N, 0.6, 0.8))
    found = run(origin, LAMBADA)
    assert words(found)[0] == ["incomparable", "incomparable"]
    assert found.verdicts[0][0].detail == (
        "protocol real/whole-word in the baseline, real/origin here"
    )


def test_a_metric_that_another_protocol_lacks_is_missing_of_the_baselines() -> None:
    found = run(measured("real/origin", shares(N, 0.6)), LAMBADA)
    assert words(found)[0] == ["incomparable", "missing"]
    assert found.verdicts[0][1].detail == (
        "the baseline has real@5 of real/whole-word, this run has no such score"
    )


def test_a_baseline_that_records_no_settings_is_compared_with_a_note() -> None:
    then = measured("code/raw", {"pass@1": [1.0, 0.0] * 50})
    found = run(replace(then, settings=GREEDY), baseline=as_baseline(then))
    assert words(found) == [["identical"]]
    assert "does not record temperature, max tokens" in found.notes[0]


# Bare numbers


def test_a_bare_number_is_compared_unpaired_with_its_n() -> None:
    numbers = bare_baseline({"real@1": BaselineScore(0.6, n=1_600)})
    found = run(REAL, LAMBADA, baseline=numbers)
    ((real_1,), others) = found.verdicts
    assert others == ()
    assert real_1.comparison is not None
    assert (real_1.comparison.kind, real_1.comparison.baseline_n) == ("unpaired", 1_600)
    assert (found.compared, found.in_baseline) == (1, 1)


def test_a_qualified_name_speaks_of_one_benchmark() -> None:
    human = measured("humaneval/raw", {"pass@1": [1.0, 0.0] * 50})
    mbpp = measured("mbpp/raw", {"pass@1": [1.0, 0.0] * 50})
    numbers = bare_baseline({"humaneval/pass@1": BaselineScore(0.9, n=100)})
    found = run(human, mbpp, baseline=numbers)
    assert [len(each) for each in found.verdicts] == [1, 0]
    tolerant = run(human, mbpp, baseline=numbers, tolerance={"humaneval/pass@1": 0.5})
    assert tolerant.verdicts[0][0].tolerance == 0.5


def test_a_bare_number_without_a_score_is_missing() -> None:
    numbers = bare_baseline({"real@1": BaselineScore(0.6), "lambada@1": BaselineScore(0.4)})
    found = run(REAL, baseline=numbers)
    assert [(v.metric, v.word) for v in found.missing] == [("lambada@1", "missing")]


def test_without_a_baseline_nothing_is_compared() -> None:
    nothing = Evaluation(((), ()))
    assert (nothing.in_baseline, nothing.compared, nothing.missing) == (0, 0, ())


def test_a_drawn_p_is_of_the_seed_that_is_given_or_of_0() -> None:
    rng = np.random.default_rng(1)
    kinds = {"real_bits_per_byte": BITS_PER_BYTE}
    then, now = (
        measured("real/x", {"real_bits_per_byte": rng.normal(1, 0.2, 60).tolist()}, kinds=kinds)
        for _ in range(2)
    )
    baseline = as_baseline(then)

    def worse(**seed: int) -> float | None:
        matched = [match_baseline([now], baseline)]
        (found,) = evaluate_matched(matched, Rules(), Scope(), **seed)
        comparison = found.verdicts[0][0].comparison
        assert comparison is not None
        assert comparison.simulation_error > 0
        return comparison.p_worse

    assert worse() == worse(seed=0) != worse(seed=1)
    (whole,) = evaluate([[now]], baseline)
    assert whole.verdicts[0][0].comparison.p_worse == worse(seed=0)  # type: ignore[union-attr]


# Gating


def test_a_fine_metric_is_gated_on_request_only() -> None:
    bits = {"real_bits_per_byte": [1.0 + 0.01 * (i % 7) for i in range(200)]}
    kinds = {"real_bits_per_byte": BITS_PER_BYTE}
    then = measured("real/whole-word", bits, kinds=kinds)
    worse = {"real_bits_per_byte": [v + 0.05 for v in bits["real_bits_per_byte"]]}
    now = measured("real/whole-word", worse, kinds=kinds)
    ((shown,),) = run(now, baseline=as_baseline(then)).verdicts
    assert (shown.word, shown.gated) == ("regressed", False)
    for name in ("real_bits_per_byte", "real/real_bits_per_byte"):
        found = run(now, baseline=as_baseline(then), gate_on=frozenset({name}))
        assert found.verdicts[0][0].gated
        assert found.in_baseline == 1


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({}, 0.01),
        ({"*": 0.02}, 0.02),
        ({"real@1": 0.03, "*": 0.02}, 0.03),
        ({"real/real@1": 0.04, "real@1": 0.03}, 0.04),
    ],
)
def test_the_tolerance_that_names_most_exactly_counts(
    given: dict[str, float], allowed: float
) -> None:
    assert run(REAL, LAMBADA, tolerance=given).verdicts[0][0].tolerance == allowed


def test_a_tolerance_of_another_unit_is_in_that_unit() -> None:
    held = next(iter(BEST.benchmarks.values()))
    score = Score("real_bits_per_byte", 1.0, 9, 9).of(BITS_PER_BYTE)
    assert Scope().tolerance_of("real", score, held) == 0.01
    # An option's number is divided by 100 when it is read, as percentage points are.
    given = Scope(tolerance={"real_bits_per_byte": 0.0005})
    assert given.tolerance_of("real", score, held) == pytest.approx(0.05)
    assert Scope(tolerance={"*": 0.5}).tolerance_of("real", score, held) == 0.01


def test_a_metric_of_the_baseline_that_is_not_gated_may_be_lost() -> None:
    both = {"real@1": [1.0, 0.0] * 40, "real_bits_per_byte": [1.0, 2.0] * 40}
    then = measured("real/whole-word", both, kinds={"real_bits_per_byte": BITS_PER_BYTE})
    now = measured("real/whole-word", {"real@1": both["real@1"]})
    found = run(now, baseline=as_baseline(then))
    assert words(found) == [["identical"]]
    assert found.in_baseline == 1
    for name in ("real_bits_per_byte", "real/real_bits_per_byte"):
        found = run(now, baseline=as_baseline(then), gate_on=frozenset({name}))
        assert words(found) == [["identical", "missing"]]
        assert found.in_baseline == 2
    assert words(run(now, baseline=as_baseline(then), gate_on=frozenset({"x"}))) == [["identical"]]


# The composite


def test_the_composite_is_compared_in_pairs_and_not_gated() -> None:
    fallen = measured("real/whole-word", shares(N, 0.6, 0.8, lost=160))
    both = [fallen, LAMBADA]
    parts = {s.metric: s for bench in both for s in bench.scores}
    score = composite(parts, WEIGHTS, [bench.table for bench in both])
    verdict = evaluate_composite(score, WEIGHTS, both, BEST)
    assert verdict is not None
    assert (verdict.word, verdict.gated) == ("regressed", False)
    assert verdict.comparison is not None
    assert verdict.comparison.difference == pytest.approx(-0.4 * 0.1)


def test_the_composite_of_numbers_with_an_n_is_tested_and_obeys_its_tolerance() -> None:
    both = [REAL, LAMBADA]
    parts = {s.metric: s for bench in both for s in bench.scores}
    score = composite(parts, WEIGHTS, [bench.table for bench in both])
    numbers = bare_baseline(
        {
            name: BaselineScore(value, n=N)
            for name, value in {"real@1": 0.9, "real@5": 0.95, "lambada@1": 0.8}.items()
        }
    )
    verdict = evaluate_composite(score, WEIGHTS, both, numbers)
    assert verdict is not None
    assert verdict.comparison is not None
    assert verdict.comparison.kind == "unpaired"
    assert verdict.word == "regressed"
    wide = evaluate_composite(score, WEIGHTS, both, numbers, scope=Scope(tolerance={"score": 0.5}))
    assert wide is not None
    assert wide.word != "regressed"


def test_errors_of_one_benchmark_add_up_and_those_of_two_by_their_squares() -> None:
    both = [REAL, LAMBADA]
    parts = {s.metric: s for bench in both for s in bench.scores}
    score = composite(parts, WEIGHTS, [bench.table for bench in both])
    errors = {"real@1": 0.02, "real@5": 0.03, "lambada@1": 0.04}
    values = {"real@1": 0.9, "real@5": 0.95, "lambada@1": 0.8}
    squares = []
    for times in (1, 2):
        known = {name: BaselineScore(values[name], times * errors[name]) for name in errors}
        verdict = evaluate_composite(score, WEIGHTS, both, bare_baseline(known))
        assert verdict is not None
        assert verdict.comparison is not None
        assert verdict.comparison.standard_error is not None
        squares.append(verdict.comparison.standard_error**2)
    # With this run's own error taken away: four times the square less once.
    theirs = (0.4 * 0.02 + 0.3 * 0.03) ** 2 + (0.3 * 0.04) ** 2
    assert squares[1] - squares[0] == pytest.approx(3 * theirs)
    # Without one of them nothing is tested.
    bare = {"real@5": BaselineScore(0.95)}
    numbers = bare_baseline({**known, **bare})
    verdict = evaluate_composite(score, WEIGHTS, both, numbers)
    assert verdict is not None
    assert verdict.comparison is not None
    assert (verdict.comparison.kind, verdict.comparison.p_worse) == ("point", None)


def test_the_composite_lacks_a_verdict_where_a_side_lacks_a_part() -> None:
    both = [REAL, LAMBADA]
    parts = {s.metric: s for bench in both for s in bench.scores}
    score = composite(parts, WEIGHTS, [bench.table for bench in both])
    assert evaluate_composite(score, WEIGHTS, both, as_baseline(REAL)) is None


def test_a_tolerance_that_is_given_by_name_is_in_the_metrics_unit() -> None:
    scope = Scope(tolerance={"real/real@1": 0.02, "real_bits_per_byte": 0.0005, "*": 0.5})
    bits = Score("real_bits_per_byte", 1.0, 9, 9).of(BITS_PER_BYTE)
    assert scope.given("real", bits) == pytest.approx(0.05)
    assert scope.given("real", Score("real@1", 0.5, 9, 9)) == 0.02
    assert scope.given("other", Score("real@1", 0.5, 9, 9)) is None
