"""The lease on a run's folder: who is let in, and what is said to who is not."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ckptbench import CkptbenchError
from ckptbench._util import processes
from ckptbench.results.answers import Key
from ckptbench.results.layout import STORE
from ckptbench.results.lease import STALE_S, Lease, left_behind, who_works_in
from ckptbench.results.store import RunStore

HERE = socket.gethostname()
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it, in /proc")


def mine() -> Lease:
    """A lease of this process, which has just given a sign of life."""
    return Lease.now("mine", os.getpid())


def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def plan(store: RunStore, lease: Lease) -> None:
    store.write_plan(lease.token, [], [], [], [], lease)


@pytest.mark.parametrize(
    ("token", "process", "host", "silent_s", "stays_out"),
    [
        ("other", os.getppid(), HERE, 0, True),
        ("other", 1, HERE, 0, True),
        ("other", os.getppid(), HERE, STALE_S + 1, False),
        ("other", os.getpid(), HERE, 0, False),
        ("mine", os.getppid(), HERE, 0, False),
        ("other", os.getppid(), f"not-{HERE}", 0, True),
        ("other", os.getppid(), f"not-{HERE}", STALE_S + 1, False),
    ],
    ids=["alive", "of another user", "silent", "this process", "this session", "elsewhere",
         "silent elsewhere"],
)  # fmt: skip
def test_who_works_keeps_others_out(
    token: str, process: int, host: str, silent_s: float, stays_out: bool
) -> None:
    held = Lease(token, process, host, time.time() - silent_s)
    assert held.holds_against(mine()) is stays_out


def test_a_dead_process_holds_nothing() -> None:
    assert not Lease("other", dead(), HERE, time.time()).holds_against(mine())


@LINUX
def test_a_process_that_was_killed_holds_nothing_before_it_is_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    held = Lease.now("other", process.pid)
    assert held.holds_against(mine())
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    assert not held.holds_against(mine())
    process.communicate()


@LINUX
def test_a_later_process_with_the_same_id_holds_nothing() -> None:
    held = Lease.now("other", os.getppid())
    assert held.holds_against(mine())
    assert not replace(held, started=held.started - 1).holds_against(mine())


def test_where_nothing_is_told_of_a_process_its_id_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_fields", lambda process: [])
    assert Lease.now("other", os.getppid()).holds_against(mine())
    assert not Lease.now("other", dead()).holds_against(mine())


@pytest.mark.parametrize(
    ("host", "doubt"), [(HERE, ""), (f"not-{HERE}", ", which cannot be seen from this machine")]
)
def test_who_is_refused_is_told_when_the_run_is_taken_over(host: str, doubt: str) -> None:
    stored = {"token": "other", "process": os.getppid(), "host": host, "beat": time.time() - 7}
    with pytest.raises(CkptbenchError, match=r"last sign of life \d+ s ago") as refused:
        left_behind(json.dumps(stored), mine(), Path("results/r"))
    assert f"If it was killed{doubt}, that command takes the run over once" in str(refused.value)


def test_a_lease_is_refused_taken_over_and_given_back(tmp_path: Path) -> None:
    other = Lease("other", os.getppid(), HERE, time.time())
    store, second = RunStore(tmp_path), RunStore(tmp_path)
    plan(store, other)
    with pytest.raises(CkptbenchError, match=f"another session works .*process {os.getppid()}"):
        plan(second, mine())
    assert second.token() == "other"
    store.release(mine())  # not its own
    with pytest.raises(CkptbenchError, match="another session"):
        plan(second, mine())
    store.release(other)
    plan(second, mine())
    assert not any("taken over" in note for note in second.notes())
    second.release(mine())
    plan(store, Lease("late", dead(), HERE, time.time()))
    store.beat(mine())  # it has lost the lease, and does not get it back by a sign of life
    plan(second, mine())
    assert any("taken over from process" in note for note in second.notes())


def test_a_session_that_is_writing_is_named(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    plan(store, Lease("other", os.getppid(), HERE, time.time()))
    writing = sqlite3.connect(tmp_path / STORE, isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")
    with pytest.raises(CkptbenchError, match="another session works"):
        plan(RunStore(tmp_path), mine())


def test_answers_are_not_assigned_in_the_plan_of_another_session(tmp_path: Path) -> None:
    store = RunStore(tmp_path, session="mine")
    plan(store, mine())
    key = Key("0" * 32, "model", "real/whole-word", "sample", 0, 0)
    store.serve([(0, 0, key, "{}")])
    store.release(mine())
    plan(RunStore(tmp_path), Lease("other", os.getpid(), HERE, time.time()))
    with pytest.raises(CkptbenchError, match="taken over"):
        store.serve([(0, 0, key, "{}")])


def test_it_is_found_out_who_works_in_a_folder(tmp_path: Path) -> None:
    assert who_works_in(tmp_path) is None
    store, other = RunStore(tmp_path), Lease.now("other", os.getppid())
    assert who_works_in(tmp_path) is None
    plan(store, other)
    assert who_works_in(tmp_path) == other
    plan(RunStore(tmp_path / "left"), Lease("late", dead(), HERE, time.time()))
    assert who_works_in(tmp_path / "left") is None
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / STORE).write_text("no database")
    assert who_works_in(tmp_path / "damaged") is None
