"""A reducer of one's own, registered in a conftest: gated, and read by who has no conftest."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

REDUCER = """
from dataclasses import dataclass

from ckptbench import register_reducer
from ckptbench.scores.metric import SHARE, Metric


@dataclass(frozen=True)
class Both:
    takes_k = False
    several_trials = False
    ks = ()

    def with_ks(self, ks):
        return self

    def metrics(self, benchmark):
        return (f"{benchmark}_hit", f"{benchmark}_cost")

    def kinds(self, benchmark):
        cost = Metric("nats", higher_is_better=False, gated=False)
        return {f"{benchmark}_hit": SHARE, f"{benchmark}_cost": cost}

    def reduce(self, trials):
        (value,) = trials[0]
        return (value, 2.0 - value)


register_reducer("both", Both)
"""
BENCHMARK = """
from conftest import Both
from ckptbench import FillMask, EvalProtocol, Sample, samples

ROWS = [Sample(f"s-{i:02}", {"text": f"right {i:02}"}) for i in range(40)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


@samples(ROWS, protocol=(EvalProtocol("quiz/plain", ask),), score=Both())
def test_quiz(response):
    assert response.within(1)
"""
SPOILED = [f"right {i:02}" for i in range(20)]


@pytest.fixture
def quiz(project: Any) -> Any:
    """A baseline of forty right answers, and a run in which twenty were spoiled."""
    project.write(benchmark=BENCHMARK, conftest=REDUCER, by_hand="")
    assert project.run_apart("--baseline=b.json", "--update-baseline", "--run-id=old").ret == 0
    return project


def compare(project: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`ckptbench compare` in a process that knows nothing of the project's conftest."""
    program = "import sys; from ckptbench.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "compare", *arguments]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, timeout=240)


def test_its_runs_are_compared_sample_by_sample_without_its_conftest(quiz: Any) -> None:
    with quiz.spoiled(*SPOILED):
        assert quiz.run_apart("--run-id=new").ret == 0
    same = compare(quiz, "results/old", "results/old")
    assert same.returncode == 0, same.stderr
    assert same.stdout.endswith("identical: 1 metric compared: exit 0\n")
    fallen = compare(quiz, "results/old", "results/new")
    assert fallen.returncode == 1, fallen.stderr
    assert "quiz_hit: worse by 50.00 pp" in fallen.stdout
    assert "20 lost and 0 won of 40" in fallen.stdout
    assert "numbers" not in fallen.stdout


def test_a_metric_that_is_only_shown_is_gated_on_request(quiz: Any) -> None:
    with quiz.spoiled(*SPOILED):
        default = quiz.run_apart("--baseline=b.json", "--tolerance=quiz_hit=60")
        assert default.ret == 0
        assert quiz.verdicts["quiz_cost"] == "regressed"
        asked = quiz.run_apart(
            "--baseline=b.json", "--tolerance=quiz_hit=60", "--gate-on=quiz_cost"
        )
    assert asked.ret == 1
    asked.stdout.fnmatch_lines(["regressed: quiz_cost rose by 0.5 nats (p worse, Holm *: exit 1"])
