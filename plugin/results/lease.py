"""The lease on a run: one session at a time works in a run's folder.

It is a row of the run store, taken in the transaction that writes the plan, so two sessions that
start at once cannot both have it.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.processes import is_alive, start_of
from .integrity import UNREADABLE, read_only
from .layout import STORE

STALE_S = 300.0
"""Seconds without a heartbeat after which a lease counts as left behind."""
BEAT_S = 30.0
"""Seconds between heartbeats."""
TAKEN_OVER = "another session has taken over this run, as this one gave no sign of life"


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works in a run's folder.

    Attributes:
        token: of the session.
        process: id of its main process.
        host: the machine that it runs on.
        beat: when it last gave a sign of life, in seconds since the epoch.
        started: when the process started, as `start_of` gives it; 0 where that is not known.
    """

    token: str
    process: int
    host: str
    beat: float
    started: int = 0

    @classmethod
    def now(cls, token: str, process: int) -> Lease:
        """A lease of a session on this machine."""
        return cls(token, process, socket.gethostname(), time.time(), start_of(process))

    def holds_against(self, other: Lease) -> bool:
        """Whether another session must stay out."""
        if self.token == other.token or self.silent_s > STALE_S:
            return False
        if self.host != other.host:
            return True
        return self.process != other.process and is_alive(self.process, self.started)

    @property
    def silent_s(self) -> float:
        """Seconds since its last sign of life."""
        return max(0.0, time.time() - self.beat)  # clocks of two machines may differ

    @property
    def last_sign(self) -> str:
        """How long it has been silent, in words."""
        return f"last sign of life {self.silent_s:.0f} s ago"

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def left_behind(stored: str | None, lease: Lease, folder: Path) -> Lease | None:
    """The lease that a session which is over left in a run's store, as JSON; None without one.

    Raises:
        CkptbenchError: its session works in the folder, and whoever wants `lease` must stay out.
    """
    held = Lease(**json.loads(stored)) if stored else None
    if held is not None and held.holds_against(lease):
        doubt = "" if held.host == lease.host else ", which cannot be seen from this machine"
        raise CkptbenchError(
            f"another session works in this folder: {held}, {held.last_sign}",
            where=str(folder),
            remedy=f"Run this one with another --run-id, then `ckptbench merge {folder} "
            f"{folder.parent}/OTHER -o {folder.parent}/MERGED`; or wait for that one to end "
            f"and run the same command with --run-id={folder.name} again. If it was killed{doubt}, "
            f"that command takes the run over once there was no sign of life for {STALE_S:.0f} s.",
        )
    return held


def who_works_in(folder: Path) -> Lease | None:
    """The session that keeps others out of a run's folder; None also where none can be found."""
    try:
        with closing(read_only(folder / STORE)) as db:
            row = db.execute("SELECT value FROM meta WHERE name = 'lease'").fetchone()
        held = Lease(**json.loads(row[0])) if row else None
    except (*UNREADABLE, ValueError, TypeError):
        return None
    newcomer = Lease.now("", os.getpid())
    return held if held is not None and held.holds_against(newcomer) else None
