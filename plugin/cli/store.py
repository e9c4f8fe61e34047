"""`ckptbench store`: the stored answers of runs listed, verified and removed."""

from __future__ import annotations

import argparse
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.text import counted
from ..results.integrity import UNREADABLE, faults, read_only, set_aside, stores_of
from .arguments import Commands, add_command, add_runs_folder, tell

_EXAMPLES = """\
  ckptbench store ls
  ckptbench store verify results/nightly
  ckptbench store prune --older-than 30
  ckptbench store prune --except nightly --except release
"""
_DAY_S = 86_400


def register(commands: Commands) -> None:
    """Add the command and its options."""
    store = add_command(
        commands,
        "store",
        run,
        "List, verify or remove the answers that runs have stored. `verify` compares each answer "
        "with its checksum, and exits with 1 when a store is damaged. `prune` removes the answers "
        "of the runs that its options select: they are asked again when they are needed. Reports, "
        "scores and samples stay.",
        help="list, verify and remove stored answers",
        examples=_EXAMPLES,
    )
    store.add_argument("action", choices=("ls", "verify", "prune"))
    add_runs_folder(store)
    store.add_argument(
        "--older-than", type=float, metavar="DAYS", help="prune: runs not written for so many days"
    )
    store.add_argument(
        "--except",
        dest="kept",
        action="append",
        metavar="RUN",
        help="prune: all runs but this one; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do one of the three; the exit status is 1 where `verify` found damage."""
    folder: Path = arguments.folder
    stores = stores_of(folder)
    if not stores:
        raise CkptbenchError(
            "no run has stored answers here",
            where=str(folder),
            remedy="give the folder of runs (--results-dir), or of one run",
        )
    if arguments.action == "ls":
        return _list(stores)
    if arguments.action == "verify":
        return _verify(stores)
    if arguments.older_than is None and not arguments.kept:
        raise CkptbenchError(
            "prune needs a selection",
            where="ckptbench store prune",
            remedy="give --older-than DAYS, --except RUN, or both",
        )
    return _prune(stores, folder, arguments.older_than, arguments.kept or [])


def _list(stores: list[Path]) -> int:
    for store in stores:
        megabytes = store.stat().st_size / 1e6
        written = time.strftime("%Y-%m-%d %H:%M", time.localtime(store.stat().st_mtime))
        print(f"{store.parent}  {stored_answers(store)}  {megabytes:,.1f} MB  {written}")
    return 0


def stored_answers(store: Path) -> str:
    """`3,200 answers`, or why the store cannot be read."""
    try:
        with closing(read_only(store)) as db:
            (number,) = db.execute("SELECT COUNT(*) FROM responses").fetchone()
    except UNREADABLE as error:
        return f"cannot be read ({error})"
    return counted(number, "answer")


def _verify(stores: list[Path]) -> int:
    damaged = 0
    for store in stores:
        found = faults(store)
        damaged += bool(found)
        for line in found or ["intact"]:
            print(f"{store}: {line}")
    if damaged:
        tell(
            f"{counted(damaged, 'store')} damaged: a run with the same --run-id asks damaged "
            "answers again, and other runs do not use them"
        )
    return int(damaged > 0)


def _prune(stores: list[Path], folder: Path, days: float | None, kept: list[str]) -> int:
    for store in stores:
        # A part of a watched run belongs to that run.
        names = {store.parent.name, *store.parent.relative_to(folder).parts[:1]}
        recent = days is not None and time.time() - store.stat().st_mtime < days * _DAY_S
        if recent or names & set(kept):
            continue
        removed, before = stored_answers(store), store.stat().st_size
        try:
            with closing(sqlite3.connect(store, isolation_level=None)) as db:
                db.execute("DELETE FROM responses")
                db.execute("VACUUM")
        except UNREADABLE as error:
            raise CkptbenchError(
                f"cannot be pruned: {error}",
                where=str(store),
                remedy="remove the file itself: nothing but the run's own resumption needs it",
            ) from error
        for aside in set_aside(store.parent):
            aside.unlink()
        freed = (before - store.stat().st_size) / 1e6
        print(f"{store.parent}: {removed} removed, {freed:,.1f} MB freed")
    return 0
