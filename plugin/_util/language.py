"""Messages in the reader's language: each English one is the key of its translation.

What is stored is English. Only what is shown goes through here, and a message that the catalogue
lacks stays English.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

from . import text


class Catalogue(NamedTuple):
    """Translations by their English message, with the same named fields.

    Attributes:
        shown: of what reports say.
        stored: of sentences that results are stored with.
    """

    shown: Mapping[str, str]
    stored: Mapping[str, str]


ENGLISH = Catalogue({}, {})
# Threads of one server show the same language, so that this is no context variable.
_spoken = ENGLISH


def of_locale(environment: Mapping[str, str] = os.environ) -> str:
    """`ko` where the locale is Korean, else `en`; the first variable that is set decides."""
    names = (environment.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ko" if next(filter(None, names), "").startswith("ko") else "en"


@contextmanager
def spoken(catalogue: Catalogue) -> Iterator[None]:
    """Show messages through a catalogue for a while."""
    global _spoken
    before, _spoken = _spoken, catalogue
    try:
        yield
    finally:
        _spoken = before


def is_english() -> bool:
    """Whether messages are shown as they are written."""
    return _spoken is ENGLISH


def tr(message: str, /, **values: object) -> str:
    """A message with its named fields filled in: `tr("{n} not run", n="3")`."""
    return translation(message).format(**values)


def translation(message: str) -> str:
    """A message with its fields still open."""
    return _spoken.shown.get(message, message)


def counted(number: int, noun: str) -> str:
    """`3 errors`; the catalogue has it as `{n} error`."""
    shown = _spoken.shown.get(f"{{n}} {noun}")
    return shown.format(n=text.count(number)) if shown else text.counted(number, noun)


def listed(names: Iterable[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    names = list(names)
    if len(names) <= most:
        return ", ".join(names)
    return tr("{names} and {n} more", names=text.listed(names[:most], most), n=len(names) - most)


def stored(sentence: str) -> str:
    """An English sentence of a result, of which nothing but the text is kept.

    It is translated where it is a message of the catalogue with values in the place of its fields,
    which may be such sentences themselves.
    """
    if is_english():
        return sentence
    parts = sentence.split("; ")
    shown_parts = [stored(part) for part in parts] if len(parts) > 1 else []
    if shown_parts and all(shown != part for shown, part in zip(shown_parts, parts, strict=True)):
        return "; ".join(shown_parts)
    for pattern, shown in _patterns(tuple(_spoken.stored.items())):
        if found := pattern.fullmatch(sentence):
            return shown.format(**{name: stored(part) for name, part in found.groupdict().items()})
    return sentence


@cache
def _patterns(messages: tuple[tuple[str, str], ...]) -> list[tuple[re.Pattern[str], str]]:
    """What each message looks like with any values; the longest messages first."""
    known = sorted(messages, key=lambda message: -len(message[0]))
    return [
        (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(english)), re.DOTALL), shown)
        for english, shown in known
    ]
