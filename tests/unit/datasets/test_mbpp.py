"""MBPP's tasks: splits, examples for few-shot prompts, entry points, and flaws named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets.code import mbpp
from ckptbench.fixtures.datasets.code.protocols import canonical_program, task_of
from ckptbench.fixtures.sandbox.tasks import FunctionTask, InputsTask


def task(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": number,
        "text": f"Write a function to add {number}.",
        "code": f"def add(a):\r\n  return a + {number}",
        "test_list": [f"assert add(1) == {number + 1}"],
        "test_setup_code": "",
        **changes,
    }


def written(path: Path, *rows: dict[str, Any]) -> Path:
    if path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_the_test_split_is_the_ids_11_to_510(tmp_path: Path) -> None:
    path = written(tmp_path / "mbpp.jsonl", *map(task, (1, 2, 10, 11, 510, 511, 601)))
    loaded = mbpp.load(path)
    assert [sample.id for sample in loaded] == ["MBPP/11", "MBPP/510"]
    assert (loaded.header.name, loaded.header.licence) == ("mbpp-test", "CC-BY-4.0")
    assert [sample.id for sample in mbpp.load(path, split="validation")] == ["MBPP/511"]
    assert len(mbpp.load(path, split="all")) == 7


def test_what_a_file_of_ones_own_has_outside_the_split_is_noted(tmp_path: Path) -> None:
    own = mbpp.load(written(tmp_path / "own.jsonl", *map(task, (*range(1, 21), 600))))
    assert len(own) == 10
    (note,) = own.notes
    assert note.startswith("11 of 21 tasks are left out: they are not of the ids 11 to 510")
    inside = mbpp.load(written(tmp_path / "inside.jsonl", *map(task, (11, 12))))
    published = mbpp.load(written(tmp_path / "mbpp.jsonl", *map(task, range(1, 975))))
    assert (len(inside), len(published)) == (2, 500)
    assert not any(getattr(file, "notes", ()) for file in (inside, published))


def test_a_sample_holds_the_task_with_line_feeds(tmp_path: Path) -> None:
    row = task(11, test_setup_code="import math")
    (sample,) = mbpp.load(written(tmp_path / "mbpp.jsonl", row))
    assert sample.fields == {
        "text": "Write a function to add 11.",
        "code": "def add(a):\n  return a + 11",
        "entry_point": "add",
        "test_list": ["assert add(1) == 12"],
        "test_setup_code": "import math",
    }


def test_tasks_2_3_and_4_are_the_examples(tmp_path: Path) -> None:
    (sample,) = mbpp.load(written(tmp_path / "mbpp.jsonl", *map(task, (2, 3, 4, 5, 11))))
    assert [shot[0] for shot in sample["shots"]] == [
        f"Write a function to add {number}." for number in (2, 3, 4)
    ]
    assert sample["shots"][0] == [
        "Write a function to add 2.",
        ["assert add(1) == 3"],
        "def add(a):\n  return a + 2",
    ]


def test_the_sanitized_array_says_prompt_and_imports(tmp_path: Path) -> None:
    row = task(11, prompt="Add eleven.", test_imports=["import math", "import re"])
    del row["text"], row["test_setup_code"]
    (sample,) = mbpp.load(written(tmp_path / "sanitized-mbpp.json", row))
    assert sample["text"] == "Add eleven."
    assert sample["test_setup_code"] == "import math\nimport re"


def test_a_task_is_tested_by_its_setup_and_asserts(tmp_path: Path) -> None:
    row = task(11, test_setup_code="start = 1", test_list=["assert add(start) == 12", "assert add"])
    (sample,) = mbpp.load(written(tmp_path / "mbpp.jsonl", row))
    test = "start = 1\nassert add(start) == 12\nassert add"
    assert task_of(sample, "x") == FunctionTask("MBPP/11", "x", test, "add")
    assert canonical_program(sample) == "def add(a):\n  return a + 11"


PLUS = {
    "task_id": "Mbpp/2",
    "prompt": "'''\nWrite a function to join two pairs.\n'''",
    "entry_point": "join",
    "canonical_solution": "\ndef join(a, b):\n  return a + b\n",
    "base_input": [[[1, 2], [3, 4]]],
    "plus_input": [[[5], [6]]],
    "atol": 0,
    "contract": "",
    "assertion": "\nassert join((1, 2), (3, 4)) == (1, 2, 3, 4)\n",
}


def test_mbpp_plus_keeps_all_tasks_and_their_python_types(tmp_path: Path) -> None:
    loaded = mbpp.load(written(tmp_path / "MbppPlus.jsonl", PLUS))
    (sample,) = loaded
    assert sample.id == "MBPP/2"
    assert sample["text"] == "Write a function to join two pairs."
    assert sample["test_list"] == ["assert join((1, 2), (3, 4)) == (1, 2, 3, 4)"]
    assert "shots" not in sample.fields
    made = task_of(sample, "x")
    assert isinstance(made, InputsTask)
    assert [list(call) for call in made.inputs] == [[(1, 2), (3, 4)], [(5,), (6,)]]


def test_a_later_mbpp_plus_shows_an_assert_in_the_prompt(tmp_path: Path) -> None:
    row = {name: value for name, value in PLUS.items() if name != "assertion"}
    row["prompt"] = '"""\nJoin two pairs.\nassert join((1, 2), (3, 4)) == (1, 2, 3, 4)\n"""\n'
    (sample,) = mbpp.load(written(tmp_path / "MbppPlus.jsonl", row))
    assert sample["text"] == "Join two pairs."
    assert sample["test_list"] == ["assert join((1, 2), (3, 4)) == (1, 2, 3, 4)"]


def test_infinities_among_the_inputs_are_numbers(tmp_path: Path) -> None:
    row = {**PLUS, "plus_input": [[[float("-inf")], [float("inf")]]]}
    (sample,) = mbpp.load(written(tmp_path / "MbppPlus.jsonl", row))
    made = task_of(sample, "x")
    assert isinstance(made, InputsTask)
    assert list(made.inputs[1]) == [(float("-inf"),), (float("inf"),)]


@pytest.mark.parametrize(
    ("changes", "field", "what"),
    [
        ({"test_list": "assert add(1)"}, "test_list", "expected a list of strings, found str"),
        ({"test_list": ["assert sub(1) == 2"]}, "test_list", "call no function"),
        ({"code": 3}, "code", "expected a string, found int"),
        ({"task_id": "eleven"}, "task_id", "expected a whole number"),
        ({"task_id": 11}, "task_id", "is the id of"),
    ],
)
def test_a_flaw_is_named_with_file_line_and_field(
    tmp_path: Path, changes: dict[str, Any], field: str, what: str
) -> None:
    path = written(tmp_path / "mbpp.jsonl", task(11), task(12, **changes))
    with pytest.raises(CkptbenchError) as caught:
        mbpp.load(path)
    assert what in caught.value.what
    assert caught.value.where == f"{path}:2, field {field!r}"


def test_a_split_without_tasks_says_which_ids_it_has(tmp_path: Path) -> None:
    path = written(tmp_path / "mbpp.jsonl", task(1))
    with pytest.raises(CkptbenchError, match="holds no problems") as caught:
        mbpp.load(path)
    assert "ids 11 to 510" in caught.value.where


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("CKPTBENCH_DATA")
    if not folder:
        pytest.skip("CKPTBENCH_DATA does not name a folder with the public datasets")
    return Path(folder)


def test_the_published_test_split_holds_500_tasks(data: Path) -> None:
    loaded = mbpp.load(data / "mbpp/mbpp.jsonl")
    assert [sample.id for sample in loaded] == [f"MBPP/{n}" for n in range(11, 511)]
    assert all(len(sample["shots"]) == 3 for sample in loaded)


def test_the_published_sanitized_file_holds_427_tasks(data: Path) -> None:
    path = data / "mbpp/sanitized-mbpp.json"
    assert len(mbpp.load(path, split="all")) == 427
    assert len(mbpp.load(path)) == 257


def test_mbpp_plus_names_the_entry_points_that_we_find(data: Path) -> None:
    """It renamed 15 functions; where the plain tests call its name, that is the entry point."""
    plain = {sample.id: sample for sample in mbpp.load(data / "mbpp/mbpp.jsonl", split="all")}
    plus = mbpp.load(data / "mbpp_plus/MbppPlus.jsonl")
    shared = [s for s in plus if f"{s['entry_point']}(" in "".join(plain[s.id]["test_list"])]
    assert (len(plus), len(shared)) == (399, 384)
    assert [s.id for s in shared if plain[s.id]["entry_point"] != s["entry_point"]] == []
