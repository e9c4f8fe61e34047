"""The ways to break a run. Each function starts the session of a round and breaks it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from projects import Session, kill
from rounds import STEPS, Round, Way

KILL, STOP, CONT = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT
TERM, INT = signal.SIGTERM, signal.SIGINT
HARD = KILL, KILL, TERM, STOP
PAGE = 8192
MB = 1 << 20


# The session


def sent(number: signal.Signals) -> Callable[[Round], None]:
    """Sends the session a signal."""

    def break_(one: Round) -> None:
        one.start_and_wait().send(number)

    return break_


def killed_again(one: Round) -> None:
    """Kills the session, and the one that goes on with its run, up to four times."""
    one.kills = one.random.randint(2, 4)
    for _ in range(one.kills):
        one.start_and_wait(during=True).send(KILL)
        one.session.wait()


def paused(one: Round) -> None:
    """Stops the session for a while; half of the time it never goes on."""
    session = one.start_and_wait()
    session.send(STOP)
    one.pause(0.1, 1.0)
    session.send(one.random.choice([CONT, KILL]))


def joined_by_a_second(one: Round) -> None:
    """Starts a second session of the same run while the first one is at work."""
    session = one.start_and_wait(during=True)
    session.send(STOP)
    if not session.over:
        status = one.project.start().wait()
        if status != 4:
            one.faults.append(f"a second session of the run was not refused: exit {status}")
    session.send(CONT)


# Single processes of it


def one_of(
    find: Callable[[Session], list[psutil.Process]], *numbers: signal.Signals
) -> Callable[[Round], None]:
    """Sends one of the session's processes a signal; one that is stopped goes on after a while."""

    def break_(one: Round) -> None:
        session = one.start_and_wait(during=True)
        session.until(lambda: find(session))
        processes, number = find(session), one.random.choice(numbers)
        if processes and kill(process := one.random.choice(processes), number) and number == STOP:
            one.pause(0.1, 1.0)
            kill(process, CONT)

    return break_


def all_stopped(one: Round) -> None:
    """Stops every process for longer than a program may take, as schedulers and containers do."""
    session = one.start_and_wait(during=True)
    session.until(session.programs)
    processes = [psutil.Process(session.process.pid), *session.descendants()]
    for process in processes:
        kill(process, STOP)
    one.pause(1.5, 2.5)
    for process in processes:
        kill(process, CONT)


# The store


def damaged(one: Round) -> None:
    """Damages a page, or a bit, of the store or of its log, between two sessions."""
    _kill_or_let_end(one)
    files = [path for path in _files_of(one.store) if path.stat().st_size]
    if not files:
        return
    one.answers_are_lost = True
    file = one.random.choice(files)
    content = bytearray(file.read_bytes())
    at = one.random.randrange(len(content))
    if one.random.random() < 0.5:
        content[at] ^= 1 << one.random.randrange(8)
    else:
        first = at - at % PAGE
        size = len(content[first : first + PAGE])
        content[first : first + size] = one.random.choice([bytes(size), one.random.randbytes(size)])
    file.write_bytes(content)


def truncated(one: Round) -> None:
    """Cuts the store, or its log, between two sessions."""
    _kill_or_let_end(one)
    for file in _files_of(one.store):
        one.answers_are_lost = True
        if one.random.random() < 0.7:
            os.truncate(file, one.random.randint(0, file.stat().st_size))


def _kill_or_let_end(one: Round) -> None:
    if one.random.random() < 0.5:
        one.start_and_wait().send(KILL)
    else:
        one.start()
    one.session.wait()


def _files_of(store: Path) -> list[Path]:
    return [path for end in ("", "-wal") if (path := Path(f"{store}{end}")).exists()]


def locked(one: Round) -> None:
    """Locks the store from another process for a while."""
    session = one.start_and_wait(during=True)
    session.until(one.store.exists)
    if not one.store.exists():
        return
    db = sqlite3.connect(one.store, timeout=30, isolation_level=None)
    try:
        db.execute("BEGIN EXCLUSIVE")
        one.pause(0.2, 2.5)
        db.execute("ROLLBACK")
    finally:
        db.close()


# The disk


def full(one: Round) -> None:
    """Puts the results on a disk that is too small, which is larger when the run is resumed."""
    disk = one.project.path / "results"
    disk.mkdir()
    size = one.random.randint(250, 900)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:  # only root may
        capped_files(one)
        return
    one.to_the_end.callback(subprocess.run, ["umount", "-l", str(disk)], check=True)
    larger = ["mount", "-o", "remount,size=64m", str(disk)]
    one.stack.callback(subprocess.run, larger, check=True)
    one.start()


def capped_files(one: Round) -> None:
    """Lets no file of the session become larger than a size, from a moment on."""
    session = one.start_and_wait()
    size = one.random.choice([0, one.random.randrange(600_000)])
    with suppress(ProcessLookupError):
        resource.prlimit(session.process.pid, resource.RLIMIT_FSIZE, (size, size))


def removed(one: Round) -> None:
    """Removes the run's folder, that of all runs, or the store alone."""
    one.start_and_wait()
    one.answers_are_lost = True
    where = one.random.choice([one.project.run, one.project.run.parent, one.store])
    if where.is_dir():
        shutil.rmtree(where, ignore_errors=True)
    else:
        where.unlink(missing_ok=True)


