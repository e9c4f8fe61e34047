"""Runs a sample item: a report or two, and nothing set up for it alone.

pytest's own protocol takes several hundred microseconds an item, most of them for fixtures and
captures that a sample does not have. It still runs the item where an option or a mark needs it
(`--pdb`, `--setup-show`, `xfail`), and so does the protocol of another plugin.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import LogXML
from _pytest.logging import LoggingPlugin
from _pytest.runner import runtestprotocol
from _pytest.terminal import TerminalReporter
from _pytest.warnings import catch_warnings_for_item

from .._util.errors import CkptbenchError
from .answering import Answering
from .item import SampleItem
from .item_report import Phase, When, idle_teardown, report_of, run_phase
from .progress import Progress
from .worker import report_refusal

_PHASES = ("setup", "call", "teardown")
_NEED_PYTEST = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")


def _is_core(plugin: object) -> bool:
    module = getattr(plugin, "__name__", "") or type(plugin).__module__
    # Hypothesis's hooks do something for functions with `@given` alone, and cost half an item each.
    of_functions = module == "_hypothesis_pytestplugin"
    return of_functions or any(m.startswith("_pytest.") for m in (module, type(plugin).__module__))


def _is_ours(plugin: object) -> bool:
    return type(plugin).__module__.partition(".")[0] == __package__.partition(".")[0]


def _collects_logs_only(plugin: object) -> bool:
    """Whether a plugin's hooks have nothing to do around a setup in which nothing happens."""
    # pytest-json-report wraps each phase to collect its log. It is used in many CI systems, and
    # its wraps of idle phases would cost more than the items do.
    return type(plugin).__module__.startswith("pytest_jsonreport.")


@dataclass(frozen=True, slots=True)
class OutsideHooks:
    """The hooks around an item of plugins outside pytest's core.

    Attributes:
        protocols: their own protocols for running an item; the first that accepts it runs it.
        protocol: caller of their wrappers around the running of an item, and ours in the middle;
            None without any.
        phases: callers of their setup, call and teardown hooks.
        makereport: caller of their report hooks around ours, or None.
        idle_phases: whether they must see setups and teardowns in which nothing happens.
        teardowns: caller of those who get the report of a teardown in which nothing happened: they
            and pytest's JUnit file, as the terminal only stores it; None without any.
        begins, ends: whether anyone does something when an item begins, or has ended.
        own_loop: whether they have a session loop of their own.
    """

    protocols: tuple[Callable[..., object], ...]
    protocol: Any
    phases: dict[str, Any]
    makereport: Any
    idle_phases: bool
    teardowns: Any
    begins: bool
    ends: bool
    own_loop: bool


def outside_hooks(config: pytest.Config, ours: object, path: Path) -> OutsideHooks:
    """The plugins whose hooks apply to the items of a file: not the conftests of other folders."""
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
    makereport, protocol = (
        manager.subset_hook_caller(hook, core) if outside(hook) else None
        for hook in ("pytest_runtest_makereport", "pytest_runtest_protocol")
    )
    watchers = ("pytest_runtest_setup", "pytest_runtest_teardown", "pytest_runtest_makereport")
    idle_phases = any(not _collects_logs_only(i.plugin) for hook in watchers for i in outside(hook))
    reading = [h.plugin for h in manager.hook.pytest_runtest_logreport.get_hookimpls()]
    without = [p for p in reading if not isinstance(p, LogXML) and (p in core or _is_ours(p))]
    teardowns = None
    if len(without) < len(reading):
        teardowns = manager.subset_hook_caller("pytest_runtest_logreport", without)
    loops = outside("pytest_runtestloop")
    return OutsideHooks(
        tuple(protocols),
        protocol,
        phases,
        makereport,
        idle_phases,
        teardowns,
        begins=_is_noticed(config, "pytest_runtest_logstart", TerminalReporter),
        ends=_is_noticed(config, "pytest_runtest_logfinish"),
        own_loop=any(not (i.hookwrapper or i.wrapper) for i in loops),
    )


def _is_noticed(config: pytest.Config, hook: str, quiet: type | None = None) -> bool:
    """Whether anyone does something at a hook around an item.

    Args:
        quiet: pytest's plugin that does something with `-v` only, as the files of samples are not
            named.
    """
    shown = config.get_verbosity(pytest.Config.VERBOSITY_TEST_CASES) > 0

    def is_idle(plugin: object) -> bool:
        if isinstance(plugin, LoggingPlugin):
            return not plugin._log_cli_enabled()
        return _is_ours(plugin) or (type(plugin) is quiet and not shown)

    return not all(is_idle(each.plugin) for each in getattr(config.hook, hook).get_hookimpls())


