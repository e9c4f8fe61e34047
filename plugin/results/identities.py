"""What engines say of themselves: in this run, and under the same conditions in earlier ones."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from .integrity import UNREADABLE, read_only
from .layout import STORE

# The first belongs to a plan; the second stays, so that a model need not be loaded to be known.
SCHEMA = """
CREATE TABLE IF NOT EXISTS engines (checkpoint TEXT PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS identities (
    spec TEXT, conditions TEXT, facts TEXT NOT NULL, PRIMARY KEY (spec, conditions)) WITHOUT ROWID;
"""


_ANSWERS = """SELECT COUNT(*) FROM responses JOIN origins ON origins.id = responses.origin
WHERE origins.fingerprint = ?"""


def keep(db: sqlite3.Connection, checkpoint: str, facts: str, spec: str, conditions: str) -> None:
    """Record an engine's facts, within a transaction; without a spec for this plan only.

    Answers of this run that a served model gave when it was known by something else are not reused:
    that becomes a note of the plan.
    """
    db.execute("INSERT OR REPLACE INTO engines VALUES (?, ?)", (checkpoint, facts))
    if not spec:
        return
    query = "SELECT facts FROM identities WHERE spec = ? AND conditions = ?"
    if before := db.execute(query, (spec, conditions)).fetchone():
        _note_change(db, checkpoint, json.loads(before[0]), json.loads(facts))
    db.execute("INSERT OR REPLACE INTO identities VALUES (?, ?, ?)", (spec, conditions, facts))


def _note_change(
    db: sqlite3.Connection, checkpoint: str, before: dict[str, Any], now: dict[str, Any]
) -> None:
    then, known_by = before.get("known_by", {}), now.get("known_by", {})
    changed = [
        f"{name} was {then[name]!r} and is {value!r}"
        for name, value in known_by.items()
        if then.get(name, value) != value
    ]
    lost = db.execute(_ANSWERS, (before.get("fingerprint"),)).fetchone()[0]
    if not changed or not lost or before["fingerprint"] == now["fingerprint"]:
        return
    note = f"{lost:,} stored answers of {checkpoint} are not reused: {'; '.join(changed)}"
    row = db.execute("SELECT value FROM meta WHERE name = 'notes'").fetchone()
    notes = json.loads(row[0]) if row else []
    if note not in notes:
        values = (json.dumps([*notes, note], ensure_ascii=False),)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('notes', ?)", values)


def known(folders: Sequence[Path], spec: str, conditions: str) -> Iterator[dict[str, Any]]:
    """The facts of a checkpoint's engine in some runs: once for each content that it had."""
    seen = set()
    query = "SELECT facts FROM identities WHERE spec = ? AND conditions = ?"
    for folder in folders:
        try:
            with closing(read_only(folder / STORE)) as db:
                row = db.execute(query, (spec, conditions)).fetchone()
        except UNREADABLE:  # or it was made before there was this table
            continue
        facts: dict[str, Any] = json.loads(row[0]) if row else {}
        if facts and facts["fingerprint"] not in seen:
            seen.add(facts["fingerprint"])
            yield facts
