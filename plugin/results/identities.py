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


def keep(db: sqlite3.Connection, checkpoint: str, facts: str, spec: str, conditions: str) -> None:
    """Record an engine's facts, within a transaction; without a spec for this plan only."""
    db.execute("INSERT OR REPLACE INTO engines VALUES (?, ?)", (checkpoint, facts))
    if spec:
        db.execute("INSERT OR REPLACE INTO identities VALUES (?, ?, ?)", (spec, conditions, facts))


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
