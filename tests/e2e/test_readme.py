"""Every command of README.md is run, and what it shows is what they print.

Those of `make` run in a folder like a fresh clone, and all others in one shell, in the order of the
page, in a folder of somebody who has installed the wheel. What they need is made first:

| in README.md | here |
|---|---|
| `pip install '.[all]'` | the wheel in an environment with all packages of this one |
| `runs/x/checkpoint-655`, `runs/x/checkpoint-700` | copies of the newest demo checkpoint |
| `my_texts.txt` | the first passages that the shipped samples were made of |
| all samples and protocols | 40 samples; not `real/origin`, whose analyser takes long to load |
| `make bench` | as it is; `.venv` is the environment of these tests |
| `make test` | some of the tests only: this file is one of the others |
"""

from __future__ import annotations

import re
import shutil
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
REPLACED = {"make test": "make test ARGS='-p no:cacheprovider tests/unit/scores'"}
INI = "[pytest]\nckpt_limit = 40\naddopts = -k 'not origin'\n"
# What differs from one run to the next.
TIMES = re.compile(r"\d+(\.\d+)? ?s\b|\d+ answers computed|\d+ reused|\d{8}_\d{6}_\d+")
PROBABILITIES = re.compile(
    r"\d+\.\d\d%"
)  # of a model's answers, which processors round differently


def blocks(language: str, page: str = "README.md") -> list[str]:
    """The fenced blocks of a language."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shown(line: str) -> str:
    """A line without what differs from one run to the next."""
    line = TIMES.sub("~", line.rstrip())
    return PROBABILITIES.sub("~", line) if line.startswith("    expected ") else line


@pytest.fixture
def readers_folder(tmp_path: Path, make_elsewhere: Any) -> Any:
    """A folder with what the tour takes for granted."""
    workspace = make_elsewhere(tmp_path)
    demo = REPOSITORY / "benchmarks/demo/demo-mlm"
    newest = max(demo.glob("checkpoint-*"), key=lambda c: int(c.name.partition("-")[2]))
    for name in ("checkpoint-655", "checkpoint-700"):
        shutil.copytree(newest, workspace.path / "runs/x" / name)
    passages = (REPOSITORY / "benchmarks/samples/passages_ko.txt").read_text(encoding="utf-8")
    (workspace.path / "my_texts.txt").write_text(
        "".join(passages.splitlines(keepends=True)[:20]), encoding="utf-8"
    )
    (workspace.path / "pytest.ini").write_text(INI)
    return workspace


@pytest.mark.slow
def test_the_commands_of_a_clone_run(shared_workspace: Any) -> None:
    commands = blocks("shell")[0]
    for written, run in REPLACED.items():
        assert f"\n{written}\n" in f"\n{commands}"
        commands = commands.replace(f"{written}\n", f"{run}\n")
    output = shared_workspace.run(f"set -x\n{commands}").expect(0)
    assert "identical: 3 metrics compared with benchmarks/baselines/demo-mlm.json" in output
    for metric in ("pass@1", "pass@5"):
        (value,) = re.findall(rf"^ +{metric} +(\d+\.\d+)%", output, re.MULTILINE)
        assert 0 < float(value) < 100


@pytest.mark.slow
def test_every_other_command_runs_where_the_wheel_is_installed(readers_folder: Any) -> None:
    install, *rest = blocks("shell")[1:]
    assert install == "pip install '.[all]'\n"
    assert "all" in metadata("ckptbench").get_all("Provides-Extra", [])
    commands = "".join(rest)
    assert "make " not in commands
    output = readers_folder.run(f"set -x\n{commands}").expect(0)
    assert "best.json was written" in output
    assert "identical: 3 metrics compared with best.json" in output
    assert '"checkpoint": "checkpoint-700"' in output


@pytest.mark.slow
def test_what_the_readme_shows_is_what_is_printed(workspace: Any) -> None:
    (block,) = blocks("console")
    command, *lines = block.removeprefix("$ ").splitlines()
    printed = [shown(line) for line in workspace.run(command).expect(1).splitlines()]
    excerpt = [shown(line) for line in lines if line != "..."]
    assert len(excerpt) >= 10
    rest = iter(printed)
    for line in excerpt:
        assert line in rest, f"not printed, or not in this order: {line}\n" + "\n".join(printed)


def test_the_korean_readme_has_no_other_commands() -> None:
    english = {line for block in blocks("shell") for line in block.splitlines()}
    korean = {line for block in blocks("shell", "README.ko.md") for line in block.splitlines()}
    comments = {line for line in korean if line.startswith("#")}
    assert korean - comments
    assert korean - comments <= english
