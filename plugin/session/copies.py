"""The places outside of a run's folder that its results go to as well."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError
from .._util.overwrite import REMOVE, RESULTS_COPY, check_output

if TYPE_CHECKING:
    from .item import SampleItem


def place_of_copy(directory: Path, output_path: str, checkpoints: int) -> tuple[Path, bool]:
    """Where `output_path` of a configuration file leads to, and whether that is the file itself.

    Args:
        directory: pytest's invocation directory.
        checkpoints: how many the session has; several need a file each, in a folder.
    """
    path = directory / output_path
    if path.suffix == ".json" and checkpoints <= 1:
        return path, True
    return path.with_suffix(""), False


def check_copies(items: Iterable[SampleItem], directory: Path, checkpoints: int) -> None:
    """Make the folders of copies, and refuse what cannot be written, before anything is asked.

    Args:
        items: what is to be asked.
        directory, checkpoints: as in `place_of_copy`.

    Raises:
        CkptbenchError: naming the first place that cannot be used.
    """
    for given in filter(None, {item.group.asked.output_path: None for item in items}):
        place, is_file = place_of_copy(directory, given, checkpoints)
        folder = place.parent if is_file else place
        try:
            folder.mkdir(parents=True, exist_ok=True)
            reason = "" if os.access(folder, os.W_OK) else "it cannot be written to"
        except OSError as error:
            reason = error.strerror or str(error)
        if reason:
            raise CkptbenchError(
                f"no result can be put there: {reason}",
                where=f"output_path {folder}",
                remedy="name another place in the configuration file",
            )
        if is_file:
            check_output(place, RESULTS_COPY, remedy=REMOVE)
