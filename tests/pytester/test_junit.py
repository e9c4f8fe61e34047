"""`--junitxml`: its test cases are the metrics, and a run that passes has no failure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

SPOILED = [f"right {i:02}" for i in range(20)]


def suite_of(project: Any) -> ET.Element:
    found = ET.parse(project.path / "junit.xml").getroot().find("testsuite")
    assert found is not None
    cases = list(found.iter("testcase"))
    assert found.get("tests") == str(len(cases))
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert found.get(attribute) == str(sum(case.find(tag) is not None for case in cases))
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    return found


def cases_of(project: Any) -> dict[str, ET.Element]:
    return {
        f"{case.get('classname')}/{case.get('name')}": case
        for case in suite_of(project).iter("testcase")
    }


def properties_of(case: ET.Element) -> dict[str, str]:
    return {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}


def test_without_a_baseline_each_metric_is_a_passed_case_with_its_score(standard: Any) -> None:
    assert standard.run("--junitxml=junit.xml").ret == 0
    cases = cases_of(standard)
    metrics = [f"engine/word/plain/word@{k}" for k in (1, 5)]
    assert list(cases) == ["test_hand/test_by_hand", *metrics, "ckptbench/gate"]
    assert not list(suite_of(standard).iter("failure"))
    properties = properties_of(cases[metrics[1]])
    assert properties["score"] == "0.75"
    assert properties["n"] == "4"
    assert properties["samples"] == "4 of 4 scored"


def test_a_regressed_metric_is_a_failure_with_the_verdicts_sentence(project: Any) -> None:
    project.write(SPOILED).run("--baseline=base.json", "--update-baseline")
    with project.spoiled(*SPOILED[:15]):
        assert project.run("--baseline=base.json", "--junitxml=junit.xml").ret == 1
    cases = cases_of(project)
    message = cases["engine/word/plain/word@1"].find("failure").attrib["message"]  # type: ignore[union-attr]
    assert message.startswith("word@1 regressed: worse by 75.00 pp, tolerance 1.00 pp, 15 lost")
    assert properties_of(cases["engine/word/plain/word@1"])["diff"] == "-0.75"
    gate = cases["ckptbench/gate"].find("failure")
    assert gate is not None
    assert gate.attrib["message"].startswith("regressed: word@1 fell by 75.00 pp")


@pytest.mark.parametrize("args", [("--gate=off",), ("--update-baseline",)])
def test_what_the_gate_lets_pass_is_no_failure(project: Any, args: tuple[str, ...]) -> None:
    project.write(SPOILED).run("--baseline=base.json", "--update-baseline")
    with project.spoiled(*SPOILED[:15]):
        assert project.run("--baseline=base.json", "--junitxml=junit.xml", *args).ret == 0
    case = cases_of(project)["engine/word/plain/word@1"]
    assert case.find("failure") is None
    assert properties_of(case)["verdict"] == "regressed"


def test_an_error_is_an_error_and_fails_its_metrics(project: Any) -> None:
    project.write(["right a", "wrong b", "failed c", "skipped d"])
    assert project.run("--junitxml=junit.xml").ret == 1
    cases = cases_of(project)
    (error,) = cases["test_bench/test_word[s-02]"].iter("error")
    assert error.attrib["message"] == "the server said no"
    failure = cases["engine/word/plain/word@1"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "word@1 incomplete: 1 of 4 samples are errors"
    assert not [name for name in cases if "s-00" in name or "s-01" in name or "s-03" in name]


def test_of_many_errors_the_first_hundred_are_written(project: Any) -> None:
    project.write([f"failed {i:03}" for i in range(120)])
    project.run("--junitxml=junit.xml")
    assert suite_of(project).get("errors") == "100"


def test_a_metric_without_a_score_in_a_run_that_passes_is_skipped(project: Any) -> None:
    project.write(["skipped a", "skipped b"])
    assert project.run("--junitxml=junit.xml").ret == 0
    skipped = cases_of(project)["engine/word/plain/word@1"].find("skipped")
    assert skipped is not None
    assert "word@1" in skipped.attrib["message"]


def test_hand_written_tests_keep_their_cases_and_failures(project: Any) -> None:
    hand = "def test_fails(record_property):\n    record_property('a', 'b')\n    assert 1 == 2\n"
    project.write(by_hand=hand)
    assert project.run("--junitxml=junit.xml", "--junit-prefix=team").ret == 1
    cases = cases_of(project)
    assert "assert 1 == 2" in cases["team.test_hand/test_fails"].find("failure").attrib["message"]  # type: ignore[union-attr]
    assert properties_of(cases["team.test_hand/test_fails"]) == {"a": "b"}
    assert cases["team.ckptbench/gate"].find("failure") is None


def test_a_session_without_benchmarks_has_no_case_of_ours(standard: Any) -> None:
    standard.run("--junitxml=junit.xml", "test_hand.py")
    assert list(cases_of(standard)) == ["test_hand/test_by_hand"]


@pytest.mark.parametrize("option", ["--setup-show", "--reruns=1", "-x"])
def test_items_that_run_pytests_way_are_no_cases_either(standard: Any, option: str) -> None:
    if option == "--reruns=1":
        pytest.importorskip("pytest_rerunfailures")
    standard.run("--junitxml=junit.xml", option)
    assert not [name for name in cases_of(standard) if name.startswith("test_bench/")]


@pytest.mark.slow
def test_workers_give_the_same_cases(standard: Any) -> None:
    pytest.importorskip("xdist")
    standard.run_apart("-n1", "--junitxml=junit.xml")
    assert len(cases_of(standard)) == 4


@pytest.mark.slow
def test_a_sample_that_its_worker_died_in_is_an_error(project: Any) -> None:
    pytest.importorskip("xdist")
    project.write(["right a", "die b", "right c"])
    project.run_apart("-n1", "--max-worker-restart=1", "--junitxml=junit.xml")
    (error,) = cases_of(project)["test_bench/test_word[s-01]"].iter("error")
    assert "crashed" in error.attrib["message"]


def test_a_name_of_that_option_is_checked(standard: Any) -> None:
    result = standard.run("--junitxml=junit.xml", "--ckpt-junit=sample")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*metrics*samples*"])
