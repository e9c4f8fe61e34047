"""What a person reads at the end of a run: a screen, to the letter."""

# ruff: noqa: E501 - the expected text is as wide as a terminal or a table makes it

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench._util.text import width
from ckptbench.reports.terminal import folded, terminal_lines
from ckptbench.results.summary import CompositeResult, Coverage, Summary


def text(summary: Summary, columns: int = 100) -> str:
    return "\n" + "\n".join(line.text for line in terminal_lines(summary, columns)) + "\n"


def test_a_row_for_each_gated_metric_what_is_doubtful_and_the_verdict(regressed: Summary) -> None:
    assert (
        text(regressed)
        == """
checkpoint-655: real/whole-word; 12.3 s, 400 answers computed, 0 reused; baseline baselines/best.json
  metric   score    n    95% interval  baseline      diff  verdict
  real@1  63.55%  200  [56.55, 69.55]    67.75%  -4.20 pp  regressed
  real@5  82.44%  200  [75.44, 88.44]    82.44%  +0.00 pp  unchanged
real/whole-word: 200 of 201 scored, 1 skipped (1 first_mention_out_of_window)
note: real@500 was left out: no answer has so many candidates
regressed: real@1 fell by 4.20 pp (p worse, Holm = 0.0003): exit 1
"""
    )


def test_a_score_that_does_not_exist_keeps_its_reason(no_baseline: Summary) -> None:
    assert (
        text(no_baseline)
        == """
checkpoint-655: real/whole-word; 12.3 s, 400 answers computed, 0 reused
  metric   score    n    95% interval
  real@1  67.78%  200  [60.78, 73.78]
  real@5  82.44%  200  [75.44, 88.44]
score not computed: lambada@1 was not measured
no baseline: give --baseline=FILE to compare, --update-baseline to write one: exit 0
"""
    )


def test_errors_and_what_was_not_run_are_shown(incomplete: Summary) -> None:
    shown = text(incomplete)
    assert "\nlambada/mlm-whole-word: 180 of 200 scored, 3 errors, 17 not run\n" in shown
    assert "\nerror: benchmarks/test_lambada.py::test_lambada[row-7]: the logits are NaN\n" in shown


def test_errors_of_one_kind_are_one_line(make: SimpleNamespace) -> None:
    errors = tuple(f"t.py::t[{i}]: {why}" for i, why in enumerate(("slow", "slow", "NaN", "slow")))
    result = make.result(
        "real/w", make.score("real@1", 0.5), coverage=Coverage(200, 196, errors=4), errors=errors
    )
    shown = text(make.summary(make.checkpoint(result), complete=False, exit_status=1))
    assert [line for line in shown.splitlines() if line.startswith("error")] == [
        "error: t.py::t[0]: slow",
        "error: t.py::t[2]: NaN",
    ]


def test_a_protocol_beside_is_shown_only_for_its_errors(make: SimpleNamespace) -> None:
    gated = make.result("real/whole-word", make.score("real@1", 0.5))
    beside = make.result("real/origin", make.score("real@1", 0.6), primary=False)
    assert "origin" not in text(make.summary(make.checkpoint(gated, beside)))
    failed = replace(beside, coverage=Coverage(200, 199, errors=1))
    shown = text(make.summary(make.checkpoint(gated, failed), complete=False, exit_status=1))
    assert "\nreal/origin: 199 of 200 scored, 1 error\n" in shown


def test_a_note_that_changes_no_number_is_left_to_verbose(make: SimpleNamespace) -> None:
    result = make.result("real/w", make.score("real@1", 0.5))
    unimportant = (
        "all 4 checkpoints: sequence length 1,024 tokens: learned positions",
        "sandbox: L3 namespaces landlock(abi 7) seccomp rlimits",
    )
    important = (
        "sandbox: L1 rlimits; the host is NOT protected (no landlock)",
        "results/x/store.sqlite is damaged: set aside as store.sqlite.damaged-1",
    )
    run = make.summary(make.checkpoint(result), notes=unimportant + important)
    shown = text(run)
    assert [line for line in shown.splitlines() if line.startswith("note: ")] == [
        f"note: {each}" for each in important
    ]
    verbose = [line.text for line in terminal_lines(run, verbose=True)]
    assert {f"note: {each}" for each in unimportant} <= set(verbose)


def test_what_only_the_baseline_has_is_a_row(make: SimpleNamespace) -> None:
    lost = make.verdict("missing", "lambada/lambada@1", "the run did not measure lambada")
    result = make.result("real/whole-word", make.score("real@1", 0.6))
    run = make.summary(
        make.checkpoint(result, missing=(lost,), in_baseline=1, baseline="b.json"), exit_status=1
    )
    (row,) = (line for line in terminal_lines(run) if line.text.endswith("  missing"))
    assert row.text.split() == ["lambada/lambada@1", "-", "0", "-", "missing"]
    assert row.markup == {"red": True}


