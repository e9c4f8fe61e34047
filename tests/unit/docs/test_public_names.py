"""`ckptbench.__all__` is complete: whoever builds on the plugin imports nothing else of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import ckptbench

ROOT = Path(__file__).parents[3]
PYTHON = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "fixtures").rglob("*.py")]
PAGES = [*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")]
# The suite's own rooms beside the plugin, and the command that builds its data.
BESIDE = ("ckptbench.fixtures", "ckptbench.benchmarks")
BUILDS = "benchmarks/samples/build_samples.py"


def private_imports(code: str) -> Iterator[str]:
    """What a module imports of the plugin that is not public."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            private = package == "ckptbench" and rest and rest not in ckptbench.__all__
            if private and not name.startswith(BESIDE):
                yield name


def blocks(page: Path) -> list[str]:
    """The Python of a page, without doctests, which show how a figure of the page is computed."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```python[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for block in found if not block.startswith(">>>")]


def test_the_suite_imports_public_names_only() -> None:
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in PYTHON
        for name in private_imports(file.read_text(encoding="utf-8"))
    }
    assert {each for each in found if not each.startswith(BUILDS)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documents_import_public_names_only(page: Path) -> None:
    for code in blocks(page):
        assert list(private_imports(code)) == []
        assert not re.search(r"ckptbench\.(fixtures|benchmarks)\b", code)


def test_there_are_blocks_to_look_at() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 5


def test_every_public_name_exists_and_is_listed_once() -> None:
    assert len(set(ckptbench.__all__)) == len(ckptbench.__all__)
    for name in ckptbench.__all__:
        assert getattr(ckptbench, name) is not None


def test_every_public_name_is_explained() -> None:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    table = page.partition("\n|---|---|\n")[2].partition("##")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(ckptbench.__all__)


def test_names_for_types_are_those_that_are_loaded_late() -> None:
    tree = ast.parse(Path(ckptbench.__file__).read_text(encoding="utf-8"))
    (typing,) = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        alias.name: f".{node.module}"
        for node in ast.walk(typing)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == ckptbench._MODULE_OF


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sample'"):
        _ = ckptbench.sample


def test_every_hook_is_documented_with_an_example() -> None:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    tree = ast.parse((ROOT / "plugin/hookspec.py").read_text(encoding="utf-8"))
    hooks = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(hooks) == 7
    for hook in hooks:
        text = ast.get_docstring(hook) or ""
        assert f"`{hook.name}`" in page
        assert "Called" in text
        example = ast.parse(dedent(text.partition("::\n")[2])).body
        assert [node.name for node in example if isinstance(node, ast.FunctionDef)] == [hook.name]
