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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from .._util.errors import CkptbenchError, one_line
from ..results.evaluate import NoAnswer, Outcome
from .capture import Output
from .group import FixtureFailed, Group
from .item import MissedSample, SampleItem
from .reported_outcome import write_into

if TYPE_CHECKING:
    from .session import BenchSession

When = Literal["setup", "call", "teardown"]
_PHASES = ("setup", "call", "teardown")
_ASK_FOR_PYTEST = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")


def _is_core(plugin: object) -> bool:
    module = getattr(plugin, "__name__", "") or type(plugin).__module__
    return module.startswith("_pytest.") or type(plugin).__module__.startswith("_pytest.")


def _collects_logs_only(plugin: object) -> bool:
    """Whether a plugin's hooks around a setup in which nothing happens find nothing to do.

    pytest-json-report wraps each phase to collect its log; it is used in many CI systems, and its
    wraps of idle phases would cost more than the items do.
    """
    return type(plugin).__module__.startswith("pytest_jsonreport.")


@dataclass(frozen=True, slots=True)
class Others:
    """What plugins outside pytest's core want of an item.

    Attributes:
        protocols: their own ways to run an item; the first that takes it has it.
        protocol: caller of their wrappers around the running of an item, and ours in the middle;
            None without any.
        phases: callers of their setup, call and teardown hooks.
        makereport: caller of their report hooks around ours, or None.
        attend: whether they must see the setup and teardown of an item even when nothing happens.
        own_loop: whether they run the whole session their own way.
    """

    protocols: tuple[Callable[..., object], ...]
    protocol: Any
    phases: dict[str, Any]
    makereport: Any
    attend: bool
    own_loop: bool


def others_of(config: pytest.Config, ours: object, path: Path) -> Others:
    """Find the plugins that have a say in how the items of a file run.

    A folder's conftest has none in how the items of another folder do.
    """
    manager = config.pluginmanager
    absent = manager._conftest_plugins.difference(manager._getconftestmodules(path))
    core = [p for p in manager.get_plugins() if _is_core(p) or p in absent]

    def outside(hook: str) -> list[Any]:
        found = getattr(manager.hook, hook).get_hookimpls()
        return [i for i in found if i.plugin not in core and i.plugin is not ours]

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
    protocol = None
    if outside("pytest_runtest_protocol"):
        protocol = manager.subset_hook_caller("pytest_runtest_protocol", core)
    watchers = ("pytest_runtest_setup", "pytest_runtest_teardown", "pytest_runtest_makereport")
    attend = any(not _collects_logs_only(i.plugin) for hook in watchers for i in outside(hook))
    own_loop = bool(outside("pytest_runtestloop"))
    return Others(tuple(protocols), protocol, phases, makereport, attend, own_loop)


def _with_arguments(implementation: Any) -> Callable[..., object]:
    def call(**arguments: object) -> object:
        wanted = {name: arguments[name] for name in implementation.argnames}
        result: object = implementation.function(**wanted)
        return result

    return call


class Runner:
    """Runs the session's sample items."""

    def __init__(self, session: BenchSession) -> None:
        self._session = session
        config = session.config
        self._ours = session.hooks
        self._output = Output(config)
        self._pytests_way = any(config.getoption(name, False) for name in _ASK_FOR_PYTEST)

    @property
    def may_run_stretches(self) -> bool:
        """Whether nobody misses what pytest does around each single item."""
        watchdog = float(self._session.config.getini("faulthandler_timeout") or 0)
        own_loop = others_of(
            self._session.config, self._ours, self._session.config.rootpath
        ).own_loop
        return not (own_loop or self._pytests_way or watchdog or self._session.worker)

    def _others_of(self, item: SampleItem) -> Others:
        group = item.group
        if group.others is None:
            group.others = others_of(self._session.config, self._ours, item.path)
        found: Others = group.others
        return found

    def run_among_others(self, item: SampleItem, nextitem: pytest.Item | None) -> None:
        """Run one item inside the wrappers of plugins outside pytest's core, if there are any."""
        protocol = self._others_of(item).protocol
        if protocol is None:
            self.run(item, nextitem)
        else:
            protocol(item=item, nextitem=nextitem)

    def run(self, item: SampleItem, nextitem: pytest.Item | None) -> bool:
        """Run one item and log its reports, as `pytest_runtest_protocol` must."""
        others = self._others_of(item)
        for protocol in others.protocols:
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
            self._run_fast(item, nextitem, others, hook.pytest_runtest_logreport)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    def _run_fast(
        self,
        item: SampleItem,
        nextitem: pytest.Item | None,
        others: Others,
        log: Callable[..., Any],
    ) -> None:
        # The item's module, folders and session must be set up for its fixtures to last.
        enters = item.parent not in item.session._setupstate.stack or item.group.values is None
        report = None
        if enters or others.attend:
            call = self._phase("setup", item, lambda: self._set_up(item, others, enters), enters)
            report = _make_report(item, others, call)  # other plugins begin an item with this one
        if report is None or report.passed:
            call = self._phase("call", item, lambda: self._call(item, others))
            report = _make_report(item, others, call)
        log(report=report)
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None
        leaves = enters or nextitem is None or nextitem.parent is not item.parent
        if leaves or others.attend:
            call = self._phase(
                "teardown", item, lambda: self._tear_down(item, nextitem, others, leaves), leaves
            )
            log(report=_make_report(item, others, call))
        else:
            log(report=_idle_teardown(item, report))

    def _phase(
        self, when: When, item: SampleItem, do: Callable[[], None], wholly: bool = False
    ) -> Phase:
        return _phase(when, lambda: self._output.keep(item, when, do, wholly=wholly))

    def _set_up(self, item: SampleItem, others: Others, enters: bool) -> None:
        if "setup" in others.phases:
            others.phases["setup"](item=item)
        if enters:
            item.session._setupstate.setup(item)

    def _call(self, item: SampleItem, others: Others) -> None:
        item.outcome = None
        if "call" in others.phases:
            others.phases["call"](item=item)
        item.outcome = item.ask(self._session)

    def _tear_down(
        self, item: SampleItem, nextitem: pytest.Item | None, others: Others, leaves: bool
    ) -> None:
        if "teardown" in others.phases:
            others.phases["teardown"](item=item, nextitem=nextitem)
        if leaves:
            item.session._setupstate.teardown_exact(nextitem)


