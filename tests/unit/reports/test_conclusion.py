"""The last line: what happened, the exit status, what to do next."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckptbench.reports.conclusion import conclude, nothing_compared
from ckptbench.results.summary import Summary


def run_with(make: SimpleNamespace, *verdicts: object, **others: object) -> Summary:
    result = make.result("real/whole-word", make.score("real@1", 0.6), verdicts=verdicts)
    return make.summary(make.checkpoint(result, baseline="best.json"), **others)


def test_regressed(regressed: Summary) -> None:
    conclusion = conclude(regressed)
    assert conclusion.text == "regressed: real@1 fell by 4.20 pp (p worse, Holm = 0.0003): exit 1"
    assert conclusion.level == "bad"


def test_no_baseline(no_baseline: Summary) -> None:
    conclusion = conclude(no_baseline)
    assert conclusion.text == (
        "no baseline: give --baseline=FILE to compare, --update-baseline to write one: exit 0"
    )
    assert conclusion.level == "warning"


def test_a_first_baseline_was_written(make: SimpleNamespace) -> None:
    first = make.result("real/whole-word", make.score("real@1", 0.6))
    run = make.summary(make.checkpoint(first), baseline_written="best.json")
    assert conclude(run).text == (
        "no baseline to compare with yet: exit 0; best.json becomes the new baseline"
    )


def test_incomplete_says_how_to_go_on(incomplete: Summary) -> None:
    conclusion = conclude(incomplete)
    assert conclusion.text == (
        "incomplete: 3 errors, 17 not run: exit 1; "
        "the same command with --run-id=20250102_030405_67 runs only what is missing"
    )
    assert conclusion.level == "bad"


def test_unchanged(make: SimpleNamespace) -> None:
    run = run_with(make, make.verdict("unchanged", make.paired("real@1", 0.6, 0.605)))
    assert conclude(run).text == (
        "unchanged: 1 metric compared with best.json, none worse by more than its tolerance: exit 0"
    )
    assert conclude(run).level == "good"


def test_improved(make: SimpleNamespace) -> None:
    run = run_with(
        make, make.verdict("improved", make.paired("real@1", 0.6, 0.55), p_adjusted=0.01)
    )
    assert conclude(run).text == (
        "improved: real@1 rose by 5.00 pp (p better, Holm = 0.0100): exit 0; "
        "--update-baseline makes this the baseline"
    )


def test_identical(make: SimpleNamespace) -> None:
    run = run_with(make, make.verdict("identical", make.paired("real@1", 0.6, 0.6)))
    assert conclude(run).text == (
        "identical: 1 metric compared with best.json, every outcome is the same: exit 0"
    )
    assert conclude(run).level == "good"


def test_an_unusually_large_rise_is_improved_with_a_remark(make: SimpleNamespace) -> None:
    large = replace(
        make.verdict("improved", make.paired("real@1", 0.9, 0.6), p_adjusted=0.0),
        remark="unusually large: read some answers",
    )
    conclusion = conclude(run_with(make, large))
    assert conclusion.text == (
        "improved: real@1 rose by 30.00 pp (p better, Holm < 0.0001), "
        "unusually large: read some answers: exit 0; --update-baseline makes this the baseline"
    )
    assert conclusion.level == "good"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("incomparable", "temperature 0 in the baseline, 0.8 here"),
        ("missing", "the baseline has pass@1 of mbpp, and this run did not measure mbpp"),
    ],
)
def test_metrics_that_fail_for_one_reason_share_a_clause(
    make: SimpleNamespace, word: str, reason: str
) -> None:
    verdicts = [make.verdict(word, metric, reason) for metric in ("pass@1", "pass@5")]
    conclusion = conclude(run_with(make, *verdicts, exit_status=1))
    assert conclusion.text == f"{word}: {reason}: exit 1"
    assert conclusion.level == "bad"


def test_what_is_only_in_the_baseline_is_gated_too(make: SimpleNamespace) -> None:
    kept = make.verdict("identical", make.paired("real@1", 0.6, 0.6))
    lost = make.verdict("missing", "lambada/lambada@1", "lambada was not measured")
    result = make.result("real/whole-word", make.score("real@1", 0.6), verdicts=(kept,))
    checkpoint = make.checkpoint(
        result, baseline="best.json", missing=(lost,), in_baseline=2, compared=1
    )
    conclusion = conclude(make.summary(checkpoint, exit_status=1))
    assert conclusion.text == (
        "missing: lambada was not measured; 1 of 2 metrics of the baseline compared: exit 1"
    )
    assert conclusion.level == "bad"


def test_what_was_left_out_on_purpose_is_counted(make: SimpleNamespace) -> None:
    verdict = make.verdict("unchanged", make.paired("real@1", 0.6, 0.605))
    result = make.result("real/whole-word", make.score("real@1", 0.6), verdicts=(verdict,))
    checkpoint = make.checkpoint(result, baseline="best.json", in_baseline=3, compared=1)
    assert conclude(make.summary(checkpoint)).text == (
        "unchanged: 1 metric compared with best.json, none worse by more than its tolerance; "
        "1 of 3 metrics of the baseline compared: exit 0"
    )


def test_a_baseline_of_which_nothing_was_compared_never_passes(make: SimpleNamespace) -> None:
    result = make.result("real/whole-word", make.score("real@1", 0.6))
    checkpoint = make.checkpoint(result, baseline="best.json", in_baseline=2, compared=0)
    conclusion = conclude(make.summary(checkpoint, exit_status=1))
    assert conclusion.text == (
        "nothing was compared: no score of this run is in best.json; "
        "0 of 2 metrics of the baseline compared: exit 1"
    )
    assert conclusion.level == "bad"


def test_nor_does_one_that_holds_nothing_gated(make: SimpleNamespace) -> None:
    result = make.result("real/whole-word", make.score("real@1", 0.6))
    empty = make.summary(make.checkpoint(result, baseline="best.json"), exit_status=1)
    assert nothing_compared(empty)
    assert conclude(empty).text == (
        "nothing was compared: no score of this run is in best.json: exit 1"
    )
    assert not nothing_compared(make.summary(make.checkpoint(result)))


def test_inconclusive_passes_by_default_and_fails_a_strict_gate(make: SimpleNamespace) -> None:
    verdict = make.verdict("inconclusive", make.paired("real@1", 0.6, 0.62), p_adjusted=0.21)
    sentence = "inconclusive: real@1 fell by 2.00 pp (p worse, Holm = 0.2100), MDE 2.41 pp: exit"
    lenient = conclude(run_with(make, verdict))
    assert lenient.text == f"{sentence} 0; more samples make the MDE smaller"
    assert lenient.level == "warning"
    strict = conclude(run_with(make, verdict, gate="strict", exit_status=1))
    assert strict.text == f"{sentence} 1 (--gate=strict); more samples make the MDE smaller"
    assert strict.level == "bad"


def test_a_point_comparison_is_not_called_tested(make: SimpleNamespace) -> None:
    run = run_with(make, make.verdict("inconclusive", make.point("real@1", 0.6, 0.64)))
    assert conclude(run).text == (
        "inconclusive: real@1 fell by 4.00 pp (not tested): exit 0; "
        "a baseline with samples allows a test"
    )


def test_what_did_not_move_neither_rose_nor_fell(make: SimpleNamespace) -> None:
    run = run_with(make, make.verdict("inconclusive", make.point("real@1", 0.6, 0.6)))
    assert conclude(run).text.startswith("inconclusive: real@1 is the same (not tested): exit 0")


def test_a_gate_that_is_off_says_so(make: SimpleNamespace) -> None:
    verdict = make.verdict("regressed", make.paired("real@1", 0.6, 0.7), p_adjusted=0.0001)
    run = run_with(make, verdict, gate="off")
    assert conclude(run).text == (
        "regressed: real@1 fell by 10.00 pp (p worse, Holm = 0.0001): exit 0 (--gate=off)"
    )


def test_a_failure_that_is_not_the_gates_is_not_blamed_on_a_score(make: SimpleNamespace) -> None:
    verdict = make.verdict("unchanged", make.paired("real@1", 0.6, 0.6))
    run = run_with(make, verdict, exit_status=1)
    assert conclude(run).text.endswith("tolerance: exit 1, because other tests failed")
    assert conclude(run).level == "good"


def test_an_interrupted_run(make: SimpleNamespace, incomplete: Summary) -> None:
    run = make.summary(*incomplete.checkpoints, complete=False, exit_status=2)
    assert conclude(run).text.startswith(
        "incomplete: 3 errors, 17 not run: exit 2 (interrupted); the same command"
    )


def test_nothing_in_common_with_the_baseline(make: SimpleNamespace) -> None:
    verdict = make.verdict("incomplete", "real@1", "nothing to compare")
    run = run_with(make, verdict, exit_status=1)
    assert conclude(run).text == "incomplete: nothing to compare: exit 1"


def test_a_run_that_scored_nothing(make: SimpleNamespace) -> None:
    run = make.summary(complete=False, exit_status=1)
    assert conclude(run).text == "incomplete: nothing was scored: exit 1"


def test_several_checkpoints_are_named_and_the_first_three_told(make: SimpleNamespace) -> None:
    checkpoints = [
        make.checkpoint(
            make.result(
                "real/whole-word",
                make.score("real@1", 0.5),
                verdicts=(
                    make.verdict("regressed", make.paired("real@1", 0.5, 0.6), p_adjusted=0.001),
                ),
            ),
            name=f"checkpoint-{step}",
            baseline="best.json",
        )
        for step in (100, 200, 300, 400, 500)
    ]
    assert conclude(make.summary(*checkpoints, exit_status=1)).text == (
        "regressed: checkpoint-100 real@1 fell by 10.00 pp (p worse, Holm = 0.0010), "
        "checkpoint-200 real@1 fell by 10.00 pp (p worse, Holm = 0.0010), "
        "checkpoint-300 real@1 fell by 10.00 pp (p worse, Holm = 0.0010) and 2 more: exit 1"
    )


def test_a_protocol_shown_beside_the_gated_one_decides_nothing(make: SimpleNamespace) -> None:
    fell = make.verdict("regressed", make.paired("real@1", 0.5, 0.6), p_adjusted=0.001)
    beside = make.result("real/origin", make.score("real@1", 0.5), primary=False, verdicts=(fell,))
    run = make.summary(make.checkpoint(beside, baseline="best.json"))
    assert conclude(run).text == (
        "nothing was compared: no score of this run is in best.json: exit 0"
    )
