"""Files that a release is made of say the same."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]


def test_the_version_is_one() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert settings["project"]["version"] == cited["version"] == version("ckptbench")


def test_the_checks_before_a_commit_are_those_of_the_gate() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]]
    assert {"make types"} <= {*entries}
    assert [entry for entry in entries if "ruff check" in entry]
    assert [entry for entry in entries if "ruff format" in entry]
    assert [entry for entry in entries if "codespell" in entry]


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))
    return found


def test_a_fork_is_tested_with_the_oldest_and_the_newest() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    matrix = workflow("tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert settings["requires-python"] == f">={matrix['python'][0]}"
    assert f"pytest>={matrix['pytest'][0]}" in settings["dependencies"]
    assert {row["pytest"] for row in matrix["include"]} == {*matrix["pytest"]}


@pytest.mark.parametrize(
    "file", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda file: file.name
)
def test_workflows_run_what_is_there(file: Path) -> None:
    content = workflow(file.name)
    assert content["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for job in content["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for command in (step["run"] for step in job["steps"] if "run" in step):
            assert set(re.findall(r"^make ([a-z-]+)", command, re.MULTILINE)) <= targets
            wanted = {
                e for group in re.findall(r"\.\[([a-z,-]+)\]", command) for e in group.split(",")
            }
            assert wanted <= extras["optional-dependencies"].keys()


def test_all_is_every_extra_of_a_user_but_the_one_that_conflicts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.removeprefix("ckptbench[").removesuffix("]").split(",")
    assert set(named) == set(extras) - {"all", "dev", "docs", "math"}
