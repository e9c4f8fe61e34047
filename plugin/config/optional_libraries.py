"""Whether the requested reports can be written: checked before a run of hours, not after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from .._util.errors import CkptbenchError

NEEDS: Mapping[str, Sequence[str]] = {"html": ("jinja2", "matplotlib"), "plots": ("matplotlib",)}


def check_formats(formats: Sequence[str]) -> None:
    """Look for the libraries that formats need; nothing is imported.

    Raises:
        CkptbenchError: one is not installed.
    """
    for name in formats:
        for library in NEEDS.get(name, ()):
            if find_spec(library) is None:
                raise CkptbenchError(
                    f"{name} needs {library}, which is not installed",
                    where="--report",
                    remedy="pip install 'ckptbench[report]'",
                )
