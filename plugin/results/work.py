"""The tables of a run store that hold what was done and what it cost, within a transaction.

`work` is of one session, by group; `spent` is of all sessions of a run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from .spent import NOT_RECORDED, Spent

SCHEMA = """
CREATE TABLE IF NOT EXISTS work (grp INTEGER, seconds REAL, asked INTEGER, reused INTEGER);
CREATE TABLE IF NOT EXISTS spent (
    checkpoint TEXT, protocol TEXT, seconds REAL NOT NULL, gpu_seconds REAL, tokens_read INTEGER,
    tokens_written INTEGER, unknown TEXT NOT NULL, PRIMARY KEY (checkpoint, protocol));
"""
SPENT = (
    "SELECT checkpoint, protocol, seconds, gpu_seconds, tokens_read, tokens_written, unknown "
    "FROM spent"
)
_PACES = """
SELECT asked.checkpoint, run, asked.protocol, asked.seconds / answers,
    asked.seconds / answers * IFNULL(gpu_seconds / spent.seconds, 0)
FROM (SELECT json_extract(facts, '$.checkpoint') AS checkpoint,
        json_extract(facts, '$.run') AS run, json_extract(facts, '$.protocol') AS protocol,
        SUM(seconds) AS seconds, SUM(asked) AS answers
    FROM work JOIN groups ON groups.id = work.grp WHERE asked > 0 GROUP BY 1, 2, 3) AS asked
LEFT JOIN spent USING (checkpoint, protocol)
"""
_KEY = "json_extract(facts, '$.checkpoint'), json_extract(facts, '$.protocol')"
# What sessions of earlier versions spent; where it is recorded, that counts and not this.
UNRECORDED = (
    f"SELECT {_KEY}, SUM(seconds), NULL, NULL, NULL, '{NOT_RECORDED}' "
    "FROM work JOIN groups ON groups.id = work.grp WHERE asked > 0 GROUP BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a session's answers came, of a checkpoint under a protocol.

    Attributes:
        run: name of the checkpoint's training run; empty where it has none.
        seconds: that the engine took for an answer, on average.
        gpu_seconds: the same for each GPU that it held; 0 on a processor, or where it is not known.
        source: name of the run that this was.
    """

    checkpoint: str
    run: str
    protocol: str
    seconds: float
    gpu_seconds: float
    source: str


def paces(db: sqlite3.Connection, source: str) -> list[Pace]:
    """Those of a run's last session, for what it asked."""
    rows: Iterable[tuple[str, str, str, float, float]] = db.execute(_PACES)
    return [Pace(*row, source) for row in rows]


def add_work(
    db: sqlite3.Connection, group: int, seconds: float = 0.0, asked: int = 0, reused: int = 0
) -> None:
    """Keep one row for each group, as a slow model's answers are committed one by one."""
    added = (seconds, asked, reused, group)
    change = "seconds = seconds + ?, asked = asked + ?, reused = reused + ?"
    if not db.execute(f"UPDATE work SET {change} WHERE grp = ?", added).rowcount:
        db.execute("INSERT INTO work (seconds, asked, reused, grp) VALUES (?, ?, ?, ?)", added)


def add_spent(db: sqlite3.Connection, group: int, spent: Spent) -> None:
    """Keep one row for each checkpoint and protocol, whatever the plan."""
    key = db.execute(f"SELECT {_KEY} FROM groups WHERE id = ?", (group,)).fetchone()
    found = db.execute(f"{SPENT} WHERE checkpoint = ? AND protocol = ?", key).fetchone()
    whole = Spent(*found[2:]) + spent if found else spent
    db.execute("REPLACE INTO spent VALUES (?, ?, ?, ?, ?, ?, ?)", (*key, *astuple(whole)))


def note_unrecorded(db: sqlite3.Connection) -> None:
    """Before a plan is replaced: keep that a session of an earlier version answered."""
    db.execute(f"INSERT OR IGNORE INTO spent {UNRECORDED}")