def _make_report(item: SampleItem, others: Others, call: Phase) -> pytest.TestReport:
    if others.makereport is None:
        return report_of(item, call)
    info: pytest.CallInfo[None] = pytest.CallInfo(
        None, call.excinfo, call.start, call.stop, call.duration, call.when, _ispytest=True
    )
    report: pytest.TestReport = others.makereport(item=item, call=info)
    return report


class Phase(NamedTuple):
    """What `pytest.CallInfo` tells of a phase, cheaper to make.

    Attributes:
        start, stop: seconds since the epoch.
        duration: seconds.
    """

    when: When
    excinfo: pytest.ExceptionInfo[BaseException] | None
    start: float
    stop: float
    duration: float


def _phase(when: When, do: Callable[[], None]) -> Phase:
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
_NODEID = "_id" if hasattr(pytest.Item, "id") else "nodeid"


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
            error = _words(value)
            if not isinstance(value, FixtureFailed | NoAnswer):
                error = f"{type(value).__name__}: {error}"
    write_into(report, item, error)


def _words(error: BaseException) -> str:
    """What an error says, on one line.

    The rest of a failed assert's lines is pytest's own working, that of our errors what to do.
    """
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
        elif found.status == "skipped":
            line = item.group.location[1] or 0
            outcome, longrepr = "skipped", (str(item.path), line + 1, found.detail)
    # Attribute by attribute, an object's attributes take half the memory of a dictionary.
    report = pytest.TestReport.__new__(pytest.TestReport)
    setattr(report, _NODEID, getattr(item, _NODEID))
    report.location = item.location
    report.keywords = item.group.keywords
    report.outcome = outcome
    report.longrepr = longrepr
    report.when = when
    report.user_properties = list(item.__dict__.get("user_properties", ()))
    printed = item.__dict__.get("_report_sections", ())
    report.sections = [(f"Captured {name} {phase}", text) for phase, name, text in printed]
    report.duration, report.start, report.stop = times
    if found is not None:
        write_into(report, item, "")
    return report


def _idle_teardown(item: SampleItem, call: pytest.TestReport) -> pytest.TestReport:
    """The report of a teardown in which nothing happened; it shares what the call's report has."""
    report = pytest.TestReport.__new__(pytest.TestReport)
    setattr(report, _NODEID, getattr(item, _NODEID))
    report.location = call.location
    report.keywords = call.keywords
    report.outcome = "passed"
    report.longrepr = None
    report.when = "teardown"
    report.user_properties = call.user_properties
    report.sections = call.sections
    report.duration, report.start, report.stop = 0.0, call.stop, call.stop
    return report


def _one_line_of(item: SampleItem, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    if isinstance(excinfo.value, FixtureFailed):
        return _first_traceback(item.group, excinfo.value, item)
    return item.repr_failure(excinfo)


def _first_traceback(group: Group, failed: FixtureFailed, item: SampleItem) -> Any:
    """The cause of a failed fixture, once a group; one line for its other items."""
    cause = group.failure
    if group.failure_shown or cause is None:
        return str(failed)
    group.failure_shown = True
    if isinstance(cause, CkptbenchError):  # the user's to mend: where we noticed tells nothing
        told: Any = str(cause)
    else:
        style = item.config.getoption("tbstyle", "auto")
        told = item._repr_failure_py(pytest.ExceptionInfo.from_exception(cause), style=style)
    _forget_frames(cause)
    return told


def _forget_frames(error: BaseException) -> None:
    """Drop the tracebacks of an error that has been told: their frames may hold half a model."""
    told: BaseException | None = error
    while told is not None and told.__traceback__ is not None:
        told.__traceback__ = None
        told = told.__cause__ or told.__context__
