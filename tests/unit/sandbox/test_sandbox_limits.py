"""The limits of a program, one by one: what the kernel is given, and what is measured."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ckptbench.fixtures.sandbox import referee, supervisor, zygote
from ckptbench.fixtures.sandbox.child import CHANNEL
from ckptbench.fixtures.sandbox.isolation import Isolation
from ckptbench.fixtures.sandbox.supervisor import (
    MOST_THREADS,
    SCRATCH_BYTES,
    SCRATCH_FILES,
    Clock,
    Ending,
    Limits,
    Stopped,
    Watch,
    overfull,
    threads_of,
    waited_s,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")

MB = 2**20
FREE = resource.RLIM_INFINITY


def in_child(act: Callable[[int], object]) -> Any:
    """What a function writes into the pipe that it gets, as JSON, in a process of its own."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act(theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return json.loads(content)


def rlimits(
    limits: Limits, base: int, *, hard: dict[int, int] | None = None, script: bool = False
) -> dict[int, list[int]]:
    """The limits given to the kernel, where this process has these hard ones."""

    def act(pipe: int) -> None:
        for kind, most in (hard or {}).items():
            resource.setrlimit(kind, (most, most))
        found = zygote._rlimits(limits, base, script=script)
        os.write(pipe, json.dumps(found).encode())

    return dict(in_child(act))


LIMITS = Limits(timeout_s=2.0, memory_bytes=64 * MB, file_bytes=3 * MB)


def test_a_limit_is_what_was_asked_for() -> None:
    assert rlimits(LIMITS, 100 * MB) == {
        resource.RLIMIT_CORE: [0, 0],
        resource.RLIMIT_NOFILE: [128, 128],
        resource.RLIMIT_FSIZE: [3 * MB, 3 * MB],
        # A second to spare, in whole seconds; and one more until it is killed.
        resource.RLIMIT_CPU: [3, 4],
        resource.RLIMIT_AS: [164 * MB, 164 * MB],
    }


def test_memory_has_no_limit_where_the_interpreters_own_is_not_known() -> None:
    assert resource.RLIMIT_AS not in rlimits(LIMITS, 0)


@pytest.mark.parametrize(
    ("timeout_s", "cpu_s"), [(0.001, 2), (0.5, 2), (1.0, 2), (1.001, 3), (2.5, 4), (60.0, 61)]
)
def test_processor_time_is_rounded_up_and_has_a_second_to_spare(
    timeout_s: float, cpu_s: int
) -> None:
    found = rlimits(Limits(timeout_s, MB, MB), 0)
    assert found[resource.RLIMIT_CPU] == [cpu_s, cpu_s + 1]
    assert cpu_s >= timeout_s + 0.999


def test_no_limit_is_above_the_hard_limit_of_this_process() -> None:
    hard = {resource.RLIMIT_FSIZE: MB, resource.RLIMIT_NOFILE: 64}
    found = rlimits(LIMITS, 0, hard=hard)
    assert found[resource.RLIMIT_FSIZE] == [MB, MB]
    assert found[resource.RLIMIT_NOFILE] == [64, 64]
    assert found[resource.RLIMIT_CPU] == [3, 4]
    # A hard limit between the two of a kind lowers the upper one alone.
    assert rlimits(LIMITS, 0, hard={resource.RLIMIT_CPU: 3})[resource.RLIMIT_CPU] == [3, 3]


def test_a_script_has_the_largest_stack_there_is() -> None:
    most = 32 * MB
    found = rlimits(LIMITS, 0, hard={resource.RLIMIT_STACK: most}, script=True)
    assert found[resource.RLIMIT_STACK] == [most, most]
    assert resource.RLIMIT_STACK not in rlimits(LIMITS, 0)