def _with_arguments(implementation: Any) -> Callable[..., object]:
    def call(**arguments: object) -> object:
        wanted = {name: arguments[name] for name in implementation.argnames}
        result: object = implementation.function(**wanted)
        return result

    return call


class OutputCapture:
    """Keeps what a sample item prints for its report and off the terminal, as pytest does.

    pytest redirects the process's file descriptors for every phase of an item, which costs as much
    as running a sample item. Where only the benchmark's own Python code runs, replacing
    `sys.stdout` and `sys.stderr` is enough.
    """

    def __init__(self, config: pytest.Config) -> None:
        manager = config.pluginmanager.get_plugin("capturemanager")
        self._manager = manager if manager is not None and manager.is_globally_capturing() else None
        # `tee-sys` shows everything at once, which only pytest's own capture does.
        self._wholly = config.getoption("capture", "no") == "tee-sys"
        self._stdout, self._stderr = io.StringIO(), io.StringIO()

    def keep(
        self, item: pytest.Item, when: str, do: Callable[[], None], *, wholly: bool = False
    ) -> None:
        """Do something for an item and add what it prints to the item's report.

        Args:
            wholly: also what is written by other languages and processes, as while a model loads.
        """
        if self._manager is None:
            do()
        elif wholly or self._wholly:
            with self._manager.item_capture(when, item):
                do()
        else:
            theirs = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = self._stdout, self._stderr
            try:
                do()
            finally:
                sys.stdout, sys.stderr = theirs
                if self._stdout.tell() or self._stderr.tell():
                    for name, kept in (("stdout", self._stdout), ("stderr", self._stderr)):
                        item.add_report_section(when, name, kept.getvalue())
                        kept.seek(0)
                        kept.truncate()


