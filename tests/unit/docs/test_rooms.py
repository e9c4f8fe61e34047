"""The rooms of docs/architecture.md have an order, and imports only point down.

Imports inside functions and for types count too: what a module must know of, it must know of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLUGIN = [
    "_util",
    "scores",
    "gate",
    "config",
    "api",
    "results",
    "analysis",
    "readers",
    "checkpoints",
    "reports",
    "runs",
    "tracking",
    "session",
    "watch",
    "cli",
    "hookspec",
    "hooks",
]
FIXTURES = [
    "text",
    "checkpoints",
    "engines",
    "endpoints",
    "sandbox",
    "cluster",
    "datasets",
    "lm_eval",
    "plugin",
]
ORDER = {"plugin": PLUGIN, "fixtures": FIXTURES}
PACKAGE = {"plugin": "ckptbench", "fixtures": "ckptbench.fixtures"}
# The public names stand above everything, and only what comes from outside goes through them.
DOOR = "__init__"
MODULE_LINES, FUNCTION_LINES = 400, 60
# Folders of tests/unit that are not named after a room: of `benchmarks/`, and of the documents.
OTHER_TESTS = {"benchmarks", "docs"}


def room_of(file: Path, tree: str) -> str:
    """The room that a file is of."""
    first = file.relative_to(ROOT / tree).parts[0]
    return first.removesuffix(".py")


def imported(file: Path, tree: str) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a file imports."""
    package = [*PACKAGE[tree].split("."), *file.relative_to(ROOT / tree).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def target_of(name: str, tree: str) -> str | None:
    """The room of a tree that an imported name lies in; None for one outside of it."""
    package = PACKAGE[tree]
    if tree == "plugin" and name.startswith(("ckptbench.fixtures", "ckptbench.benchmarks")):
        return None
    if not name.startswith(f"{package}."):
        return None
    first = name.removeprefix(f"{package}.").partition(".")[0]
    known = (ROOT / tree / first).is_dir() or (ROOT / tree / f"{first}.py").is_file()
    return first if known else DOOR


@pytest.mark.parametrize("tree", ORDER)
def test_every_room_has_a_place_in_the_order(tree: str) -> None:
    found = {room_of(file, tree) for file in (ROOT / tree).rglob("*.py")} - {DOOR}
    assert found == set(ORDER[tree])


@pytest.mark.parametrize("tree", ORDER)
def test_imports_point_down(tree: str) -> None:
    height = {room: number for number, room in enumerate([*ORDER[tree], DOOR])}
    upward = []
    for file in sorted((ROOT / tree).rglob("*.py")):
        own = room_of(file, tree)
        for line, name in imported(file, tree):
            room = target_of(name, tree)
            if room is not None and height[room] > height[own]:
                upward.append(f"{file.relative_to(ROOT)}:{line} ({own}) imports {name} ({room})")
    assert not upward, "\n".join(upward)


def test_the_root_of_the_plugin_holds_the_public_names_and_the_hooks() -> None:
    assert {file.name for file in (ROOT / "plugin").glob("*.py")} == {
        "__init__.py",
        "hookspec.py",
        "hooks.py",
    }


@pytest.mark.parametrize("tree", ORDER)
def test_every_room_says_what_it_is(tree: str) -> None:
    for room in ORDER[tree]:
        front = ROOT / tree / room / "__init__.py"
        if front.parent.is_dir():
            assert ast.get_docstring(ast.parse(front.read_text(encoding="utf-8"))), front


def test_unit_tests_are_in_folders_named_after_rooms() -> None:
    files = [file.relative_to(ROOT / "tests/unit") for file in ROOT.glob("tests/unit/**/*.py")]
    assert {file.parts[0] for file in files if len(file.parts) == 1} == {"conftest.py"}
    folders = {file.parts[0] for file in files if len(file.parts) > 1}
    assert folders <= {*PLUGIN, *FIXTURES, *OTHER_TESTS}, folders
    names = [file.name for file in files if file.name != "conftest.py"]
    assert len(set(names)) == len(names), sorted(names)


@pytest.mark.parametrize("tree", ORDER)
def test_packages_are_the_folders(tree: str) -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(settings["tool"]["setuptools"]["packages"])
    folders = {file.parent for file in (ROOT / tree).rglob("*.py")}
    package = PACKAGE[tree]
    names = {".".join([package, *folder.relative_to(ROOT / tree).parts]) for folder in folders}
    others = {"fixtures", "benchmarks", "configs"} if tree == "plugin" else set()
    mine = {
        name
        for name in listed
        if (name == package or name.startswith(f"{package}."))
        and not any(name.startswith(f"{package}.{other}") for other in others)
    }
    assert mine == names


@pytest.mark.parametrize("tree", ORDER)
def test_modules_and_functions_stay_small(tree: str) -> None:
    large = []
    for file in sorted((ROOT / tree).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if (lines := text.count("\n")) > MODULE_LINES:
            large.append(f"{file.relative_to(ROOT)}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    large.append(f"{file.relative_to(ROOT)}: {node.name} has {lines} lines")
    assert not large, "\n".join(large)


def modules_of(tree: str) -> dict[str, Path]:
    """The modules of a tree by name."""
    found = {}
    for file in (ROOT / tree).rglob("*.py"):
        parts = file.relative_to(ROOT / tree).with_suffix("").parts
        name = ".".join([PACKAGE[tree], *(part for part in parts if part != "__init__")])
        found[name] = file
    return found


@pytest.mark.parametrize("tree", ORDER)
def test_no_modules_import_each_other_in_a_circle(tree: str) -> None:
    modules = modules_of(tree)
    waits: dict[str, set[str]] = {}
    for module, file in modules.items():
        names = {name for _, name in imported(file, tree)}
        targets = {n if n in modules else n.rpartition(".")[0] for n in names}
        waits[module] = (targets & modules.keys()) - {module, PACKAGE[tree]}
    # Leave out what imports nothing that is left, again and again: a circle is what stays.
    while free := {module for module, targets in waits.items() if not targets & waits.keys()}:
        waits = {module: targets for module, targets in waits.items() if module not in free}
    assert not waits, sorted(waits)
