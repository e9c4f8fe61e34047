"""The tables of a run store that hold what was done and what it cost, within a transaction.

`work` is of one session, by group; `spent` is of all sessions of a run.
"""

from __future__ import annotations

import sqlite3
from dataclasses import astuple

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
_KEY = "json_extract(facts, '$.checkpoint'), json_extract(facts, '$.protocol')"
# What sessions of earlier versions spent; where it is recorded, that counts and not this.
UNRECORDED = (
    f"SELECT {_KEY}, SUM(seconds), NULL, NULL, NULL, '{NOT_RECORDED}' "
    "FROM work JOIN groups ON groups.id = work.grp WHERE asked > 0 GROUP BY 1, 2"
)


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
