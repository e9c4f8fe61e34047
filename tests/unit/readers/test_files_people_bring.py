"""EvalPlus's results, BigCode's, leaderboards', a trainer's, and lm-eval's folders of models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.cli import main
from ckptbench.readers.baseline import load
from ckptbench.readers.detect import read, read_all

N = 40


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def evalplus(
    passes: Callable[[int], tuple[bool, bool]], *, trials: int = 1, **more: Any
) -> dict[str, Any]:
    """A file of EvalPlus 0.2 and newer, without the numbers that 0.3.1 adds."""

    def program(i: int) -> dict[str, Any]:
        base, plus = ("pass" if each else "fail" for each in passes(i))
        about = {"task_id": f"HumanEval/{i}", "solution": "def f(): ...", "base_fail_tests": []}
        return {**about, "base_status": base, "plus_status": plus, "plus_fail_tests": []}

    problems = {f"HumanEval/{i}": [program(i)] * trials for i in range(N)}
    return {"date": "2024-10-01 10:00", "hash": "fe585eb4", "eval": problems, **more}


def half_and_quarter(i: int) -> tuple[bool, bool]:
    return i % 2 == 0, i % 4 != 2


def scores(path: Path) -> dict[str, tuple[float | None, int]]:
    (measurement,) = read(path).measurements
    return {s.metric: (s.value, s.n) for b in measurement.benchmarks for s in b.scores}


EXPECTED = {"humaneval-base pass@1": (0.5, N), "humaneval-plus pass@1": (0.25, N)}


def test_evalplus_is_read_of_the_statuses_and_plus_needs_base(tmp_path: Path) -> None:
    path = write(tmp_path / "m_eval_results.json", evalplus(half_and_quarter))
    assert scores(path) == EXPECTED
    stated = {"base": {"pass@1": 0.5}, "plus": {"pass@1": 0.25}}
    newer = evalplus(half_and_quarter, pass_at_k=stated)
    assert scores(write(tmp_path / "n_eval_results.json", newer)) == EXPECTED


def test_evalplus_before_statuses_had_names_is_read(tmp_path: Path) -> None:
    words = {True: "success", False: "failed"}
    problems = {
        f"HumanEval/{i}": {"nfiles": 1, "base": [[words[b], []]], "plus": [[words[p], []]]}
        for i in range(N)
        for b, p in [half_and_quarter(i)]
    }
    content = {"date": "2023-06-26 06:40", "hash": "abc", "eval": problems}
    assert scores(write(tmp_path / "m_eval_results.json", content)) == EXPECTED


def test_evalplus_of_base_tests_only_has_no_score_of_the_others(tmp_path: Path) -> None:
    content = evalplus(half_and_quarter, trials=10)
    for programs in content["eval"].values():
        for program in programs:
            program["plus_status"] = None
    found = scores(write(tmp_path / "m_eval_results.json", content))
    assert list(found) == ["humaneval-base pass@1", "humaneval-base pass@10"]


def test_two_files_of_evalplus_are_compared_in_pairs(tmp_path: Path, capsys: Any) -> None:
    before = write(tmp_path / "a_eval_results.json", evalplus(lambda i: (True, True)))
    after = write(tmp_path / "b_eval_results.json", evalplus(lambda i: (True, i >= 12)))
    assert main(["compare", str(before), str(after)]) == 1
    assert (
        "humaneval-plus pass@1: worse by 30.00 pp, tolerance 1.00 pp, 12 lost and 0 won of 40"
        in (capsys.readouterr().out)
    )


def test_a_folder_of_evalplus_is_every_model_and_one_of_programs_is_its_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}_eval_results.json", evalplus(half_and_quarter))
    assert [m.name for m in read(tmp_path).measurements] == ["a", "b"]
    write(tmp_path / "programs" / "eval_results.json", evalplus(half_and_quarter))
    assert [m.name for m in read(tmp_path / "programs").measurements] == ["programs"]
    assert len(read_all(sorted(tmp_path.glob("*.json")))) == 2


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pass_at_k": {"base": {"pass@1": 0.6}}}, "0.6, and 0.5 by the programs' statuses"),
        ({"eval": {"HumanEval/0": []}}, "neither the status of a program"),
        ({"eval": {"HumanEval/0": 3}}, "not as EvalPlus writes it"),
    ],
)
def test_evalplus_that_is_cut_off_or_contradicts_itself_is_refused(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    path = write(tmp_path / "m_eval_results.json", {**evalplus(half_and_quarter), **change})
    with pytest.raises(CkptbenchError, match=why):
        read(path)


BIGCODE = {
    "humaneval": {"pass@1": 0.3, "pass@10": 0.4},
    "conala": {"bleu": 0.2, "precisions": [0.1, 0.2]},
    "codexglue_code_to_text-python": 14.2,
    "apps-introductory": {"avg_accuracy": None, "strict_accuracy": None},
    "config": {"model": "org/coder", "tasks": "humaneval", "n_samples": 20, "temperature": 0.2},
}


def test_bigcodes_results_have_the_models_name_and_every_number_by_metric(tmp_path: Path) -> None:
    path = write(tmp_path / "evaluation_results.json", BIGCODE)
    assert list(scores(path)) == ["humaneval pass@1", "humaneval pass@10", "conala bleu"]
    result = read(path)
    (measurement,) = result.measurements
    assert (measurement.name, measurement.run) == ("coder", "org")
    assert result.notes[0].endswith("by metric: codexglue_code_to_text-python, apps-introductory")


LEADERBOARD = {
    "config_general": {"model_name": "org/m", "model_sha": "abc"},
    "results": {
        "harness|arc:challenge|25": {"acc": 0.5, "acc_stderr": 0.01},
        "leaderboard|mmlu:anatomy|5": {"acc": 0.7, "acc_stderr": 0.05},
        "leaderboard|mmlu:_average|5": {"acc": 0.7, "acc_stderr": 0.05},
        "all": {"acc": 0.6, "acc_stderr": 0.03},
    },
    "versions": {"all": 0},
}
LEFT = ["harness|arc:challenge|25 acc", "leaderboard|mmlu:anatomy|5 acc"]


def test_averages_in_a_leaderboards_file_are_no_tasks(tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", LEADERBOARD)
    assert list(scores(path)) == LEFT
    result = read(path)
    assert result.measurements[0].name == "m"
    assert result.notes == (
        f"{path}: left out, averages of the others: leaderboard|mmlu:_average|5, all",
    )


def test_as_a_baseline_each_has_the_same_numbers(tmp_path: Path) -> None:
    for content in (BIGCODE, LEADERBOARD, evalplus(half_and_quarter)):
        path = write(tmp_path / "m.json", content)
        found = {name: s.value for name, s in load(path).benchmarks[""].scores.items()}
        assert found == {name: value for name, (value, _) in scores(path).items()}


EVALUATED = {"epoch": 1.0, "eval_accuracy": 0.85, "eval_loss": 0.41, "eval_samples": 277}
TRAINED = {"epoch": 1.0, "train_loss": 0.5, "train_runtime": 12.2}
STATE = {"best_metric": None, "epoch": 3.0, "log_history": [{"epoch": 1.0, "loss": 0.2, "step": 9}]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("eval_results.json", EVALUATED),
        ("all_results.json", {**EVALUATED, **TRAINED}),
        ("x_eval_results.json", EVALUATED),
        ("train_results.json", TRAINED),
        ("trainer_state.json", STATE),
    ],
)
def test_a_trainers_losses_and_epochs_are_no_scores(
    tmp_path: Path, name: str, content: dict[str, Any]
) -> None:
    path = write(tmp_path / name, content)
    why = "state of a training run" if content is STATE else "is a trainer's: losses and speeds"
    for take in (read, load):
        with pytest.raises(CkptbenchError, match=why):
            take(path)
    if name != "train_results.json":
        with pytest.raises(CkptbenchError, match=why):
            read(tmp_path)


def test_scores_that_are_named_after_a_phase_alone_are_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.json", {"test_accuracy": 0.5, "n": 100})
    assert scores(path) == {"test_accuracy": (0.5, 100)}


def test_models_of_one_name_in_an_lm_eval_folder_are_all_taken_apart(tmp_path: Path) -> None:
    for number, model in enumerate(("orgA/base", "orgB/base", "orgA/big")):
        content = {
            "results": {"arc": {"acc,none": 0.5 + number / 10, "acc_stderr,none": 0.01}},
            "config": {"model": "hf", "model_args": f"pretrained={model}"},
            "model_name": model,
        }
        folder = tmp_path / model.replace("/", "__")
        path = write(folder / f"results_2026-01-0{number + 1}T00-00-00.000001.json", content)
        row = {"doc_id": 0, "doc_hash": "a", "filter": "none", "metrics": ["acc"], "acc": number}
        log = path.name.replace("results", "samples_arc").replace(".json", ".jsonl")
        write(folder / log, row)
    result = read(tmp_path)
    found = {m.name: m.benchmarks[0].scores[0].value for m in result.measurements}
    assert found == {"orgA/base": 0.5, "orgB/base": 0.6, "big": 0.7}
    (row,) = result.samples("orgB/base", "arc")
    assert row.values == {"arc acc,none": 1.0}
