"""`ckptbench compare`: two results of any origin, task by task."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ckptbench.cli import main
from ckptbench.scores.reducers import PassAtK

MakeRun = Callable[..., Path]
HIT, LATE, MISS = (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)


def compare(*arguments: object) -> int:
    return main(["compare", *map(str, arguments)])


def outcomes(hits: int, of: int, lost: int = 0, won: int = 0) -> dict[str, list[Any]]:
    """`hits` samples answered, the first `lost` of them no more, and `won` of the others now."""
    right = set(range(lost, hits)) | set(range(hits, hits + won))
    return {f"s{i:04d}": [HIT if i in right else MISS] for i in range(of)}


def lm_eval(folder: Path, values: Sequence[float], *, logged: bool) -> Path:
    folder.mkdir(parents=True)
    n = len(values)
    mean = sum(values) / n
    error = (mean * (1 - mean) / (n - 1)) ** 0.5
    task = {"alias": "arc", "acc,none": mean, "acc_stderr,none": error}
    counts = {"n-samples": {"arc": {"original": n, "effective": n}}}
    stamp = "2026-01-02T03-04-05.678901"
    content = {"results": {"arc": task}, "model_name": folder.name, **counts}
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps(content), "utf-8")
    if logged:
        rows = ({"doc_id": i, "doc_hash": f"d{i}", "acc": v} for i, v in enumerate(values))
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"samples_arc_{stamp}.jsonl").write_text(lines, "utf-8")
    return path


def numbers(path: Path, results: Any) -> Path:
    path.write_text(json.dumps({"model": path.stem, "results": results}), "utf-8")
    return path


def data(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


# Two runs of ours


def test_a_regression_exits_with_1_and_says_how_many_were_lost(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c-1": outcomes(120, 164)})
    after = make_run(tmp_path / "b", {"c-2": outcomes(120, 164, lost=38, won=9)})
    told = tmp_path / "told.json"
    assert compare(before, after, "--json", told) == 1
    printed = capsys.readouterr().out
    assert "before: c-1" in printed
    assert "regressed: real/whole-word real@1: worse by 17.68 pp" in printed
    assert "38 lost and 9 won of 164" in printed
    assert printed.rstrip().endswith("exit 1")
    (comparison,) = data(told)["comparisons"]
    verdict = comparison["tasks"][0]["verdicts"][0]
    assert verdict["word"] == "regressed"
    assert verdict["comparison"]["p_value"] == pytest.approx(2.49e-5, rel=0.002)
    assert verdict["comparison"]["difference"] == pytest.approx(-29 / 164)
    assert verdict["comparison"]["standard_error"] == pytest.approx(0.0396, abs=5e-5)
    assert verdict["relative"] == pytest.approx(-29 / 120)


def test_pairing_tells_apart_what_numbers_cannot(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c": outcomes(200, 400)})
    after = make_run(tmp_path / "b", {"c": outcomes(200, 400, won=12)})
    assert compare(before, after, "--json", tmp_path / "paired.json") == 0
    eval_results = [run / "c_eval_results.json" for run in (before, after)]
    assert compare(*eval_results, "--json", tmp_path / "numbers.json") == 0
    figures = [
        data(tmp_path / f"{name}.json")["comparisons"][0]["tasks"][0]["verdicts"][0]["comparison"]
        for name in ("paired", "numbers")
    ]
    assert [each["kind"] for each in figures] == ["paired", "unpaired"]
    assert figures[0]["difference"] == pytest.approx(figures[1]["difference"])
    assert figures[0]["p_value"] < 0.001
    assert figures[1]["p_value"] > 0.3
    printed = capsys.readouterr().out
    assert "improved: real/whole-word real@1: better by 3.00 pp" in printed
    assert "unpaired: both sides have numbers only" in printed


@pytest.mark.parametrize(
    ("gate", "options", "status"),
    [
        ("regress", [], 0),
        ("strict", [], 1),
        ("off", [], 0),
        ("strict", ["--tolerance", "real@1=20,real@5=20"], 1),
        ("strict", ["--tolerance", "real@1=20,real@5=20", "--must-see", "40"], 0),
    ],
)
def test_the_gate_is_that_of_a_session(
    tmp_path: Path, make_run: MakeRun, gate: str, options: list[str], status: int
) -> None:
    before = make_run(tmp_path / "a", {"c": outcomes(20, 40)})
    after = make_run(tmp_path / "b", {"c": outcomes(20, 40, lost=2)})
    assert compare(before, after, "--gate", gate, *options) == status


def test_an_incomplete_side_cannot_be_judged(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c-1": {**outcomes(20, 40), "s0000": ["error"]}})
    after = make_run(tmp_path / "b", {"c-2": outcomes(20, 40)})
    assert compare(before, after, "--gate", "off") == 1
    assert "incomplete: real@1" in capsys.readouterr().out


def test_different_protocols_are_incomparable(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c": outcomes(20, 40)})
    after = make_run(tmp_path / "b", {"c": outcomes(20, 40)}, protocol="real/origin")
    assert compare(before, after, "--gate", "off") == 0
    assert compare(before, after) == 1
    printed = capsys.readouterr().out
    mismatch = "protocol real/whole-word in the baseline, real/origin here"
    assert f"incomparable: real/origin real@1: {mismatch}" in printed
    assert printed.endswith("nothing was compared; incomparable: real@1, real@5: exit 1\n")


def test_different_protocols_are_compared_when_that_is_wanted(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c": outcomes(20, 40)})
    after = make_run(tmp_path / "b", {"c": outcomes(20, 40)}, protocol="real/origin")
    assert compare(before, after, "--allow-mismatch", "protocol") == 0
    printed = capsys.readouterr().out
    assert "note: real/origin: allowed mismatch: protocol real/whole-word in" in printed
    assert printed.endswith("identical: 2 metrics compared: exit 0\n")


def test_a_run_is_identical_to_itself(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "a", {"c": outcomes(20, 40)})
    assert compare(run, run, "--gate", "strict") == 0
    printed = capsys.readouterr().out
    assert printed.endswith("identical: 2 metrics compared: exit 0 (--gate=strict)\n")


def test_metrics_that_need_more_trials_are_no_metrics_of_a_run(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = {f"p{i}": [(float(i % 2),)] for i in range(8)}
    how = {"protocol": "humaneval/raw", "reducer": PassAtK((1, 5))}
    run = make_run(tmp_path / "a", {"c": solved}, **how)
    assert compare(run, run) == 0
    printed = capsys.readouterr().out
    assert "pass@5  " not in printed
    assert printed.endswith("identical: 1 metric compared: exit 0\n")


def test_other_samples_are_compared_as_numbers_and_said(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c": outcomes(20, 40)})
    after = make_run(tmp_path / "b", {"c": outcomes(20, 40)}, dataset="others")
    assert compare(before, after) == 0
    assert "unpaired: the two sides have no sample in common" in capsys.readouterr().out


# Several checkpoints


def test_checkpoints_of_one_name_are_compared_with_each_other(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = make_run(tmp_path / "a", {"c-1": outcomes(20, 40), "c-2": outcomes(20, 40)})
    after = make_run(tmp_path / "b", {"c-1": outcomes(20, 40), "c-2": outcomes(20, 40, lost=15)})
    assert compare(before, after) == 1
    printed = capsys.readouterr().out
    assert printed.count("before: ") == 2
    assert "regressed: c-2 real@1, c-2 real@5" in printed


def test_two_checkpoints_of_one_run_are_named(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "a", {"c-1": outcomes(20, 40), "c-2": outcomes(20, 40, lost=15)})
    assert compare(run, run) == 2
    assert "holds c-1, c-2" in capsys.readouterr().err
    assert compare(run, run, "--checkpoint-a", "c-1", "--checkpoint-b", "c-2") == 1
    assert compare(run, run, "--checkpoint-a", "c-1", "--checkpoint-b", "c-3") == 2
    assert "did you mean 'c-" in capsys.readouterr().err


# Other origins


def test_a_baseline_file_is_paired_and_takes_the_clusters_of_the_run(
    tmp_path: Path, make_run: MakeRun
) -> None:
    clusters = {f"s{i:04d}": f"text-{i // 4}" for i in range(40)}
    before = make_run(tmp_path / "a", {"c": outcomes(20, 40)}, clusters=clusters)
    after = make_run(tmp_path / "b", {"c": outcomes(20, 40, lost=8)}, clusters=clusters)
    told = [tmp_path / f"{i}.json" for i in range(3)]
    compare(before, after, "--json", told[0])
    compare(before / "c_baseline.json", after, "--json", told[1])
    compare(before, after / "c_baseline.json", "--json", told[2])
    errors = [
        data(path)["comparisons"][0]["tasks"][0]["verdicts"][0]["comparison"]["standard_error"]
        for path in told
    ]
    assert errors[0] == errors[1] == errors[2] > 0


def test_two_lm_eval_files_are_paired_when_both_have_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = [1] * 60 + [0] * 40, [1] * 52 + [0] * 48
    for logged in (True, False):
        folder = tmp_path / str(logged)
        one = lm_eval(folder / "base", before, logged=logged)
        two = lm_eval(folder / "tuned", after, logged=True)
        told = tmp_path / f"{logged}.json"
        compare(one.parent, two, "--json", told)
        task = data(told)["comparisons"][0]["tasks"][0]
        assert task["verdicts"][0]["comparison"]["kind"] == ("paired" if logged else "unpaired")
        assert task["verdicts"][0]["word"] == ("regressed" if logged else "inconclusive")
    assert "unpaired: one side has numbers only" in capsys.readouterr().out


def test_lm_evals_file_and_numbers_by_task_have_the_same_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = lm_eval(tmp_path / "base", [1] * 60 + [0] * 40, logged=False)
    two = numbers(tmp_path / "tuned.json", {"arc": {"acc": 0.2, "acc_stderr": 0.04}})
    assert compare(one, two) == 1
    assert "regressed: arc acc" in capsys.readouterr().out


def test_tasks_are_averaged_and_those_of_one_side_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = {"arc": {"acc": 0.5, "acc_stderr": 0.03}, "boolq": {"acc": 0.7, "acc_stderr": 0.04}}
    one = numbers(tmp_path / "one.json", {**shared, "piqa": {"acc": 0.6}})
    better = {**shared, "arc": {"acc": 0.6, "acc_stderr": 0.03}, "hellaswag": {"acc": 0.4}}
    two = numbers(tmp_path / "two.json", better)
    told = tmp_path / "told.json"
    assert compare(one, two) == 1, "piqa is missing"
    missing = "missing: piqa acc; inconclusive: boolq acc; improved: arc acc"
    counted = "2 of 3 metrics of the baseline compared"
    assert capsys.readouterr().out.endswith(f"{missing}; {counted}: exit 1\n")
    assert compare(one, two, "--common", "--json", told) == 0
    average = data(told)["comparisons"][0]["average"]
    assert average["tasks"] == 2
    assert (average["before"], average["after"]) == pytest.approx((0.60, 0.65))
    # Of each difference the error is the root of the two squared ones: sqrt(2) x 0.05 / 2.
    assert average["standard_error"] == pytest.approx(2**0.5 * 0.05 / 2)
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if "average of 2 tasks" in line]
    assert line.split()[4:7] == ["60.00%", "65.00%", "+5.00"]
    assert "only before: piqa acc" in printed
    assert "only after: hellaswag acc" in printed
    assert "1 of 3 gated metrics of the baseline were left out by --common: piqa acc" in printed


def test_numbers_without_an_n_are_a_point_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = numbers(tmp_path / "one.json", {"arc": {"acc": 0.5}})
    two = numbers(tmp_path / "two.json", {"arc": {"acc": 0.3}})
    assert compare(one, two) == 0
    printed = capsys.readouterr().out
    assert (
        "inconclusive: arc acc: worse by 20.00 pp; not tested: the baseline gives neither n nor "
        "standard error" in printed
    )


def test_nothing_in_common_names_what_there_is(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "a", {"c": outcomes(2, 4)})
    other = numbers(tmp_path / "tuned.json", {"arc": {"acc": 0.5}})
    assert compare(run, other) == 2
    told = capsys.readouterr().err
    assert "c has real@1, real@5; tuned has arc acc" in told


def test_a_bare_metric_that_two_benchmarks_have_is_not_guessed(tmp_path: Path) -> None:
    from ckptbench._util.errors import CkptbenchError
    from ckptbench.analysis.side_by_side import side_by_side
    from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
    from ckptbench.scores.score import Score

    score = Score("pass@1", 0.5, 10, 10, 0.1)
    bare = Measurement("bare", benchmarks=(BenchmarkMeasurement("pass", "", True, (score,)),))
    human, mbpp = (
        BenchmarkMeasurement(name, f"{name}/raw", True, (score,)) for name in ("humaneval", "mbpp")
    )
    one = side_by_side(bare, Measurement("one", benchmarks=(human,)))
    assert [task.benchmark for task in one.tasks] == ["humaneval"]
    with pytest.raises(CkptbenchError, match="nothing to compare"):
        side_by_side(bare, Measurement("both", benchmarks=(human, mbpp)))


def test_markdown_has_the_conclusion_first_and_a_row_a_metric(
    tmp_path: Path, make_run: MakeRun
) -> None:
    before = make_run(tmp_path / "a", {"c": outcomes(20, 40)})
    after = make_run(tmp_path / "b", {"c": outcomes(20, 40, lost=15)})
    compare(before, after, "--markdown", tmp_path / "x.md")
    lines = (tmp_path / "x.md").read_text("utf-8").splitlines()
    assert lines[0] == "**regressed: real@1, real@5: exit 1**"
    rows = [line for line in lines if line.startswith("| real/whole-word |")]
    assert len(rows) == 2
    assert rows[0].endswith("| regressed |")


def test_a_tolerance_for_an_unknown_metric_names_the_nearest(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "a", {"c": outcomes(2, 4)})
    other = make_run(tmp_path / "b", {"c": outcomes(2, 4)})
    assert compare(run, other, "--tolerance", "reel@1=2") == 2
    assert "did you mean 'real@1'" in capsys.readouterr().err


def test_bare_numbers_of_one_benchmark_are_compared_together() -> None:
    from ckptbench.analysis.side_by_side import side_by_side
    from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
    from ckptbench.readers.reported import reported_score

    def passes(benchmark: str, protocol: str, *values: float) -> Measurement:
        metrics = zip(("pass@1", "pass@5"), values, strict=True)
        scores = tuple(reported_score(metric, value, n=164) for metric, value in metrics)
        bench = BenchmarkMeasurement(benchmark, protocol, True, scores)
        return Measurement(benchmark, benchmarks=(bench,))

    result = side_by_side(
        passes("pass", "", 0.3, 0.5), passes("humaneval", "humaneval/x", 0.3, 0.5)
    )
    (task,) = result.tasks
    assert [verdict.metric for verdict in task.verdicts] == ["pass@1", "pass@5"]
    assert all(verdict.word != "missing" for verdict in task.verdicts)
    assert (result.in_baseline, result.compared) == (2, 2)
