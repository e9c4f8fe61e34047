"""The layout of a run's folder."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.overwrite import SUMMARY
from .log import FILE_NAME

STORE = "store.sqlite"
PARTS = "parts"  # in a watched run's folder, a run for each checkpoint
# What a run without a summary leaves that has lost its store: nothing that another one replaces.
_LEFT_BEHIND = (STORE, "damaged-", FILE_NAME)
_LONGEST_BYTES = 120  # leaves room for our suffixes in the 255 bytes of common file systems


def safe_name(name: str) -> str:
    """A name as one component of a path, in any script; different names stay different.

    A name that has to be changed or cut gets the first 8 digits of its SHA-256 at the end.
    """
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    if safe == name and name and len(name.encode()) <= _LONGEST_BYTES:
        return name
    digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:8]
    short = safe.encode(errors="ignore")[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{short}-{digest}" if short else digest


def samples_path(folder: Path, checkpoint: str, benchmark: str) -> Path:
    """The file with the lines of one checkpoint in one benchmark."""
    return folder / "samples" / safe_name(checkpoint) / f"{safe_name(benchmark)}.jsonl"


def server_log(folder: Path, checkpoint: str) -> Path:
    """The file with what a server printed that was started for a checkpoint."""
    return folder / f"server-{checkpoint}.log"


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds files and no run: the run's own would replace some of them.

    Raises:
        CkptbenchError: see above.
    """
    if not folder.is_dir() or (folder / STORE).exists():
        return
    if all(file.name.startswith(_LEFT_BEHIND) for file in folder.iterdir()):
        return
    if folder.parent.name == PARTS:  # where the watcher has left the log
        return
    summary = folder / "summary.json"
    if not summary.is_file() or not SUMMARY.holds(summary):
        raise CkptbenchError(
            "holds files and no run of ckptbench",
            where=str(folder),
            remedy="choose another --run-id or --results-dir",
        )
