"""The edge where a summary meets pytest's terminal and GitHub's job."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .._util.errors import CkptbenchError
from ..reports.github import report_to_github
from ..reports.terminal import terminal_lines
from ..results.outcome import status_of
from ..results.summary import Summary
from .answering import Block

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


class Progress:
    """Prints how far a block is while an item waits for it, less and less often."""

    def __init__(self, config: pytest.Config, *, quiet: bool) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter: Any = (
            None if quiet or reporter is None or reporter.verbosity < 0 else reporter
        )
        self._next_s = 5.0

    def __call__(self, block: Block) -> None:
        """Print a line when its time has come."""
        waited = time.monotonic() - block.started if block.started else 0.0
        if self._reporter is None or waited < self._next_s:
            return
        self._next_s = max(10.0, 2 * waited)
        self._reporter.ensure_newline()
        self._reporter.write_line(
            f"{block.group.title}: {block.answered:,} of {len(block.items):,} answered, "
            f"{waited:.0f} s"
        )
