"""A run's store as it is read, during the run and later: its groups, its plan, its answers."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from .._util.errors import CkptbenchError
from .._util.jsonio import Scalar
from .answers import Key
from .layout import STORE

FORMAT = 1
GROUP_VERSION = 1
# An item that was run again: its position, its group, whether its outcome flipped (None without
# a second one), and whether its batch was of another size.
Repeat = tuple[int, int, bool | None, bool]


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """One benchmark under one protocol for one checkpoint: all that folding its outcomes needs.

    Attributes:
        checkpoint: its name; `spec` is what `--checkpoint` named.
        run, step, epoch, facts: its position in training, as far as its name and files give it.
        primary: whether the protocol is the first of its benchmark's.
        reducer: how outcomes become scores; see `scores.reducers.reducer_of`.
        dataset, source, licence: of the dataset.
        own_checkpoint: whether the suite's own fixture loads the checkpoint.
        left_out: ids of samples that the dataset left out for `--limit`.
        settings: what affects the outcomes besides the engine, such as the time limit of programs.
        metrics: the metrics that a configuration file requests; None for all.
        asked: settings of the configuration file and options: `{"value": ..., "source": ...}`.
        output_path: where a copy of the result goes; empty without one.
        log_samples: whether that copy lists every document.
        identity: settings that two results must share to be compared; see `gate.identity`.
        version: of this record.
    """

    checkpoint: str
    benchmark: str
    protocol: str
    primary: bool
    reducer: Mapping[str, Any]
    spec: str = ""
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    dataset: str = ""
    source: str = ""
    licence: str = ""
    own_checkpoint: bool = False
    left_out: tuple[str, ...] = ()
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    metrics: tuple[str, ...] | None = None
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    output_path: str = ""
    log_samples: bool = False
    identity: Mapping[str, Scalar] = field(default_factory=dict)
    version: int = GROUP_VERSION

    @property
    def key(self) -> tuple[str, str]:
        """Checkpoint and protocol: groups of two parts of a run that have it are one."""
        return self.checkpoint, self.protocol

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> GroupMetadata:
        """The record of its fields as JSON; those that an earlier version lacks have defaults."""
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        for name in ("left_out", "metrics"):
            if known.get(name) is not None:
                known[name] = tuple(known[name])
        return cls(**known)


class PlannedItem(NamedTuple):
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

    def repeats(self) -> list[Repeat]:
        """The items that were run again; stores of older versions have no such table."""
        kept = "SELECT 1 FROM sqlite_master WHERE name = 'repeats'"
        if self._db.execute(kept).fetchone() is None:
            return []
        rows = self._db.execute("SELECT position, grp, flipped, other_batch FROM repeats")
        return [(p, g, None if f is None else bool(f), bool(other)) for p, g, f, other in rows]


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
        for name, text in self._db.execute("SELECT hash, fields FROM samples"):
            yield name, json.loads(text)

    def answers(self) -> Iterator[tuple[Key, str]]:
        """Every answer under its key, as `answers.encode` wrote it."""
        for *key, response in self._db.execute("SELECT * FROM responses"):
            yield Key(*key), response

    def served(self) -> dict[int, str]:
        """Digest of the answer that an item was given, by its position."""
        return dict(self._db.execute("SELECT position, digest FROM served"))

    def work(self) -> list[tuple[int, float, int, int]]:
        """Group, seconds, answers computed and answers reused of each block."""
        return self._db.execute("SELECT grp, seconds, asked, reused FROM work").fetchall()
