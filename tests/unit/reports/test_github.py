"""The job summary and the annotations of GitHub Actions."""

# ruff: noqa: E501 - the expected text is as wide as a terminal or a table makes it

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.reports.github import job_summary, report_to_github, workflow_commands
from ckptbench.results.summary import Flip, Summary


def test_job_summary_of_a_regression(regressed: Summary) -> None:
    assert (
        job_summary(regressed, "results/x")
        == r"""## ckptbench

| checkpoint | metric | score | n | 95% interval | baseline | diff | verdict |
|---|---|--:|--:|--:|--:|--:|---|
| checkpoint-655 | real@1 | 63.55% | 200 | [56.55, 69.55] | 67.75% | -4.20 pp | **regressed** |
| checkpoint-655 | real@5 | 82.44% | 200 | [75.44, 88.44] | 82.44% | +0.00 pp | unchanged |

- real/whole-word: 200 of 201 scored, 1 skipped (1 first\_mention\_out\_of\_window)
- note: real@500 was left out: no answer has so many candidates

**regressed: real@1 fell by 4.20 pp (p worse, Holm = 0.0003): exit 1**

results: results/x

<details><summary>details</summary>

### checkpoint-655

runs/x/checkpoint-655; dtype fp32, seq\_len 512; 12.3 s, 400 answers computed, 0 reused; baseline baselines/best.json

| protocol | metric | score | n | 95% interval | baseline | diff | 95% interval | MDE | p worse, Holm | verdict |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
| real/whole-word | real@1 | 63.55% | 200 | [56.55, 69.55] | 67.75% | -4.20 pp | [-6.20, -2.20] | 2.41 pp | 0.0003 | **regressed** |
| real/whole-word | real@5 | 82.44% | 200 | [75.44, 88.44] | 82.44% | +0.00 pp | [-2.00, +2.00] | 2.41 pp | 0.5000 | unchanged |
| real/single-mask (not gated) | real@1 | 50.00% | 200 | [43.00, 56.00] |  |  |  |  |  |  |

- real/whole-word: 200 of 201 scored, 1 skipped (1 first\_mention\_out\_of\_window)
- real@1 regressed: worse by 4.20 pp
- real/single-mask: 200 of 200 scored, 150 reachable (75.00%)

<details><summary>real/whole-word: flips at real@1: 12 lost, 3 won</summary>

```shell
pytest 'benchmarks/test_real_k.py::test_real_k[passages-000-2]' --checkpoint=runs/x/checkpoint-655  # lost
pytest 'benchmarks/test_real_k.py::test_real_k[passages-001-2]' --checkpoint=runs/x/checkpoint-655  # lost
pytest 'benchmarks/test_real_k.py::test_real_k[passages-002-2]' --checkpoint=runs/x/checkpoint-655  # lost
pytest 'benchmarks/test_real_k.py::test_real_k[passages-003-2]' --checkpoint=runs/x/checkpoint-655  # lost
pytest 'benchmarks/test_real_k.py::test_real_k[passages-004-2]' --checkpoint=runs/x/checkpoint-655  # lost
pytest 'benchmarks/test_real_k.py::test_real_k[passages-005-2]' --checkpoint=runs/x/checkpoint-655  # lost
pytest 'benchmarks/test_real_k.py::test_real_k[passages-090-1]' --checkpoint=runs/x/checkpoint-655  # won
```

</details>

- real@500 was left out: no answer has so many candidates

</details>

"""
    )


def test_job_summary_without_a_baseline_has_no_empty_columns(no_baseline: Summary) -> None:
    assert (
        job_summary(no_baseline)
        == r"""## ckptbench

| checkpoint | metric | score | n | 95% interval |
|---|---|--:|--:|--:|
| checkpoint-655 | real@1 | 67.78% | 200 | [60.78, 73.78] |
| checkpoint-655 | real@5 | 82.44% | 200 | [75.44, 88.44] |

- score not computed: lambada@1 was not measured

**no baseline: give --baseline=FILE to compare, --update-baseline to write one: exit 0**

<details><summary>details</summary>

### checkpoint-655

runs/x/checkpoint-655; dtype fp32, seq\_len 512; 12.3 s, 400 answers computed, 0 reused

| protocol | metric | score | n | 95% interval |
|---|---|--:|--:|--:|
| real/whole-word | real@1 | 67.78% | 200 | [60.78, 73.78] |
| real/whole-word | real@5 | 82.44% | 200 | [75.44, 88.44] |
| 0.4 x real@1 + 0.3 x real@5 + 0.3 x lambada@1 (not gated) | score | - | 0 | - |

- real/whole-word: 200 of 200 scored
- score not computed: lambada@1 was not measured

</details>

"""
    )


