"""The edge where a summary meets pytest's terminal and GitHub's job."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.errors import CkptbenchError
from ..reports.github import report_to_github
from ..reports.terminal import terminal_lines
from ..results.outcome import status_of
from ..results.summary import Summary

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions

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


def show(
    reporter: Any,
    summary: Summary | None,
    failure: str,
    folder: Path,
    *,
    conclusions: Conclusions | None = None,
    reports: Sequence[Path] = (),
) -> None:
    """Print the summary, and tell GitHub when it listens.

    Args:
        failure: why the run's files could not be written; empty when they were.
        conclusions: what several checkpoints say together.
        reports: the files of the run's report.
    """
    if failure:
        reporter.section("ckptbench", red=True, bold=True)
        reporter.write_line(failure, red=True)
        reporter.write_line("Nothing measured is lost: run again with the same --run-id.")
    if summary is None:
        return
    reporter.section("ckptbench")
    lines = terminal_lines(
        summary, reporter._tw.fullwidth, conclusions, verbose=reporter.verbosity > 0
    )
    for text, markup in lines:
        reporter.write_line(text, **markup)
    reporter.write_line(f"results: {_shown(folder)}")
    if reports:
        whole = (path if path.parent == folder else path.parent for path in reports)
        reporter.write_line(f"report: {', '.join(map(_shown, dict.fromkeys(whole)))}")
    try:
        report_to_github(summary, os.environ, reporter.write_line)
    except CkptbenchError as error:
        reporter.write_line(str(error), red=True)


def _shown(folder: Path) -> str:
    try:
        return str(folder.relative_to(Path.cwd()))
    except ValueError:
        return str(folder)
