"""The causal demo checkpoint writes programs, and they are judged."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from math import exp, log
from pathlib import Path

import pytest
import warm
from run_folder import RunFolder

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's"),
]


def ask(folder: Path, *options: str, only: str = "benchmarks") -> subprocess.CompletedProcess[str]:
    command = [str(warm.commands() / "pytest"), str(ROOT / only), "--run-id=it"]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_pass_at_1_and_5_are_neither_none_nor_all(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "--num-samples=5", "--temperature=0.8")
    assert done.returncode == 0, done.stdout
    values = RunFolder(tmp_path / "results/it").values
    assert 0.1 < values["pass@1"] < 0.9
    assert values["pass@1"] <= values["pass@5"] < 0.9
    assert set(values) == {"pass@1", "pass@5"}, "ten answers are needed for pass@10"
    assert (
        "real was skipped for demo-code: a causal language model cannot fill masks" in done.stdout
    )


@pytest.mark.slow
def test_two_kinds_of_checkpoint_are_asked_what_each_can_answer(tmp_path: Path) -> None:
    both = ("--checkpoint=demo-code", "--checkpoint=demo-mlm")
    done = ask(tmp_path, *both, "--limit=3", "-k", "not origin")
    assert done.returncode == 0, done.stdout
    asked = {
        name: {bench["benchmark"] for bench in checkpoint["benchmarks"]}
        for name, checkpoint in RunFolder(tmp_path / "results/it").checkpoints.items()
    }
    assert asked == {"demo-code": {"problems"}, "demo-mlm": {"real", "lambada"}}


@pytest.mark.slow
def test_a_benchmark_that_nobody_can_be_asked_is_refused(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "-k", "real")
    assert done.returncode != 0


@pytest.mark.slow
def test_a_wrong_option_is_told_and_not_the_benchmarks_that_do_not_apply(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "--num-samples=3")
    told = done.stdout + done.stderr
    assert done.returncode == 4
    assert "3 answers a sample at temperature 0 would all be the same" in told
    assert "no benchmark asks" not in told


@pytest.mark.slow
def test_a_causal_checkpoint_is_asked_for_the_last_word_of_whole_passages(tmp_path: Path) -> None:
    rows = [{"text": f"def f(x):\n    return x + {i}\n\nand the last word is {i}"} for i in "123"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ask(tmp_path, "--checkpoint=demo-code", "-k", "lambada", "--lambada-data=rows.jsonl")
    assert done.returncode == 0, done.stdout
    run = RunFolder(tmp_path / "results/it")
    result = run.benchmark
    assert (result["protocol"], result["primary"]) == ("lambada/greedy", True)
    first, perplexity, bits = result["scores"]
    values = [answer["values"] for answer in run.samples()]
    assert first["value"] == pytest.approx(sum(v["lambada@1"] for v in values) / 3)
    mean = sum(v["log_likelihood"] for v in values) / 3
    assert log(perplexity["value"]) == pytest.approx(-mean)
    assert perplexity["value"] == pytest.approx(exp(-mean))
    # Each word is a digit with the space before it: two bytes.
    assert (bits["metric"], bits["unit"]) == ("lambada_bits_per_byte", "bits_per_byte")
    assert bits["value"] == pytest.approx(-mean / log(2) / 2, abs=0.01)
    assert "lambada_perplexity ↓" in done.stdout


@pytest.mark.slow
def test_a_masked_checkpoint_is_not_asked_for_last_words(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "and this is the last word"}\n')
    options = ["--checkpoint=demo-mlm", "--lambada-data=rows.jsonl"]
    done = ask(tmp_path, *options, only="benchmarks/test_lambada.py")
    assert done.returncode == 4
    assert "a masked language model cannot score continuations" in done.stderr + done.stdout


@pytest.mark.slow
def test_an_option_that_changes_nothing_for_a_model_is_noted(tmp_path: Path) -> None:
    done = ask(
        tmp_path, "--checkpoint=demo-mlm", "--limit=2", "--exact", only="benchmarks/test_lambada.py"
    )
    assert "note: --exact changes nothing: it is for causal models" in done.stdout


CONTEST = {
    "description": "Read a whole number and print the next.",
    "public_tests": {"input": ["1\n"], "output": ["2\n"]},
    "private_tests": {"input": ["2\n", "5\n"], "output": ["3\n", "6\n"]},
}


@pytest.mark.slow
def test_contests_tell_what_was_tested_and_what_was_left_out(tmp_path: Path) -> None:
    rows = [{**CONTEST, "name": f"{i}_A"} for i in range(4)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ask(
        tmp_path,
        *("--checkpoint=demo-code", "-k", "codecontests", "--codecontests-data=c.jsonl"),
        *("--codecontests-tests=sample:2", "--limit=0.5", "--num-samples=2", "--temperature=1"),
        *("--max-tokens=8", "--exec-timeout=2.5", "--gate=off"),
        *("--exec-memory=1G", "--exec-libraries=numpy"),
    )
    assert done.returncode == 0, done.stdout
    assert "codecontests: --limit drew 2 of 4 problems by the seed; left out: " in done.stdout
    assert "codecontests: 2 tests a problem, of 3 that it has" in done.stdout
    checkpoint = RunFolder(tmp_path / "results/it").checkpoint
    assert checkpoint["settings"]["exec_timeout_s"] == 2.5
    assert checkpoint["settings"]["exec_memory_mb"] == 1024
    assert checkpoint["settings"]["exec_libraries"] == "numpy"
    assert checkpoint["benchmarks"][0]["dataset"]["source"].startswith("c.jsonl, 2 tests, seed 0")
    with (tmp_path / "results/it/demo-code_codecontests_problems.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert sorted(row["problem"] for row in table) == [f"CodeContests/{i}_A" for i in range(4)]
    asked, left_out = table[:2], table[2:]
    assert [(row["n"], row["tests"], row["tests_available"]) for row in asked] == [
        ("2", "2", "3"),
        ("2", "2", "3"),
    ]
    assert {row["remark"] for row in left_out} == {"left out by --limit"}