def test_names_cannot_break_out_of_the_markdown(make: SimpleNamespace) -> None:
    result = make.result("real/a|b", make.score("real@1", 0.5))
    markdown = job_summary(make.summary(make.checkpoint(result, name="<b>`x`\nrm $HOME")))
    assert r"| real/a\|b | real@1 |" in markdown
    assert "### &lt;b>\\`x\\`\n" in markdown


def test_a_thousand_flips_are_cut_and_counted(make: SimpleNamespace) -> None:
    flips = tuple(Flip(f"t.py::t[{i}]", "lost") for i in range(1000))
    result = make.result("real/whole-word", make.score("real@1", 0.5), flips=flips)
    markdown = job_summary(make.summary(make.checkpoint(result)))
    assert markdown.count("# lost") == 50
    assert "\n# 950 more in summary.json\n" in markdown


def test_a_regressed_metric_is_an_error_annotation(regressed: Summary) -> None:
    assert workflow_commands(regressed) == [
        "::error title=checkpoint-655%3A real@1 regressed::worse by 4.20 pp"
    ]


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("inconclusive", "warning"),
        ("incomplete", "error"),
        ("incomparable", "error"),
        ("missing", "error"),
    ],
)
def test_what_fails_the_gate_is_an_error_and_a_doubt_a_warning(
    make: SimpleNamespace, word: str, level: str
) -> None:
    verdict = make.verdict(word, make.paired("real@1", 0.6, 0.62), "50%\r\nof it, and: more")
    result = make.result("real/w", make.score("real@1", 0.6), verdicts=(verdict,))
    run = make.summary(make.checkpoint(result, name="a,b"), complete=word != "incomplete")
    assert workflow_commands(run) == [
        f"::{level} title=a%2Cb%3A real@1 {word}::50%25%0D%0Aof it, and: more"
    ]


def test_a_metric_that_only_the_baseline_has_is_a_row_a_reason_and_an_annotation(
    make: SimpleNamespace,
) -> None:
    lost = make.verdict("missing", "lambada/lambada@1", "the run did not measure lambada")
    result = make.result("real/w", make.score("real@1", 0.6))
    run = make.summary(make.checkpoint(result, missing=(lost,), in_baseline=1), exit_status=1)
    markdown = job_summary(run)
    assert "| in the baseline only | lambada/lambada@1 |" in markdown
    assert "- lambada/lambada@1 missing: the run did not measure lambada\n" in markdown
    assert workflow_commands(run) == [
        "::error title=checkpoint-655%3A lambada/lambada@1 missing::the run did not measure lambada"
    ]


@pytest.mark.parametrize("word", ["unchanged", "improved", "identical"])
def test_nothing_to_look_at_is_no_annotation(make: SimpleNamespace, word: str) -> None:
    verdict = make.verdict(word, make.paired("real@1", 0.6, 0.6))
    result = make.result("real/w", make.score("real@1", 0.6), verdicts=(verdict,))
    assert workflow_commands(make.summary(make.checkpoint(result))) == []


def test_an_incomplete_run_without_a_baseline_is_one_warning(incomplete: Summary) -> None:
    assert workflow_commands(incomplete) == [
        "::warning title=run incomplete::incomplete: 3 errors, 17 not run: exit 1; "
        "the same command with --run-id=20250102_030405_67 runs only what is missing"
    ]


def test_only_what_the_environment_asks_for_is_done(regressed: Summary, tmp_path: Path) -> None:
    lines: list[str] = []
    report_to_github(regressed, {}, lines.append)
    assert lines == []
    step = tmp_path / "step.md"
    step.write_text("an earlier step\n")
    report_to_github(regressed, {"GITHUB_STEP_SUMMARY": str(step)}, lines.append)
    assert lines == []
    assert step.read_text() == "an earlier step\n" + job_summary(regressed)
    report_to_github(regressed, {"GITHUB_ACTIONS": "true"}, lines.append)
    assert lines == workflow_commands(regressed)


def test_a_job_summary_that_cannot_be_written_names_its_file(
    regressed: Summary, tmp_path: Path
) -> None:
    with pytest.raises(CkptbenchError, match="cannot be written: Is a directory"):
        report_to_github(regressed, {"GITHUB_STEP_SUMMARY": str(tmp_path)}, print)
