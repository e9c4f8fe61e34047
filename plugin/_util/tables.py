"""Rows of cells as lines of text in columns, and as a table of Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from . import text as words
from .markdown import table_line

_GAP = 2


def aligned(
    rows: Sequence[Sequence[str]],
    left: int = 1,
    *,
    words_last: bool = False,
    tight: Collection[int] = (),
) -> Iterator[str]:
    """The rows as lines, each column as wide as its widest cell on a terminal.

    Args:
        rows: the header first; all of one length.
        left: how many columns, from the first, begin at the left; numbers end at the right.
        words_last: whether the last column holds words too.
        tight: indices of columns that stand one space from the one before them.
    """
    numbers = range(left, len(rows[0]) - words_last)
    widths = [max(map(words.width, column)) for column in zip(*rows, strict=True)]
    gaps = [1 if index in tight else _GAP for index in range(len(widths))]
    for row in rows:
        cells = (
            " " * gap + words.padded(cell, width, right=index in numbers)
            for index, (cell, width, gap) in enumerate(zip(row, widths, gaps, strict=True))
        )
        yield "".join(cells).rstrip()


def markdown_table(
    rows: Sequence[Sequence[str]], left: int = 1, *, words_last: bool = False
) -> Iterator[str]:
    """The rows as a table of GitHub's Markdown; the arguments are those of `aligned`.

    Args:
        rows: of cells that are Markdown already.
    """
    header, *body = rows
    numbers = range(left, len(header) - words_last)
    yield table_line(header)
    yield f"|{'|'.join('--:' if index in numbers else '---' for index in range(len(header)))}|"
    yield from map(table_line, body)
