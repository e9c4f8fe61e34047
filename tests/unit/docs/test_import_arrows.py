"""The arrows of docs/architecture.md: who imports whom, and when.

What is loaded in the end is looked at by `tests/pytester/test_imports.py`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HEAVY = frozenset({"torch", "transformers", "tokenizers", "datasets", "kiwipiepy", "safetensors"})
# The suite's own data (samples, demo checkpoints) is looked up where the suite lies.
LOOKS_UP_DATA = frozenset({"fixtures/checkpoints/resolve.py"})


@dataclass(frozen=True)
class Import:
    """One import.

    Attributes:
        module: absolute name.
        lazy: whether it stands in a function, and so runs when that is called.
    """

    file: str
    line: int
    module: str
    lazy: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def package_of(file: Path) -> str:
    """The package a file's relative imports start from."""
    folder = file.relative_to(ROOT).parent.parts
    rooms = {"plugin": ("ckptbench",)}
    return ".".join(rooms.get(folder[0], ("ckptbench", folder[0])) + folder[1:])


def imports_of(file: Path) -> Iterator[Import]:
    """Every import of a file that happens at run time, also those inside functions."""
    name = str(file.relative_to(ROOT))

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(name, child.lineno, alias.name, lazy)
            elif isinstance(child, ast.ImportFrom):
                above = package_of(file).split(".")
                base = above[: len(above) - child.level + 1] if child.level else []
                module = ".".join(filter(None, [*base, child.module or ""]))
                for alias in child.names:
                    yield Import(name, child.lineno, f"{module}.{alias.name}", lazy)
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, lazy or inside)

    yield from walk(ast.parse(file.read_text(encoding="utf-8")), lazy=False)


def imports_in(folder: str) -> list[Import]:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"{folder} holds no module"
    return [found for file in files for found in imports_of(file)]


def told(found: list[Import]) -> str:
    return "\n".join(map(str, found))


def test_the_plugin_imports_no_library_of_models_or_data() -> None:
    found = [i for i in imports_in("plugin") if i.top in HEAVY]
    assert not found, told(found)


def test_the_plugin_imports_the_fixtures_only_inside_the_commands() -> None:
    above = ("ckptbench.fixtures", "ckptbench.benchmarks")
    found = [i for i in imports_in("plugin") if i.module.startswith(above)]
    wrong = [i for i in found if not (i.file.startswith("plugin/cli/") and i.lazy)]
    assert found
    assert not wrong, told(wrong)


def test_the_fixtures_import_heavy_libraries_where_they_use_them() -> None:
    found = [i for i in imports_in("fixtures") if i.top in HEAVY]
    eager = [i for i in found if not i.lazy]
    assert found
    assert not eager, told(eager)


def test_the_fixtures_do_not_import_the_benchmarks() -> None:
    above = "ckptbench.benchmarks"
    found = [i for i in imports_in("fixtures") if i.module.startswith(above)]
    wrong = [i for i in found if i.file not in LOOKS_UP_DATA]
    assert not wrong, told(wrong)


def test_a_benchmark_uses_public_names_of_the_plugin_only() -> None:
    modules = [i for i in imports_in("benchmarks") if "/test_" in i.file and i.top == "ckptbench"]
    fixtures = "ckptbench.fixtures."
    public = {f"ckptbench.{name}" for name in __import__("ckptbench").__all__}
    allowed = public | {"ckptbench.config.options.Options"}
    wrong = [i for i in modules if not i.module.startswith(fixtures) and i.module not in allowed]
    assert modules
    assert not wrong, told(wrong)


SCRIPTS = [*ROOT.glob("tests/bench/*.py"), *ROOT.glob("benchmarks/*/*.py")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_what_a_script_imports_of_the_package_is_there(script: Path) -> None:
    """Nothing else runs most of them."""
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ckptbench"):
            module = importlib.import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), name
