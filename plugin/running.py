"""How a sample item runs: two reports and nothing set up for it alone.

pytest's own protocol takes several hundred microseconds an item, most of them for fixtures and
captures that a sample does not have. Where somebody asks for what only pytest's protocol does
(`--pdb`, `--setup-show`, a mark such as `xfail`), or another plugin runs items its own way, the
item goes theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from .groups import FixtureFailed, Group
from .items import MissedSample, SampleItem
from .judging import NoAnswer, Outcome
from .outcomes import write_into

if TYPE_CHECKING:
    from .session import BenchSession

_PHASES = ("setup", "call", "teardown")
_ASK_FOR_PYTEST = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")


def _is_core(plugin: object) -> bool:
    module = getattr(plugin, "__name__", "") or type(plugin).__module__
    return module.startswith("_pytest.") or type(plugin).__module__.startswith("_pytest.")


@dataclass(frozen=True, slots=True)
class Others:
    """What plugins outside pytest's core want of an item.

    Attributes:
        protocols: their own ways to run an item; the first that takes it has it.
        phases: callers of their setup, call and teardown hooks.
        makereport: caller of their report hooks around ours, or None.
    """

    protocols: tuple[Callable[..., object], ...]
    phases: dict[str, Any]
    makereport: Any


def others_of(config: pytest.Config, ours: object) -> Others:
    """Find the plugins that have a say in how items run."""
    manager = config.pluginmanager
    core = [plugin for plugin in manager.get_plugins() if _is_core(plugin)]

    def outside(hook: str) -> list[Any]:
        found = getattr(manager.hook, hook).get_hookimpls()
        return [i for i in found if not _is_core(i.plugin) and i.plugin is not ours]

    protocols = []
    for implementation in reversed(outside("pytest_runtest_protocol")):
        if not (implementation.hookwrapper or implementation.wrapper):
            protocols.append(_with_arguments(implementation))
    phases = {
        phase: manager.subset_hook_caller(f"pytest_runtest_{phase}", [*core, ours])
        for phase in _PHASES
        if outside(f"pytest_runtest_{phase}")
    }
    makereport = None
    if outside("pytest_runtest_makereport"):
        makereport = manager.subset_hook_caller("pytest_runtest_makereport", core)
    return Others(tuple(protocols), phases, makereport)


def _with_arguments(implementation: Any) -> Callable[..., object]:
    def call(**arguments: object) -> object:
        wanted = {name: arguments[name] for name in implementation.argnames}
        result: object = implementation.function(**wanted)
        return result

    return call


class Runner:
    """Runs the session's sample items."""

    def __init__(self, session: BenchSession, others: Others) -> None:
        self._session = session
        self._others = others
        config = session.config
        self._watched = bool(others.phases) or others.makereport is not None
        self._pytests_way = any(config.getoption(name, False) for name in _ASK_FOR_PYTEST)

    def run(self, item: SampleItem, nextitem: pytest.Item | None) -> bool:
        """Run one item and log its reports, as `pytest_runtest_protocol` must."""
        for protocol in self._others.protocols:
            if protocol(item=item, nextitem=nextitem) is not None:
                return True
        group = item.group
        if group.hook is None:
            group.hook = item.ihook
        hook, nodeid, location = group.hook, item.nodeid, item.location
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        if self._pytests_way or item.obeyed:
            runtestprotocol(item, nextitem=nextitem)
        else:
            self._run_fast(item, nextitem, hook.pytest_runtest_logreport)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    def _run_fast(
        self, item: SampleItem, nextitem: pytest.Item | None, log: Callable[..., Any]
    ) -> None:
        # The item's module, folders and session must be set up for its fixtures to last.
        enters = item.parent not in item.session._setupstate.stack or item.group.values is None
        report = None
        if enters or self._watched:
            call = _phase("setup", lambda: self._set_up(item, enters))
            report = self._make_report(item, call)  # other plugins begin an item with this one
        if report is None or report.passed:
            call = _phase("call", lambda: self._call(item))
            report = self._make_report(item, call)
        log(report=report)
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None
        leaves = enters or nextitem is None or nextitem.parent is not item.parent
        if leaves or self._watched:
            call = _phase("teardown", lambda: self._tear_down(item, nextitem, leaves))
            log(report=self._make_report(item, call))
        else:
            log(report=_plain_report(item, "teardown", _NO_TIME))

    def _set_up(self, item: SampleItem, enters: bool) -> None:
        if "setup" in self._others.phases:
            self._others.phases["setup"](item=item)
        if enters:
            item.session._setupstate.setup(item)

    def _call(self, item: SampleItem) -> None:
        item.outcome = None
        if "call" in self._others.phases:
            self._others.phases["call"](item=item)
        item.outcome = item.ask(self._session)

    def _tear_down(self, item: SampleItem, nextitem: pytest.Item | None, leaves: bool) -> None:
        if "teardown" in self._others.phases:
            self._others.phases["teardown"](item=item, nextitem=nextitem)
        if leaves:
            item.session._setupstate.teardown_exact(nextitem)

    def _make_report(self, item: SampleItem, call: Phase) -> pytest.TestReport:
        if self._others.makereport is None:
            return report_of(item, call)
        info = pytest.CallInfo(
            None, call.excinfo, call.start, call.stop, call.duration, call.when, _ispytest=True
        )
        report: pytest.TestReport = self._others.makereport(item=item, call=info)
        return report


