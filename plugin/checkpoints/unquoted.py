"""A pattern without quotes: the shell has replaced it, and pytest takes the matches for tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from .._util.errors import CkptbenchError
from .expand import CheckpointResolver
from .found import Found


def refuse_unquoted(
    arguments: Iterable[str], found: Sequence[Found], known: CheckpointResolver
) -> None:
    """Refuse checkpoints among pytest's own arguments that lie where the given ones do.

    Args:
        arguments: files, folders and node ids that pytest was given.

    Raises:
        CkptbenchError: naming the first, and how to quote.
    """
    folders = {each.path.parent for each in found if each.path is not None}
    for argument in arguments:
        path = Path(os.path.abspath(argument.partition("::")[0]))
        if path.parent in folders and known.is_checkpoint(path):
            raise CkptbenchError(
                f"{argument} is a checkpoint, and was given to pytest as a place of tests",
                where="--checkpoint",
                remedy="quote the pattern, so that the shell leaves it alone: "
                "--checkpoint 'runs/x/checkpoint-*'",
            )
