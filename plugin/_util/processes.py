"""Whether a process of this machine still runs."""

from __future__ import annotations

import os
from pathlib import Path

_OVER = "ZX"  # a zombie runs no more, though its id is in use until its parent asks for its status
_STARTED = 19  # the start time's place among the fields that follow the name


def start_of(process: int) -> int:
    """When a process started, in ticks since the machine did; 0 where that cannot be found out."""
    fields = _fields(process)
    return int(fields[_STARTED]) if fields else 0


def is_alive(process: int, started: int = 0) -> bool:
    """Whether a process runs; also True where that cannot be found out.

    Args:
        started: as `start_of` gave it, so that a later process with the same id is not taken for
            this one; 0 where it is not known.
    """
    if os.name != "posix":  # os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    fields = _fields(process)
    if not fields:
        return True
    return fields[0] not in _OVER and (not started or started == int(fields[_STARTED]))


def _fields(process: int) -> list[str]:
    """What Linux tells of a process after its name: the state comes first; empty elsewhere."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # a name may hold spaces and parentheses
