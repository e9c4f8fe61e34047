"""Each shape in which owners store code datasets is the same problems; an unknown one is named."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import pickle
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets.code import codecontests, humaneval, mbpp
from ckptbench.fixtures.datasets.code import shapes as code_shapes
from ckptbench.fixtures.datasets.code.protocols import task_of
from ckptbench.fixtures.datasets.code.shapes import cases_of, pickled_text
from ckptbench.fixtures.sandbox.tasks import FunctionTask, InputsTask, StdioTask

PROMPT = 'def area(a: int, b: int) -> int:\n    """The area of a rectangle."""\n'
CHECK = "def check(candidate):\n    assert candidate(2, 3) == 6\n"
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": PROMPT,
    "canonical_solution": "    return a * b\n",
    "test": CHECK,
    "entry_point": "area",
}
HUMANEVAL_INSTRUCTION = {
    "instruction": PROMPT,
    "input": "",
    "output": "    return a * b\n",
    "task_id": "HumanEval/0",
    "metadata": {"source": "x", "test": CHECK, "entry_point": "area", "has_tests": True},
}
PLUS_TEST = """\
import numpy as np

def assertion(out, exp, atol):
    assert np.allclose(out, exp, rtol=1e-07, atol=atol)

{head}inputs = [[2, 3], [(1, 2.5), {{3}}], [-inf, {{'a': None}}], [set(), 1 - 2j]]
{body}results = [6, 2, 0, 0]
{body}for i, (inp, exp) in enumerate(zip(inputs, results)):
{body}    assertion({call}(*inp), exp, 1e-06)
"""
HUMANEVAL_PLUS = {
    **HUMANEVAL,
    "test": PLUS_TEST.format(head="def check(candidate):\n    ", body="    ", call="candidate"),
}
CALLS = [[2, 3], [[1, 2.5], [3]], [{"float": "-Infinity"}, {"a": None}], [[], "(1-2j)"]]

ASSERTS = ["assert area(2, 3) == 6", "assert area(1, 1) == 1"]
MBPP = {
    "task_id": 11,
    "text": "Write a function for the area.",
    "code": "def area(a, b):\n    return a * b",
    "test_list": ASSERTS,
    "test_setup_code": "",
    "challenge_test_list": [],
}
SANITIZED = {
    "source_file": "x",
    "task_id": 11,
    "prompt": "Write a function for the area.",
    "code": "def area(a, b):\n    return a * b",
    "test_imports": [],
    "test_list": ASSERTS,
}
MBPP_INSTRUCTION = {
    "instruction": "Write a function for the area.",
    "input": "",
    "output": "def area(a, b):\n    return a * b",
    "task_id": "11",
    "metadata": {"test_list": ASSERTS, "test_setup_code": "", "has_tests": True},
}
MBPP_TEXT = {
    **MBPP_INSTRUCTION,
    "metadata": {"test": "\n".join(ASSERTS), "entry_point": "area", "has_tests": True},
}
MBPP_PLUS = {**SANITIZED, "test": PLUS_TEST.format(head="", body="", call="area")}

PAIRS = {"input": ["1\n", "2\n"], "output": ["2\n", "3\n"]}
NONE: dict[str, list[str]] = {"input": [], "output": []}
CONTEST = {
    "name": "1_A. Next",
    "description": "Print the next number.",
    "public_tests": PAIRS,
    "private_tests": NONE,
    "generated_tests": NONE,
    "source": 2,
    "difficulty": 7,
    "solutions": {"language": [2, 3], "solution": ["int main()", "print(1)"]},
    "time_limit": {"seconds": 2, "nanos": 0},
}
CONTEST_INSTRUCTION = {
    "task_id": "1_A. Next",
    "instruction": "Print the next number.",
    "input": "",
    "metadata": {
        "public_tests": PAIRS,
        "private_tests": NONE,
        "generated_tests": NONE,
        "time_limit": {"seconds": 2, "nanos": 0},
    },
}
RAW_CONTEST = {
    "task_id": "1_A. Next",
    "instruction": "Print the next number.",
    "input": "",
    "output": "print(1)",
    "test_cases": PAIRS,
}


def packed(cases: object, protocol: int = 4) -> str:
    text = json.dumps(cases)
    return base64.b64encode(zlib.compress(pickle.dumps(text, protocol))).decode()


CASES = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]
MORE = [{"input": "2\n", "output": "3\n", "testtype": "stdin"}]
LIVE = {
    "question_title": "Next",
    "question_content": "Print the next number.",
    "platform": "atcoder",
    "question_id": "abc1_a",
    "starter_code": "",
    "public_test_cases": json.dumps(CASES),
    "private_test_cases": packed(MORE),
    "metadata": "{}",
}


def written(path: Path, *rows: Mapping[str, Any]) -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def tabled(path: Path, row: Mapping[str, Any]) -> Path:
    """A row as a table holds it: lists and objects are text."""
    cells = {n: v if isinstance(v, str) else json.dumps(v) for n, v in row.items()}
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, cells)
        table.writeheader()
        table.writerow(cells)
    return path


def in_parquet(path: Path, row: Mapping[str, Any]) -> Path:
    pytest.importorskip("pyarrow")
    from pyarrow import Table, parquet

    parquet.write_table(Table.from_pylist([dict(row)]), path)
    return path


WAYS: Mapping[str, Callable[[Path, Mapping[str, Any]], Path]] = {
    "rows.jsonl": written,
    "rows.jsonl.gz": written,
    "rows.csv": tabled,
    "rows.parquet": in_parquet,
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("row", [HUMANEVAL, HUMANEVAL_INSTRUCTION], ids=["hub", "instruction"])
def test_humaneval_in_every_shape(tmp_path: Path, name: str, row: Mapping[str, Any]) -> None:
    (sample,) = humaneval.load(WAYS[name](tmp_path / name, row))
    assert sample.id == "HumanEval/0"
    assert sample.fields == {n: HUMANEVAL[n] for n in sample.fields}
    assert isinstance(task_of(sample, PROMPT), FunctionTask)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(
    "row",
    [MBPP, SANITIZED, MBPP_INSTRUCTION, MBPP_TEXT],
    ids=["full", "sanitized", "instruction", "instruction-text"],
)
def test_mbpp_in_every_shape(tmp_path: Path, name: str, row: Mapping[str, Any]) -> None:
    if name == "rows.parquet" and row is SANITIZED:
        row = {**row, "test_imports": ["import math"]}  # an empty column has no type
    (sample,) = mbpp.load(WAYS[name](tmp_path / name, row))
    assert sample.id == "MBPP/11"
    assert (sample["text"], sample["entry_point"]) == (MBPP["text"], "area")
    assert (sample["code"], sample["test_list"]) == (MBPP["code"], ASSERTS)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv"])
@pytest.mark.parametrize(
    "row", [CONTEST, CONTEST_INSTRUCTION, RAW_CONTEST], ids=["hub", "instruction", "raw"]
)
def test_codecontests_in_every_shape(tmp_path: Path, name: str, row: Mapping[str, Any]) -> None:
    (sample,) = codecontests.load(WAYS[name](tmp_path / name, row))
    assert sample.id == "CodeContests/1_A._Next"
    assert sample["description"] == "Print the next number."
    assert sample["tests"] == [["1\n", "2\n"], ["2\n", "3\n"]]
    assert sample.fields.get("time_limit_seconds", 2) == 2


def test_a_plus_test_of_the_hub_is_its_inputs(tmp_path: Path) -> None:
    (sample,) = humaneval.load(written(tmp_path / "humanevalplus.jsonl", HUMANEVAL_PLUS))
    assert (sample["base_input"], sample["plus_input"]) == ([], CALLS)
    assert sample["atol"] == 1e-6
    (sample,) = mbpp.load(written(tmp_path / "mbppplus.jsonl", MBPP_PLUS))
    assert (sample["plus_input"], sample["atol"]) == (CALLS, 1e-6)
    assert (sample["entry_point"], sample["test_list"]) == ("area", ASSERTS)
    assert isinstance(task_of(sample, "def area(a, b): ..."), InputsTask)


@pytest.mark.parametrize("inputs", ["[make()]", "[[1]] * 3", "[1, 2]", "[[b'1']]", "[[1]"])
def test_a_plus_test_without_literal_inputs_stays_a_test(tmp_path: Path, inputs: str) -> None:
    test = f"def assertion(out, exp, atol):\n    assert out == exp\n\ninputs = {inputs}\n{CHECK}"
    (sample,) = humaneval.load(written(tmp_path / "a.jsonl", {**HUMANEVAL, "test": test}))
    assert sample["test"] == test
    if inputs == "[[1]":
        return
    row = {**SANITIZED, "task_id": 12, "test": f"{test}\ncheck(area)\n"}
    literal, other = mbpp.load(written(tmp_path / "b.jsonl", MBPP_PLUS, row))
    assert isinstance(task_of(literal, ""), InputsTask)
    judged = task_of(other, "")
    assert isinstance(judged, FunctionTask)
    assert "check(area)" in judged.test


def test_live_code_is_asked_where_it_reads_standard_input(tmp_path: Path) -> None:
    functional = [{"input": "[1]", "output": "2", "testtype": "functional"}]
    other = {**LIVE, "question_id": "3771", "public_test_cases": json.dumps(functional)}
    read = codecontests.load(written(tmp_path / "lcb.jsonl", LIVE, other), tests="all")
    (sample,) = read
    assert sample.id == "LiveCodeBench/abc1_a"
    task = task_of(sample, "")
    assert isinstance(task, StdioTask)
    assert [list(case) for case in task.cases] == [["1\n", "2\n"], ["2\n", "3\n"]]
    assert "1 problems left out: they ask for a function" in read.header.source
    assert read.header.licence == ""
    (public,) = codecontests.load(tmp_path / "lcb.jsonl", tests="public")
    assert public["tests"] == [["1\n", "2\n"]]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_packed_tests_are_read_whatever_pickled_them(protocol: int) -> None:
    assert cases_of(packed(MORE, protocol), "here") == MORE
    assert cases_of(json.dumps(MORE), "here") == MORE
    assert cases_of("", "here") == []


class Runs:
    """What a pickle that runs something holds."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('the pickle was run')",)


