"""Foreign text in GitHub's Markdown, shown literally: no markup, no links, no mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_|[]#~$"} | {"<": "&lt;", "&": "&amp;"})

# GitHub makes links after it has removed the escapes: `@user` notifies somebody, `#12` and `GH-12`
# name an issue. A zero-width space in between is invisible and prevents that. A metric's name such
# as real@1 is no mention, because a letter precedes its @.
_LINKS = re.compile(
    r"(?<!\w)@(?=\w)|#(?=\d)|(?<=\bGH)-(?=\d)|(?<=://)|(?<=\bwww)(?=\.)", re.IGNORECASE
)
_APART = "\u200b"


def inline(text: str) -> str:
    """A text on one line, its white space as single spaces, safe in a paragraph and in a table."""
    shown = _LINKS.sub(lambda found: f"{found[0]}{_APART}", " ".join(text.split()))
    return shown.translate(_MARKUP)


def first_line(text: str) -> str:
    """The first line of a text, as `inline` shows it."""
    return inline(text.strip().partition("\n")[0])


def table_line(cells: Iterable[str]) -> str:
    """A row of a table, of cells that are Markdown already."""
    return f"| {' | '.join(cells)} |"


def markdown_table(
    rows: Sequence[Sequence[str]], left: int = 1, *, words_last: bool = False
) -> Iterator[str]:
    """Rows of cells that are Markdown as a table; the arguments are those of `text.aligned`."""
    header, *body = rows
    numbers = range(left, len(header) - words_last)
    yield table_line(header)
    yield f"|{'|'.join('--:' if index in numbers else '---' for index in range(len(header)))}|"
    yield from map(table_line, body)


def shortened(text: str, most: int) -> str:
    """The beginning of a text, with `…` where something was left out."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most].rstrip()}…"
