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

import pytest
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
        settings = {"COLUMNS": "100", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        search = f"{self.binaries}{os.pathsep}{os.environ['PATH']}"
        return {**inherited, **settings, "PATH": search}

    def run(self, command: str, **variables: str) -> Finished:
        """Run a line, or several, of bash; it stops at the first that fails."""
        ended = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.path,
            env={**self.environment(), **variables},
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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that a release uploads; pytest-xdist's workers share it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return next(shared.glob("*.whl"), None) or build_wheel(shared)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and all that is here but this checkout."""
    return environment(tmp_path_factory.mktemp("installed"), wheel, everything())


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