@dataclass
class Runner:
    """Runs the session's sample items.

    Attributes:
        answering: where their responses come from.
        ours: the plugin of our hooks.
        progress: is shown on the terminal.
    """

    config: pytest.Config
    answering: Answering
    ours: object
    progress: Progress
    is_worker: bool

    def __post_init__(self) -> None:
        self._output = OutputCapture(self.config)
        self._by_pytest = any(self.config.getoption(name, False) for name in _NEED_PYTEST)

    @property
    def may_share_wrappers(self) -> bool:
        """Whether pytest's wrappers may go around many items instead of each single one."""
        watchdog = float(self.config.getini("faulthandler_timeout") or 0)
        own_loop = outside_hooks(self.config, self.ours, self.config.rootpath).own_loop
        return not (own_loop or self._by_pytest or watchdog or self.is_worker)

    def _outside(self, item: SampleItem) -> OutsideHooks:
        template = item.group.template
        if template.outside is None:
            template.outside = outside_hooks(self.config, self.ours, item.path)
        found: OutsideHooks = template.outside
        return found

    def run_in_wrappers(self, item: SampleItem, nextitem: pytest.Item | None) -> None:
        """Run one item inside the wrappers of plugins outside pytest's core, if there are any."""
        protocol = self._outside(item).protocol
        if protocol is None:
            self.run(item, nextitem)
        else:
            protocol(item=item, nextitem=nextitem)

    def run(self, item: SampleItem, nextitem: pytest.Item | None) -> bool:
        """Run one item and log its reports, as `pytest_runtest_protocol` must."""
        outside = self._outside(item)
        for protocol in outside.protocols:
            if protocol(item=item, nextitem=nextitem) is not None:
                return True
        template = item.group.template
        if template.hook is None:
            template.hook = item.ihook
        hook, nodeid, location = template.hook, item.nodeid, item.location
        if item.group.fixtures.values is None:
            self.progress.loading(item.group)
        if outside.begins:
            self.progress.name_files(False)
            hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
            self.progress.name_files(True)
        if self._by_pytest or item.own_protocol:
            runtestprotocol(item, nextitem=nextitem)
        else:
            self._run_fast(item, nextitem, outside, hook.pytest_runtest_logreport)
        if outside.ends:
            hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    def _run_fast(
        self,
        item: SampleItem,
        nextitem: pytest.Item | None,
        outside: OutsideHooks,
        log: Callable[..., Any],
    ) -> None:
        # The item's module, folders and session must be set up for its fixtures to last.
        enters = (
            item.parent not in item.session._setupstate.stack or item.group.fixtures.values is None
        )
        report = None
        if enters or outside.idle_phases:
            call = self._phase("setup", item, lambda: self._set_up(item, outside, enters), enters)
            self._refuse_first(item)
            report = _make_report(item, outside, call)  # other plugins begin an item with this one
        if report is None or report.passed:
            call = self._phase("call", item, lambda: self._call(item, outside))
            report = _make_report(item, outside, call)
        log(report=report)
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None
        leaves = enters or nextitem is None or nextitem.parent is not item.parent
        if leaves or outside.idle_phases:
            call = self._phase(
                "teardown", item, lambda: self._tear_down(item, nextitem, outside, leaves), leaves
            )
            log(report=_make_report(item, outside, call))
        elif outside.teardowns is not None:
            outside.teardowns(report=idle_teardown(item, report))

    def _refuse_first(self, item: SampleItem) -> None:
        """End the session where its only checkpoint cannot be loaded, before anything is asked.

        Of several checkpoints, the others are measured, and each sample of this one is an error.
        """
        failure = item.group.fixtures.failure
        if not isinstance(failure, CkptbenchError) or item.group.many_checkpoints:
            return
        if self.answering.answered() or item.session.shouldstop:
            return
        if not self.is_worker:
            raise pytest.UsageError(str(failure))
        item.session.shouldstop = failure.what
        report_refusal(item.session, str(failure))

    def _phase(
        self, when: When, item: SampleItem, do: Callable[[], None], wholly: bool = False
    ) -> Phase:
        return run_phase(when, lambda: self._output.keep(item, when, do, wholly=wholly))

    def _set_up(self, item: SampleItem, outside: OutsideHooks, enters: bool) -> None:
        if "setup" in outside.phases:
            outside.phases["setup"](item=item)
        if enters:
            item.session._setupstate.setup(item)

    def _call(self, item: SampleItem, outside: OutsideHooks) -> None:
        item.outcome = None
        if "call" in outside.phases:
            outside.phases["call"](item=item)
        item.outcome = item.ask(self.answering)

    def _tear_down(
        self, item: SampleItem, nextitem: pytest.Item | None, outside: OutsideHooks, leaves: bool
    ) -> None:
        if "teardown" in outside.phases:
            outside.phases["teardown"](item=item, nextitem=nextitem)
        if leaves:
            item.session._setupstate.teardown_exact(nextitem)


def _make_report(item: SampleItem, outside: OutsideHooks, call: Phase) -> pytest.TestReport:
    if outside.makereport is None:
        return report_of(item, call)
    info: pytest.CallInfo[None] = pytest.CallInfo(
        None, call.excinfo, call.start, call.stop, call.duration, call.when, _ispytest=True
    )
    report: pytest.TestReport = outside.makereport(item=item, call=info)
    return report


def run_items(session: pytest.Session, runner: Runner) -> bool | None:
    """Run a session's items, as `pytest_runtestloop` must; None leaves it to pytest.

    For each item, pytest's core wraps the run: warnings are caught, assertions get their helpers,
    watchdogs are set. That costs as much as running a sample item, so a stretch of sample items is
    run inside one such wrapper. The wrappers of other plugins stay around each item.
    """
    config = session.config
    if not runner.may_share_wrappers or config.option.collectonly:
        return None
    if session.testsfailed and not config.option.continue_on_collection_errors:
        return None
    items = [*session.items, None]
    position = 0
    while (item := items[position]) is not None:
        if not _plain(item):
            config.hook.pytest_runtest_protocol(item=item, nextitem=items[position + 1])
            position += 1
            _stop_if_requested(session)
            continue
        with catch_warnings_for_item(config, config.hook, "runtest", None):
            while isinstance(item, SampleItem) and _plain(item):
                runner.run_in_wrappers(item, items[position + 1])
                position += 1
                _stop_if_requested(session)
                item = items[position]
    return True


def _plain(item: pytest.Item) -> bool:
    return isinstance(item, SampleItem) and not item.own_protocol


def _stop_if_requested(session: pytest.Session) -> None:
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
