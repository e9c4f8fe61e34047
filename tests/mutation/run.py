"""Mutants of the rooms whose faults would be wrong numbers: which of them no unit test notices.

    python tests/mutation/run.py [ROOM ...] [--sample 60] [--seed 1] [--jobs 2]

cosmic-ray makes the mutants. For each the room's own fast tests run, in a copy of the tree and in
a process that is forked when the libraries are loaded. Of a room, places are drawn, and one mutant
of each. Annotations, decorators of dataclasses, what is raised, f-strings and lines with `# pragma`
are left out, and so are comparisons by identity instead of equality. So are, as the program does
the same with and without them: caches of functions, which save time, and `strict` of `zip`, which
only raises, and only where lengths that are equal by construction were not. What `survivors.md`
explains counts as equivalent.

Exits with 1 when a room is below 85% of the mutants that are not equivalent.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB

ROOT = Path(__file__).parents[2]
WANTED = 0.85
CPU_S, TIMEOUT_S = 20, 300
# `x == 1` and `x is 1`, `x is None` and `x == None`: the same for what is compared here.
SAME = re.compile(r"_(Eq_Is|Is_Eq|NotEq_IsNot|IsNot_NotEq)$")


@dataclass(frozen=True)
class Room:
    """The files that are mutated, the functions and classes of a file, and what pytest gets."""

    files: dict[str, tuple[str, ...]]
    tests: tuple[str, ...]


def _all(*patterns: str) -> dict[str, tuple[str, ...]]:
    found = (file for pattern in patterns for file in sorted(ROOT.glob(pattern)))
    return {str(file.relative_to(ROOT)): () for file in found if file.name != "__init__.py"}


ROOMS = {
    "scores": Room(
        _all("plugin/scores/*.py"),
        ("tests/unit/scores", "--ignore=tests/unit/scores/test_interval_coverage.py"),
    ),
    "gate": Room(
        _all("plugin/gate/*.py"),
        (
            "tests/unit/gate",
            "--ignore=tests/unit/gate/test_gate_by_simulation.py",
            "-k=not false_alarms and not planned_the_drop and not flipped_at_random",
        ),
    ),
    "results": Room(
        _all(
            *(
                f"plugin/results/{name}.py"
                for name in ("answers", "earlier", "integrity", "outcome", "store", "stored_run")
            )
        ),
        ("tests/unit/results", "-k=not any_bytes and not any_damage and not environment"),
    ),
    "extraction": Room(
        _all("fixtures/datasets/code/extraction.py", "fixtures/datasets/code/statements.py"),
        (
            *_all("tests/unit/datasets/test_code_extraction*.py"),
            "tests/unit/datasets/test_code_statements.py",
            "-k=not no_answer_raises",
        ),
    ),
    "limits": Room(
        {
            "fixtures/sandbox/zygote.py": ("_confine", "_rlimits"),
            "fixtures/sandbox/referee.py": ("_confine",),
            "fixtures/sandbox/supervisor.py": (
                *("Ending", "Stopwatch", "Clock", "Limits", "Watch"),
                *("waited_s", "threads_of", "overfull", "_nameless_bytes"),
            ),
        },
        (
            "tests/unit/sandbox/test_sandbox_limits.py",
            "tests/unit/sandbox/test_sandbox_carried_over.py",
            "-k=not carried_over or memory_is_counted",
        ),
    ),
}


@dataclass(frozen=True)
class Mutant:
    file: str
    operator: str
    occurrence: int
    start: tuple[int, int]
    end: tuple[int, int]


Span = tuple[tuple[int, int], tuple[int, int]]


def _span(node: ast.AST) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _left_out(tree: ast.AST) -> Iterator[Span]:
    for node in ast.walk(tree):
        types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for decorator in getattr(node, "decorator_list", ()):
            if re.search(r"'(dataclass|lru_cache|cache)'", ast.dump(decorator)):
                yield (decorator.lineno, 0), (decorator.end_lineno + 1, 0)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
            yield from (_span(given.value) for given in node.keywords)
        if types or isinstance(node, ast.Raise | ast.JoinedStr):
            yield _span(node)
        for field in ("annotation", "returns"):
            if isinstance(getattr(node, field, None), ast.AST):
                yield _span(getattr(node, field))


def mutants_of(file: str, names: tuple[str, ...]) -> list[Mutant]:
    """The mutants of a file, of the functions and classes named if any are."""
    text = (ROOT / file).read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    skipped = list(_left_out(tree))
    kept = [_span(node) for node in ast.walk(tree) if getattr(node, "name", None) in names]
    made = WorkDB(":memory:", WorkDB.Mode.create)
    init([Path(file)], made, {})
    found = []
    for item in made.work_items:
        one = item.mutations[0]
        start, end = tuple(one.start_pos), tuple(one.end_pos)
        inside = [any(a <= start and end <= b for a, b in spans) for spans in (skipped, kept)]
        if inside[0] or (names and not inside[1]) or SAME.search(one.operator_name):
            continue
        if "# pragma" not in lines[start[0] - 1]:
            found.append(Mutant(file, one.operator_name, one.occurrence, start, end))
    return found


def sample_of(room: Room, size: int, seed: int) -> list[Mutant]:
    """One mutant of each of so many places, drawn; all of each place when `size` is 0."""
    places: dict[tuple[str, tuple[int, int], tuple[int, int]], list[Mutant]] = {}
    for file, names in room.files.items():
        for mutant in mutants_of(file, names):
            places.setdefault((file, mutant.start, mutant.end), []).append(mutant)
    draw = random.Random(seed)
    if not size:
        return [mutant for place in places.values() for mutant in place]
    chosen = draw.sample(sorted(places), min(size, len(places)))
    return [draw.choice(places[place]) for place in chosen]


def explained() -> set[tuple[str, str, str]]:
    """File, line before and line after of the mutants that `survivors.md` explains."""
    found, file = set(), ""
    for line in (Path(__file__).parent / "survivors.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#+ `(.+)`$", line):
            file = heading[1]
        if entry := re.match(r"- `(.+?)` → `(.*?)`", line):
            found.add((file, entry[1], entry[2]))
    return found


def _prepare(place: str, tests: tuple[str, ...]) -> None:
    """Give this worker a copy of the tree, and load what every test run needs."""
    import hypothesis
    import numpy as np
    import scipy.stats  # noqa: F401

    copy = Path(tempfile.mkdtemp(dir=place))
    for name in ("plugin", "fixtures", "benchmarks", "tests", "pyproject.toml", "docs"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy / name)
    package = copy / "linked" / "ckptbench"
    package.mkdir(parents=True)
    for source in (*(copy / "plugin").iterdir(), copy / "fixtures", copy / "benchmarks"):
        (package / source.name).symlink_to(source)
    os.chdir(copy)
    sys.path.insert(0, str(package.parent))
    os.environ.update(PYTHONPATH=str(package.parent), OMP_NUM_THREADS="1")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others cost more than most tests
    del hypothesis, np
    if _run_tests(tests):  # which leaves the bytecode, too
        raise SystemExit(f"the tests fail without any mutant: pytest {' '.join(tests)}")
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _run_tests(tests: tuple[str, ...]) -> int:
    """The exit status of pytest, which runs in a child; 1 when it takes too long."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, resource.RLIM_INFINITY))
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        plugins = ("no:cacheprovider", "ckptbench.hooks", "ckptbench.fixtures")
        options = ("-x", "-q", "-m", "not slow", *(f"-p{name}" for name in plugins))
        status = 1
        try:
            status = int(pytest.main([*options, *tests]))
        finally:
            os._exit(status)
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def _survives(mutant: Mutant, tests: tuple[str, ...]) -> tuple[Mutant, str, str] | None:
    """The lines before and after of a mutant that the tests do not notice; None for others."""
    file = Path(mutant.file)
    text = file.read_text(encoding="utf-8")
    changed = mutate_code(text, get_operator(mutant.operator)(), mutant.occurrence)
    try:
        file.write_text(changed, encoding="utf-8")
        # The tests of the module first: most mutants fail one of them.
        own = sorted(map(str, Path("tests/unit").glob(f"*/test_*{file.stem}*.py")))
        if _run_tests((*(path for path in own if path.startswith(tests[0])), *tests)):
            return None
    finally:
        file.write_text(text, encoding="utf-8")
    lines = list(difflib.ndiff(text.splitlines(), changed.splitlines()))
    sides = [[n[2:].strip() for n in lines if n.startswith(sign)] for sign in "-+"]
    return mutant, " ".join(sides[0]).strip(), " ".join(sides[1]).strip()


