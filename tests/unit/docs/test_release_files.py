"""Files that a release is made of say the same."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

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
