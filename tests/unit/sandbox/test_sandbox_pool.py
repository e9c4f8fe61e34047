"""The pool: one verdict an id, workers replaced when they die, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.sandbox import FunctionTask, Sandbox
from ckptbench.fixtures.sandbox.worker import remove_stale

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

TEST = "assert f(2) == 4"


def task(name: str = "it", body: str = "return 2 * x") -> FunctionTask:
    return FunctionTask(name, f"def f(x):\n    {body}\n", TEST, "f")


def descendants(process: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{process}/task").glob("*/children"):
        for number in map(int, child.read_text().split()):
            found += [number, *descendants(number)]
    return found


def alive(processes: list[int]) -> list[int]:
    return [number for number in processes if Path(f"/proc/{number}").exists()]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, timeout_s=1.0) as box:
        yield box


def test_nothing_is_started_before_there_is_a_task() -> None:
    before = descendants(os.getpid())
    with Sandbox() as sandbox:
        assert descendants(os.getpid()) == before
        assert sandbox.workers >= 1


def test_every_process_ends_with_the_sandbox() -> None:
    before = set(descendants(os.getpid()))
    with Sandbox(workers=2, timeout_s=1.0) as sandbox:
        list(sandbox.judge([task(f"t{i}") for i in range(6)]))
        started = [number for number in descendants(os.getpid()) if number not in before]
        assert len(started) >= 3  # a stem, a judge, a zygote
    assert alive(started) == []


@pytest.mark.parametrize("which", [0, 1, 2], ids=["stem", "judge", "zygote"])
def test_whichever_process_dies_is_replaced(sandbox: Sandbox, which: int) -> None:
    before = set(descendants(os.getpid()))
    assert sandbox.submit(task()).result(timeout=60).passed
    started = [number for number in descendants(os.getpid()) if number not in before]
    os.kill(started[which], signal.SIGKILL)
    results = list(sandbox.judge([task(f"t{i}") for i in range(3)]))
    assert sorted(name for name, _ in results) == ["t0", "t1", "t2"]
    assert all(verdict.passed for _, verdict in results)


def test_a_task_that_no_process_can_be_started_for_is_an_error_and_not_waited_for(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert sandbox.submit(task()).result(timeout=60).passed
    _, judge, *_ = descendants(os.getpid())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    os.kill(judge, signal.SIGKILL)
    with pytest.raises(CkptbenchError, match="No such file"):
        sandbox.submit(task()).result(timeout=20)
    monkeypatch.undo()
    assert sandbox.submit(task()).result(timeout=20).passed


def test_a_task_that_no_thread_can_be_started_for_is_not_waited_for(sandbox: Sandbox) -> None:
    before = threading.stack_size(1 << 47)  # more than there are addresses
    try:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            sandbox.submit(task())
    finally:
        threading.stack_size(before)
    assert sandbox.submit(task()).result(timeout=60).passed


def test_what_replaces_a_dead_fork_server_is_for_all_workers() -> None:
    with Sandbox(workers=4) as sandbox:
        for _ in range(4):
            stem = next(iter(descendants(os.getpid())), None)
            if stem is not None:
                os.kill(stem, signal.SIGKILL)
            running = [sandbox.submit(task(f"t{i}")) for i in range(12)]
            assert [each.result(timeout=60).status for each in running] == ["pass"] * 12


def send(number: signal.Signals, processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def children_of_the_zygote() -> list[int]:
    """The processes of programs: of what a judge starts, only its zygote has children."""
    _, judge, *_ = descendants(os.getpid())
    below = [int(n) for n in Path(f"/proc/{judge}/task/{judge}/children").read_text().split()]
    return descendants(below[0]) if below else []


@pytest.mark.parametrize(("kills", "may_be"), [(1, ["pass"]), (99, ["memory", "error"])])
def test_a_program_that_the_system_ends_is_judged_again(
    sandbox: Sandbox, kills: int, may_be: list[str]
) -> None:
    """Who runs out of memory need not be who used it: once is no verdict on a program."""
    assert sandbox.submit(task()).result(timeout=60).passed
    found = sandbox.submit(task(body="import time; time.sleep(0.8); return 2 * x"))
    while not found.done() and kills:
        time.sleep(0.05)
        programs = children_of_the_zygote()
        kills -= bool(programs)
        send(signal.SIGKILL, programs)
    assert found.result(timeout=60).status in may_be


def test_no_program_is_late_because_everything_was_stopped(sandbox: Sandbox) -> None:
    before = set(descendants(os.getpid()))
    assert sandbox.submit(task()).result(timeout=60).passed
    found = sandbox.submit(
        task(body="import time; [time.sleep(0.05) for _ in range(12)]; return 2 * x")
    )
    time.sleep(0.3)
    processes = [number for number in descendants(os.getpid()) if number not in before]
    send(signal.SIGSTOP, processes)
    time.sleep(1.5)  # the limit is 1 s
    send(signal.SIGCONT, processes)
    assert found.result(timeout=60).status == "pass"


def test_a_client_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from ckptbench.fixtures.sandbox import FunctionTask, Sandbox\n"
        "box = Sandbox(workers=1, timeout_s=60)\n"
        "box.submit(FunctionTask('a', 'def f(x): return x', 'assert f(1)', 'f')).result()\n"
        "box.submit(FunctionTask('b', 'while True: pass', 'assert f(1)', 'f'))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"ready\n"
        started = descendants(client.pid)
        assert len(started) >= 3
        client.kill()
    # The kernel ends one after the other.
    deadline = time.monotonic() + 20
    while alive(started) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert alive(started) == []


def test_folders_of_killed_clients_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = subprocess.Popen(["true"])
    done.wait()
    for name in (f"ckptbench-sandbox-{done.pid}-x", f"ckptbench-sandbox-{os.getpid()}-y", "other"):
        (tmp_path / name).mkdir()
    remove_stale()
    assert sorted(os.listdir(tmp_path)) == [f"ckptbench-sandbox-{os.getpid()}-y", "other"]


def test_an_id_that_comes_twice_is_an_error(sandbox: Sandbox) -> None:
    with pytest.raises(CkptbenchError, match="two tasks have the id 'a'"):
        list(sandbox.judge([task("a"), task("b"), task("a")]))


def test_a_closed_sandbox_takes_no_tasks() -> None:
    sandbox = Sandbox()
    sandbox.close()
    with pytest.raises(CkptbenchError, match="has been closed"):
        sandbox.submit(task())


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("level", "L4"),
        ("timeout_s", 0),
        ("timeout_s", float("nan")),
        ("memory_mb", 1),
        ("output_mb", 0),
        ("workers", 0),
        ("libraries", ("no_such_package",)),
    ],
)
def test_arguments_that_cannot_be_used_are_named(argument: str, value: Any) -> None:
    with pytest.raises(CkptbenchError, match=r"no_such_package|cannot be used"):
        Sandbox(**{argument: value})


def test_without_walls_programs_run_only_when_asked_for() -> None:
    with Sandbox(level="L1") as sandbox:
        with pytest.raises(CkptbenchError, match="cannot be isolated") as caught:
            sandbox.submit(task()).result(timeout=60)
        assert "--unsafe-exec" in caught.value.remedy
    with Sandbox(level="L1", workers=1, unsafe_exec=True) as sandbox:
        assert "NOT protected" in sandbox.describe()
        verdict = sandbox.submit(task()).result(timeout=60)
        assert (verdict.status, verdict.level) == ("pass", "L1")


def test_without_walls_what_a_program_starts_still_ends_with_it() -> None:
    body = (
        "import os\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass\n"
        "    return 4"
    )
    before = set(descendants(os.getpid()))
    with Sandbox(level="L1", workers=1, timeout_s=1.0, unsafe_exec=True) as sandbox:
        assert sandbox.submit(task("a", body)).result(timeout=60).passed
        assert sandbox.submit(task("b")).result(timeout=60).passed
        started = [number for number in descendants(os.getpid()) if number not in before]
        assert len(started) == 4  # a stem, a judge, a zygote, one that runs tests: no orphan
    assert alive(started) == []


def test_an_allowed_library_can_be_imported_and_no_other() -> None:
    with Sandbox(workers=1, libraries=("numpy",), memory_mb=1024) as sandbox:
        body = "import numpy\n    return numpy.int64(2) * x"
        assert sandbox.submit(task("a", body)).result(timeout=60).passed
        body = "import pytest\n    return 2 * x"
        assert "ModuleNotFoundError" in sandbox.submit(task("b", body)).result(timeout=60).reason


def test_the_header_says_what_holds() -> None:
    with Sandbox(level="L2", workers=1) as sandbox:
        assert sandbox.describe().startswith("sandbox: L2 landlock(abi ")


def test_a_sandbox_that_gives_up_ends_what_runs_and_drops_what_waits() -> None:
    before = set(descendants(os.getpid()))
    with Sandbox(workers=1, timeout_s=600.0) as sandbox:
        list(sandbox.judge([task()]))
        started = [number for number in descendants(os.getpid()) if number not in before]
        running = sandbox.submit(task("endless", "while True: pass"))
        waiting = sandbox.submit(task("waits"))
        while not running.running():
            time.sleep(0.01)
        sandbox.give_up()
        with pytest.raises(CkptbenchError, match="has been closed"):
            running.result(timeout=60)
        assert waiting.cancelled()
        with pytest.raises(CkptbenchError, match="has been closed"):
            sandbox.submit(task())
    deadline = time.monotonic() + 60  # killed, not waited for
    while alive(started) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert alive(started) == []
