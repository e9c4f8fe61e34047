"""A run's store as it is read, during the run and later: its groups, its plan, its answers."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from inspect import isgeneratorfunction
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from .._util.errors import CkptbenchError
from .._util.jsonio import Scalar
from .._util.text import counted
from .answers import Key
from .integrity import FORMAT, READABLE, UNREADABLE, format_of, read_only, rows
from .layout import STORE
from .spent import Spent
from .work import SPENT, UNRECORDED

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
        collected: how many samples it has for this session, selected or not; None where that is
            not known.
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
    collected: int | None = None
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
    """One item of the session, as the store keeps it.

    Attributes:
        block: which of the plan's blocks it is in; -1 where nothing is asked.
    """

    position: int
    nodeid: str
    group: int
    id: str
    sample: str
    cluster: str
    trial: int
    block: int = -1


Reads = TypeVar("Reads", bound=Callable[..., Any])


def _named(reads: Reads) -> Reads:
    """Decorate a query: what a damaged store makes it raise is an error that names the file."""
    damage = (sqlite3.Error, ValueError, TypeError, LookupError, AttributeError)

    def named(self: StoreReader, error: Exception) -> CkptbenchError:
        return CkptbenchError(
            f"the run store is damaged: {error}",
            where=str(self.path),
            remedy="`ckptbench store verify` tells more; its run can be repeated with its --run-id",
        )

    @wraps(reads)
    def query(self: StoreReader) -> Any:
        try:
            return reads(self)
        except damage as error:
            raise named(self, error) from error

    @wraps(reads)
    def each(self: StoreReader) -> Iterator[Any]:
        try:
            yield from reads(self)
        except damage as error:
            raise named(self, error) from error

    return cast(Reads, each if isgeneratorfunction(reads) else query)


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

    @_named
    def groups(self) -> list[GroupMetadata]:
        """Metadata of each group; items refer to it by index."""
        with self._turn:
            rows = self._db.execute("SELECT facts FROM groups ORDER BY id").fetchall()
        return [GroupMetadata.of_json(json.loads(facts)) for (facts,) in rows]

    @_named
    def plan(self) -> Iterator[PlannedItem]:
        """The planned items in running order."""
        for row in self._db.execute("SELECT * FROM plan ORDER BY position"):
            yield PlannedItem(*row)

    @_named
    def notes(self) -> list[str]:
        """Notes on the plan, for the reader."""
        found: list[str] = json.loads(self._meta("notes") or "[]")
        return [*found, *self._damage()]

    def _damage(self) -> Iterator[str]:
        """Notes on the stores whose answers could not be used."""
        if self._lacks("damage"):
            return
        query = "SELECT file, digest = '', MAX(what), COUNT(*) FROM damage GROUP BY 1, 2"
        for file, whole, what, number in self._db.execute(query):
            if whole:
                yield f"{file} cannot be read ({what}): no stored answer of it was used"
            else:
                answers = counted(number, "stored answer")
                yield f"damaged, and so not used: {answers} in {file}"

    def _lacks(self, table: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self._db.execute(query, (table,)).fetchone() is None

    @_named
    def engines(self) -> dict[str, dict[str, Any]]:
        """The description of each checkpoint's engine."""
        rows = self._db.execute("SELECT checkpoint, facts FROM engines")
        return {checkpoint: json.loads(facts) for checkpoint, facts in rows}

    @_named
    def spent(self) -> dict[tuple[str, str], Spent]:
        """By checkpoint and protocol, what answers cost; those without any are left out.

        Earlier versions recorded it nowhere.
        """
        rows = self._db.execute(UNRECORDED).fetchall()
        if not self._lacks("spent"):
            rows += self._db.execute(SPENT)
        return {(row[0], row[1]): Spent(*row[2:]) for row in rows}

    @_named
    def repeats(self) -> list[Repeat]:
        """The items that were run again; stores of older versions have no such table."""
        if self._lacks("repeats"):
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
        self.damaged: list[str] = []
        try:
            self._db = read_only(self.path)
            self._format = format_of(self._db)
        except UNREADABLE as error:
            raise CkptbenchError(f"cannot be read: {error}", where=str(self.path)) from error
        if self._format not in READABLE:
            self._db.close()
            found = self._format or "none"
            raise CkptbenchError(
                f"has format {found}, this version reads {FORMAT}", where=str(self.path)
            )

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    @_named
    def samples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Content hash and fields of every sample."""
        for name, text in self._db.execute("SELECT hash, fields FROM samples"):
            yield name, json.loads(text)

    @_named
    def answers(self) -> Iterator[tuple[Key, str]]:
        """Every answer under its key, as `answers.encode` wrote it.

        The digests of those that differ from their checksums are in `damaged` afterwards.
        """
        for key, response, whole in rows(self._db, self._format):
            if whole:
                yield key, response.decode()
            else:
                self.damaged.append(key.digest)

    @_named
    def served(self) -> dict[int, str]:
        """Digest of the answer that an item was given, by its position."""
        return dict(self._db.execute("SELECT position, digest FROM served"))

    @_named
    def work(self) -> list[tuple[int, float, int, int]]:
        """Group, seconds, answers computed and answers reused of each block."""
        return self._db.execute("SELECT grp, seconds, asked, reused FROM work").fetchall()
