"""The run store: what a run planned and every answer it got, durable as soon as it exists.

SQLite in the run's folder, in WAL mode. The key of an answer is everything that determines it: the
checkpoint's fingerprint, the engine's settings, the protocol, the sample's content, the trial, the
seed and the request itself. So a killed run continues where it stopped, scoring again needs no
model, and no checkpoint gets the answers of another one.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from ..api.requests import Answer
from .answers import ENCODER, Key, NoLongerAnAnswer, decode, escaped
from .as_json import as_json
from .earlier import EarlierStores
from .identities import SCHEMA as IDENTITIES
from .identities import keep
from .integrity import FORMAT, UNREADABLE, Damaged, checksum, format_of, held, holds, stored_text
from .layout import STORE
from .lease import TAKEN_OVER, Lease, left_behind
from .spent import Spent
from .stored_run import GroupMetadata, PlannedItem, Repeat, StoreReader
from .work import SCHEMA as WORK
from .work import add_spent, add_work, note_unrecorded

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS groups (id INTEGER PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS samples (hash TEXT PRIMARY KEY, fields TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER PRIMARY KEY, nodeid TEXT NOT NULL UNIQUE, grp INTEGER NOT NULL,
    id TEXT NOT NULL, sample TEXT NOT NULL, cluster TEXT NOT NULL, trial INTEGER NOT NULL,
    block INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS origins (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, protocol TEXT NOT NULL,
    seed INTEGER NOT NULL, UNIQUE (fingerprint, protocol, seed));
CREATE TABLE IF NOT EXISTS responses (
    digest TEXT PRIMARY KEY, origin INTEGER NOT NULL, sample TEXT NOT NULL,
    trial INTEGER NOT NULL, checksum INTEGER NOT NULL, response TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS damage (
    file TEXT, digest TEXT, what TEXT, PRIMARY KEY (file, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS served (position INTEGER PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS taken (position INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS repeats (
    position INTEGER PRIMARY KEY, grp INTEGER NOT NULL, flipped INTEGER, other_batch INTEGER);
"""
# The tables that belong to one plan, and not to the answers and what they cost.
_PLANNED = ("groups", "plan", "served", "engines", "work", "taken", "repeats", "damage")
_ORIGIN = "INSERT OR IGNORE INTO origins (fingerprint, protocol, seed) VALUES (?, ?, ?)"
_ORIGIN_ID = "SELECT id FROM origins WHERE fingerprint = ? AND protocol = ? AND seed = ?"
_ANSWER = "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?)"