def test_a_programs_process_has_its_descriptors_and_limits_and_a_session_of_its_own() -> None:
    def act(pipe: int) -> None:
        with open(os.devnull, "rb") as nothing, open("/dev/zero", "rb") as zeros:
            other = os.dup(pipe)
            wanted = [(resource.RLIMIT_CORE, (0, 0)), (resource.RLIMIT_NOFILE, (99, 99))]
            zygote._confine(Isolation("L1"), wanted, [pipe, nothing.fileno(), zeros.fileno()])
            found = {
                "leader": os.getsid(0) == os.getpid(),
                "limits": [resource.getrlimit(kind) for kind, _ in wanted],
                "read": [len(os.read(number, 5)) for number in (0, 1)],
                "open": [n for n in range(CHANNEL, 64) if _is_open(n)],
                "other": other,
            }
            os.write(CHANNEL, json.dumps(found).encode())

    found = in_child(act)
    assert found["leader"]
    assert found["limits"] == [[0, 0], [99, 99]]
    assert found["read"] == [0, 5]
    assert found["other"] > CHANNEL
    assert found["open"] == [CHANNEL]


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_random_numbers_of_two_programs_differ() -> None:
    import random

    def act(pipe: int) -> None:
        zygote._confine(Isolation("L1"), [], [pipe])
        os.write(CHANNEL, json.dumps(random.random()).encode())

    assert in_child(act) != in_child(act)


@pytest.mark.parametrize(("hard", "limit"), [(None, 2**31), (2**30, 2**30), (2**32, 2**31)])
def test_what_runs_the_tests_has_two_gigabytes_or_what_this_process_has(
    hard: int | None, limit: int
) -> None:
    def act(pipe: int) -> None:
        if hard:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        result = os.dup(pipe)
        referee._confine([pipe, result], None)
        found = {
            "memory": resource.getrlimit(resource.RLIMIT_AS),
            "digits": sys.get_int_max_str_digits(),
            "open": [n for n in range(referee.CONTROL, 1024) if _is_open(n)],
        }
        os.write(referee.RESULT, json.dumps(found).encode())

    found = in_child(act)
    assert found["memory"] == [limit, limit]
    assert found["digits"] == 0
    assert found["open"] == [referee.CONTROL, referee.RESULT]


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        (Ending(0, False, 0.1), "crash", "the program left by itself (status 0)"),
        (Ending(7, False, 9.0), "crash", "the program left by itself (status 7)"),
        (Ending(-9, True, 9.0), "crash", "the program left by itself (status 0)"),
        (Ending(-signal.SIGSYS, False, 0.1), "violation", "a forbidden system call"),
        (Ending(-signal.SIGXCPU, False, 0.1), "timeout", "more than 1.5 s of processor time"),
        (Ending(-signal.SIGKILL, False, 1.5), "timeout", "more than 1.5 s of processor time"),
        (Ending(-signal.SIGKILL, False, 1.6), "timeout", "more than 1.5 s of processor time"),
        (Ending(-signal.SIGKILL, False, 1.4), "memory", "the system ran out of memory"),
        (Ending(-signal.SIGHUP, False, 9.0), "crash", "ended by SIGHUP"),
        (Ending(-signal.SIGXFSZ, False, 0.1), "output", "a file grew too large"),
        (Ending(-signal.SIGSEGV, False, 9.0), "crash", "ended by SIGSEGV"),
    ],
)
def test_how_a_program_ended_is_told_by_its_exit(ending: Ending, status: str, reason: str) -> None:
    found = ending.explained(1.5)
    assert found[0] == status
    assert reason in found[1]


def clock(
    monkeypatch: pytest.MonkeyPatch, limit_s: float, times: Sequence[tuple[float, float]]
) -> tuple[Clock, Callable[[], None]]:
    """A clock, and what moves it on: wall-clock time, and what each of two processes has waited."""
    now = iter(times)
    state = [*next(now)]
    began = state[0]
    monkeypatch.setattr(supervisor, "waited_s", lambda process: state[1])
    made = Clock(limit_s, [1, 2])
    monkeypatch.setattr(made, "elapsed_s", lambda: state[0] - began)

    def move() -> None:
        state[:] = next(now)

    return made, move


