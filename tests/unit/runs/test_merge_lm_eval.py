"""What lm-eval made of a part's tasks and groups, in the run that the parts make together."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckptbench.readers.run import read_summary
from ckptbench.reports.run_files import write_reports
from ckptbench.results.summary import BenchmarkResult, Coverage, DatasetInfo, Given, Summary
from ckptbench.runs.merge import merge
from ckptbench.scores.reducers import Named
from ckptbench.scores.score import Score

TASKS = ("signs", "numbers")
REDUCER = Named(("acc,none",), "acc,none", ("perplexity,none",))
EARLY, LATE = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"

MakePart = Callable[..., Path]


@pytest.fixture
def make_part(tmp_path: Path, make_run: Callable[..., Path]) -> MakePart:
    """Leaves the folder of a run that asked tasks of lm-eval, as a session leaves it.

    Each task has documents by number, and lm-eval made a perplexity of them. Both tasks together
    are the group `both`.
    """

    def make(
        name: str,
        perplexity: float,
        checkpoint: str = "c",
        asked: str = "both",
        started: str = EARLY,
        **documents: range,
    ) -> Path:
        runs = [
            make_run(
                tmp_path / "single" / f"{name}-{task}",
                {checkpoint: {f"{task}/{n}": [(1.0,)] for n in numbers}},
                protocol=f"{task}/v1-0-shot",
                reducer=REDUCER,
                started=started,
            )
            for task, numbers in documents.items()
        ]
        folder = tmp_path / name
        merge(runs, folder)
        summary = replace(
            read_summary(folder),
            notes=(),
            given={"tasks": Given(asked, "command line")},
            rerun_options=(f"--checkpoint={checkpoint}", f"--tasks={asked}"),
        )
        summary, official = aggregated(summary, perplexity)
        write_reports(folder, summary, {checkpoint: official})
        return folder

    return make


def aggregated(summary: Summary, perplexity: float) -> tuple[Summary, dict[str, Any]]:
    """A run of one checkpoint with what lm-eval makes of its answers."""
    (checkpoint,) = summary.checkpoints
    benchmarks = [
        replace(
            bench,
            scores=(*bench.scores, Score(f"{bench.benchmark} perplexity,none", perplexity, 4, 4)),
        )
        for bench in checkpoint.benchmarks
    ]
    tasks = [bench.benchmark for bench in benchmarks]
    official: dict[str, Any] = {
        "results": {task: {"perplexity,none": perplexity} for task in tasks},
        "group_subtasks": {},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-samples": {b.benchmark: {"effective": b.coverage.scored} for b in benchmarks},
    }
    if len(tasks) == len(TASKS):
        official["results"]["both"] = {"acc,none": perplexity / 100}
        official["groups"] = {"both": official["results"]["both"]}
        official["group_subtasks"]["both"] = list(TASKS)
        score = Score("both acc,none", perplexity / 100, 8, 8)
        benchmarks.append(
            BenchmarkResult(
                "both",
                "both/group-of-2",
                False,
                DatasetInfo("both", "h"),
                Coverage(8, 8),
                (score,),
            )
        )
    return replace(
        summary, checkpoints=(replace(checkpoint, benchmarks=tuple(benchmarks)),)
    ), official


def file_of(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / f"{name}_results.json").read_text("utf-8"))
    return content


def lm_evals(content: dict[str, Any]) -> dict[str, Any]:
    own = ("config", "date", "model_name", "total_evaluation_time_seconds", "ckptbench")
    return {part: value for part, value in content.items() if part not in own}


def scores(folder: Path) -> dict[str, float | None]:
    summary = read_summary(folder)
    return {s.metric: s.value for c in summary.checkpoints for b in c.benchmarks for s in b.scores}


def left_out(folder: Path) -> list[str]:
    return [n for n in read_summary(folder).notes if "only lm-eval aggregates are left out" in n]


def test_of_two_checkpoints_each_keeps_its_numbers_and_its_group(
    make_part: MakePart, tmp_path: Path
) -> None:
    one = make_part("one", 20.0, "c-1", signs=range(4), numbers=range(4))
    two = make_part("two", 30.0, "c-2", signs=range(4), numbers=range(4))
    out = tmp_path / "out"
    merge([one, two], out)
    for part, checkpoint in ((one, "c-1"), (two, "c-2")):
        for name in (*TASKS, "both"):
            merged = file_of(out, f"{checkpoint}_{name}")
            assert lm_evals(merged) == lm_evals(file_of(part, name))
            assert merged["ckptbench"]["run_id"] == "out"
    held = {c.name: c.benchmarks for c in read_summary(out).checkpoints}
    for part, checkpoint in ((one, "c-1"), (two, "c-2")):
        (expected,) = read_summary(part).checkpoints
        assert [(b.benchmark, b.scores) for b in held[checkpoint]] == [
            (b.benchmark, b.scores) for b in expected.benchmarks
        ]
    assert left_out(out) == []
    merge([out], tmp_path / "again")
    assert lm_evals(file_of(tmp_path / "again", "c-1_both")) == lm_evals(file_of(one, "both"))


def test_of_a_task_in_pieces_no_parts_number_is_the_wholes(
    make_part: MakePart, tmp_path: Path
) -> None:
    one = make_part("one", 20.0, signs=range(2), numbers=range(4))
    two = make_part("two", 30.0, signs=range(2, 4))
    out = tmp_path / "out"
    merge([one, two], out)
    assert scores(out) == {
        "signs acc,none": 1.0,
        "numbers acc,none": 1.0,
        "numbers perplexity,none": 20.0,
    }
    assert "aggregated_by" not in file_of(out, "signs")["ckptbench"]
    assert lm_evals(file_of(out, "numbers")) == lm_evals(file_of(one, "numbers"))
    assert not (out / "both_results.json").exists()
    (note,) = left_out(out)
    assert note.startswith("c: no part has lm-eval's result of all answers to both, signs: ")
    files = "benchmarks/test_signs.py benchmarks/test_numbers.py"
    command = f"pytest {files} --checkpoint=c --tasks=both --results-dir={tmp_path} --run-id=out"
    assert f"`{command}` makes them" in note


def test_what_was_pieced_together_is_still_in_pieces_when_merged_again(
    make_part: MakePart, tmp_path: Path
) -> None:
    one = make_part("one", 20.0, asked="signs", signs=range(2))
    two = make_part("two", 30.0, asked="signs", signs=range(2, 4))
    merge([one, two], tmp_path / "out")
    merge([tmp_path / "out"], tmp_path / "again")
    (note,) = left_out(tmp_path / "again")
    assert note.startswith("c: no part has lm-eval's result of all answers to signs: ")


def test_a_group_is_not_kept_when_a_later_part_has_one_of_its_tasks(
    make_part: MakePart, tmp_path: Path
) -> None:
    one = make_part("one", 20.0, signs=range(4), numbers=range(4))
    two = make_part("two", 30.0, asked="signs", started=LATE, signs=range(4))
    out = tmp_path / "out"
    merge([one, two], out)
    assert scores(out)["signs perplexity,none"] == 30.0
    assert scores(out)["numbers perplexity,none"] == 20.0
    assert not (out / "both_results.json").exists()
    (note,) = left_out(out)
    assert note.startswith("c: no part has lm-eval's result of all answers to both")
    # lm-eval refuses a task beside a group that has it.
    assert read_summary(out).rerun_options == ("--checkpoint=c", "--tasks=both")


@pytest.mark.parametrize("asked", ["both", "signs,numbers"])
def test_a_group_whose_tasks_are_in_several_parts_may_be_missing(
    make_part: MakePart, tmp_path: Path, asked: str
) -> None:
    names = TASKS if asked != "both" else (asked, asked)
    one = make_part("one", 20.0, asked=names[0], signs=range(4))
    two = make_part("two", 30.0, asked=names[1], numbers=range(4))
    merge([one, two], tmp_path / "out")
    assert scores(tmp_path / "out")["numbers perplexity,none"] == 30.0
    told = [note.partition(":")[2][:75] for note in left_out(tmp_path / "out")]
    expected = " no part has lm-eval's result of all answers to groups whose tasks are in s"
    assert told == ([expected] if asked == "both" else [])


def test_a_file_of_other_results_than_the_summarys_is_not_taken(
    make_part: MakePart, tmp_path: Path
) -> None:
    one = make_part("one", 20.0, asked="signs", signs=range(4))
    other = make_part("other", 30.0, asked="signs", signs=range(4))
    (one / "summary.json").write_bytes((other / "summary.json").read_bytes())
    merge([one], tmp_path / "out")
    found = file_of(tmp_path / "out", "signs")
    assert found["results"]["signs"]["perplexity,none"] == 30.0
    assert "aggregated_by" not in found["ckptbench"]
