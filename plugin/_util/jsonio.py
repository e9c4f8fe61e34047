"""JSON: the same text for the same values, and errors that name the file and the place in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from .errors import CkptbenchError

JSON = Any
"""Any JSON value."""
Scalar = str | int | float | bool | None
"""A single JSON value."""
_SEPARATORS = {ord(c): f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"}


def pretty(value: JSON) -> str:
    """JSON to read in an editor or a diff, ending with a newline."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def on_one_line(text: str) -> str:
    """JSON text without a line end, as one line of a file.

    The separators that `str.splitlines` takes for line ends are escaped, so that every
    reader of lines finds the same ones.
    """
    return (text if text.isascii() else text.translate(_SEPARATORS)) + "\n"


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON value is a finite number."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


@contextmanager
def reading(path: Path, remedy: str = "") -> Iterator[None]:
    """Turn what reading a file in the block raises into an error that names the file.

    Raises:
        CkptbenchError: the file is missing, cannot be read, or is not UTF-8 text.
    """
    try:
        yield
    except FileNotFoundError:
        raise CkptbenchError("there is no such file", where=str(path), remedy=remedy) from None
    except UnicodeDecodeError:
        raise CkptbenchError("is not UTF-8 text", where=str(path), remedy=remedy) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise CkptbenchError(f"cannot be read: {reason}", where=str(path), remedy=remedy) from error


def parse_object(
    text: str, where: str, *, remedy: str = "", strict: bool = False
) -> dict[str, JSON]:
    """The JSON object in a text.

    Args:
        where: the file, for messages.
        strict: whether to refuse NaN, Infinity and repeated keys too.

    Raises:
        CkptbenchError: it is something else; names the place in the file.
    """

    def refuse_constant(name: str) -> NoReturn:
        what = f"holds {name}, which is not JSON"
        raise CkptbenchError(what, where=where, remedy="Write null or leave it out.")

    def refuse_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        content = dict(pairs)
        if len(content) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for index, key in enumerate(keys) if key in keys[:index])
            what = f"holds the key {twice!r} twice"
            raise CkptbenchError(what, where=where, remedy="Keep one of them.")
        return content

    constants, pairs = (refuse_constant, refuse_duplicates) if strict else (None, None)
    try:
        content = json.loads(text, parse_constant=constants, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        where = f"{where}:{error.lineno}:{error.colno}"
        raise CkptbenchError(f"is not JSON: {error.msg}", where=where, remedy=remedy) from None
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or objects nested without end.
        raise CkptbenchError(f"cannot be read: {error}", where=where, remedy=remedy) from None
    if not isinstance(content, dict):
        what = f"is a JSON {type(content).__name__}, not an object"
        raise CkptbenchError(what, where=where, remedy=remedy)
    return content
