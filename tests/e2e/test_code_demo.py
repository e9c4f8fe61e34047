"""The causal demo checkpoint writes programs, and they are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's")


def ask(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "-q", "--run-id=it"]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_pass_at_1_and_5_are_neither_none_nor_all(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "--num-samples=5", "--temperature=0.8")
    assert done.returncode == 0, done.stdout
    (checkpoint,) = json.loads((tmp_path / "results/it/summary.json").read_text())["checkpoints"]
    (problems,) = checkpoint["benchmarks"]
    values = {score["metric"]: score["value"] for score in problems["scores"]}
    assert 0.1 < values["pass@1"] < 0.9
    assert values["pass@1"] <= values["pass@5"] < 0.9
    assert values["pass@10"] is None
    assert "real was not asked of demo-code: it is a causal language model" in done.stdout


def test_two_kinds_of_checkpoint_are_asked_what_each_can_answer(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "--checkpoint=demo-mlm", "--limit=3")
    assert done.returncode == 0, done.stdout
    summary = json.loads((tmp_path / "results/it/summary.json").read_text())
    asked = {
        checkpoint["name"]: {bench["benchmark"] for bench in checkpoint["benchmarks"]}
        for checkpoint in summary["checkpoints"]
    }
    assert asked == {"demo-code": {"problems"}, "demo-mlm": {"real", "lambada"}}


def test_a_benchmark_that_nobody_can_be_asked_is_refused(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "-k", "real")
    assert done.returncode != 0


def test_a_wrong_option_is_told_and_not_the_benchmarks_that_do_not_apply(tmp_path: Path) -> None:
    done = ask(tmp_path, "--checkpoint=demo-code", "--num-samples=3")
    told = done.stdout + done.stderr
    assert done.returncode == 4
    assert "3 answers a sample at temperature 0 would all be the same" in told
    assert "no benchmark asks" not in told
