"""How a run ends that does not reach its end: signals, a full disk, a folder that is gone."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest
from run_folder import stored
from waiting import wait_until

SUITE = "benchmarks/test_real_k.py --protocol=real=single-mask"
COMMAND = f"{SUITE} --limit=100 --no-resume"
TIMEOUT_S = 120
# Most tests need answers that come one after the other, and no model, which takes seconds to load.
ENGINE = """
import time

import pytest

from ckptbench import Filled


class Slow:
    fingerprint, settings = "slow", {"seq_len": 128}

    def answer(self, requests):
        for index, request in enumerate(requests):
            time.sleep(0.03)
            yield index, Filled((request.word,), (-0.5,), 1 if index % 2 else None, 1)


@pytest.fixture(scope="session")
def engine():
    return Slow()
"""


@pytest.fixture
def slow(workspace: Any) -> Any:
    """A workspace whose benchmarks are answered slowly, without a model."""
    (workspace.path / "benchmarks/conftest.py").write_text(ENGINE)
    return workspace


def start(workspace: Any, arguments: str, *, run: str = "r") -> subprocess.Popen[str]:
    """A run that goes on in the background, once it has stored an answer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *COMMAND.split(), f"--run-id={run}", *arguments.split()],
        cwd=workspace.path,
        env=workspace.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_until(lambda: stored(workspace.path / f"results/{run}/store.sqlite") > 0, process)
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, output


def values(summary: dict[str, Any]) -> list[float | None]:
    """Every number that could be taken for the checkpoint's."""
    (checkpoint,) = summary["checkpoints"]
    scores = [s for b in checkpoint["benchmarks"] for s in b["scores"]]
    return [s["value"] for s in [*scores, checkpoint["composite"]["score"]]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "arguments"),
    [
        (signal.SIGTERM, 143, "-n0"),
        (signal.SIGHUP, 129, "-n0"),
        (signal.SIGINT, 2, "-n0"),
        (signal.SIGTERM, 143, "-n2"),
    ],
    ids=str,
)
def test_a_run_that_is_ended_writes_what_it_has_and_no_partial_number(
    workspace: Any, number: signal.Signals, status: int, arguments: str
) -> None:
    process = start(workspace, f"--checkpoint=demo-mlm --batch-tokens=64 {arguments}")
    process.send_signal(number)
    found, output = ended(process)
    assert found == status, output
    assert "Traceback" not in output
    assert f"not run: exit {status}" in output
    assert "stored and not reported" in output
    folder = workspace.path / "results/r"
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["complete"], summary["exit_status"]) == (False, status)
    assert set(values(summary)) == {None}
    (few,) = (json.loads(p.read_text()) for p in folder.glob("*_eval_results.json"))
    assert few["real1"] is few["score"] is None


@pytest.mark.slow
def test_a_number_of_some_samples_is_shown_nowhere(slow: Any) -> None:
    log = slow.path / "out.txt"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-v", *COMMAND.split(), "--run-id=r"],
            cwd=slow.path,
            env=slow.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            text=True,
        )
    wait_until(lambda: "[  1%]" in log.read_text(), process)
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT_S) == 2
    summary = json.loads((slow.path / "results/r/summary.json").read_text())
    (checkpoint,) = summary["checkpoints"]
    assert any(b["coverage"]["scored"] for b in checkpoint["benchmarks"])
    assert set(values(summary)) == {None}
    reasons = [s["reason"] for b in checkpoint["benchmarks"] for s in b["scores"]]
    assert all("were not run" in reason for reason in reasons)
    table = log.read_text().partition("= ckptbench =")[2]
    assert not re.search(r"\d\.\d\d%", table)


FULL_DISK = """
import errno, os
real = os.fsync
NAMES = os.environ["NO_ROOM_FOR"].split(",")

def fsync(descriptor):
    name = os.readlink(f"/proc/self/fd/{descriptor}")
    head = open(name).read(200) if os.path.isfile(name) else ""
    if any(each in head for each in NAMES):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return real(descriptor)

os.fsync = fsync
"""


