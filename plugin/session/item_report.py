"""The reports of a sample item's phases, with its outcome attached, in whatever process it ran."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, NamedTuple

import pytest

from .._util.errors import CkptbenchError, one_line
from ..results.evaluate import NoAnswer
from ..results.outcome import ATTRIBUTE, Outcome
from .fixtures import FixtureFailed
from .item import MissedSample, SampleItem

When = Literal["setup", "call", "teardown"]


class Phase(NamedTuple):
    """What `pytest.CallInfo` records of a phase, cheaper to make.

    Attributes:
        start, stop: seconds since the epoch.
        duration: seconds.
    """

    when: When
    excinfo: pytest.ExceptionInfo[BaseException] | None
    start: float
    stop: float
    duration: float


def run_phase(when: When, do: Callable[[], None]) -> Phase:
    excinfo = None
    start, precise = time.time(), time.perf_counter()
    try:
        do()
    except _INTERRUPTS:
        raise
    except BaseException:
        excinfo = pytest.ExceptionInfo.from_current()
    duration = time.perf_counter() - precise
    return Phase(when, excinfo, start, start + duration, duration)


class TestReport(pytest.TestReport):
    """A sample's report, cheaper to read; named as pytest's, as pytest-xdist sends the name."""

    __test__ = False

    @property
    def longreprtext(self) -> str:
        # pytest-json-report reads it of each report; pytest's makes a terminal to print nothing.
        return "" if self.longrepr is None else super().longreprtext


_INTERRUPTS = (pytest.exit.Exception, KeyboardInterrupt)
_NODEID = "_id" if hasattr(pytest.Item, "id") else "nodeid"


def report_of(item: SampleItem, call: Phase | pytest.CallInfo[None]) -> pytest.TestReport:
    """The report of one phase of an item, with its outcome."""
    excinfo = call.excinfo
    times = (call.duration, call.start, call.stop)
    if excinfo is None:
        return _plain_report(item, call.when, times)
    if isinstance(excinfo.value, FixtureFailed | NoAnswer):
        failed = isinstance(excinfo.value, FixtureFailed)
        shown = _fixture_failure(item, excinfo.value) if failed else item.repr_failure(excinfo)
        report = _plain_report(item, call.when, times, "failed", shown)
    else:
        report = pytest.TestReport.from_item_and_call(item, call)  # type: ignore[arg-type]
    attach_outcome(report, item, call)
    return report


def attach_outcome(
    report: pytest.TestReport, item: SampleItem, call: Phase | pytest.CallInfo[None]
) -> None:
    """Add the item's outcome to a report of one of its phases."""
    error = ""
    if call.excinfo is not None:
        value = call.excinfo.value
        if isinstance(value, pytest.skip.Exception):
            if item.outcome is None:  # a mark or a fixture skipped it, not the protocol
                item.outcome = Outcome("skipped", detail=str(value) or "skipped")
        elif not isinstance(value, MissedSample):
            error = _first_line(value)
            if not isinstance(value, FixtureFailed | NoAnswer):
                error = f"{type(value).__name__}: {error}"
    write_into(report, item, error)


def _first_line(error: BaseException) -> str:
    """An error's message, on one line."""
    # Further lines are pytest's explanation of a failed assert, or the remedy of our errors.
    if isinstance(error, AssertionError | CkptbenchError):
        return str(error).partition("\n")[0] or type(error).__name__
    return one_line(error)


def _plain_report(
    item: SampleItem,
    when: Any,
    times: tuple[float, float, float],
    outcome: Any = "passed",
    longrepr: Any = None,
) -> pytest.TestReport:
    """A report without a traceback: what nearly every item gets."""
    found = item.outcome
    if when == "call" and found is not None and outcome == "passed":
        if found.status == "missed":
            outcome, longrepr = "failed", f"missed: {found.detail}"
        elif found.status in ("skipped", "not_needed"):
            line = item.group.template.location[1] or 0
            outcome, longrepr = "skipped", (str(item.path), line + 1, found.detail)
    # Attribute by attribute, an object's attributes take half the memory of a dictionary.
    report = TestReport.__new__(TestReport)
    setattr(report, _NODEID, getattr(item, _NODEID))
    report.location = item.location
    report.keywords = item.group.template.keywords
    report.outcome = outcome
    report.longrepr = longrepr
    report.when = when
    report.user_properties = list(item.__dict__.get("user_properties", ()))
    printed = item.__dict__.get("_report_sections", ())
    report.sections = [(f"Captured {name} {phase}", text) for phase, name, text in printed]
    report.duration, report.start, report.stop = times
    write_into(report, item, "")
    return report


def idle_teardown(item: SampleItem, call: pytest.TestReport) -> pytest.TestReport:
    """The report of a teardown in which nothing happened; it shares what the call's report has."""
    report = TestReport.__new__(TestReport)
    setattr(report, _NODEID, getattr(item, _NODEID))
    report.location = call.location
    report.keywords = call.keywords
    report.outcome = "passed"
    report.longrepr = None
    report.when = "teardown"
    report.user_properties = call.user_properties
    report.sections = call.sections
    report.duration, report.start, report.stop = 0.0, call.stop, call.stop
    setattr(report, ATTRIBUTE, None)
    return report


def _fixture_failure(item: SampleItem, failed: BaseException) -> Any:
    """The cause of a failed fixture, once a group; one line for its other items."""
    fixtures = item.group.fixtures
    cause = fixtures.failure
    if fixtures.failure_shown or cause is None:
        return str(failed)
    fixtures.failure_shown = True
    if isinstance(cause, CkptbenchError):  # an error of input: our frames do not help
        shown: Any = str(cause)
    else:
        style = item.config.getoption("tbstyle", "auto")
        shown = item._repr_failure_py(pytest.ExceptionInfo.from_exception(cause), style=style)
    _forget_frames(cause)
    return shown


def _forget_frames(error: BaseException) -> None:
    """Drop the tracebacks of an error that was shown: their frames may hold half a model."""
    link: BaseException | None = error
    while link is not None and link.__traceback__ is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__


def write_into(report: pytest.TestReport, item: SampleItem, error: str) -> None:
    """Write an item's outcome into a report of it.

    Args:
        error: what went wrong, in one line; empty when the item has an outcome.
    """
    outcome = Outcome("error", (), error) if error else item.outcome
    setattr(report, ATTRIBUTE, None)  # it is of a sample, with or without an outcome
    if outcome is None:
        return
    report.user_properties += _properties(outcome.values, item.group.metrics)
    if report.when != "teardown" or error:
        # The response itself shows why an answer is wrong; a program's failure is only here.
        with_reason = outcome.status in ("skipped", "error") or item.group.executes
        reason = outcome.detail if with_reason else ""
        carried = _carried(outcome.status, outcome.values, reason, outcome.seconds)
        setattr(report, ATTRIBUTE, carried)


@lru_cache(maxsize=4096)
def _carried(
    status: str, values: tuple[float, ...], reason: str, seconds: float
) -> tuple[str, tuple[float, ...], str, float]:
    # Equal outcomes share one object, and only plain numbers reach another process.
    return status, tuple(map(float, values)), reason, seconds


@lru_cache(maxsize=4096)
def _properties(
    values: tuple[float, ...], metrics: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    pairs = zip(metrics, values, strict=False)
    return tuple((name, float(value)) for name, value in pairs if isfinite(value))
