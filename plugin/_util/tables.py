"""Rows of cells as lines of text in columns, and as a table of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import text as words
from .markdown import inline

GAP = "  "


def aligned(
    rows: Sequence[Sequence[str]], left: int = 1, *, words_last: bool = False
) -> Iterator[str]:
    """The rows as lines, each column as wide as its widest cell on a terminal.

    Args:
        rows: the header first; all of one length.
        left: how many columns, from the first, begin at the left; numbers end at the right.
        words_last: whether the last column holds words too.
    """
    numbers = range(left, len(rows[0]) - words_last)
    widths = [max(map(words.width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            words.padded(cell, width, right=place in numbers)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"{GAP}{GAP.join(cells)}".rstrip()


def markdown_table(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """The rows as a table of GitHub's Markdown; the cells are shown as they are."""
    header, *body = rows
    yield f"| {' | '.join(map(inline, header))} |"
    yield f"|{'|'.join('---' if place < left else '--:' for place in range(len(header)))}|"
    for row in body:
        yield f"| {' | '.join(map(inline, row))} |"
