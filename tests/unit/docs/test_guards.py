"""tests/README.md names tests that exist, and tests/mutation/survivors.md lines that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
TABLE = (TESTS / "README.md").read_text(encoding="utf-8").partition("## Guards\n")[2]
ROWS = re.findall(r"^\| (.+?) \| (.+) \|$", TABLE.partition("\n## ")[0], re.MULTILINE)[1:]
GUARDS = [(fault, guard) for fault, guards in ROWS for guard in guards.split(", ")]


def test_every_fault_has_a_guard() -> None:
    assert len(ROWS) >= 25
    assert {fault for fault, _ in GUARDS} == {fault for fault, _ in ROWS}


@pytest.mark.parametrize("guard", sorted({guard for _, guard in GUARDS}))
def test_a_guard_is_a_test_that_is_there(guard: str) -> None:
    file, _, name = guard.strip("`").partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_a_mutant_that_is_explained_is_of_a_line_that_is_there() -> None:
    file, explained = "", 0
    for line in (TESTS / "mutation/survivors.md").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"## `(.+)`", line):
            file = heading[1]
            source = (TESTS.parent / file).read_text(encoding="utf-8")
        if line.startswith("- "):
            entry = re.fullmatch(r"- `(.+?)` → `(.*?)`: .+\.", line)
            assert entry, line
            assert entry[1] in map(str.strip, source.splitlines()), f"{file}: {entry[1]}"
            assert entry[1] != entry[2]
            explained += 1
    assert explained
