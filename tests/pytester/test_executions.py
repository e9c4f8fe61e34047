"""Answers that are programs: judged in the background, told apart, never a miss by our fault."""

from __future__ import annotations

from typing import Any

import pytest
from run_folder import RunFolder

# Stands in for the sandbox: whatever has `submit` does, and no program needs to run here.
CONFTEST = """
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
import pytest
from ckptbench import Generated, Skipped

HERE = Path(__file__).parent


@dataclass
class Said:
    status: str
    reason: str = ""
    wall_s: float = 0.25

    @property
    def passed(self):
        return self.status == "pass"


class Box:
    def submit(self, task):
        with (HERE / "judged.log").open("a") as log:
            log.write(f"{task}\\n")
        word, _, reason = task.partition(" ")
        if word == "broken":
            raise OSError("no process could be started")
        future = Future()
        future.set_result(Said(word, reason))
        return future


class Writes:
    fingerprint = "writes"
    settings = {}

    def answer(self, requests):
        for place, request in enumerate(requests):
            if request.prompt == "skipped":
                yield place, Skipped("over_length")
            else:
                yield place, Generated(request.prompt, 1, "stop")


@pytest.fixture(scope="session")
def engine():
    return Writes()


@pytest.fixture(scope="session")
def sandbox():
    yield Box()
    (HERE / "closed.log").touch()
"""
BENCHMARK = """
from ckptbench import Generate, EvalProtocol, Sample, pass_at_k, samples

PROGRAMS = {programs}
ROWS = [Sample(f"p{{i}}", {{"prompt": prompt}}) for i, prompt in enumerate(PROGRAMS)]
WRITE = EvalProtocol(
    "own/plain",
    lambda sample, how: Generate(sample["prompt"]),
    execute={execute},
)

@samples(ROWS, protocol=WRITE, score=pass_at_k(1))
def test_own(execution):
    assert execution.passed
"""
EXECUTE = "lambda sample, response, trial: response.text"


def run(pytester: pytest.Pytester, *programs: str, execute: str = EXECUTE) -> Any:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_own=BENCHMARK.format(programs=programs, execute=execute))
    return pytester.runpytest_inprocess("-q", "--run-id=it")


def lines(pytester: pytest.Pytester) -> dict[str, Any]:
    return {row["id"]: row for row in RunFolder(pytester.path / "results/it").samples()}


def test_a_program_that_fails_is_a_miss_with_its_reason_and_seconds(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "pass", "fail assert 1 == 2", "timeout 3.0 s")
    assert result.ret == 0
    found = lines(pytester)
    assert [found[f"p{i}"]["status"] for i in range(3)] == ["passed", "missed", "missed"]
    assert found["p1"]["reason"] == "fail: assert 1 == 2"
    assert found["p2"]["reason"] == "timeout: 3.0 s"
    assert found["p0"]["seconds"] == 0.25
    assert (pytester.path / "closed.log").exists()


def test_a_broken_sandbox_is_an_error_and_no_miss(pytester: pytest.Pytester) -> None:
    result = run(pytester, "pass", "error the judge died", "broken")
    assert result.ret == 1
    found = lines(pytester)
    assert [found[f"p{i}"]["status"] for i in range(3)] == ["passed", "error", "error"]
    assert "the judge died" in found["p1"]["reason"]
    assert "no process could be started" in found["p2"]["reason"]


def test_what_was_not_written_is_not_run(pytester: pytest.Pytester) -> None:
    run(pytester, "skipped", "pass")
    assert lines(pytester)["p0"]["status"] == "skipped"
    assert (pytester.path / "judged.log").read_text() == "pass\n"


def test_a_resumed_run_judges_again_without_asking_again(pytester: pytest.Pytester) -> None:
    run(pytester, "pass", "fail x")
    run(pytester, "pass", "fail x")
    judged = (pytester.path / "judged.log").read_text().splitlines()
    assert sorted(judged) == ["fail x", "fail x", "pass", "pass"]
    assert RunFolder(pytester.path / "results/it").checkpoint["asked"] == 0


def test_a_protocol_that_makes_no_program_cannot_be_executed(pytester: pytest.Pytester) -> None:
    result = run(pytester, "pass", execute="None")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*takes `execution`, but own/plain makes no program*"])
