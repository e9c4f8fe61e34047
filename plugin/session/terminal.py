"""Shows a run's result on pytest's terminal and in GitHub's job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from ..reports.github import report_to_github
from ..reports.terminal import terminal_lines
from ..results.outcome import status_of
from .run import RunResult

ERRORS_SHOWN = 10


@contextmanager
def repeated_errors_hidden(reporter: Any) -> Iterator[None]:
    """Keep all but the first errors of sample items out of pytest's list while it is printed.

    A model that fails would list thousands. pytest still counts them.
    """
    errors = reporter.stats.get("error", [])
    ours = [report for report in errors if status_of(report) == "error"]
    hidden = ours[ERRORS_SHOWN:]
    if hidden:
        gone = set(map(id, hidden))
        errors[:] = [report for report in errors if id(report) not in gone]
    yield
    if hidden:
        errors.extend(hidden)


def show(reporter: Any, result: RunResult, folder: Path) -> None:
    """Print a run's result, and report it to GitHub inside a job there."""
    if result.failure:
        reporter.section("ckptbench", red=True, bold=True)
        reporter.write_line(result.failure, red=True)
        reporter.write_line("Nothing measured is lost: run again with the same --run-id.")
    summary = result.summary
    if summary is None:
        return
    reporter.section("ckptbench")
    width, verbose = reporter._tw.fullwidth, reporter.verbosity > 0
    for text, markup in terminal_lines(summary, width, result.conclusions, verbose=verbose):
        reporter.write_line(text, **markup)
    reporter.write_line(f"results: {_shown(folder)}")
    if result.reports:
        paths = (path if path.parent == folder else path.parent for path in result.reports)
        reporter.write_line(f"report: {', '.join(map(_shown, dict.fromkeys(paths)))}")
    try:
        report_to_github(summary, os.environ, reporter.write_line)
    except CkptbenchError as error:
        reporter.write_line(str(error), red=True)


def _shown(folder: Path) -> str:
    try:
        return str(folder.relative_to(Path.cwd()))
    except ValueError:
        return str(folder)
