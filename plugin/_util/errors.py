"""Errors that the user can fix: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class CkptbenchError(Exception):
    """An input of the user that cannot be used.

    Attributes:
        what: what is wrong, in one sentence.
        where: the file, line, field or option; empty when `what` names it.
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


@contextmanager
def denied_is_refused() -> Iterator[None]:
    """Turn a permission that the operating system denies into an error that names the path.

    Any look at a path can be denied: also whether it exists, in a folder that may not be entered.
    So this belongs around what a user asked for as a whole, and not around each look.

    Raises:
        CkptbenchError: a file or a folder may not be read, written or entered.
    """
    try:
        yield
    except PermissionError as error:
        if error.filename is None:  # it is about no file
            raise
        raise CkptbenchError(
            "permission denied",
            where=str(error.filename),
            remedy="check the permissions of the path, and of the folders that it is in",
        ) from error


def one_line(error: BaseException, most: int = 400) -> str:
    """An error's message on one line, or its class where it has none.

    Messages of libraries have several lines, often with a list. One longer than `most` characters
    is cut after a sentence, or else after a word, and then marked with `...`.
    """
    text = " ".join(str(error).split())
    if len(text) <= most:
        return text or type(error).__name__
    cut = text[: most + 1]
    sentence = max(cut.rfind(f"{end} ") for end in ".!?")
    if sentence >= most // 4:
        return cut[: sentence + 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut[:most]} ..."


def require_packages(packages: Iterable[str], user: str, *, where: str, remedy: str) -> None:
    """Refuse what cannot be done without optional packages, before anything is computed.

    Args:
        user: what needs them, for the message: `html`, `the HTML report`.

    Raises:
        CkptbenchError: one is not installed.
    """
    if missing := missing_package(packages):
        what = f"{user} needs {missing}, which is not installed"
        raise CkptbenchError(what, where=where, remedy=remedy)


def missing_package(packages: Iterable[str]) -> str:
    """The first of some packages that is not installed; empty when all are."""
    from importlib.util import find_spec

    for package in packages:
        try:
            if find_spec(package) is None:
                return package
        except (ImportError, ValueError):  # hidden from this process
            return package
    return ""


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the known word closest to a mistyped one, or an empty string."""
    import difflib

    matches = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
