"""pytest's hooks: each calls the session's benchmarks at once."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from ._util import extensions, language
from ._util.errors import CkptbenchError, denied_is_refused
from .config import command_line
from .results.outcome import status_of

if TYPE_CHECKING:
    from .reports.write import ReportFormat
    from .results.summary import CheckpointResult
    from .session.session import BenchSession

KEY = pytest.StashKey["BenchSession"]()


def _session(config: pytest.Config) -> BenchSession | None:
    """The session's benchmarks; None when nothing needs them."""
    return config.stash.get(KEY, None)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that plugins and conftests may implement."""
    from . import hookspec

    pluginmanager.add_hookspecs(hookspec)


def pytest_ckptbench_reducers() -> Mapping[str, type[Any]]:
    """The reducers that come with the plugin."""
    from .scores.reducers import REDUCERS

    return REDUCERS


def pytest_ckptbench_report_formats() -> Sequence[ReportFormat]:
    """The formats that come with the plugin."""
    from .reports.write import FORMATS

    return FORMATS


@pytest.hookimpl(trylast=True)
def pytest_ckptbench_result(result: CheckpointResult) -> CheckpointResult:
    """The result as it was folded: what other plugins amend."""
    return result


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    command_line.register(parser)


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Look for misspelled options before pytest refuses them."""
    command_line.hint_at_typos(parser, args)


def pytest_cmdline_main(config: pytest.Config) -> None:
    """Start no workers where nothing is asked: what is shown is what this process collects."""
    if command_line.is_dry(config) and hasattr(config.option, "dist"):
        config.option.dist = "no"  # pytest-xdist has read `-n` by now: its hook is called first


