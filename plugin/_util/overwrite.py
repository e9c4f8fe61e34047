"""What a command may replace: never a file that it reads, and else only one of its own kind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import CkptbenchError
from .jsonio import reading

REMOVE = "Name another file, or move this one away."


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file that is written here, recognised by its content.

    Attributes:
        name: for messages, with its article.
        pattern: what is found in every file of the kind.
        is_read: whether commands read it too, so that one in a folder that is read is an input.
    """

    name: str
    pattern: bytes
    is_read: bool = False

    def holds(self, path: Path) -> bool:
        """Whether a file is of this kind; one that is empty is of any.

        Raises:
            CkptbenchError: the file cannot be read.
        """
        with reading(path):
            content = path.read_bytes()
        return not content or re.search(self.pattern, content) is not None


def _json(name: str, format: str, *, is_read: bool = False) -> Kind:
    return Kind(name, rb'\A\s*\{\s*"format": "ckptbench\.%s/' % format.encode(), is_read)


SAMPLES = _json("a sample file", "samples", is_read=True)
BASELINE = _json("a baseline", "baseline", is_read=True)
SUMMARY = _json("a summary", "summary")
COMPARISON = _json("a comparison", "comparison")
COMPARISON_MARKDOWN = Kind(
    "a comparison", rb"\A\*\*[^\n]*: exit [01]( \([^\n]*)?\*\*\n\nbefore: [^\n]*\nafter: "
)
RESULTS_COPY = Kind("a result", rb'"format": ?"ckptbench\.benchmark/')
VERDICTS = Kind("a file of verdicts", rb'\A\{"task_id": "[^\n]*", "trial": \d+, "verdict": "')
REPORT_HTML = Kind("a report", rb"(?i)\A<!doctype html>\s[^\0]*? \xc2\xb7 ckptbench</title>")
REPORT_MARKDOWN = Kind("a report", rb"\A\*\*[^\n]*\*\*\n[^\0]*?\n\| checkpoint \|")
REPORT_TEXT = Kind("a report", rb"\A[^\n]*: [\d,]+ checkpoints?\n")
PLOT = Kind("a plot", rb"(?s)\A(\x89PNG.{,200}Software\0|<\?xml.{,2000}<dc:title>)ckptbench")


def check_output(
    path: Path, kind: Kind, inputs: Iterable[Path] = (), *, force: bool = False, remedy: str = ""
) -> None:
    """Refuse an output that would replace something else than an earlier output.

    Args:
        inputs: files that are read, and folders of them. They are compared as the system does, so
            links and other spellings of a path are seen.
        force: whether a file of another kind may be replaced; an input never is.
        remedy: instead of the advice to use `--force`.

    Raises:
        CkptbenchError: it is a folder, an input, or a file of another kind.
    """
    if path.is_dir():
        raise CkptbenchError("is a folder", where=str(path), remedy="Name a file.")
    if not path.is_file():
        return
    ours = kind.holds(path)
    if any(
        os.path.samefile(path, each) for each in _files(inputs, inside=kind.is_read or not ours)
    ):
        raise CkptbenchError(
            "is read by this command, and would be overwritten",
            where=str(path),
            remedy="Name another file for the output.",
        )
    if not ours and not force:
        raise CkptbenchError(
            f"exists already and is not {kind.name} of ckptbench",
            where=str(path),
            remedy=remedy or "Name another file, or replace it with --force.",
        )


def _files(inputs: Iterable[Path], *, inside: bool) -> Iterator[Path]:
    for each in inputs:
        if each.is_file():
            yield each
        elif inside and each.is_dir():
            yield from (file for file in each.rglob("*") if file.is_file())
