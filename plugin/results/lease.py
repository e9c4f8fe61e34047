"""The lease on a run: one session at a time works in a run's folder.

It is a row of the run store, taken in the transaction that writes the plan, so two sessions that
start at once cannot both have it.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass

STALE_S = 300.0
"""Seconds without a heartbeat after which a lease counts as left behind."""
BEAT_S = 30.0
"""Seconds between heartbeats."""


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
