"""Write a file completely or not at all.

The text goes to a temporary file in the same folder, is synced to disk, and only then renamed over
the old file: a reader, even after a crash or on a full disk, never sees a part.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from .errors import CkptbenchError


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as the whole UTF-8 content of a file, atomically.

    Raises:
        CkptbenchError: the file cannot be written; an earlier file is unchanged.
    """
    with atomic_writer(path) as file:
        file.write(text)


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A UTF-8 text file that replaces the old one when the block ends without an exception.

    Missing folders are made, and a symbolic link is followed rather than replaced. When the block
    raises, the temporary file is removed and the old file stays.

    Raises:
        CkptbenchError: the file cannot be written; it names the file and the system's reason.
    """
    target = Path(os.path.realpath(path))
    # Not the name with a suffix: a long name has no room for one (255 bytes on most disks).
    temporary = target.parent / f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        if target.exists() and not target.is_file():
            raise CkptbenchError("is not a regular file", where=str(path), remedy=_REMEDY)
        target.parent.mkdir(parents=True, exist_ok=True)
        # A lone surrogate (half of a broken character in a model's answer) has no UTF-8 form;
        # `backslashreplace` writes it as JSON itself would escape it, so it even reads back.
        with open(
            temporary, "x", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        if _is_about_another_file(error, temporary, target):
            raise
        reason = error.strerror or str(error)
        raise CkptbenchError(
            f"cannot be written: {reason}", where=str(path), remedy=_REMEDY
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


_REMEDY = "Free space or choose a writable folder; an earlier file of that name is unchanged."


def _is_about_another_file(error: OSError, temporary: Path, target: Path) -> bool:
    """Whether the block failed at reading something else while it was writing this file.

    A write to an open file raises without a file name; opening, renaming and making folders
    name a path at or above the target.
    """
    if error.filename is None:
        return False
    failed = Path(os.fsdecode(error.filename))
    return failed != temporary and failed != target and failed not in target.parents


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable where the system allows it (not on Windows)."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
