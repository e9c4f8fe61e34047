"""A result file in the shape of lm-eval's, of a benchmark of our own and of a task of its."""

from __future__ import annotations

from typing import Any

from ckptbench.results.lm_eval_format import of_lm_eval, task_results, tasks_below, united
from ckptbench.results.summary import (
    BenchmarkResult,
    CheckpointResult,
    Coverage,
    DatasetInfo,
    Summary,
)
from ckptbench.scores.score import Score

OFFICIAL: dict[str, Any] = {
    "results": {
        "gsm8k": {"alias": "gsm8k", "exact_match,strict": 0.25, "exact_match_stderr,strict": "N/A"},
        "stem": {"alias": "stem", "acc,none": 0.5},
        "physics": {"alias": "physics", "acc,none": 0.5},
    },
    "groups": {"stem": {"alias": "stem", "acc,none": 0.5}},
    "group_subtasks": {"stem": ["physics"]},
    "configs": {"gsm8k": {"task": "gsm8k"}, "physics": {"task": "physics"}},
    "versions": {"gsm8k": 3.0, "physics": 1.0, "stem": 2},
    "n-shot": {"gsm8k": 5, "physics": 0},
    "higher_is_better": {"gsm8k": {"exact_match": True}},
    "n-samples": {"gsm8k": {"original": 8, "effective": 4}},
    "task_hashes": {"gsm8k": "abc"},
    "samples": {"gsm8k": [{"doc_id": 0}], "physics": [{"doc_id": 0}]},
}


def result(name: str, *scores: Score, primary: bool = True, way: str = "usual") -> BenchmarkResult:
    return BenchmarkResult(
        name,
        f"{name}/{way}",
        primary,
        DatasetInfo("rows", "h1", "rows.jsonl"),
        Coverage(8, 8),
        scores,
    )


def file_of(name: str, *results: BenchmarkResult, official: object = None) -> dict[str, object]:
    checkpoint = CheckpointResult("ck", "runs/ck", "f1", {"seq_len": 128}, results)
    summary = Summary("r", "2026-01-02T03:04:05+00:00", 1.0, True, 0, "regress", (checkpoint,))
    return task_results(summary, checkpoint, name, official)  # type: ignore[arg-type]


def test_a_benchmark_of_our_own_names_its_metrics_as_lm_eval_does() -> None:
    scores = (Score("real@1", 0.5, 8, 8, 0.1, (0.3, 0.7)), Score("real@5", 0.75, 8, 8))
    found = file_of("real", result("real", *scores))
    assert found["results"] == {
        "real": {
            "alias": "real",
            "sample_len": 8,
            "real@1,none": 0.5,
            "real@1_stderr,none": 0.1,
            "real@5,none": 0.75,
            "real@5_stderr,none": "N/A",
        }
    }
    assert found["versions"] == {"real": "real/usual"}
    assert found["n-samples"] == {"real": {"original": 8, "effective": 8}}
    assert found["config"] == {"model": "ckptbench", "model_args": "runs/ck", "seq_len": 128}


def test_a_protocol_beside_the_gated_one_stands_under_its_own_name() -> None:
    one = result("real", Score("real@1", 0.5, 8, 8))
    other = result("real", Score("real@1", 0.25, 8, 8), primary=False, way="other")
    found = file_of("real", one, other)["results"]
    assert isinstance(found, dict)
    assert {name: values["real@1,none"] for name, values in found.items()} == {
        "real": 0.5,
        "real/other": 0.25,
    }


def test_a_task_holds_what_lm_eval_says_of_it_and_nothing_of_others() -> None:
    task = result("gsm8k", Score("gsm8k exact_match,strict", 0.25, 4, 4))
    found = file_of("gsm8k", task, official=OFFICIAL)
    assert found["results"] == {"gsm8k": OFFICIAL["results"]["gsm8k"]}
    assert found["samples"] == {"gsm8k": [{"doc_id": 0}]}
    assert found["versions"] == {"gsm8k": 3.0}
    assert "groups" not in found
    assert found["group_subtasks"] == {}


def test_a_group_holds_its_tasks() -> None:
    found = file_of("stem", result("stem", Score("stem acc,none", 0.5, 8, 8)), official=OFFICIAL)
    assert found["results"] == {
        "stem": OFFICIAL["results"]["stem"],
        "physics": OFFICIAL["results"]["physics"],
    }
    assert found["groups"] == OFFICIAL["groups"]
    assert found["group_subtasks"] == {"stem": ["physics"]}
    assert found["versions"] == {"physics": 1.0, "stem": 2}


def test_a_group_of_groups_holds_all_of_them() -> None:
    parts = {"all": ["stem", "gsm8k"], **OFFICIAL["group_subtasks"]}
    results = {**OFFICIAL["results"], "all": {"alias": "all", "acc,none": 0.5}, "other": {}}
    official = {**OFFICIAL, "results": results, "group_subtasks": parts}
    found = file_of("all", result("all", Score("all acc,none", 0.5, 8, 8)), official=official)
    assert isinstance(found["results"], dict)
    assert set(found["results"]) == {"all", "stem", "physics", "gsm8k"}


def test_a_benchmark_beside_tasks_is_our_own() -> None:
    found = file_of("real", result("real", Score("real@1", 0.5, 8, 8)), official=OFFICIAL)
    assert isinstance(found["results"], dict)
    assert set(found["results"]) == {"real"}


def test_what_lm_eval_made_is_read_back_from_the_files_of_all_tasks() -> None:
    names = ("gsm8k", "physics", "stem")
    files = [file_of(n, result(n, Score(n, 0.5, 8, 8)), official=OFFICIAL) for n in names]
    read = [of_lm_eval(file) for file in files]
    assert united(each for each in read if each) == OFFICIAL


def test_the_file_of_a_benchmark_of_our_own_holds_nothing_of_lm_eval() -> None:
    assert of_lm_eval(file_of("real", result("real", Score("real@1", 0.5, 8, 8)))) is None


def test_the_tasks_of_a_group_are_those_of_its_groups_too() -> None:
    parts = {"all": ["stem", "gsm8k"], "stem": ["physics"], "physics": []}
    assert tasks_below("all", {"group_subtasks": parts}) == {"physics", "gsm8k"}
    assert tasks_below("gsm8k", {"group_subtasks": parts}) == {"gsm8k"}