class RunStore(StoreReader):
    """A process's connection to a run's store, shared by its threads."""

    def __init__(self, folder: Path, *, earlier: Sequence[Path] = (), session: str = "") -> None:
        """Open the store of a run, making it when it is new.

        Args:
            folder: the run's folder.
            earlier: folders of other runs whose answers may be reused, best first; or stores of
                this one that were set aside.
            session: token of the plan that answers are assigned to; empty where nobody else plans.

        Raises:
            CkptbenchError: the folder cannot be written, or another version made the store.
        """
        super().__init__()
        self.path = folder / STORE
        self._earlier = EarlierStores(earlier)
        self._session = session
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self.path, timeout=60, isolation_level=None, check_same_thread=False
            )
            # Rows fill larger pages better; a store that is there keeps its own.
            self._db.execute("PRAGMA page_size=8192")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA cache_size=-65536")  # KiB: answers are found in any order
            self._db.executescript(_SCHEMA + IDENTITIES + WORK)
            # Only a new store is written to: another session may be writing for long.
            if self._meta("format") is None:
                self._db.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (str(FORMAT),))
            found = format_of(self._db)
        except UNREADABLE as error:
            remedy = "free space, or choose another folder with --results-dir"
            raise self._unwritable(error, remedy) from error
        if found != str(FORMAT):
            raise CkptbenchError(
                f"the run store has format {found}, this version reads {FORMAT}",
                where=str(self.path),
                remedy="choose another --run-id",
            )

    def _unwritable(self, error: Exception, remedy: str) -> CkptbenchError:
        what = f"the run store cannot be written: {error}"
        return CkptbenchError(what, where=str(self.path), remedy=remedy)

    def close(self) -> None:
        """Close the connections."""
        with self._turn:
            self._db.close()
            self._earlier.close()

    def note_damage(self, path: Path, digests: Iterable[str], what: str = "") -> None:
        """Record answers of a store that were not used, or the empty digest for all of it."""
        with self._transaction() as db:
            rows = [(escaped(str(path)), digest, what) for digest in digests]
            db.executemany("INSERT OR IGNORE INTO damage VALUES (?, ?, ?)", rows)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                if not isinstance(error, sqlite3.Error):
                    raise
                remedy = "free space and run again with the same --run-id: stored answers stay"
                raise self._unwritable(error, remedy) from error

    # What was planned

    def write_plan(
        self,
        token: str,
        notes: Sequence[str],
        groups: Sequence[GroupMetadata],
        items: Iterable[PlannedItem],
        samples: Iterable[tuple[str, Mapping[str, Any]]],
        lease: Lease | None = None,
    ) -> None:
        """Replace the plan of this run; its answers stay.

        Args:
            token: identifies the session whose plan it is.
            notes: on the plan, for the reader.
            groups: metadata of each group; items refer to it by index.
            items: every item that needs an answer.
            samples: content hash and fields of every sample.
            lease: of the session; None for a run that nobody else can be writing.

        Raises:
            CkptbenchError: another session works in the folder, or it cannot be written.
        """
        if lease is not None:
            self._left_behind(lease)  # who holds it may be writing, and let nobody else write
        with self._transaction() as db:
            if lease is not None and (note := self._take(db, lease)):
                notes = [*notes, note]
            note_unrecorded(db)
            for table in _PLANNED:
                db.execute(f"DELETE FROM {table}")
            db.execute("INSERT OR REPLACE INTO meta VALUES ('token', ?)", (token,))
            db.execute("INSERT OR REPLACE INTO meta VALUES ('notes', ?)", (_as_text(list(notes)),))
            db.executemany(
                "INSERT INTO groups VALUES (?, ?)",
                ((i, _as_text(asdict(each))) for i, each in enumerate(groups)),
            )
            db.executemany(
                "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                items,
            )
            db.executemany(
                "INSERT OR REPLACE INTO samples VALUES (?, ?)",
                ((h, ENCODER.encode(dict(fields))) for h, fields in samples),
            )

    def _take(self, db: sqlite3.Connection, lease: Lease) -> str:
        """Take the run's lease; a note where another session left its own behind."""
        held = self._left_behind(lease)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('lease', ?)", (json.dumps(asdict(lease)),))
        return f"taken over from {held}, which did not end in order" if held else ""

    def _left_behind(self, lease: Lease) -> Lease | None:
        return left_behind(self._meta("lease"), lease, self.path.parent)

    def beat(self, lease: Lease) -> None:
        """Give a sign of life of the session that holds the lease."""
        self._of_the_lease(
            "UPDATE meta SET value = ?", json.dumps(asdict(lease)), token=lease.token
        )

    def release(self, lease: Lease) -> None:
        """Let the next session in."""
        self._of_the_lease("DELETE FROM meta", token=lease.token)

    def _of_the_lease(self, change: str, *values: str, token: str) -> None:
        # A folder that cannot be written has said so already, or will.
        with contextlib.suppress(CkptbenchError), self._transaction() as db:
            own = "WHERE name = 'lease' AND json_extract(value, '$.token') = ?"
            db.execute(f"{change} {own}", (*values, token))

    def token(self) -> str:
        """Identifier of the session whose plan is stored; empty without a plan."""
        return self._meta("token") or ""

    def block_of_positions(self) -> list[tuple[int, int]]:
        """`(position, block)` of the planned items, in running order."""
        return self._db.execute("SELECT position, block FROM plan ORDER BY position").fetchall()

    # What was answered

    def find(self, keys: Sequence[Key]) -> list[Answer | None]:
        """The stored response of each key, or None. The keys share checkpoint and protocol.

        An answer found in an earlier run is copied into this one, so that a run's folder is whole.
        One that is damaged is none, and is noted.
        """
        found: list[Answer | None] = [None] * len(keys)
        if not keys:
            return found
        fingerprint, protocol = keys[0].fingerprint, keys[0].protocol
        copied: list[tuple[Key, str]] = []
        with self._turn:
            earlier, unreadable = self._earlier.of(fingerprint)
            for path, what in unreadable:
                self.note_damage(path, [""], what)
            stores = {self.path: self._db, **earlier}
            for path, connection in stores.items():
                try:
                    if not holds(connection, fingerprint, protocol):
                        continue
                except UNREADABLE as error:
                    self.note_damage(path, [""], str(error))
                    continue
                damaged = []
                there = held(connection, [key.digest for key in keys])
                for index, key in enumerate(keys):
                    if found[index] is None and key.digest in there:
                        try:
                            text = stored_text(connection, key)
                        except Damaged:
                            damaged.append(key.digest)
                            continue
                        with contextlib.suppress(NoLongerAnAnswer):
                            found[index] = decode(text) if text else None
                        if found[index] is not None and connection is not self._db:
                            copied.append((key, text))
                if damaged:
                    self.note_damage(path, damaged)
            if copied:
                self.add(copied)
        return found

    def add(
        self,
        answers: Iterable[tuple[Key, str]],
        served: Iterable[tuple[int, str]] = (),
    ) -> None:
        """Store answers durably, in one commit.

        Args:
            answers: each response as `encode` wrote it.
            served: which stored response items are given, as `(position, digest)`.
        """
        with self._transaction() as db:
            _keep(db, answers)
            db.executemany("INSERT OR REPLACE INTO served VALUES (?, ?)", list(served))

    def serve(
        self, given: Sequence[tuple[int, int, Key, str]], spent: Mapping[int, Spent] = {}
    ) -> None:
        """Assign answers to items durably, in one commit, and count every item once.

        An item that gets an answer again, by a rerun or another worker, is not counted again.

        Args:
            given: position, group, key and response as `encode` wrote it; the response is empty
                where it is stored already.
            spent: by group, what answers cost since the last commit.

        Raises:
            CkptbenchError: it cannot be written, or the plan is another session's by now, in which
                the positions are those of other items.
        """
        alike: dict[tuple[int, bool], list[tuple[int, str]]] = defaultdict(list)
        for position, group, key, text in given:
            alike[group, bool(text)].append((position, key.digest))
        with self._transaction() as db:
            if self._session and self.token() != self._session:
                raise CkptbenchError(TAKEN_OVER, where=str(self.path.parent))
            _keep(db, [(key, text) for *_, key, text in given if text])
            for (group, asked), served in alike.items():
                before = db.total_changes
                db.executemany("INSERT OR IGNORE INTO served VALUES (?, ?)", served)
                new = db.total_changes - before
                if new < len(served):
                    db.executemany("REPLACE INTO served VALUES (?, ?)", served)
                add_work(db, group, asked=new if asked else 0, reused=0 if asked else new)
            for group, cost in spent.items():
                add_work(db, group, cost.seconds)
                add_spent(db, group, cost)

    def answered(self, group: int) -> Iterator[tuple[PlannedItem, str, str | None]]:
        """A group's planned items with their sample's fields and their response as JSON texts."""
        query = (
            "SELECT plan.*, samples.fields, responses.response FROM plan "
            "JOIN samples ON samples.hash = plan.sample "
            "LEFT JOIN served ON served.position = plan.position "
            "LEFT JOIN responses ON responses.digest = served.digest "
            "WHERE plan.grp = ? ORDER BY plan.position"
        )
        for *item, fields, response in self._db.execute(query, (group,)):
            yield PlannedItem(*item), fields, response

    def unreported(self, nodeids: Container[str]) -> int:
        """How many planned items have a stored answer and are not among those that reported."""
        rows = self._db.execute("SELECT nodeid FROM plan JOIN served USING (position)")
        return sum(nodeid not in nodeids for (nodeid,) in rows)

    def nulls(self) -> dict[int, int]:
        """By group, the number of items whose answer from a server was `null` instead of text."""
        query = (
            "SELECT plan.grp, COUNT(*) FROM plan JOIN served ON served.position = plan.position "
            "JOIN responses ON responses.digest = served.digest "
            "WHERE instr(responses.response, ?) GROUP BY plan.grp"
        )
        # Inside a text the quotation marks would be escaped.
        return dict(self._db.execute(query, ('"null": true',)).fetchall())

    # Who answered

    def write_engine(
        self, checkpoint: str, facts: Mapping[str, Any], spec: str = "", conditions: str = ""
    ) -> None:
        """Record an engine's description of itself; see `identities.keep`."""
        with self._transaction() as db:
            keep(db, checkpoint, _as_text(facts), spec, conditions)

    def add_work(self, group: int, seconds: float, asked: int = 0, reused: int = 0) -> None:
        """Record work on a group: seconds of wall time, and items that `serve` did not count."""
        with self._transaction() as db:
            add_work(db, group, seconds, asked, reused)

    def add_spent(self, group: int, spent: Spent) -> None:
        """Record what answers of a group cost that `serve` did not count."""
        with self._transaction() as db:
            add_spent(db, group, spent)

    def work(self) -> dict[int, tuple[float, int, int]]:
        """By group: seconds, items that the model answered, and items with a stored answer."""
        rows = self._db.execute(
            "SELECT grp, SUM(seconds), SUM(asked), SUM(reused) FROM work GROUP BY grp"
        )
        return {group: (seconds, asked, reused) for group, seconds, asked, reused in rows}

    # What was run again

    def add_repeats(self, repeats: Iterable[Repeat]) -> None:
        """Record the outcomes of items that were run again."""
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO repeats VALUES (?, ?, ?, ?)", list(repeats))

    # Which worker answers

    def note_taken(self, position: int) -> None:
        """Record that the block which begins with an item goes to another worker than its own."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO taken VALUES (?)", (position,))

    def taken(self) -> set[int]:
        """The positions recorded with `note_taken` in this session."""
        with self._turn:
            return {position for (position,) in self._db.execute("SELECT position FROM taken")}


def _as_text(value: Any) -> str:
    """Facts that nothing is computed of: a number that is not finite is null."""
    return escaped(ENCODER.encode(as_json(value)))


def _keep(db: sqlite3.Connection, answers: Iterable[tuple[Key, str]]) -> None:
    ids: dict[tuple[str, str, int], int] = {}
    rows = []
    for key, text in answers:
        origin = key.fingerprint, key.protocol, key.seed
        if origin not in ids:
            db.execute(_ORIGIN, origin)
            (ids[origin],) = db.execute(_ORIGIN_ID, origin).fetchone()
        whole = checksum(key, text.encode())
        rows.append((key.digest, ids[origin], key.sample, key.trial, whole, text))
    db.executemany(_ANSWER, rows)
