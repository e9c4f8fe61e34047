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


def one_line(error: BaseException, most: int = 400) -> str:
    """An error's words on one line, or its class where it has none.

    The words of libraries go on behind a line's end, often in the middle of a sentence or with a
    list. What is too long is cut behind a sentence, and marked where there is none to cut behind.

    Args:
        most: characters at most, but for the mark.
    """
    text = " ".join(str(error).split())
    if len(text) <= most:
        return text or type(error).__name__
    cut = text[: most + 1]
    sentence = max(cut.rfind(f"{end} ") for end in ".!?")
    if sentence >= most // 4:
        return cut[: sentence + 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut[:most]} ..."


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the known word closest to a mistyped one, or an empty string."""
    import difflib

    matches = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
