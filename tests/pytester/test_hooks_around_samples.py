"""Hooks of users and of pytest's own plugins around sample items."""

from __future__ import annotations

from typing import Any

import pytest

# Without the plugins whose hooks are called for setups and teardowns in which nothing happens.
ALONE = [f"-pno:{name}" for name in ("rerunfailures", "html", "anyio")]


def test_the_users_hooks_are_called_for_sample_items(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_runtest_setup(item):
    note("hooks.log", f"setup {item.name}")

def pytest_runtest_call(item):
    note("hooks.log", f"call {item.name}")

def pytest_runtest_teardown(item, nextitem):
    note("hooks.log", f"teardown {item.name} before {nextitem and nextitem.name}")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    note("hooks.log", f"report {item.name} {report.when} {report.outcome}")
    return report
"""
    )
    standard.run("test_bench.py", "-k", "s-00 or s-01")
    assert (standard.path / "hooks.log").read_text().splitlines() == [
        "setup test_word[s-00]",
        "report test_word[s-00] setup passed",
        "call test_word[s-00]",
        "report test_word[s-00] call passed",
        "teardown test_word[s-00] before test_word[s-01]",
        "report test_word[s-00] teardown passed",
        "setup test_word[s-01]",
        "report test_word[s-01] setup passed",
        "call test_word[s-01]",
        "report test_word[s-01] call failed",
        "teardown test_word[s-01] before None",
        "report test_word[s-01] teardown passed",
    ]
    assert standard.scores["word@1"] == 0.5


def test_a_users_setup_hook_may_skip(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_runtest_setup(item):
    if "s-01" in item.name:
        pytest.skip("not today")
"""
    )
    result = standard.run()
    assert result.ret == 0
    assert standard.coverage["skipped"] == {"not today": 1}
    assert standard.coverage["scored"] == 3


def test_a_users_setup_hook_that_fails_makes_an_error(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_runtest_setup(item):
    if "s-01" in item.name:
        raise OSError("no network")
"""
    )
    result = standard.run()
    assert result.ret == 1
    assert standard.statuses["test_bench.py::test_word[s-01]"] == "error"
    assert standard.coverage["scored"] == 3
    result.stdout.fnmatch_lines(["*no network*"])


def test_a_folders_conftest_hooks_are_for_its_own_items(standard: Any) -> None:
    standard.file(
        "elsewhere/conftest.py",
        "def pytest_runtest_setup(item):\n    raise OSError('elsewhere only')\n",
    )
    standard.file("elsewhere/test_there.py", "def test_there():\n    pass\n")
    standard.run()
    assert standard.coverage["errors"] == 0
    assert standard.coverage["scored"] == 4


def test_report_hooks_of_the_user_see_sample_reports(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_runtest_logreport(report):
    if report.when == "call" and "test_word" in report.nodeid:
        note("reports.log", f"{report.nodeid} {report.outcome} {dict(report.user_properties)}")
"""
    )
    standard.run()
    lines = (standard.path / "reports.log").read_text().splitlines()
    assert lines[1] == ("test_bench.py::test_word[s-01] failed {'word@1': 0.0, 'word@5': 0.0}")


def test_who_reads_reports_is_told_once_that_a_sample_begins_ran_and_ended(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_runtest_logstart(nodeid):
    note("reports.log", "start " + nodeid.partition("::")[2])

def pytest_runtest_logreport(report):
    note("reports.log", f"{report.when} {report.outcome} {report.longreprtext}".strip())

def pytest_runtest_logfinish(nodeid):
    note("reports.log", "finish " + nodeid.partition("::")[2])
"""
    )
    standard.run("test_bench.py", "-k", "s-00 or s-01 or s-02", *ALONE)
    lines = (standard.path / "reports.log").read_text().splitlines()
    assert lines[1 + lines.index("start test_word[s-01]") :][:3] == [
        "call failed missed: assert False",
        "teardown passed",
        "finish test_word[s-01]",
    ]


def test_a_teardown_in_which_nothing_happened_is_not_kept_for_the_terminal(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_terminal_summary(terminalreporter):
    for reports in terminalreporter.stats.values():
        for report in reports:
            when = getattr(report, "when", "deselected")
            note("kept.log", when + " " + report.nodeid.partition("::")[2])
"""
    )
    standard.run("test_bench.py", "-k", "s-00 or s-01 or s-02", *ALONE)
    kept = (standard.path / "kept.log").read_text().splitlines()
    assert "call test_word[s-01]" in kept
    assert "teardown test_word[s-01]" not in kept


@pytest.mark.parametrize("verbosity", ["auto", "0"])
def test_logs_are_shown_live_under_a_heading_for_each_sample(standard: Any, verbosity: str) -> None:
    standard.write(
        conftest="""
import logging

def pytest_runtest_call(item):
    logging.getLogger("users").warning("asked %s", item.name)
"""
    )
    live = ("-o", "log_cli=true", "-o", f"verbosity_test_cases={verbosity}")
    result = standard.run("test_bench.py", "-k", "s-00 or s-01 or s-02", *live, *ALONE)
    shown = result.stdout.str()
    assert shown.count("live log start") == shown.count("asked test_word[") == 3


@pytest.mark.parametrize(("options", "told"), [((), 0), (("-v",), 3)])
def test_that_a_sample_begins_is_not_told_where_nobody_does_anything_then(
    standard: Any, options: tuple[str, ...], told: int
) -> None:
    standard.write(
        conftest="""
def pytest_configure(config):
    def called(name, implementations, arguments):
        if name in ("pytest_runtest_logstart", "pytest_runtest_logreport"):
            note("called.log", name)

    config.pluginmanager.add_hookcall_monitoring(called, lambda *_: None)
"""
    )
    standard.run("test_bench.py", "-k", "s-00 or s-01 or s-02", *options, *ALONE)
    called = (standard.path / "called.log").read_text().split()
    assert called.count("pytest_runtest_logstart") == told
    assert called.count("pytest_runtest_logreport") >= 3
