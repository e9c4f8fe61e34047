"""What a person reads of a run with `-v`, to the letter."""

# ruff: noqa: E501 - the expected text is as wide as a terminal or a table makes it

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from _pytest._io import TerminalWriter

from ckptbench._util.text import width
from ckptbench.reports.terminal import terminal_lines
from ckptbench.results.summary import CompositeResult, Flip, Summary


def text(summary: Summary, columns: int = 120) -> str:
    return (
        "\n"
        + "\n".join(line.text for line in terminal_lines(summary, columns, verbose=True))
        + "\n"
    )


def test_scores_without_a_baseline_and_why_there_is_no_composite(no_baseline: Summary) -> None:
    assert (
        text(no_baseline)
        == """
checkpoint-655 (runs/x/checkpoint-655; dtype fp32, seq_len 512): 12.3 s, 400 answers computed, 0 reused
  metric   score    n    95% interval
real/whole-word
  real@1  67.78%  200  [60.78, 73.78]
  real@5  82.44%  200  [75.44, 88.44]
  coverage: 200 of 200 scored
composite: 0.4 x real@1 + 0.3 x real@5 + 0.3 x lambada@1 (not gated)
  score        -    0               -
    score not computed: lambada@1 was not measured

no baseline: give --baseline=FILE to compare, --update-baseline to write one: exit 0
"""
    )


def test_a_regression_with_the_first_five_lost_samples_ready_to_paste(regressed: Summary) -> None:
    assert (
        text(regressed)
        == """
checkpoint-655 (runs/x/checkpoint-655; dtype fp32, seq_len 512): 12.3 s, 400 answers computed, 0 reused
baseline: baselines/best.json
  metric   score    n    95% interval  baseline      diff   95% interval      MDE  p worse, Holm  verdict
real/whole-word
  real@1  63.55%  200  [56.55, 69.55]    67.75%  -4.20 pp [-6.20, -2.20]  2.41 pp         0.0003  regressed
  real@5  82.44%  200  [75.44, 88.44]    82.44%  +0.00 pp [-2.00, +2.00]  2.41 pp         0.5000  unchanged
  coverage: 200 of 201 scored, 1 skipped (1 first_mention_out_of_window)
  real@1 regressed: worse by 4.20 pp
  flips at real@1: 12 lost, 3 won
    lost  pytest 'benchmarks/test_real_k.py::test_real_k[passages-000-2]' --checkpoint=runs/x/checkpoint-655
    lost  pytest 'benchmarks/test_real_k.py::test_real_k[passages-001-2]' --checkpoint=runs/x/checkpoint-655
    lost  pytest 'benchmarks/test_real_k.py::test_real_k[passages-002-2]' --checkpoint=runs/x/checkpoint-655
    lost  pytest 'benchmarks/test_real_k.py::test_real_k[passages-003-2]' --checkpoint=runs/x/checkpoint-655
    lost  pytest 'benchmarks/test_real_k.py::test_real_k[passages-004-2]' --checkpoint=runs/x/checkpoint-655
    won   pytest 'benchmarks/test_real_k.py::test_real_k[passages-090-1]' --checkpoint=runs/x/checkpoint-655
real/single-mask (not gated)
  real@1  50.00%  200  [43.00, 56.00]
  coverage: 200 of 200 scored, 150 reachable (75.00%)

MDE: the smallest true worsening found in four runs of five
note: real@500 was left out: no answer has so many candidates
regressed: real@1 fell by 4.20 pp (p worse, Holm = 0.0003): exit 1
"""
    )


def test_on_eighty_columns_the_comparison_goes_on_a_line_of_its_own(regressed: Summary) -> None:
    lines = text(regressed, 80).splitlines()
    assert lines[3:8] == [
        "  metric   score    n    95% interval  verdict",
        "real/whole-word",
        "  real@1  63.55%  200  [56.55, 69.55]  regressed",
        "    baseline 67.75%, diff -4.20 pp [-6.20, -2.20], MDE 2.41 pp, p worse, Holm = 0.0003",
        "  real@5  82.44%  200  [75.44, 88.44]  unchanged",
    ]


