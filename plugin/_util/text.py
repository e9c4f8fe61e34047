"""Numbers as text, and text in columns: the same in every report.

Fractions are shown as percentages and differences in percentage points (pp), two decimals each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

MISSING = "-"
_GAP = 2  # columns between those of a table


def hundredfold(fraction: float) -> float:
    """A fraction in per cent, two decimals; a tiny negative one does not print as -0.00."""
    return round(fraction * 100, 2) + 0.0


def percent(fraction: float | None) -> str:
    """`67.78%`."""
    return MISSING if fraction is None else f"{hundredfold(fraction):.2f}%"


def number(value: float | None) -> str:
    """A number that is not a share, with five digits: `26.020`."""
    return MISSING if value is None else f"{value:#.5g}"


def probability(p: float) -> str:
    """`p = 0.0312`, or `p < 0.0001`."""
    return "p < 0.0001" if p < 0.00005 else f"p = {p:.4f}"


def p_value(p: float) -> str:
    """`0.0312`, or `< 0.0001`."""
    return probability(p).removeprefix("p = ").removeprefix("p ")


def count(number: int) -> str:
    """`2,400`."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """`1 error`, `2,400 errors`."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def formula(weights: Mapping[str, float]) -> str:
    """`0.4 x real@1 + 0.3 x real@5 + 0.3 x lambada@1`, as the run was configured."""
    return " + ".join(f"{weight:g} x {metric}" for metric, weight in weights.items())


def width(text: str) -> int:
    """Columns a text takes on a terminal: two for wide East Asian characters, none for marks.

    Composed first: a decomposed Hangul syllable is three characters on the two columns of one.
    """
    return sum(map(_columns, unicodedata.normalize("NFC", text)))


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text filled with spaces to a display width; `right` puts them before it."""
    space = " " * (columns - width(text))
    return space + text if right else text + space


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
        left: how many columns, from the first, are left-aligned; numbers are right-aligned.
        words_last: whether the last column is left-aligned text too.
        tight: indices of columns that are one space from the one before them.
    """
    numbers = range(left, len(rows[0]) - words_last)
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    gaps = [1 if index in tight else _GAP for index in range(len(widths))]
    for row in rows:
        cells = (
            " " * gap + padded(cell, wide, right=index in numbers)
            for index, (cell, wide, gap) in enumerate(zip(row, widths, gaps, strict=True))
        )
        yield "".join(cells).rstrip()


def folded(text: str, columns: int) -> Iterator[str]:
    """A text as lines of at most so many columns, broken at spaces; a longer word stays whole.

    The lines after the first are indented by two columns more than the first.
    """
    if width(text) <= columns:
        yield text
        return
    indent = " " * (len(text) - len(text.lstrip()))
    line = indent
    for word in text.split():
        joined = f"{line} {word}" if line.strip() else f"{line}{word}"
        if width(joined) > columns and line.strip():
            yield line
            joined = f"{indent}  {word}"
        line = joined
    yield line


def listed(words: Iterable[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    words = list(words)
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {count(rest)} more" if rest > 0 else "")


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
