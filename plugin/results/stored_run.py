"""Read a run's store: during the run, and later."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .answers import Key
from .group import GroupMetadata
from .layout import STORE

FORMAT = 1


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One item of the session, as the store keeps it."""

    position: int
    nodeid: str
    group: int
    id: str
    sample: str
    cluster: str
    trial: int


class StoreReader:
    """The queries of both kinds of connections; a lock serializes threads."""

    path: Path
    _db: sqlite3.Connection

    def __init__(self) -> None:
        self._turn = threading.RLock()

    def _meta(self, name: str) -> str | None:
        with self._turn:
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def groups(self) -> list[GroupMetadata]:
        """Metadata of each group; items refer to it by index."""
        with self._turn:
            rows = self._db.execute("SELECT facts FROM groups ORDER BY id").fetchall()
        return [GroupMetadata.of_json(json.loads(facts)) for (facts,) in rows]

    def plan(self) -> Iterator[PlannedItem]:
        """The planned items in running order."""
        for row in self._db.execute("SELECT * FROM plan ORDER BY position"):
            yield PlannedItem(*row)

    def notes(self) -> list[str]:
        """Notes on the plan, for the reader."""
        found: list[str] = json.loads(self._meta("notes") or "[]")
        return found

    def engines(self) -> dict[str, dict[str, Any]]:
        """The description of each checkpoint's engine."""
        rows = self._db.execute("SELECT checkpoint, facts FROM engines")
        return {checkpoint: json.loads(facts) for checkpoint, facts in rows}


class StoredRun(StoreReader):
    """The store of a run, read only: also on a read-only disk."""

    def __init__(self, folder: Path) -> None:
        """Open the store of a run's folder.

        Raises:
            CkptbenchError: there is none, it is of another version, or it cannot be read.
        """
        super().__init__()
        self.path = folder / STORE
        if not self.path.is_file():
            raise CkptbenchError(
                f"holds no {STORE}", where=str(folder), remedy="Give the folder of a run."
            )
        try:
            self._db = self._open()
            (found,) = self._db.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        except (sqlite3.Error, TypeError) as error:
            raise CkptbenchError(f"cannot be read: {error}", where=str(self.path)) from error
        if found != str(FORMAT):
            raise CkptbenchError(
                f"has format {found}, this version reads {FORMAT}", where=str(self.path)
            )

    def _open(self) -> sqlite3.Connection:
        # Reading a WAL database makes files beside it, unless it is opened as immutable, which is
        # safe where no WAL file holds a part of it. See https://sqlite.org/wal.html#readonly.
        uri = f"{self.path.resolve().as_uri()}?mode=ro"
        immutable = "" if Path(f"{self.path}-wal").exists() else "&immutable=1"
        return sqlite3.connect(f"{uri}{immutable}", uri=True)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def samples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Content hash and fields of every sample."""
        for name, fields in self._db.execute("SELECT hash, fields FROM samples"):
            yield name, json.loads(fields)

    def answers(self) -> Iterator[tuple[Key, str]]:
        """Every answer under its key, as `store.encode` wrote it."""
        for *key, response in self._db.execute("SELECT * FROM responses"):
            yield Key(*key), response

    def served(self) -> dict[int, str]:
        """Digest of the answer that an item was given, by its position."""
        return dict(self._db.execute("SELECT position, digest FROM served"))

    def repeats(self) -> dict[int, tuple[bool | None, bool]]:
        """By position, for an item run again: whether it flipped, and in another batch size.

        Stores of older versions have no such table.
        """
        kept = "SELECT 1 FROM sqlite_master WHERE name = 'repeats'"
        if self._db.execute(kept).fetchone() is None:
            return {}
        rows = self._db.execute("SELECT position, flipped, other_batch FROM repeats")
        return {p: (None if f is None else bool(f), bool(other)) for p, f, other in rows}

    def work(self) -> list[tuple[int, float, int, int]]:
        """Group, seconds, answers computed and answers reused of each block."""
        return self._db.execute("SELECT grp, seconds, asked, reused FROM work").fetchall()
