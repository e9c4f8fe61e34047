"""The lease on a run: one session at a time works in a run's folder.

It is a row of the run store, taken in the transaction that writes the plan, so two sessions that
start at once cannot both have it.
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from .._util.errors import CkptbenchError

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
    """

    token: str
    process: int
    host: str
    beat: float

    @classmethod
    def now(cls, token: str, process: int) -> Lease:
        """A lease of a session on this machine."""
        return cls(token, process, socket.gethostname(), time.time())

    def holds_against(self, other: Lease) -> bool:
        """Whether another session must stay out."""
        if self.token == other.token or time.time() - self.beat > STALE_S:
            return False
        if self.host != other.host:
            return True
        return self.process != other.process and _is_alive(self.process)

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def left_behind(stored: str | None, lease: Lease, folder: Path) -> Lease | None:
    """The lease that a session which is over left in a run's store, as JSON; None without one.

    Raises:
        CkptbenchError: its session works in the folder, and whoever wants `lease` must stay out.
    """
    held = Lease(**json.loads(stored)) if stored else None
    if held is not None and held.holds_against(lease):
        raise CkptbenchError(
            f"another session works in this folder: {held}",
            where=str(folder),
            remedy=f"Run this one with another --run-id, then `ckptbench merge {folder} "
            f"{folder.parent}/OTHER -o {folder.parent}/MERGED`; or wait for that one to end "
            f"and run the same command with --run-id={folder.name} again.",
        )
    return held


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # os.kill would end it; the heartbeat decides
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
