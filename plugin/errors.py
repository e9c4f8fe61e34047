"""The errors a user can mend: what is wrong, where it stands, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable


class CkptbenchError(Exception):
    """Something the user gave cannot be used.

    Attributes:
        what: one sentence naming the thing and what is wrong with it.
        where: the file, line, field or option it was found in; empty when `what` says it.
        remedy: what to do about it.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where, remedy)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.remedy}" if self.remedy else head


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the known word closest to a mistyped one, or an empty string."""
    import difflib

    matches = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
