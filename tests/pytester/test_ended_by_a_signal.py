"""SIGTERM: no question is asked any more, nothing that runs is waited for long, all is written."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from typing import Any

import pytest

TEXTS = [f"right {i:02}" for i in range(8)]

# Answers three texts, then is ended while it works on the fourth, for ten minutes.
ENGINE = """
import os, signal, sqlite3, threading, time
from contextlib import closing
from pathlib import Path
import pytest
from ckptbench import Filled

HERE = Path(__file__).parent
given_up = threading.Event()


def note(line):
    with (HERE / "asked.txt").open("a") as log:
        log.write(f"{line}\\n")


def stored():
    with closing(sqlite3.connect(HERE / "results/r/store.sqlite", timeout=60)) as store:
        return store.execute("SELECT COUNT(*) FROM served").fetchone()[0]


class Slow:
    fingerprint, settings = "slow", {}

    def answer(self, requests):
        for index, request in enumerate(requests):
            note(request.text)
            if index == 3 and not (HERE / "ended").exists():
                (HERE / "ended").touch()
                while stored() < 3:
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGTERM)
                if not given_up.wait(600):
                    note("waited")
                raise RuntimeError("given up")
            yield index, Filled(("x",), (-0.1,), 1, 1)

    def give_up(self):
        note("given up")
        given_up.set()


@pytest.fixture(scope="session")
def engine():
    yield Slow()
    if (HERE / "hangs").exists():
        time.sleep(600)
"""


@pytest.fixture
def slow(project: Any) -> Any:
    project.write(TEXTS)
    project.file("conftest.py", ENGINE)
    return project


def asked(project: Any) -> list[str]:
    lines: list[str] = (project.path / "asked.txt").read_text().splitlines()
    return lines


def is_written(project: Any, output: str) -> None:
    assert project.summary["exit_status"] == 143
    assert not project.summary["complete"]
    assert "not run: exit 143 (SIGTERM)" in output
    assert "results: " in output


def test_an_engine_gives_up_and_is_asked_nothing_more(slow: Any) -> None:
    result = slow.run_apart("--run-id=r")
    assert result.ret == 128 + signal.SIGTERM
    is_written(slow, result.stdout.str())
    assert asked(slow) == [*asked(slow)[:4], "given up"]
    stored = set(asked(slow)[:3])
    assert slow.run_apart("--run-id=r").ret == 0
    assert stored.isdisjoint(asked(slow)[5:])


@pytest.mark.slow
def test_what_cannot_be_interrupted_ends_with_the_time_and_everything_is_written_before(
    slow: Any,
) -> None:
    slow.file("hangs", "")
    slow.file("hasty.py", "import ckptbench.session.signals as s\ns.GRACE_S = 12.0\n")
    result = slow.run_apart("--run-id=r", plugins=["hasty"])
    assert result.ret == 128 + signal.SIGTERM
    is_written(slow, result.stdout.str())
    assert "ended 12 s after SIGTERM, while something still ran" in result.stderr.str()


@pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow is not installed")
def test_what_is_not_essential_is_left_out_and_named(slow: Any) -> None:
    result = slow.run_apart("--run-id=r", "--report=md", "--mlflow=sqlite:///runs.db")
    assert result.ret == 128 + signal.SIGTERM
    is_written(slow, result.stdout.str())
    result.stdout.fnmatch_lines_random(
        [
            "note: no report of an interrupted run was written: `ckptbench report *",
            "note: MLflow: not tracked, the run was ended; `ckptbench mlflow *",
        ]
    )
    assert not (slow.path / "runs.db").exists()