def test_an_incomplete_run_shows_what_is_missing_and_the_first_errors(
    incomplete: Summary,
) -> None:
    assert (
        text(incomplete)
        == """
checkpoint-655 (runs/x/checkpoint-655; dtype fp32, seq_len 512): 12.3 s, 400 answers computed, 0 reused
  metric      score    n    95% interval
lambada/mlm-whole-word
  lambada@1  38.00%  180  [31.00, 44.00]
  coverage: 180 of 200 scored, 3 errors, 17 not run
    error: benchmarks/test_lambada.py::test_lambada[row-7]: the logits are NaN

incomplete: 3 errors, 17 not run: exit 1; the same command with --run-id=20250102_030405_67 runs only what is missing
"""
    )


def test_bare_numbers_are_said_to_be_a_point_comparison(make: SimpleNamespace) -> None:
    verdicts = (
        make.verdict("unchanged", make.point("real@1", 0.6778, 0.68), "within the tolerance"),
        make.verdict("inconclusive", make.point("real@5", 0.8244, 0.85), "cannot be tested"),
    )
    scores = (make.score("real@1", 0.6778), make.score("real@5", 0.8244))
    result = make.result("real/whole-word", *scores, verdicts=verdicts)
    run = make.summary(make.checkpoint(result, baseline="paper.json"))
    assert (
        text(run)
        == """
checkpoint-655 (runs/x/checkpoint-655; dtype fp32, seq_len 512): 12.3 s, 400 answers computed, 0 reused
baseline: paper.json
  metric   score    n    95% interval  baseline      diff 95% interval  MDE  p worse, Holm  verdict
real/whole-word
  real@1  67.78%  200  [60.78, 73.78]    68.00%  -0.22 pp            -    -              -  unchanged
  real@5  82.44%  200  [75.44, 88.44]    85.00%  -2.56 pp            -    -              -  inconclusive
  coverage: 200 of 200 scored
  real@1, real@5: point comparison, not tested: the baseline gives neither n nor standard error
  real@5 inconclusive: cannot be tested

inconclusive: real@5 fell by 2.56 pp (not tested): exit 0; a baseline with samples allows a test
"""
    )
    assert "    baseline 68.00%, diff -0.22 pp\n" in text(run, 60)


def test_what_only_the_baseline_has_is_a_row_with_its_reason(make: SimpleNamespace) -> None:
    kept = make.verdict("identical", make.paired("real@1", 0.6, 0.6), "every outcome is the same")
    lost = make.verdict("missing", "lambada/lambada@1", "the run did not measure lambada")
    result = make.result("real/whole-word", make.score("real@1", 0.6), verdicts=(kept,))
    run = make.summary(
        make.checkpoint(result, missing=(lost,), in_baseline=2, compared=1), exit_status=1
    )
    lines = text(run).splitlines()
    place = lines.index("in the baseline only")
    assert lines[place + 1].split() == ["lambada/lambada@1", "-", "0", "-", "-", "missing"]
    assert lines[place + 2] == "  lambada/lambada@1 missing: the run did not measure lambada"
    row = next(
        each for each in terminal_lines(run, verbose=True) if each.text.endswith("  missing")
    )
    assert row.markup == {"red": True}


def test_metrics_that_fail_for_one_reason_share_a_sentence(make: SimpleNamespace) -> None:
    verdicts = tuple(
        make.verdict("incomplete", make.paired(metric, 0.6, 0.6), "3 of 200 samples are errors")
        for metric in ("real@1", "real@5")
    )
    scores = (make.score("real@1", 0.6), make.score("real@5", 0.6))
    result = make.result("real/whole-word", *scores, verdicts=verdicts)
    lines = text(make.summary(make.checkpoint(result), exit_status=1)).splitlines()
    assert "  real@1, real@5 incomplete: 3 of 200 samples are errors" in lines