def left(seconds: float) -> set[float]:
    """What is left, or less: the next look may come earlier."""
    return {seconds, min(seconds, 0.2)}


def test_time_without_a_processor_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of the two processes had waited 3 s before, and waits 1 s more.
    made, move = clock(monkeypatch, 2.0, [(100.0, 3.0), (101.5, 3.0), (103.0, 4.0), (104.5, 4.0)])
    assert made.patience() in left(2.0)
    move()
    assert (made.elapsed_s(), made.spent_s()) == (1.5, 1.5)
    assert made.patience() in left(0.5)
    move()
    assert (made.elapsed_s(), made.spent_s()) == (3.0, 1.0)
    assert made.patience() in left(1.0)
    move()
    with pytest.raises(Stopped) as stopped:
        made.patience()
    assert (stopped.value.status, stopped.value.reason) == ("timeout", "more than 2 s")


def test_at_the_limit_itself_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    made, move = clock(monkeypatch, 2.0, [(100.0, 0.0), (102.0, 0.0)])
    move()
    with pytest.raises(Stopped):
        made.patience()


def test_the_next_look_is_never_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    made, move = clock(monkeypatch, 2.0, [(100.0, 0.0), (103.001, 0.501)])
    move()
    assert 0 < 2.0 - made.spent_s() < 0.005
    assert made.patience() == 0.005


