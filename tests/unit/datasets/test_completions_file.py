"""Other people's completions: three formats, ids as they write them, and flaws named."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets.code import completions_file, humaneval, mbpp

PROBLEMS = tuple(
    Sample(f"HumanEval/{n}", {"prompt": f'def f{n}():\n    """F."""\n', "entry_point": f"f{n}"})
    for n in range(3)
)
TASKS = tuple(Sample(f"MBPP/{n}", {"text": str(n), "entry_point": "f"}) for n in (11, 12))


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.jsonl.gz"])
def test_a_completion_goes_on_where_the_prompt_ends(tmp_path: Path, name: str) -> None:
    row = {"task_id": "HumanEval/1", "completion": "    return 1\r\n", "passed": False}
    (answer,) = completions_file.read(lines(tmp_path / name, row), PROBLEMS).answers
    assert answer.sample is PROBLEMS[1]
    assert answer.program == 'def f1():\n    """F."""\n    return 1\r\n'


def test_a_solution_is_a_program_of_its_own(tmp_path: Path) -> None:
    row = {"task_id": "HumanEval/1", "solution": "f1 = int", "completion": "unused"}
    (answer,) = completions_file.read(lines(tmp_path / "a.jsonl", row), PROBLEMS).answers
    assert answer.program == "f1 = int"


def test_a_completion_without_a_prompt_is_the_program(tmp_path: Path) -> None:
    row = {"task_id": "MBPP/11", "completion": "f = int"}
    (answer,) = completions_file.read(lines(tmp_path / "a.jsonl", row), TASKS).answers
    assert answer.program == "f = int"


@pytest.mark.parametrize("name", ["MBPP/12", "Mbpp/12", "12", 12])
def test_ids_are_taken_as_others_write_them(tmp_path: Path, name: str | int) -> None:
    row = {"task_id": name, "completion": "f = int"}
    (answer,) = completions_file.read(lines(tmp_path / "a.jsonl", row), TASKS).answers
    assert answer.sample is TASKS[1]


def test_answers_to_a_problem_are_counted_in_their_order(tmp_path: Path) -> None:
    order = (0, 2, 0, 0, 2)
    rows = [{"task_id": f"HumanEval/{n}", "completion": str(k)} for k, n in enumerate(order)]
    read = completions_file.read(lines(tmp_path / "a.jsonl", *rows), PROBLEMS)
    assert [answer.trial for answer in read.answers] == [0, 0, 1, 2, 1]
    assert [answer.text for answer in read.answers] == list("01234")
    assert read.unanswered == ("HumanEval/1",)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_lists_follows_the_dataset(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "generations.json"
    path.write_text(json.dumps([["f0 = 1", "f0 = 2"], ["f1 = 1"]], indent=indent))
    read = completions_file.read(path, PROBLEMS)
    told = [(answer.sample.id, answer.trial, answer.program) for answer in read.answers]
    assert told == [
        ("HumanEval/0", 0, "f0 = 1"),
        ("HumanEval/0", 1, "f0 = 2"),
        ("HumanEval/1", 0, "f1 = 1"),
    ]
    assert read.unanswered == ("HumanEval/2",)


def test_an_array_of_objects_is_like_lines_of_them(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    path.write_text(json.dumps([{"task_id": "HumanEval/2", "completion": "x"}], indent=2))
    (answer,) = completions_file.read(path, PROBLEMS).answers
    assert answer.sample is PROBLEMS[2]


@pytest.mark.parametrize(
    ("row", "field", "what"),
    [
        ({"completion": "x"}, "task_id", "is missing"),
        ({"task_id": 1.5, "completion": "x"}, "task_id", "expected an id"),
        ({"task_id": "HumanEval/9", "completion": "x"}, "task_id", "no problem of the dataset"),
        ({"task_id": "HumanEval/1", "completion": 3}, "completion", "expected a string"),
        ({"task_id": "HumanEval/1"}, "", "neither 'completion' nor 'solution'"),
    ],
)
def test_a_flaw_is_named_with_file_line_and_field(
    tmp_path: Path, row: dict[str, Any], field: str, what: str
) -> None:
    path = lines(tmp_path / "a.jsonl", {"task_id": "HumanEval/0", "completion": "x"}, row)
    with pytest.raises(CkptbenchError) as caught:
        completions_file.read(path, PROBLEMS)
    assert what in caught.value.what
    assert caught.value.where == f"{path}:2" + (f", field {field!r}" if field else "")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([["x"], ["x"], ["x"], ["x"]], "4 problems, but the dataset has 3"),
        ([["x"], "x"], "expected a list of programs, found str"),
        ([["x", 5]], "expected a program, found int"),
        ([[], []], "holds no completions"),
    ],
)
def test_a_flaw_of_a_list_is_named(tmp_path: Path, content: Any, what: str) -> None:
    path = tmp_path / "generations.json"
    path.write_text(json.dumps(content))
    with pytest.raises(CkptbenchError, match=what):
        completions_file.read(path, PROBLEMS)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "generations.json"
    path.write_text('[["x"')
    with pytest.raises(CkptbenchError, match="is not JSON") as caught:
        completions_file.read(path, PROBLEMS)
    assert caught.value.where == str(path)


def test_published_files_are_read_whole() -> None:
    folder = os.environ.get("CKPTBENCH_DATA")
    if not folder:
        pytest.skip("CKPTBENCH_DATA does not name a folder with the public datasets")
    data = Path(folder)
    problems = humaneval.load(data / "humaneval/HumanEval.jsonl.gz")
    for name in ("poe_codegemma_7b", "poe_codellama_7b"):
        read = completions_file.read(data / f"humaneval_verdicts/{name}_results.jsonl", problems)
        assert (len(read.answers), read.unanswered) == (164, ())
    tasks = mbpp.load(data / "mbpp/mbpp.jsonl")
    read = completions_file.read(data / "ldb/mbpp_seed_codellama.jsonl", tasks)
    assert (len(read.answers), read.unanswered) == (500, ())
    assert all(answer.whole for answer in read.answers)
