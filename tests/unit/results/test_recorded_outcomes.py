"""Outcomes travel in reports, also from another process, and the latest one counts."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench.results.outcome import Outcome, Outcomes, status_of
from ckptbench.session.item_report import write_into


def report(nodeid: str = "t.py::t[a]", when: str = "call", outcome: str = "passed") -> Any:
    return pytest.TestReport(
        nodeid,
        ("t.py", 1, "t[a]"),
        {},
        outcome,
        None,
        when,
        (),
        0.0,
        user_properties=[],  # type: ignore[arg-type]
    )


def told(outcome: Outcome | None, error: str = "", **fields: str) -> Any:
    item: Any = SimpleNamespace(
        outcome=outcome,
        group=SimpleNamespace(metrics=("real@1", "real@5"), executes=False),
    )
    made = report(**fields)
    write_into(made, item, error)
    return made


def through_another_process(made: Any) -> Any:
    """As pytest-xdist sends a report, which accepts plain values only."""
    execnet = pytest.importorskip("execnet")
    sent = execnet.loads(execnet.dumps(made._to_json()))
    return pytest.TestReport._from_json(sent)


def recorded(*reports: Any) -> dict[str, Outcome]:
    outcomes = Outcomes()
    for each in reports:
        outcomes.pytest_runtest_logreport(each)
    return outcomes.by_nodeid


PASSED = Outcome("passed", (1.0, 1.0))
MISSED = Outcome("missed", (0.0, 1.0), "said y")


@pytest.mark.parametrize(
    ("outcome", "error", "expected"),
    [
        (PASSED, "", Outcome("passed", (1.0, 1.0))),
        (MISSED, "", Outcome("missed", (0.0, 1.0))),
        (Outcome("skipped", (), "too_long"), "", Outcome("skipped", (), "too_long")),
        (None, "KeyError: 'x'", Outcome("error", (), "KeyError: 'x'")),
        (PASSED, "OSError: teardown", Outcome("error", (), "OSError: teardown")),
    ],
)
def test_an_outcome_is_read_back_here_and_from_another_process(
    outcome: Outcome | None, error: str, expected: Outcome
) -> None:
    made = told(outcome, error)
    assert recorded(made) == {"t.py::t[a]": expected}
    assert recorded(through_another_process(made)) == {"t.py::t[a]": expected}


def test_values_are_plain_numbers_in_the_reports_properties() -> None:
    import numpy as np

    made = told(Outcome("missed", (np.float32(0), np.float64(1))))  # type: ignore[arg-type]
    assert dict(made.user_properties)["real@5"] == 1.0
    assert json.dumps(made.user_properties)
    assert dict(through_another_process(made).user_properties)["real@1"] == 0.0


def test_numpy_outcomes_reach_another_process_as_plain_numbers() -> None:
    import numpy as np

    # No other test has these values: equal outcomes share one cached object, plain or not.
    odd = (np.float64(0.8125), np.float32(0.6875))
    made = told(Outcome("missed", odd))  # type: ignore[arg-type]
    (found,) = recorded(through_another_process(made)).values()
    assert found == Outcome("missed", (0.8125, 0.6875))
    assert {type(value) for value in found.values} == {float}
    assert {type(value) for _, value in made.user_properties} == {float}


def test_the_latest_report_counts() -> None:
    first, second = told(None, "the server was away"), told(PASSED)
    assert recorded(first, second)["t.py::t[a]"].status == "passed"
    assert recorded(second, first)["t.py::t[a]"].status == "error"


def test_a_teardown_tells_nothing_but_an_error() -> None:
    quiet = told(PASSED, when="teardown")
    assert recorded(told(MISSED), quiet)["t.py::t[a]"].status == "missed"
    assert status_of(quiet) == ""
    broken = told(PASSED, "OSError", when="teardown")
    assert recorded(told(PASSED), broken)["t.py::t[a]"].status == "error"


def test_other_tests_are_no_outcomes_and_their_failure_is_noted() -> None:
    outcomes = Outcomes()
    outcomes.pytest_runtest_logreport(report("t.py::by_hand"))
    assert not outcomes.others_failed
    outcomes.pytest_runtest_logreport(report("t.py::by_hand", outcome="failed"))
    assert outcomes.others_failed
    assert outcomes.by_nodeid == {}


def test_a_miss_is_no_failure_of_another_test() -> None:
    outcomes = Outcomes()
    missed = told(MISSED)
    missed.outcome = "failed"
    outcomes.pytest_runtest_logreport(missed)
    assert not outcomes.others_failed


def test_an_item_that_its_worker_died_in_is_an_error() -> None:
    died = report(when="???", outcome="failed")
    died.longrepr = "worker 'gw0' crashed while running 't'\nmore"
    outcomes = Outcomes()
    outcomes.pytest_runtest_logreport(died)
    assert outcomes.by_nodeid["t.py::t[a]"].detail == "worker 'gw0' crashed while running 't'"
    assert outcomes.others_failed


def test_a_failed_collection_is_noted() -> None:
    outcomes = Outcomes()
    outcomes.pytest_collectreport(pytest.CollectReport("t.py", "passed", None, []))
    assert not outcomes.others_failed
    outcomes.pytest_collectreport(pytest.CollectReport("t.py", "failed", "no", []))
    assert outcomes.others_failed


def test_like_outcomes_share_one_object() -> None:
    many = recorded(*[told(PASSED, nodeid=f"t.py::t[{i}]") for i in range(5)])
    assert len({id(each) for each in many.values()}) == 1


@pytest.mark.parametrize(
    ("other", "agrees"),
    [
        (Outcome("missed", (0.25, 1.0), "another reason", 3.0), True),
        (Outcome("missed", (0.2500002, 1.0)), True),  # less than a millionth of it
        (Outcome("missed", (0.2500003, 1.0)), False),
        (Outcome("missed", (0.25, 0.0)), False),
        (Outcome("missed", (0.25,)), False),
        (Outcome("missed", (0.25, math.nan)), False),
        (Outcome("passed", (0.25, 1.0)), False),
        (Outcome("error", (0.25, 1.0)), False),
    ],
)
def test_outcomes_agree_but_for_rounding(other: Outcome, agrees: bool) -> None:
    one = Outcome("missed", (0.25, 1.0))
    assert one.agrees_with(other) is agrees
    assert other.agrees_with(one) is agrees


def test_values_that_both_lack_agree_and_a_rounded_zero_is_zero() -> None:
    assert Outcome("passed", (math.nan,)).agrees_with(Outcome("passed", (math.nan,)))
    assert Outcome("missed", (0.0,)).agrees_with(Outcome("missed", (1e-9,)))
    assert not Outcome("missed", (0.0,)).agrees_with(Outcome("missed", (3e-9,)))


def test_an_outcome_is_there_for_whoever_hears_of_the_report_too() -> None:
    manager = pytest.PytestPluginManager()
    outcomes = Outcomes()
    heard: list[str] = []

    class Other:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            heard.append(outcomes.by_nodeid[report.nodeid].status)

    manager.register(outcomes)
    manager.register(Other())
    manager.hook.pytest_runtest_logreport(report=told(PASSED))
    assert heard == ["passed"]


def test_the_status_of_a_report() -> None:
    assert [status_of(told(each)) for each in (PASSED, MISSED)] == ["passed", "missed"]
    assert status_of(report()) == ""