def test_a_metric_that_is_not_gated_has_a_row_only_where_nothing_else_has(
    make: SimpleNamespace,
) -> None:
    gated, other = make.score("real@1", 0.5), make.score("real_bits_per_byte", 1.5, gated=False)
    assert "bits_per_byte" not in text(
        make.summary(make.checkpoint(make.result("real/w", gated, other)))
    )
    assert "bits_per_byte" in text(make.summary(make.checkpoint(make.result("real/w", other))))


def test_metrics_of_one_name_are_told_apart_by_their_benchmarks(make: SimpleNamespace) -> None:
    results = (make.result(f"{name}/plain", make.score("acc", 0.5)) for name in ("boolq", "piqa"))
    labels = [
        line.split()[:2] for line in text(make.summary(make.checkpoint(*results))).split("\n")
    ]
    assert ["boolq", "acc"] in labels
    assert ["piqa", "acc"] in labels


def test_a_comparison_that_is_not_of_all_samples_is_noted(make: SimpleNamespace) -> None:
    fell = make.verdict("unchanged", make.paired("real@1", 0.6, 0.6, n=150))
    result = make.result("real/w", make.score("real@1", 0.6), verdicts=(fell,))
    shown = text(make.summary(make.checkpoint(result, baseline="b.json")))
    assert "real@1: compared over the 150 of 200 samples that the baseline has too" in shown


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", ["no_baseline", "regressed", "incomplete"])
def test_nothing_is_wider_than_a_narrow_terminal_but_single_words(
    name: str, columns: int, request: pytest.FixtureRequest
) -> None:
    summary = request.getfixturevalue(name)
    lines = list(folded(terminal_lines(summary, columns), columns))
    wide = [line.text for line in lines if width(line.text) > columns]
    assert all(len(line.split()) == 1 for line in wide)
    whole = " ".join(line.text for line in terminal_lines(summary, columns))
    assert " ".join(" ".join(line.text for line in lines).split()) == " ".join(whole.split())


def test_a_row_that_does_not_fit_is_a_sentence(regressed: Summary) -> None:
    lines = [line for line in terminal_lines(regressed, 40) if line.markup == {"red": True}]
    assert [line.text for line in lines] == [
        "  real@1: 63.55% [56.55, 69.55], n=200;",
        "    regressed: -4.20 pp from 67.75%",
    ]


def test_a_verdict_colours_its_row_and_the_conclusion(regressed: Summary) -> None:
    lines = {line.text.split()[0]: line.markup for line in terminal_lines(regressed)}
    assert lines["real@5"] == {}
    assert lines["real@1"] == {"red": True}
    assert lines["regressed:"] == {"red": True, "bold": True}


def test_four_checkpoints_fit_on_a_screen(sweep: Any) -> None:
    """The whole report on a sweep, as wide sentences are broken on 80 columns."""
    ranks = {
        "checkpoint-100": [2] * 30 + [1] * 10,
        "checkpoint-200": [2] * 10 + [1] * 30,
        "checkpoint-300": [1] * 38 + [7] * 2,
        "checkpoint-400": [2] * 35 + [1] * 5,
    }
    run = sweep(ranks, against=[1] * 30 + [2] * 10)
    summary, conclusions = run.result.summary, run.conclusions
    lines = list(folded(terminal_lines(summary, 80, conclusions), 80))
    assert len(lines) <= 20
    rows = {line.text.split()[0]: line for line in lines if line.text.startswith("  checkpoint-")}
    assert list(rows) == list(ranks)
    assert rows["checkpoint-400"].text.endswith("regressed")
    assert rows["checkpoint-400"].markup == {"red": True}
    details = [line.text for line in terminal_lines(summary, 80, conclusions, verbose=True)]
    assert sum(line.startswith("real/whole-word") for line in details) == 4


def test_a_whole_benchmark_suite_fits_on_a_screen(make: SimpleNamespace) -> None:
    """The suite's two benchmarks with all their protocols, as `make bench` measures them."""

    def one(protocol: str, primary: bool, *metrics: str) -> object:
        verdicts = tuple(make.verdict("identical", make.paired(m, 0.6, 0.6)) for m in metrics)
        scores = (make.score(metric, 0.6) for metric in metrics)
        return make.result(protocol, *scores, primary=primary, verdicts=verdicts)

    real, lambada = ("real@1", "real@5"), ("lambada@1",)
    composite = CompositeResult({"real@1": 0.5, "lambada@1": 0.5}, make.score("score", 0.6))
    run = make.summary(
        make.checkpoint(
            one("lambada/mlm-whole-word", True, *lambada),
            one("lambada/choice", False, *lambada),
            one("real/whole-word", True, *real),
            one("real/single-mask", False, *real),
            one("real/origin", False, *real),
            composite=composite,
            baseline="benchmarks/baselines/demo-mlm.json",
        ),
        notes=("demo-mlm: sequence length 512 tokens: model_max_length of the tokenizer",),
    )
    lines = list(folded(terminal_lines(run, 80), 80))
    assert len(lines) <= 10