@pytest.mark.parametrize(
    ("held", "what"),
    [
        (Runs(), "does more than hold a text"),
        (["[]", Runs()], "does more than hold a text"),
        (["[]"], "does more than hold a text"),
        (5, "does more than hold a text"),
    ],
)
def test_a_pickle_is_never_run(held: object, what: str) -> None:
    data = base64.b64encode(zlib.compress(pickle.dumps(held))).decode()
    with pytest.raises(CkptbenchError, match=what) as caught:
        cases_of(data, "file:1, field 'private_test_cases'")
    assert caught.value.where == "file:1, field 'private_test_cases'"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("!!!", "neither JSON nor compressed"),
        (base64.b64encode(b"plain").decode(), "neither JSON nor compressed"),
        (base64.b64encode(zlib.compress(b"x" * 99)[:-9]).decode(), "cut off"),
        ('[{"input": 1, "output": "2"}]', "lacks input or output"),
        ('{"input": []}', "no list of test cases"),
        ("[", "is not JSON"),
        (7, "no list of test cases"),
    ],
)
def test_what_are_no_tests_is_named(value: Any, what: str) -> None:
    with pytest.raises(CkptbenchError, match=what):
        cases_of(value, "here")


def test_a_pickle_that_is_cut_off_is_named() -> None:
    with pytest.raises(CkptbenchError, match="no whole pickle"):
        pickled_text(pickle.dumps("a text")[:-4], "here")