@pytest.mark.slow
@pytest.mark.parametrize("no_room", ["nodeid", "ckptbench.summary/"], ids=["samples", "summary"])
def test_a_full_disk_hides_no_score(slow: Any, no_room: str) -> None:
    (slow.path / "full_disk.py").write_text(FULL_DISK)
    command = f"python -m pytest -p full_disk {SUITE}"
    output = slow.run(f"{command} --limit=20 --run-id=r", NO_ROOM_FOR=no_room).expect(1)
    assert re.search(r"real@1 +\d+\.\d\d%", output)
    assert "cannot be written: No space left on device" in output
    assert "exit 1, because files were not written" in output
    path = slow.path / "results/r/summary.json"
    if no_room == "nodeid":
        summary = json.loads(path.read_text())
        assert summary["exit_status"] == 1
        assert "samples" in summary["unwritten"][0]
    else:
        assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["-n0", "-n2"])
def test_a_folder_that_is_removed_during_the_run_fails_it(slow: Any, arguments: str) -> None:
    process = start(slow, arguments)
    shutil.rmtree(slow.path / "results/r", ignore_errors=True)
    status, output = ended(process)
    assert status == 1, output
    assert "= ckptbench =" in output
    assert "removed while it ran" in output
    assert "INTERNALERROR" not in output


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["-n0", "-n2"])
def test_a_second_session_of_a_run_is_refused_and_a_dead_one_taken_over(
    slow: Any, arguments: str
) -> None:
    again = f"pytest {COMMAND} --run-id=r {arguments}"
    first = start(slow, "-n0")
    try:
        first.send_signal(signal.SIGSTOP)  # it stays, however fast this machine is
        refused = slow.run(again).expect(4)
    finally:
        first.send_signal(signal.SIGCONT)
        first.send_signal(signal.SIGKILL)
        ended(first)
    assert f"another session works in this folder: process {first.pid}" in refused
    assert "ckptbench merge" in refused
    assert "--run-id=r again" in refused
    taken_over = slow.run(again).expect(0)
    assert f"taken over from process {first.pid}" in taken_over
    assert "taken over" not in slow.run(again).expect(0)


WAITS = """
import time
from pathlib import Path

def pytest_configure():
    from ckptbench.session import run
    run.BEAT_S = 3600.0  # no sign of life

def pytest_runtest_logfinish():
    while not Path("go-on").exists():
        time.sleep(0.05)
"""


@pytest.mark.slow
def test_a_session_whose_run_was_taken_over_says_so(slow: Any) -> None:
    (slow.path / "waits.py").write_text(WAITS)
    first = start(slow, "-n0 -p waits")
    with closing(sqlite3.connect(slow.path / "results/r/store.sqlite", timeout=60)) as store:
        silent = "UPDATE meta SET value = json_set(value, '$.beat', 0.0) WHERE name = 'lease'"
        store.execute(silent)
        store.commit()
    try:
        second = slow.run(f"pytest {COMMAND} --run-id=r -n0 --limit=20").expect(0)
    finally:
        (slow.path / "go-on").touch()
    assert f"taken over from process {first.pid}" in second
    status, output = ended(first)
    assert status == 1, output
    assert "results/r: another session has taken over this run" in output
    assert "real@1" not in output
    summary = json.loads((slow.path / "results/r/summary.json").read_text())
    assert summary["exit_status"] == 0


@pytest.mark.slow
def test_a_second_interrupt_is_in_the_exit_status(slow: Any) -> None:
    twice = "import os, signal\ndef pytest_keyboard_interrupt():\n    os.kill(os.getpid(), 2)\n"
    (slow.path / "interrupts_twice.py").write_text(twice)
    process = start(slow, "-n0 -p interrupts_twice")
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 130, output
    assert "Traceback" not in output
    summary = json.loads((slow.path / "results/r/summary.json").read_text())
    assert (summary["complete"], summary["exit_status"]) == (False, 130)
