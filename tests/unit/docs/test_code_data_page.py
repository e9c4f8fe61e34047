"""docs/code-data.md: its table is the table of shapes, and its rows are read."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ckptbench.cli import main
from ckptbench.config.data_folder import find_data
from ckptbench.fixtures.datasets import lambada
from ckptbench.fixtures.datasets.code import codecontests, humaneval, mbpp
from ckptbench.fixtures.datasets.code import shapes as code_shapes
from ckptbench.fixtures.datasets.code.protocols import canonical_program

PAGE = (Path(__file__).parents[3] / "docs/code-data.md").read_text(encoding="utf-8")
SHAPES = {
    "HumanEval": code_shapes.HUMANEVAL,
    "MBPP": code_shapes.MBPP,
    "CodeContests": code_shapes.CODECONTESTS,
    "Ko-LAMBADA": lambada.ROW_SHAPES,
}


def test_the_table_lists_every_shape_and_what_it_needs() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| ([^|]+) \| (.+) \|$", PAGE, re.MULTILINE)
    told = {(d, name): re.findall(r"`([^`]+)`", needs) for d, name, needs in rows[1:]}
    assert set(told) == {(d, shape.name) for d, shapes in SHAPES.items() for shape in shapes}
    for dataset, shapes in SHAPES.items():
        for shape in shapes:
            names = [name.replace("\\|", "|") for name in told[dataset, shape.name]]
            if (dataset, shape.name) == ("CodeContests", "instruction rows"):
                assert names[:2] == list(shape.needed[:2])
            else:
                assert names == list(shape.needed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of datasets that the page shows."""
    files = re.findall(r'^```json title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_rows_of_the_page_are_found_and_read(folder: Path) -> None:
    found = find_data(folder)
    assert found.keys() == {"humaneval", "mbpp", "codecontests"}
    for name, module in (("humaneval", humaneval), ("mbpp", mbpp), ("codecontests", codecontests)):
        (sample,) = module.load(found[name])  # type: ignore[attr-defined]
        assert canonical_program(sample) or name == "codecontests"


@pytest.mark.sandbox
@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's")
def test_the_commands_of_the_page_judge(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = "```python\\ndef area(a, b):\\n    return a * b\\n```\\n"
    (folder / "answers.jsonl").write_text(
        f'{{"task_id": "HumanEval/0", "completion": "{answer}"}}\n'
    )
    (folder / "storage").mkdir()
    (folder / "storage/datasets").symlink_to(folder)
    monkeypatch.chdir(folder)
    plain, extracted = re.findall(r"^ckptbench (judge .*)$", PAGE, re.MULTILINE)
    assert main(plain.split()) == 0
    printed = capsys.readouterr().out
    assert "pass@1  0.00%" in printed
    assert extracted.split()[-1].replace("=", " ") in printed
    assert main(extracted.split()) == 0
    assert "pass@1  100.00%" in capsys.readouterr().out
