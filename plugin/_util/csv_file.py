"""CSV for people's spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

_BEGINS_FORMULA = tuple("=+-@\t\r")


def write_rows(file: TextIO, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows; a text that a spreadsheet would take for a formula gets a `'` before it.

    Source: OWASP, CSV Injection. Numbers stay numbers, negative ones too.
    """
    csv.writer(file, lineterminator="\n").writerows(map(_harmless, rows))


def _harmless(row: Iterable[Any]) -> Iterator[Any]:
    for cell in row:
        if not isinstance(cell, str):
            yield cell
            continue
        begin = "'" if cell.startswith(_BEGINS_FORMULA) else ""
        # Before Python 3.13 a carriage return is not quoted, and would end the row.
        yield begin + cell.replace("\r", "\n")
