"""The edge where a summary meets pytest's terminal and GitHub's job."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CkptbenchError
from ..outcomes import status_of
from ..results import Summary
from .github import report_to_github
from .terminal import terminal_lines

ERRORS_SHOWN = 10


@dataclass
class HiddenErrors:
    """Reports kept out of pytest's list of errors while it is printed."""

    reporter: Any
    reports: list[Any]

    def restore(self) -> None:
        """Put them back, so that pytest counts them."""
        if self.reports:
            self.reporter.stats["error"].extend(self.reports)


def hide_repeated_errors(reporter: Any) -> HiddenErrors:
    """Keep the first errors of sample items and hide the rest: a dead model fails thousands."""
    errors = reporter.stats.get("error", [])
    ours = [report for report in errors if status_of(report) == "error"]
    hidden = ours[ERRORS_SHOWN:]
    if hidden:
        gone = set(map(id, hidden))
        errors[:] = [report for report in errors if id(report) not in gone]
    return HiddenErrors(reporter, hidden)


def show(reporter: Any, summary: Summary | None, failure: str, folder: Path) -> None:
    """Print the summary, and tell GitHub when it listens."""
    if failure:
        reporter.section("ckptbench", red=True, bold=True)
        reporter.write_line(failure, red=True)
        reporter.write_line("Nothing measured is lost: run again with the same --run-id.")
    if summary is None:
        return
    reporter.section("ckptbench")
    for text, markup in terminal_lines(summary, reporter._tw.fullwidth):
        reporter.write_line(text, **markup)
    reporter.write_line(f"results: {_shown(folder)}")
    try:
        report_to_github(summary, os.environ, reporter.write_line)
    except CkptbenchError as error:
        reporter.write_line(str(error), red=True)


def _shown(folder: Path) -> str:
    try:
        return str(folder.relative_to(Path.cwd()))
    except ValueError:
        return str(folder)