def main() -> int:
    """Run the mutants of the rooms and print what survives, and the score of each room."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rooms", nargs="*", choices=[[], *ROOMS], metavar="ROOM")
    parser.add_argument("--sample", type=int, default=60, help="mutants a room; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    os.chdir(ROOT)
    known, low, table = explained(), False, []
    for name in given.rooms or ROOMS:
        room = ROOMS[name]
        mutants = sample_of(room, given.sample, given.seed)
        equivalent = survived = 0
        with (
            tempfile.TemporaryDirectory() as place,
            ProcessPoolExecutor(
                given.jobs,
                multiprocessing.get_context("fork"),
                _prepare,
                (place, room.tests),
            ) as pool,
        ):
            for found in pool.map(_survives, mutants, [room.tests] * len(mutants)):
                if found is None:
                    continue
                mutant, before, after = found
                if (mutant.file, before, after) in known:
                    equivalent += 1
                else:
                    survived += 1
                    print(f"{mutant.file}:{mutant.start[0]}: `{before}` → `{after}`", flush=True)
        killed = len(mutants) - equivalent - survived
        score = killed / max(killed + survived, 1)
        low |= score < WANTED
        table.append(f"{name:12}{len(mutants):9}{killed:9}{equivalent:12}{survived:10}{score:9.0%}")
        print(table[-1], flush=True)
    print(f"{'room':12}{'mutants':>9}{'killed':>9}{'equivalent':>12}{'survived':>10}{'score':>9}")
    print("\n".join(table))
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
