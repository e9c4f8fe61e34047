"""The projects whose runs are broken, and one pytest run in them as a process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "project"
DEMO = ROOT / "benchmarks/demo/demo-mlm"
RUN = "results/r"
HUNG_S = 300.0
BLOCK = 40
"""Samples that a session asks together, at most: those of one benchmark."""

# The files of each kind of project, by their names there; and what pytest is given.
KINDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "words": ({"engine.py": "conftest.py", "words.py": "test_words.py"}, ()),
    "programs": ({"engine.py": "conftest.py", "programs.py": "test_programs.py"}, ()),
    "served": ({"served.py": "test_served.py"}, ("--request-timeout=5", "--concurrency=4")),
    "checkpoint": (
        {},
        (
            str(ROOT / "benchmarks/test_real_k.py"),
            "--checkpoint=checkpoint",
            "--limit=20",
            *("-k", "not origin"),  # its analyser takes seconds to load
            "--batch-tokens=256",
        ),
    ),
}


class Hung(Exception):
    """A process does not come to an end, or to what is waited for."""


@dataclass
class Session:
    """One pytest session, as a process.

    Attributes:
        log: what it prints.
    """

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if not self.over:
            self.process.send_signal(number)

    def wait(self, timeout_s: float = HUNG_S) -> int:
        """Its exit status.

        Raises:
            Hung: it does not end.
        """
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Hung(f"the session runs for more than {timeout_s:g} s") from None

    def end(self) -> None:
        """Leave nothing of it behind."""
        left = self.descendants()
        if not self.over:
            self.process.kill()
            self.process.wait()
        for process in left:
            kill(process)

    def until(self, ready: Callable[[], object]) -> bool:
        """Wait until something is so; whether it was, before the session ended."""
        deadline = time.monotonic() + HUNG_S
        while not ready():
            if self.over:
                return bool(ready())
            if time.monotonic() > deadline:
                raise Hung("what the round waits for does not come")
            time.sleep(0.005)
        return True

    # Its processes

    def descendants(self) -> list[psutil.Process]:
        """Every process below it."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def workers(self) -> list[psutil.Process]:
        """Those of pytest-xdist."""
        return [p for p in self.descendants() if _has(p, "exec(eval(sys.stdin.readline()))")]

    def fork_servers(self) -> list[psutil.Process]:
        """Those of the sandbox, of which its judges are forks."""
        found = [p for p in self.descendants() if _has(p, "ckptbench_sandbox")]
        pids = {p.pid for p in found}
        return [p for p in found if _parent(p) not in pids]

    def judges(self) -> list[psutil.Process]:
        """The processes that have the tests."""
        return [judge for server in self.fork_servers() for judge in _children(server)]

    def zygotes(self) -> list[psutil.Process]:
        """The processes that programs are forked from; a judge's first children."""
        return [first for judge in self.judges() for first in _children(judge)[:1]]

    def referees(self) -> list[psutil.Process]:
        """The processes that run tests; a judge's further children."""
        return [each for judge in self.judges() for each in _children(judge)[1:]]

    def programs(self) -> list[psutil.Process]:
        """The processes of generated programs."""
        return [program for zygote in self.zygotes() for program in _children(zygote)]


def kill(process: psutil.Process, number: signal.Signals = signal.SIGKILL) -> bool:
    """Send a process a signal; whether it was there."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return False
    return True


def _has(process: psutil.Process, word: str) -> bool:
    try:
        return any(word in argument for argument in process.cmdline())
    except psutil.Error:
        return False


def _parent(process: psutil.Process) -> int:
    try:
        return process.ppid()
    except psutil.Error:
        return 0


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return sorted(process.children(), key=lambda child: child.pid)
    except psutil.Error:
        return []


@dataclass
class Project:
    """A folder with benchmarks of one kind.

    Attributes:
        options: further ones for pytest.
    """

    path: Path
    kind: str
    options: list[str] = field(default_factory=list)
    _sessions: list[Session] = field(default_factory=list)

    @classmethod
    def make(cls, path: Path, kind: str) -> Project:
        """Write one."""
        path.mkdir(parents=True)
        (path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
        for name, place in (KINDS[kind][0] | {"clock.py": "clock.py"}).items():
            shutil.copy(FILES / name, path / place)
        if kind == "checkpoint":
            use_checkpoint(path, 6000)
        return cls(path, kind)

    @property
    def run(self) -> Path:
        return self.path / RUN

    def start(self, *options: str, workers: int = 0) -> Session:
        """Start a session of the one run that the project has."""
        log = self.path / f"session-{len(self._sessions)}.log"
        plugins = ["clock", "ckptbench", "ckptbench-fixtures", *(["xdist"] if workers else [])]
        command = [sys.executable, "-m", "pytest", *(f"-p{name}" for name in plugins)]
        command += [f"-n{workers}"] if workers else []
        command += ["--rootdir=.", "-pno:cacheprovider", f"--run-id={self.run.name}"]
        command += [*KINDS[self.kind][1], *self.options, *options]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=self.path,
                env=_environment(self.path),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        self._sessions.append(Session(process, log))
        return self._sessions[-1]

    @property
    def asked(self) -> Counter[str]:
        """How often each text was asked."""
        return Counter(_lines(self.path / "asked.log"))

    def end(self) -> None:
        """End whatever of its sessions still runs."""
        for session in self._sessions:
            session.end()


def use_checkpoint(project: Path, step: int) -> None:
    """Put the weights of a step into the project's checkpoint, as a trainer does: by renaming."""
    source, place = DEMO / f"checkpoint-{step}", project / "checkpoint"
    if not place.exists():
        shutil.copytree(source, place)
    new = project / "new.safetensors"
    shutil.copy(source / "model.safetensors", new)
    new.replace(place / "model.safetensors")


def _environment(path: Path) -> dict[str, str]:
    ours = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")
    inherited = {name: os.environ[name] for name in ours if name in os.environ}
    return inherited | {
        "PYTHONPATH": str(path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "120",
    }


def _lines(path: Path) -> Iterator[str] | Sequence[str]:
    return path.read_text().splitlines() if path.exists() else ()