class Phase(NamedTuple):
    """What `pytest.CallInfo` tells of a phase, cheaper to make.

    Attributes:
        start, stop: seconds since the epoch.
        duration: seconds.
    """

    when: Literal["setup", "call", "teardown"]
    excinfo: pytest.ExceptionInfo[BaseException] | None
    start: float
    stop: float
    duration: float


_NO_TIME = (0.0, 0.0, 0.0)


def _phase(when: Literal["setup", "call", "teardown"], do: Callable[[], None]) -> Phase:
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


_INTERRUPTS = (pytest.exit.Exception, KeyboardInterrupt)
_NODEID = "id" if hasattr(pytest.Item, "id") else "nodeid"


def report_of(item: SampleItem, call: Phase | pytest.CallInfo[None]) -> pytest.TestReport:
    """The report of one phase of an item, with its outcome."""
    excinfo = call.excinfo
    times = (call.duration, call.start, call.stop)
    if excinfo is None:
        return _plain_report(item, call.when, times)
    if isinstance(excinfo.value, FixtureFailed | NoAnswer):
        report = _plain_report(item, call.when, times, "failed", _one_line_of(item, excinfo))
    else:
        report = pytest.TestReport.from_item_and_call(item, call)  # type: ignore[arg-type]
    dress(report, item, call)
    return report


def dress(report: pytest.TestReport, item: SampleItem, call: Phase | pytest.CallInfo[None]) -> None:
    """Add the item's outcome to a report that was made of it."""
    error = ""
    if call.excinfo is not None:
        value = call.excinfo.value
        if isinstance(value, pytest.skip.Exception):
            if item.outcome is None:  # a mark or a fixture skipped it, not the protocol
                item.outcome = Outcome("skipped", detail=str(value) or "skipped")
        elif not isinstance(value, MissedSample):
            error = str(value).partition("\n")[0] or type(value).__name__
            if not isinstance(value, FixtureFailed | NoAnswer):
                error = f"{type(value).__name__}: {error}"
    write_into(report, item, error)


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
        elif found.status == "skipped":
            line = item.group.location[1] or 0
            outcome, longrepr = "skipped", (str(item.path), line + 1, found.detail)
    report = pytest.TestReport(
        getattr(item, _NODEID),
        item.location,
        item.group.keywords,
        outcome,
        longrepr,
        when,
        (),
        *times,
        user_properties=item.user_properties,
    )
    if found is not None:
        write_into(report, item, "")
    return report


def _one_line_of(item: SampleItem, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    if isinstance(excinfo.value, FixtureFailed):
        return _first_traceback(item.group, excinfo.value, item)
    return item.repr_failure(excinfo)


def _first_traceback(group: Group, failed: FixtureFailed, item: SampleItem) -> Any:
    """The cause of a failed fixture, once a group; one line for its other items."""
    cause = group.failure
    if group.failure_shown or cause is None:
        reason = str(cause).partition("\n")[0] if cause else ""
        return f"{failed}: {type(cause).__name__}: {reason}"
    group.failure_shown = True
    return item._repr_failure_py(
        pytest.ExceptionInfo.from_exception(cause), style=item.config.getoption("tbstyle", "auto")
    )
