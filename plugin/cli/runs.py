"""`ckptbench list`: the runs of a results folder as a table."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError
from .._util.text import aligned, listed
from .arguments import Commands, add_command, add_runs_folder
from .store import stored_answers

if TYPE_CHECKING:
    from ..results.summary import Summary

_EXAMPLES = """\
  ckptbench list
  ckptbench list nightly-results
"""
HEADINGS = ("run", "when", "checkpoint", "scores", "verdict")


def register(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "list",
        run,
        "List the runs of a results folder, oldest first: when each began, its checkpoints, the "
        "gated metrics, and the gate's verdict.",
        help="list the runs of a results folder",
        examples=_EXAMPLES,
    )
    add_runs_folder(command, "the folder of runs")


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    rows = [row_of(folder) for folder in folders_of_runs(arguments.folder)]
    print("\n".join(aligned([HEADINGS, *sorted(rows, key=lambda row: row[1])], left=5)))
    return 0


def folders_of_runs(results: Path) -> list[Path]:
    """The folders of runs, finished or not, and those that may hold one but cannot be entered.

    Raises:
        CkptbenchError: there are none.
    """
    from ..readers.run import SUMMARY
    from ..results.layout import STORE

    folders = sorted(results.iterdir()) if results.is_dir() else []
    found = [
        f
        for f in folders
        if _cannot_be_entered(f) or (f / SUMMARY).is_file() or (f / STORE).is_file()
    ]
    if not found:
        raise CkptbenchError(
            "holds no run", where=str(results), remedy="give the folder of --results-dir"
        )
    return found


def _cannot_be_entered(path: Path) -> bool:
    return path.is_dir() and not os.access(path, os.X_OK)


def row_of(folder: Path) -> tuple[str, ...]:
    """A run's cells below `HEADINGS`; `when` is empty where the run has no summary to read."""
    from ..readers.run import SUMMARY, read_summary
    from ..results.layout import STORE

    if _cannot_be_entered(folder):
        return (folder.name, "", "", "", "cannot be read: permission denied")
    if not (folder / SUMMARY).is_file():
        stored = stored_answers(folder / STORE)
        unfinished = f"not finished, {stored}: --run-id={folder.name} goes on"
        return (folder.name, "", "", "", unfinished)
    try:
        summary = read_summary(folder)
    except CkptbenchError as error:
        why = error.what.removeprefix("cannot be read: ")
        return (folder.name, "", "", "", f"cannot be read: {why}")
    when = summary.started[:16].replace("T", " ")
    names = listed(checkpoint.name for checkpoint in summary.checkpoints)
    return (folder.name, when, names, _scores(summary), _verdict(summary))


def _scores(summary: Summary) -> str:
    """Gated metrics of a single checkpoint; several are compared by `ckptbench show`."""
    from ..reports.rows import benchmark_rows

    if len(summary.checkpoints) != 1:
        return ""
    (checkpoint,) = summary.checkpoints
    rows = [row for b in checkpoint.benchmarks if b.primary for row in benchmark_rows(b)]
    gated = [row for row in rows if row.gated] or rows
    return listed((f"{row.metric} {row.value}" for row in gated), 4)


def _verdict(summary: Summary) -> str:
    from ..gate.verdict import SEVERITY
    from ..reports.conclusion import gated_verdicts

    if not summary.complete:
        return "incomplete"
    words = {verdict.word for _, verdict in gated_verdicts(summary)}
    return next((word for word in SEVERITY if word in words), "no baseline")