def test_of_answers_to_one_problem_a_right_one_is_the_solution(tmp_path: Path) -> None:
    rows = [
        {**RAW_CONTEST, "task_id": f"1_A_{word}_{n}", "output": f"print({n})", "is_correct": right}
        for n, (word, right) in enumerate(
            [("incorrect", False), ("correct", True), ("correct", True)]
        )
    ]
    (sample,) = codecontests.load(written(tmp_path / "a.jsonl", *rows))
    assert (sample.id, sample["solution"]) == ("CodeContests/1_A", "print(1)")
    (sample,) = codecontests.load(written(tmp_path / "b.jsonl", rows[0]))
    assert "solution" not in sample.fields


def test_rows_for_training_say_where_the_tests_are(tmp_path: Path) -> None:
    row = {n: v for n, v in RAW_CONTEST.items() if n != "test_cases"}
    with pytest.raises(CkptbenchError, match="holds no tests") as caught:
        codecontests.load(written(tmp_path / "a.jsonl", {**row, "is_correct": True}))
    assert "test_eval.jsonl" in caught.value.remedy


@pytest.mark.parametrize(
    ("load", "shapes"),
    [
        (humaneval.load, code_shapes.HUMANEVAL),
        (mbpp.load, code_shapes.MBPP),
        (codecontests.load, code_shapes.CODECONTESTS),
    ],
)
def test_an_unknown_shape_names_what_was_looked_for(
    tmp_path: Path, load: Callable[..., object], shapes: tuple[Any, ...]
) -> None:
    path = written(tmp_path / "odd.jsonl", {"question": "2 + 2?", "answer": "4"})
    with pytest.raises(CkptbenchError, match="no known shape") as caught:
        load(path)
    assert caught.value.where == f"{path}:1"
    for shape in shapes:
        assert f"{', '.join(shape.needed)} ({shape.name})" in caught.value.remedy
    assert "The row holds: question, answer." in caught.value.remedy