def test_wide_characters_keep_the_columns_straight(make: SimpleNamespace) -> None:
    result = make.result(
        "ko/사실",
        make.score("사실@1", 0.5),
        make.score("fact@10", 0.75, n=1200),
        verdicts=(
            make.verdict("unchanged", make.paired("사실@1", 0.5, 0.5)),
            make.verdict("improved", make.paired("fact@10", 0.75, 0.7), p_adjusted=0.0352),
        ),
        flips=(Flip("benchmarks/test_ko.py::test_ko[사실-문단-003-2]", "lost"),),
    )
    run = make.summary(make.checkpoint(result, name="한국어-모델", spec="모델"))
    assert (
        text(run)
        == """
한국어-모델 (모델; dtype fp32, seq_len 512): 12.3 s, 400 answers computed, 0 reused
  metric    score      n    95% interval  baseline      diff   95% interval      MDE    p worse, Holm  verdict
ko/사실
  사실@1   50.00%    200  [43.00, 56.00]    50.00%  +0.00 pp [-2.00, +2.00]  2.41 pp                -  unchanged
  fact@10  75.00%  1,200  [68.00, 81.00]    70.00%  +5.00 pp [+3.00, +7.00]  2.41 pp  0.0352 (better)  improved
  coverage: 200 of 200 scored
  fact@10: compared over the 200 of 1,200 samples that the baseline has too
  flips at 사실@1: 12 lost, 3 won
    lost  pytest 'benchmarks/test_ko.py::test_ko[사실-문단-003-2]' '--checkpoint=모델'

MDE: the smallest true worsening found in four runs of five
improved: fact@10 rose by 5.00 pp (p better, Holm = 0.0352): exit 0; --update-baseline makes this the baseline
"""
    )
    assert ", p better, Holm = 0.0352\n" in text(run, 80)
    first, second = (line.text for line in terminal_lines(run, 120, verbose=True)[3:5])
    assert width(first.removesuffix("unchanged")) == width(second.removesuffix("improved"))


@pytest.mark.parametrize("columns", [80, 100])
def test_tables_fit_even_with_long_numbers(make: SimpleNamespace, columns: int) -> None:
    fell = make.paired("lambada@1", 0.0, 1.0, n=100_000)
    result = make.result(
        "lambada/mlm-whole-word",
        make.score("lambada@1", 1.0, n=100_000, interval=(1.0, 1.0)),
        verdicts=(make.verdict("inconclusive", fell),),
    )
    weights = {"lambada@1": 1.0}
    composite = CompositeResult(weights, make.score("score", 1.0, n=100_000))
    run = make.summary(make.checkpoint(result, composite=composite))
    table = [
        line.text
        for line in terminal_lines(run, columns, verbose=True)
        if line.text.startswith("  ")
    ]
    assert max(map(width, table)) <= columns


def test_a_verdict_colours_its_row_and_the_conclusion(regressed: Summary) -> None:
    lines = {
        line.text.split()[0]: line.markup
        for line in terminal_lines(regressed, verbose=True)
        if line.text
    }
    assert lines["real@5"] == {}
    assert lines["regressed:"] == {"red": True, "bold": True}
    row = next(
        line
        for line in terminal_lines(regressed, verbose=True)
        if line.text.endswith("  regressed")
    )
    assert row.markup == {"red": True}


@pytest.mark.parametrize("name", ["no_baseline", "regressed", "incomplete"])
def test_pytest_can_draw_every_line(name: str, request: pytest.FixtureRequest) -> None:
    file = io.StringIO()
    writer = TerminalWriter(file)
    writer.hasmarkup = True  # an unknown colour is an error then
    lines = terminal_lines(request.getfixturevalue(name), verbose=True)
    for text_, markup in lines:
        writer.line(text_, **markup)
    assert "\x1b[1m" in file.getvalue()
    assert file.getvalue().count("\n") == len(lines)