@pytest.mark.parametrize("limit_s", [1.0, 3.0])
def test_a_program_that_only_waits_has_an_end_too(
    limit_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight times the limit and ten seconds."""
    most = 8 * limit_s + 10
    made, move = clock(
        monkeypatch, limit_s, [(0.0, 0.0), (most - 0.25, most / 2), (most, most / 2 + 1)]
    )
    move()
    assert made.spent_s() == 0.0  # two processes have waited
    assert made.patience() in left(limit_s)
    move()
    with pytest.raises(Stopped, match="timeout"):
        made.patience()


def test_waiting_is_that_of_the_thread_that_waited_longest() -> None:
    """Two threads that never sleep on one processor, and what the kernel says of each."""
    allowed = os.sched_getaffinity(0)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            math.sqrt(2)

    threads = [threading.Thread(target=work) for _ in range(2)]
    try:
        os.sched_setaffinity(0, {min(allowed)})
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        each = [_schedstat(str(task)) for task in os.listdir("/proc/self/task")]
        found = waited_s(str(os.getpid()))
        after = [_schedstat(str(task)) for task in os.listdir("/proc/self/task")]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        os.sched_setaffinity(0, allowed)
    assert max(each) <= found <= max(after)
    assert found > 0


def _schedstat(task: str) -> float:
    return int(Path(f"/proc/self/task/{task}/schedstat").read_text().split()[1]) / 1e9


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert waited_s("0") == 0.0
    assert threads_of("0") == 0


def test_threads_are_counted() -> None:
    def act(pipe: int) -> None:
        stop = threading.Event()
        for _ in range(3):
            threading.Thread(target=stop.wait, daemon=True).start()
        os.write(pipe, json.dumps(threads_of(str(os.getpid()))).encode())

    assert in_child(act) == 4  # with the one that a process has


def test_a_folder_may_hold_so_many_files_and_no_more(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for number in range(SCRATCH_FILES - 2):
        (inner / str(number)).touch()
    assert not overfull(str(tmp_path))
    (inner / "one more").touch()
    assert overfull(str(tmp_path))


def filled(file: Path, size: int) -> None:
    """Make a file that has its blocks on the disk, without writing them."""
    with file.open("wb") as opened:
        os.posix_fallocate(opened.fileno(), 0, size)


def test_a_folder_may_hold_so_many_bytes_and_no_more(tmp_path: Path) -> None:
    own = tmp_path / "scratch"
    own.mkdir()
    filled(own / "first", SCRATCH_BYTES // 2)
    filled(own / "second", SCRATCH_BYTES // 2)
    assert not overfull(str(own))
    filled(own / "third", 4096)
    assert overfull(str(own))


def test_a_file_with_a_hole_counts_what_it_uses(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(2 * SCRATCH_BYTES)
    assert not overfull(str(tmp_path))


def test_a_link_counts_as_a_file_and_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    filled(tmp_path / "other" / "large", SCRATCH_BYTES + 4096)
    own = tmp_path / "own"
    own.mkdir()
    (own / "link").symlink_to(tmp_path / "other")
    (own / "file").symlink_to(tmp_path / "other" / "large")
    assert not overfull(str(own))


def test_deleted_files_that_are_open_count(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for number, size in enumerate((SCRATCH_BYTES // 2, SCRATCH_BYTES // 2, 4096)):
            assert not overfull(str(tmp_path), str(os.getpid()))
            filled(tmp_path / str(number), size)
            stack.enter_context((tmp_path / str(number)).open("rb"))
            (tmp_path / str(number)).unlink()
        assert overfull(str(tmp_path), str(os.getpid()))
        assert not overfull(str(tmp_path))  # nobody's files
    assert not overfull(str(tmp_path), str(os.getpid()))


def test_files_that_are_open_and_not_deleted_count_once(tmp_path: Path) -> None:
    filled(tmp_path / "half", SCRATCH_BYTES // 2 + 4096)
    with (tmp_path / "half").open("rb"):
        assert not overfull(str(tmp_path), str(os.getpid()))


def test_a_folder_that_cannot_be_looked_into_to_its_end_is_too_full(tmp_path: Path) -> None:
    deep, name = str(tmp_path), "d" * 250
    while len(deep) + len(name) < 4000:
        deep = f"{deep}/{name}"
        os.mkdir(deep)
    # Through descriptors folders go deeper than any path may name.
    descriptor = os.open(deep, os.O_RDONLY)
    os.mkdir(name, dir_fd=descriptor)
    os.mkdir(f"{name}/{name}", dir_fd=descriptor)
    os.close(descriptor)
    assert overfull(str(tmp_path))


def test_a_folder_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert not overfull(str(tmp_path / "gone"))


class At(Clock):
    """A clock that has run for so long."""

    def __init__(self, elapsed_s: float) -> None:
        super().__init__(10.0, [])
        self._at_s = elapsed_s

    def elapsed_s(self) -> float:
        return self._at_s


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_watched_program_is_looked_at_five_times_a_second(own_folder: Path) -> None:
    assert Watch(At(0.0), os.getpid())() == 0.2
    assert Watch(At(9.9), os.getpid())() == pytest.approx(0.1, abs=0.05)


def test_a_watched_program_stops_when_it_is_late(own_folder: Path) -> None:
    watch = Watch(At(10.0), os.getpid())
    with pytest.raises(Stopped, match="more than 10 s") as stopped:
        watch()
    assert watch.stopped is stopped.value
    with pytest.raises(Stopped):
        watch()
    assert watch.stopped is stopped.value  # why it was stopped first


def test_a_watched_program_stops_when_it_has_written_too_much(own_folder: Path) -> None:
    filled(own_folder / "large", SCRATCH_BYTES + 4096)
    Watch(At(0.0), os.getpid())()  # too early to look
    watch = Watch(At(0.3), os.getpid())
    with pytest.raises(Stopped, match="too much written") as stopped:
        watch()
    assert stopped.value.status == "fail"


@pytest.mark.parametrize("many", [MOST_THREADS, MOST_THREADS + 1])
def test_a_watched_program_may_have_so_many_threads(
    many: int, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "threads_of", lambda process: many)
    watch = Watch(At(0.3), os.getpid())
    if many <= MOST_THREADS:
        watch()
        return
    with pytest.raises(Stopped, match="more than 1024 threads"):
        watch()
