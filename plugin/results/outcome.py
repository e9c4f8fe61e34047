"""Item outcomes: attached to pytest reports in the worker, collected in the controller.

A report carries the outcome from the process that ran the item as plain scalars: in
`user_properties` for people and other plugins, and as one tuple for aggregation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import isclose, isnan
from typing import Any, Literal

import pytest

ATTRIBUTE = "ckptbench"
Status = Literal["passed", "missed", "skipped", "error", "not_needed", "not_run"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one item.

    Attributes:
        status: `passed` or `missed` by the model's answer; `skipped` by the protocol's rule;
            `error` without a valid answer; `not_needed` where the verdict was decided before;
            `not_run`.
        values: for each k 1.0, 0.0, or the graded value that the function returned.
        detail: why it was missed or skipped, what the error was, or how its program failed, in one
            line.
        seconds: how long the answer's program ran; 0 where none was run.
    """

    status: Status
    values: tuple[float, ...] = ()
    detail: str = ""
    seconds: float = 0.0

    def agrees_with(self, other: Outcome) -> bool:
        """Whether another outcome of the item is the same, but for rounding in graded values."""
        return (
            self.status == other.status
            and len(self.values) == len(other.values)
            and all(
                isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (isnan(a) and isnan(b))
                for a, b in zip(self.values, other.values, strict=True)
            )
        )


# Items are many and different outcomes few: equal ones share one object.
_recorded = lru_cache(maxsize=4096)(Outcome)


@dataclass(eq=False)
class Outcomes:
    """The latest outcome of every item, by node id. A pytest plugin of the main process.

    Attributes:
        others_failed: whether anything other than a sample item failed.
    """

    by_nodeid: dict[str, Outcome] = field(default_factory=dict)
    others_failed: bool = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a report's outcome; that of a rerun replaces the earlier one."""
        carried = getattr(report, ATTRIBUTE, None)
        if carried is not None:
            status, values, reason, seconds = carried
            self.by_nodeid[report.nodeid] = _recorded(status, tuple(values), reason, seconds)
        elif str(report.when) == "???":  # what pytest-xdist reports for an item its worker died in
            reason = str(report.longrepr).partition("\n")[0]
            self.by_nodeid[report.nodeid] = Outcome("error", (), reason)
            self.others_failed |= report.failed  # it may not have been a sample item
        elif report.failed:
            self.others_failed = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record that something could not be collected."""
        if report.failed:
            self.others_failed = True


def is_sample(report: Any) -> bool:
    """Whether a report is of a sample item; that of an item its worker died in does not say."""
    return hasattr(report, ATTRIBUTE)


def status_of(report: Any) -> str:
    """The status that a report carries, or an empty string."""
    carried = getattr(report, ATTRIBUTE, None)
    return carried[0] if carried is not None else ""
