"""Errors about patterns: one that matches nothing, and one that the shell has replaced."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.names import natural_key
from .found import Found

_SHOWN = 8
_NEAREST = 3
_LOOKED_INTO = 100


def unmatched(said: str, pattern: str) -> CkptbenchError:
    """Show the folder in which the first part that matches nothing was looked for.

    Args:
        said: the pattern as the user would write it.
        pattern: the same as it was matched.
    """
    folders, part = _last_that_match(pattern)
    if not folders:
        return CkptbenchError(f"{said} matches nothing", where="--checkpoint")
    folders = sorted(folders, key=lambda path: natural_key(str(path)))[:_LOOKED_INTO]
    wanted = "".join(c for c in part if c not in "*?[]")
    near_in = {path: _near(wanted, _entries(path)) for path in folders}
    # The first of several folders, unless another one holds what was nearly asked for.
    folder = next((path for path in folders if near_in[path]), folders[0])
    entries, near = _entries(folder), near_in[folder]
    more = f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else ""
    holds = (
        f"{folder} holds {', '.join(entries[:_SHOWN])}{more}" if entries else f"{folder} is empty"
    )
    if near:
        holds += f"; nearest: {', '.join(near)}"
    others = f" ({len(folders)} folders were looked into)" if len(folders) > 1 else ""
    return CkptbenchError(
        f"{said} matches nothing: there is no {part!r}{others}", where="--checkpoint", remedy=holds
    )


def _entries(folder: Path) -> list[str]:
    try:
        return sorted((entry.name for entry in folder.iterdir()), key=natural_key)
    except OSError:
        return []


def _near(wanted: str, entries: list[str]) -> list[str]:
    import difflib

    found = difflib.get_close_matches(wanted, entries, n=_NEAREST, cutoff=0.5)
    return sorted(found, key=natural_key)


def _last_that_match(pattern: str) -> tuple[list[Path], str]:
    """The folders that the longest matching beginning of a pattern matches, and the next part."""
    path = Path(pattern)
    parts = [path.anchor, *path.parts[1:]] if path.anchor else [os.curdir, *path.parts]
    folders = [Path(parts[0])]
    for place, part in enumerate(parts[1:], start=1):
        matched = glob.glob(os.path.join(*parts[: place + 1]), recursive=True)
        inside = [Path(match) for match in matched if Path(match).is_dir()]
        if not inside:
            return [Path(os.path.abspath(folder)) for folder in folders], part
        folders = inside
    return [], ""


def refuse_unquoted(
    arguments: Iterable[str], found: Sequence[Found], is_checkpoint: Callable[[Path], bool]
) -> None:
    """Refuse checkpoints among pytest's own arguments that lie where the given ones do.

    Of a pattern without quotes, pytest takes all matches but the first for tests.

    Args:
        arguments: files, folders and node ids that pytest was given.

    Raises:
        CkptbenchError: naming the first, and how to quote.
    """
    folders = {each.path.parent for each in found if each.path is not None}
    for argument in arguments:
        path = Path(os.path.abspath(argument.partition("::")[0]))
        if path.parent in folders and is_checkpoint(path):
            raise CkptbenchError(
                f"{argument} is a checkpoint, and was given to pytest as a place of tests",
                where="--checkpoint",
                remedy="quote the pattern, so that the shell leaves it alone: "
                "--checkpoint 'runs/x/checkpoint-*'",
            )
