"""The stores of earlier runs: whose answers may be reused, and how long those took."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from .integrity import FORMAT, UNREADABLE, format_of, holds, read_only
from .layout import PARTS, STORE
from .work import Pace, paces

_STORES = (f"*/{STORE}", f"*/{PARTS}/*/{STORE}")


def earlier_runs(results_dir: Path, run_id: str, most: int = 200) -> list[Path]:
    """Folders of other runs with a store, newest first; also the parts of watched runs."""
    own = results_dir / run_id / STORE
    # A part of a watched run is in a run's folder, and may reuse the answers of runs beside it.
    folders = [results_dir]
    if results_dir.name == PARTS:
        folders.append(results_dir.parent.parent)
    stores = {p for folder in folders for name in _STORES for p in folder.glob(name)} - {own}
    newest = sorted(stores, key=lambda p: p.stat().st_mtime, reverse=True)
    return [p.parent for p in newest[:most]]


def paces_of(folder: Path) -> list[Pace]:
    """How fast a run's last session answered; nothing where its store cannot be read."""
    try:
        with closing(read_only(folder / STORE)) as connection:
            current = format_of(connection) == str(FORMAT)
            return paces(connection, folder.name) if current else []
    except UNREADABLE:
        return []


class EarlierStores:
    """Connections to stores that are read and never written.

    Args:
        given: folders of runs, or stores, best first.
    """

    def __init__(self, given: Sequence[Path]) -> None:
        self._paths = [path if path.is_file() else path / STORE for path in given]
        self._open: dict[str, dict[Path, sqlite3.Connection]] = {}

    def of(self, fingerprint: str) -> tuple[dict[Path, sqlite3.Connection], list[tuple[Path, str]]]:
        """Stores with answers of a checkpoint; and, once, those that cannot be read, and why."""
        unreadable: list[tuple[Path, str]] = []
        if fingerprint not in self._open:
            found = self._open[fingerprint] = {}
            for path in self._paths:
                try:
                    # An empty file is a run's that begins; the store of a run may be removed.
                    if path.is_file() and path.stat().st_size:
                        connection = _with_answers_of(path, fingerprint)
                        if connection is not None:
                            found[path] = connection
                except UNREADABLE as error:
                    unreadable.append((path, str(error)))
        return self._open[fingerprint], unreadable

    def close(self) -> None:
        """Close the connections."""
        for found in self._open.values():
            for connection in found.values():
                connection.close()
        self._open.clear()


def _with_answers_of(path: Path, fingerprint: str) -> sqlite3.Connection | None:
    connection = read_only(path, check_same_thread=False)
    found = False
    try:
        known = "SELECT 1 FROM sqlite_master WHERE name = 'meta'"
        found = (
            connection.execute(known).fetchone() is not None
            and format_of(connection) == str(FORMAT)
            and holds(connection, fingerprint)
        )
    finally:
        if not found:
            connection.close()
    return connection if found else None
