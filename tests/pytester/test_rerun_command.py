"""The command that runs one sample again, from the folder where the run was started."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

TEXTS = [f"right {i:02}" for i in range(40)]


def lost_commands(result: pytest.RunResult) -> list[list[str]]:
    lines = (line.strip() for line in result.outlines)
    return [shlex.split(line.partition("lost")[2]) for line in lines if line.startswith("lost  ")]


def check_again(project: Any, *where: str) -> list[str]:
    """Run with a baseline, paste the first command that is printed; its arguments."""
    assert project.run(*where, "--baseline=b.json", "--update-baseline").ret == 0
    with project.spoiled(*TEXTS[:20]):
        result = project.run(*where, "--baseline=b.json", "--limit", "30", "-v")
        pytest_, *arguments = lost_commands(result)[0]
        assert pytest_ == "pytest"
        again = project.run("-v", *arguments)
    assert list(project.ran(again).values()) == ["MISSED"]
    return list(arguments)


def test_from_a_folder_beside_the_tests(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(TEXTS)
    away = project.path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    path, *options = check_again(project, "../test_bench.py")
    assert path.startswith("../test_bench.py::test_word[")
    assert options == ["--limit=30"]


def test_from_the_root_folder_it_is_the_items_name(project: Any) -> None:
    project.write(TEXTS, by_hand="")
    path, *_ = check_again(project)
    assert path.startswith("test_bench.py::")
    assert project.summary["rerun_paths"] == {}


@pytest.mark.parametrize("argument", ["suite_of_words", "suite_of_words.test_bench"])
def test_with_pyargs_it_names_the_module(
    project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, argument: str
) -> None:
    project.write(TEXTS, by_hand="")
    package = tmp_path / "lib" / "suite_of_words"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("conftest.py", "test_bench.py"):
        (project.path / name).rename(package / name)
    monkeypatch.syspath_prepend(package.parent)
    path, *options = check_again(project, "--pyargs", argument)
    assert path.startswith("suite_of_words.test_bench::test_word[")
    assert options == ["--pyargs", "--limit=30"]