# The checkpoint


def replaced_between(one: Round) -> None:
    """Kills the session, or lets it end, and has other weights in the checkpoint afterwards."""
    if one.random.random() < 0.5:
        one.start_and_wait(during=True).send(KILL)
    else:
        one.start()
    one.session.wait()
    one.use_checkpoint(one.random.choice(STEPS[:-1]))


def replaced_while_loaded(one: Round) -> None:
    """Replaces the weights again and again while the session starts, as a trainer does."""
    session = one.start()
    until = time.monotonic() + one.random.uniform(0.5, 12.0)
    while time.monotonic() < until and not session.over:
        one.use_checkpoint(one.random.choice(STEPS))
        one.pause(0.0, 0.2)


# The clock


def clock_moved(one: Round) -> None:
    """Sets the time of day forward or back; half of the time the session is killed after it."""
    session = one.start_and_wait()
    seconds = one.random.choice([-4e7, -86_400, -30, 30, 400, 86_400, 4e7])
    file = one.project.path / "clock_moved_by"
    file.write_text(str(seconds))
    if one.random.random() < 0.5:
        one.pause(0.0, 0.3)
        session.send(KILL)
    if one.random.random() < 0.5:
        one.stack.callback(file.unlink)


# The server


def answered_with(*faults: str) -> Callable[[Round], None]:
    """Lets some of a server's answers go wrong."""

    def break_(one: Round) -> None:
        wrong = {one.random.randrange(45): one.random.choice(faults) for _ in range(5)}
        one.serve(lambda number: wrong.get(number, ""))
        one.start()
        one.session.wait()

    return break_


def server_gone(one: Round) -> None:
    """Stops the server at a moment; half of the time it comes back soon."""
    last = one.random.randrange(40)
    server = one.serve(lambda number: "die" if number == last else "")
    comes_back, after_s = one.random.random() < 0.5, one.random.uniform(0.1, 2.0)
    session = one.start()
    session.until(lambda: server.asked > last)
    time.sleep(after_s)
    if comes_back:
        server.stop()
        one.serve(port=server.port)
    session.wait()


# Memory


def memory_capped(one: Round) -> None:
    """Gives the session little more memory than it has."""
    _cap(one, one.start_and_wait().process.pid)


def memory_of_a_worker_capped(one: Round) -> None:
    """Gives a worker little more memory than it has."""
    session = one.start_and_wait(during=True)
    session.until(session.workers)
    if workers := session.workers():
        _cap(one, one.random.choice(workers).pid)


def _cap(one: Round, process: int) -> None:
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        used = psutil.Process(process).memory_info().vms
        most = used + one.random.randrange(0, 24 * MB)
        resource.prlimit(process, resource.RLIMIT_AS, (most, most))


FEW_RETRIES = ("--retries=2", "--request-timeout=2")
WAYS = (
    Way("session killed", "words", sent(KILL)),
    Way("session killed repeatedly", "words", killed_again),
    Way("session terminated", "words", sent(TERM)),
    Way("session interrupted", "words", sent(INT)),
    Way("session stopped", "words", paused),
    Way("session with workers killed", "words", sent(KILL), workers=2),
    Way("session with workers terminated", "words", sent(TERM), workers=2),
    Way("second session", "words", joined_by_a_second),
    Way("worker killed", "words", one_of(Session.workers, KILL), workers=2),
    Way("worker signalled", "words", one_of(Session.workers, TERM, INT, STOP), workers=2),
    Way("sandbox: fork server hit", "programs", one_of(Session.fork_servers, *HARD)),
    Way("sandbox: judge hit", "programs", one_of(Session.judges, *HARD)),
    Way("sandbox: zygote hit", "programs", one_of(Session.zygotes, *HARD)),
    Way("sandbox: referee hit", "programs", one_of(Session.referees, *HARD)),
    Way("sandbox: program hit", "programs", one_of(Session.programs, *HARD)),
    Way("sandbox: session killed", "programs", sent(KILL)),
    Way("sandbox: all stopped", "programs", all_stopped, options=("--exec-timeout=1",)),
    Way("store damaged", "words", damaged),
    Way("store truncated", "words", truncated),
    Way("store locked", "words", locked),
    Way("disk full", "words", full),
    Way("files capped", "words", capped_files),
    Way("results removed", "words", removed),
    Way("checkpoint replaced between", "checkpoint", replaced_between),
    Way("checkpoint replaced in loading", "checkpoint", replaced_while_loaded),
    Way("clock moved", "words", clock_moved),
    Way("server resets", "served", answered_with("reset", "cut"), options=FEW_RETRIES),
    Way("server drips", "served", answered_with("drip"), options=FEW_RETRIES),
    Way("server errs", "served", answered_with("429", "503", "500", "webpage", "half")),
    Way("server gone", "served", server_gone, options=FEW_RETRIES),
    Way("memory capped", "words", memory_capped),
    Way("memory capped with programs", "programs", memory_capped),
    Way("memory of a worker capped", "words", memory_of_a_worker_capped, workers=2),
)