def pytest_configure(config: pytest.Config) -> None:
    """Begin the session's benchmarks."""
    if config.getoption("help", False):  # pytest configures its plugins for `--help` too
        return
    from .reports.languages import catalogue
    from .session.session import BenchSession

    manager = config.pluginmanager
    extensions.enter_session(manager)
    config.add_cleanup(partial(extensions.leave_session, manager))
    workerinput = getattr(config, "workerinput", {})
    try:
        with denied_is_refused():
            options = command_line.read(config, continued=workerinput.get("ckptbench_run_id", ""))
            shown = ExitStack()
            shown.enter_context(language.spoken(catalogue(options.lang)))
            config.add_cleanup(shown.close)
            bench = BenchSession.begin(config, sys.modules[__name__], options, workerinput)
            config.stash[KEY] = bench
            bench.find_checkpoints()
    except CkptbenchError as error:
        raise pytest.UsageError(str(error)) from None
    if hasattr(config.option, "reruns"):  # of pytest-rerunfailures
        from .session.other_plugins import MissesAreNotRerun

        manager.register(MissesAreNotRerun(), "ckptbench-reruns")
    if not workerinput:
        from .session.xdist import Controller

        config.pluginmanager.register(bench.run.outcomes, "ckptbench-outcomes")
        config.pluginmanager.register(Controller(bench), "ckptbench-controller")
        if config.getoption("xmlpath", None) and options.junit == "metrics":
            from .session.junit import JUnitOfMetrics

            config.pluginmanager.register(JUnitOfMetrics(bench), "ckptbench-junit")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Give the benchmarks their pytest session, and the terminal."""
    if bench := _session(session.config):
        bench.pytest_session = session
        bench.show_progress()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> list[pytest.Item] | None:
    """Make a benchmark function into its sample items."""
    from .api.benchmark import benchmark_of

    bench = _session(collector.config)
    if bench is None or benchmark_of(obj) is None:
        return None
    if not isinstance(collector, pytest.Module):
        raise CkptbenchError(
            "a benchmark function belongs in a module, not in a class",
            where=f"{collector.nodeid}::{name}",
        )
    with denied_is_refused():
        return bench.make_items(collector, name, obj)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """End the session at the first of our own errors, with exit status 4; a worker reports it."""
    report = yield
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo is not None else None
    bench = _session(collector.config)
    if bench is not None and isinstance(error, CkptbenchError):
        bench.collected.refuse(error)  # pytest finishes its collection whatever ends it
        if not bench.run.worker:
            raise pytest.UsageError(str(error)) from None
        del report.call  # nothing is left for a debugger
        report.outcome, report.longrepr, report.result = "passed", None, []
    return report


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One worker a GPU for `-n auto` in a session with checkpoints; xdist's count otherwise.

    xdist calls this before the session begins, so it cannot be in `session.xdist.Controller`.
    """
    if not config.getoption("ckpt_checkpoint", None):
        return None
    from .session.worker import visible_gpus

    return len(visible_gpus()) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the items in running order."""
    if bench := _session(config):
        bench.collected.arrange(items, several_checkpoints=len(bench.checkpoints) > 1)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None, None, None]:
    """Make the plan before a worker reports that it is ready; then look for checkpoints."""
    bench = _session(session.config)
    if bench is None:
        return (yield)
    showing_only = ("collectonly", "setuponly", "setupplan")
    shows_only = any(session.config.getoption(name, False) for name in showing_only)
    from .session.other_plugins import refuse_other_plugins

    try:
        with denied_is_refused():
            refuse_other_plugins(session.config, session.items)
            bench.check_options()
            if not bench.options.is_dry and not shows_only:
                bench.make_plan(session.items)
    except CkptbenchError as error:
        bench.refused = True
        if not bench.run.worker:
            raise pytest.UsageError(str(error)) from None
        from .session.worker import report_refusal

        session.items.clear()
        report_refusal(session, str(error))
    yield
    loading = any(group.loads_checkpoint for group in bench.collected.groups)
    if loading and not bench.run.worker and not session.config.option.collectonly:
        try:
            with denied_is_refused():
                bench.collected.check_files(bench.checkpoints)
        except CkptbenchError as error:
            bench.refused = True
            raise pytest.UsageError(str(error)) from None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run stretches of sample items inside one set of pytest's wrappers, where possible."""
    bench = _session(session.config)
    if bench is not None and bench.options.is_dry:
        return not session.testsfailed or None  # pytest shows what could not be collected
    if bench is None or bench.runner is None:
        return None
    from .session.runner import run_items

    return run_items(session, bench.runner)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run sample items by the plugin's own protocol."""
    from .session.item import SampleItem

    if not isinstance(item, SampleItem):
        return None
    bench = _session(item.config)
    if bench is None or bench.runner is None:
        return None
    return bench.runner.run(item, nextitem)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Add the outcome to a sample item's report, whichever protocol ran it.

    Innermost: without pytest's core this makes the report, and the wrappers of other plugins must
    find one, in whatever order the plugins were loaded.
    """
    report = yield
    from .session.item import SampleItem

    if isinstance(item, SampleItem):
        from .session.item_report import attach_outcome, report_of

        if report is None:
            return report_of(item, call)
        attach_outcome(report, item, call)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    """Report `missed` for a wrong answer and `error` for no answer, without a letter each."""
    status = status_of(report)
    if report.when != "call" or not status or hasattr(report, "wasxfail"):
        return None
    # Without letters: a sweep of 64,000 samples would print 889 lines of them.
    if report.outcome == "failed" and status == "missed":
        return "missed", "", _label("MISSED", yellow=True)
    if report.outcome == "failed" and status == "error":
        return "error", "", _label("ERROR", red=True)
    return report.outcome, "", report.outcome.upper()


def _label(text: str, **markup: bool) -> str | tuple[str, dict[str, bool]]:
    # pytest 8.2 would print the tuple itself in the short summary.
    coloured = hasattr(pytest.TestReport, "_get_verbose_word_with_markup")
    return (text, markup) if coloured else text


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
    """Conclude the run and decide the exit status before it is reported; write it afterwards."""
    bench = _session(session.config)
    if bench is not None:
        exitstatus = bench.finish(int(exitstatus))
        empty = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        session.exitstatus = 0 if empty and bench.options.is_dry else exitstatus
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if bench.signals.came and reporter is not None:
            from .session import terminal as screen

            with suppress(OSError):  # of a terminal that was closed
                screen.show_run(reporter, bench)  # before fixtures end, which may take long
    try:
        return (yield)
    finally:
        if bench is not None:
            bench.write()  # where pytest had no summary to show
        if bench is not None and bench.signals.status:  # pytest shows none for such a status
            session.exitstatus = bench.signals.status


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: Any, config: pytest.Config
) -> Generator[None, Any, Any]:
    """Show few of many errors with one cause, below pytest's the run's summary; then write it."""
    from .session import terminal as screen

    with screen.repeated_errors_hidden(terminalreporter):
        result = yield
    bench = _session(config)
    if bench is not None and bench.options.is_dry:
        screen.show_plan(terminalreporter, bench)
    elif bench is not None:
        screen.show_run(terminalreporter, bench)
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the store."""
    if bench := _session(config):
        bench.run.close()