def test_what_a_nearly_known_row_lacks_is_called_by_its_own_name(tmp_path: Path) -> None:
    row = {**HUMANEVAL_INSTRUCTION, "metadata": {"test": CHECK}}
    path = written(tmp_path / "a.jsonl", HUMANEVAL_INSTRUCTION, {**row, "task_id": "HumanEval/1"})
    with pytest.raises(CkptbenchError, match="is missing") as caught:
        humaneval.load(path)
    assert caught.value.where == f"{path}:2, field 'metadata.entry_point'"
    assert "instruction, input, output, task_id, metadata" in caught.value.remedy
    broken = {**HUMANEVAL_INSTRUCTION, "instruction": "Compute the area."}
    with pytest.raises(CkptbenchError) as caught:
        humaneval.load(written(path, broken))
    assert caught.value.where == f"{path}:1, field 'instruction'"


def test_metadata_may_be_stored_as_text(tmp_path: Path) -> None:
    row = {**MBPP_INSTRUCTION, "metadata": json.dumps(MBPP_INSTRUCTION["metadata"])}
    (sample,) = mbpp.load(written(tmp_path / "a.jsonl", row))
    assert sample["test_list"] == ASSERTS
    row = {**MBPP_INSTRUCTION, "metadata": repr(MBPP_INSTRUCTION["metadata"])}
    (sample,) = mbpp.load(written(tmp_path / "b.jsonl", row))
    assert sample["test_list"] == ASSERTS


def test_a_compressed_file_that_is_broken_is_one_message(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "a.json.gz", "a.csv.gz", "a.tsv.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(b"\n" * 50)[:-12])
        with pytest.raises(CkptbenchError, match="cannot be read") as caught:
            humaneval.load(path)
        assert caught.value.where == str(path)


def test_a_parquet_file_that_is_none_is_one_message(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(CkptbenchError, match="cannot be read"):
        mbpp.load(path)


def test_plus_datasets_of_the_hub_have_no_subsets(tmp_path: Path) -> None:
    """A local folder is read by the same library as the hub."""
    pytest.importorskip("datasets")
    for name, load, row in (
        ("humanevalplus", humaneval.load, HUMANEVAL_PLUS),
        ("mbppplus", mbpp.load, MBPP_PLUS),
    ):
        (tmp_path / name).mkdir()
        written(tmp_path / name / "test.jsonl", row)
        (sample,) = load(f"hub:{tmp_path / name}")
        assert sample["plus_input"] == CALLS
