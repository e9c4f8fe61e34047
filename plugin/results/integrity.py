"""Whether a run's store is whole, and reading one without leaving a file beside it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from .answers import Key
from .layout import PARTS, STORE

FORMAT = 2
_ROWS = {
    # Without checksums, and with the fingerprint and the protocol in every row.
    "1": "SELECT digest, fingerprint, protocol, sample, trial, seed, CAST(response AS BLOB), NULL "
    "FROM responses",
    str(FORMAT): "SELECT digest, fingerprint, protocol, sample, trial, seed, "
    "CAST(response AS BLOB), checksum FROM responses JOIN origins ON origins.id = origin",
}
READABLE = frozenset(_ROWS)
"""The formats of stores that can be read."""
_HELD = "SELECT digest FROM responses WHERE digest IN (SELECT value FROM json_each(?))"
_FIND = "SELECT CAST(response AS BLOB), checksum FROM responses WHERE digest = ?"
# Where names in a store are damaged, sqlite3 cannot even decode its own message.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError, OSError)
"""What reading a store raises that cannot be opened, or is damaged."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ASIDE = "damaged-{}.sqlite"
_MOST_LOST = 100


class Damaged(Exception):
    """A stored answer is not what it was."""


def checksum(key: Key, response: bytes) -> int:
    """CRC-32 of an answer and its key: any burst of up to 32 bits changes it."""
    digest, fingerprint, protocol, sample, trial, seed = key
    whole = f"{digest}|{fingerprint}|{protocol}|{sample}|{trial}|{seed}"
    return crc32(response, crc32(whole.encode()))


def rows(db: sqlite3.Connection, format: str) -> Iterator[tuple[Key, bytes, bool]]:
    """Every answer with its key, and whether it is as it was stored, as far as that is known."""
    for *key, response, stored in db.execute(_ROWS[format]):
        whole = Key(*key), response
        yield *whole, isinstance(response, bytes) and stored in (None, checksum(*whole))


def held(connection: sqlite3.Connection, digests: Sequence[str]) -> frozenset[str]:
    """Which answers a store has, asked at once; all of them where that cannot be read."""
    try:
        found = connection.execute(_HELD, (json.dumps(digests),)).fetchall()
    except UNREADABLE:
        return frozenset(digests)
    return frozenset(digest for (digest,) in found)


def stored_text(connection: sqlite3.Connection, key: Key) -> str:
    """The stored answer of a key; empty where there is none.

    Raises:
        Damaged: it cannot be read, or differs from its checksum.
    """
    try:
        row = connection.execute(_FIND, (key.digest,)).fetchone()
    except UNREADABLE as error:
        raise Damaged from error
    if row is None:
        return ""
    response, stored = row
    if not isinstance(response, bytes) or checksum(key, response) != stored:
        raise Damaged
    return response.decode()


def holds(connection: sqlite3.Connection, fingerprint: str, protocol: str | None = None) -> bool:
    """Whether a store has answers of a checkpoint, under a protocol if one is given."""
    query = "SELECT 1 FROM origins WHERE fingerprint = ? AND protocol = IFNULL(?, protocol) LIMIT 1"
    return connection.execute(query, (fingerprint, protocol)).fetchone() is not None


def format_of(db: sqlite3.Connection) -> str:
    """The format of a store; empty where none is stated yet."""
    row = db.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    return str(row[0]) if row else ""


def read_only(store: Path, **options: Any) -> sqlite3.Connection:
    """A connection that reads a store and leaves no file beside it: also on a read-only disk.

    Raises:
        sqlite3.Error, OSError: it cannot be opened.
    """
    # Reading a WAL database makes files beside it, unless it is opened as immutable, which is
    # safe where no WAL file holds a part of it. See https://sqlite.org/wal.html#readonly.
    store = store.resolve()
    wal, index, uri = Path(f"{store}-wal"), Path(f"{store}-shm"), f"{store.as_uri()}?mode=ro"
    if not wal.exists() or (not index.exists() and not wal.stat().st_size):
        uri += "&immutable=1"
    elif not index.exists():
        return _in_memory(store, wal, options)
    connection: sqlite3.Connection = sqlite3.connect(uri, uri=True, **options)
    return connection


def _in_memory(store: Path, wal: Path, options: Mapping[str, Any]) -> sqlite3.Connection:
    """A copy of a store whose last answers are in the WAL file of a process that was killed."""
    memory: sqlite3.Connection = sqlite3.connect(":memory:", **options)
    with TemporaryDirectory() as folder:
        copy = shutil.copy(store, folder)
        shutil.copy(wal, folder)
        with closing(sqlite3.connect(copy)) as whole:
            whole.backup(memory)
    return memory


def stores_of(folder: Path) -> list[Path]:
    """The stores of a folder of runs, or of one run; also those of the parts of watched runs."""
    within = ("", f"{PARTS}/*/", "*/", f"*/{PARTS}/*/")
    return sorted({store for place in within for store in folder.glob(f"{place}{STORE}")})


def faults(store: Path) -> list[str]:
    """What is damaged in a store, a sentence each: its file, or answers by their checksums."""
    try:
        with closing(read_only(store)) as db:
            found = [line for (line,) in db.execute("PRAGMA integrity_check(3)") if line != "ok"]
            format = format_of(db)
            if format not in READABLE:
                return [*found, f"has format {format or 'none'}, this version reads {FORMAT}"]
            damaged = [key.digest for key, _, whole in rows(db, format) if not whole]
    except UNREADABLE as error:
        return [f"cannot be read: {error}"]
    if damaged:
        some = ", ".join(damaged[:3]) + (" ..." if len(damaged) > 3 else "")
        found.append(f"{len(damaged):,} answers differ from their checksums: {some}")
    return found


def set_aside_damaged(folder: Path) -> list[str]:
    """Rename the store of a run when its file is damaged, so that the run gets a new one.

    Call it before other processes open the store.

    Returns:
        A note for the readers of the scores, when it was.
    """
    store = folder / STORE
    if not store.is_file():
        return []
    try:
        with closing(read_only(store)) as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except UNREADABLE as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if isinstance(error, OSError) or code & 0xFF not in _DAMAGED:
            return []
        found = str(error)
    if found == "ok":
        return []
    aside = folder / _ASIDE.format(1 + len(set_aside(folder)))
    for end in ("", "-wal", "-shm"):
        if (part := Path(f"{store}{end}")).exists():
            part.rename(f"{aside}{end}")
    _fill_up(aside)
    first = " ".join(str(found).split())
    return [
        f"{store} was damaged ({first}): it is {aside.name} now, what can be read of it is used, "
        "and the rest is asked again"
    ]


def _fill_up(store: Path) -> None:
    """Give a store that was cut off its length again, with zeros in place of what it lost.

    SQLite reads nothing of a file that is shorter than its header says; with the zeros it reads
    the pages that are left, and checksums tell which answers are whole.
    """
    with suppress(OSError), store.open("r+b") as file:
        # The layout of the header: https://sqlite.org/fileformat2.html#the_database_header
        header, length = file.read(32), store.stat().st_size
        if not header.startswith(b"SQLite format 3\x00") or len(header) < 32:
            return
        page = int.from_bytes(header[16:18], "big")
        whole = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
        # A header that is damaged itself may ask for anything.
        if length < whole <= _MOST_LOST * length:
            file.truncate(whole)


def set_aside(folder: Path) -> Sequence[Path]:
    """The damaged stores of a run that were renamed, the newest first."""
    return sorted(folder.glob(_ASIDE.format("*")), reverse=True)
