"""Commands run as a user runs them: in a shell, in a folder of their own, on the demo."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import warm
from installed import build_wheel, environment, everything

REPOSITORY = Path(__file__).parents[2]
# What a clone holds and the commands need; tests only as far as a command runs some.
CLONED = (
    "Makefile",
    "benchmarks",
    "conftest.py",
    "constraints.txt",
    "pyproject.toml",
    "tests/bench",
    "tests/unit/scores",
)
# Of a CI job, of `make`, and of pytest: what this process was told is not for its children.
NOT_INHERITED = (
    "ARGS",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "PYTEST_ADDOPTS",
    "PYTEST_CURRENT_TEST",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTHONPATH",
    "VENV",
)


@dataclass(frozen=True)
class Finished:
    """A command that has ended.

    Attributes:
        output: stdout and stderr, in the order they were written.
    """

    command: str
    status: int
    output: str

    def expect(self, status: int) -> str:
        """The output, once the command is seen to have exited as it should."""
        assert self.status == status, f"{self.command}\nexited {self.status}:\n{self.output}"
        return self.output


@dataclass(frozen=True)
class Workspace:
    """A folder like a fresh clone after `make venv`, or somebody's own.

    `.venv/bin` is the environment that these tests run in, so nothing is installed again.

    Attributes:
        binaries: where commands are found first.
    """

    path: Path
    binaries: Path = Path(sys.executable).parent

    def environment(self) -> dict[str, str]:
        """The variables of the commands: what a user's shell has, and a width to print to."""
        inherited = {n: value for n, value in os.environ.items() if n not in NOT_INHERITED}
        settings = {"COLUMNS": "100", **warm.VARIABLES}
        search = f"{self.binaries}{os.pathsep}{os.environ['PATH']}"
        return {**inherited, **settings, "PATH": search}

    def run(self, command: str, **variables: str) -> Finished:
        """Run a line, or several, of bash; it stops at the first that fails.

        Its `pytest` and `ckptbench` are forks of a process that has imported libraries before (see
        `warm`), unless there are variables that these read when they are imported.
        """
        environment = self.environment()
        if not any(name.startswith("HF_") for name in variables):
            environment["PATH"] = f"{warm.commands(self.binaries)}{os.pathsep}{environment['PATH']}"
        ended = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.path,
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Finished(command, ended.returncode, ended.stdout)


def demo_checkpoints() -> list[str]:
    """Names of the demo's checkpoints, as `--checkpoint` takes them, the earliest first."""
    folders = (REPOSITORY / "benchmarks/demo/demo-mlm").glob("checkpoint-*")
    steps = sorted(int(folder.name.removeprefix("checkpoint-")) for folder in folders)
    return [f"demo-mlm/checkpoint-{step}" for step in steps]


def workspace_in(path: Path) -> Workspace:
    """A new workspace in a folder that is empty or not there."""
    for name in CLONED:
        source, place = REPOSITORY / name, path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, place)
    (path / ".venv").mkdir()
    (path / ".venv/bin").symlink_to(Path(sys.executable).parent)
    (path / ".venv/.ready").touch()
    return Workspace(path)


@pytest.fixture(scope="session")
def shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One workspace for many tests, where a run reuses the answers of those before it."""
    return workspace_in(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An untouched workspace, for a test whose runs must not know of others'."""
    return workspace_in(tmp_path / "workspace")


@pytest.fixture(scope="session")
def make_workspace() -> Callable[[Path], Workspace]:
    """Makes a workspace in a folder, for a module that has its own."""
    return workspace_in


Make = Callable[[Path], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Make], Path]:
    """Makes something in a folder of a name, once for all of pytest-xdist's workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made_once(name: str, make: Make) -> Path:
        folder = shared / name
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            place = folder / "place"
            if not place.exists():
                place.write_text(str(make(folder)))
            return Path(place.read_text())

    return made_once


@pytest.fixture(scope="session")
def wheel(made_once: Any) -> Path:
    """The wheel that a release uploads."""
    return made_once("wheel", build_wheel)


@pytest.fixture(scope="session")
def installed(wheel: Path, made_once: Any) -> Path:
    """The interpreter of an environment with the wheel and all that is here but this checkout."""
    return made_once("installed", lambda folder: environment(folder, wheel, everything()))


@pytest.fixture(scope="session")
def make_elsewhere(installed: Path) -> Callable[[Path], Workspace]:
    """Makes a workspace of a folder that is no clone: its commands are those of the wheel."""
    return lambda path: Workspace(path, installed.parent)


@pytest.fixture(scope="session")
def earliest() -> str:
    """The first demo checkpoint of its training."""
    return demo_checkpoints()[0]


def _folder_of(variable: str, holds: str) -> Path:
    place = os.environ.get(variable)
    if not place:
        pytest.skip(f"{variable} is not set: it names a folder with {holds}")
    return Path(place)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of public corpora that the extended tests read."""
    return _folder_of("CKPTBENCH_DATA", "kobest/BoolQ_test.tsv")


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real checkpoints that the extended tests ask."""
    return _folder_of("CKPTBENCH_MODELS", "ko-small/checkpoint-14800")


@pytest.fixture(scope="session")
def boolq(made_once: Any, corpora: Path) -> Path:
    """Real@K samples of KoBEST BoolQ's passages."""

    def build(folder: Path) -> Path:
        texts = f"--tsv '{corpora}/kobest/BoolQ_test.tsv' --column Text"
        Workspace(folder).run(f"ckptbench build real-k {texts} -o boolq.jsonl").expect(0)
        return folder / "boolq.jsonl"

    return made_once("boolq", build)
