"""Plugins that people use beside ours see sample items as items."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

TEXTS = ("right aa", "wrong bb", "failed c", "skipped")


def json_report(project: Any, *args: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    result = project.run("--json-report", "--json-report-file=report.json", *args)
    content = (project.path / "report.json").read_text(encoding="utf-8")
    return result, json.loads(content)


@pytest.fixture
def project(project: Any) -> Any:
    return replace(project, all_plugins=True)


@pytest.fixture
def needs_json_report() -> None:
    pytest.importorskip("pytest_jsonreport")


@pytest.fixture
def needs_rerunfailures() -> None:
    pytest.importorskip("pytest_rerunfailures")


@pytest.mark.usefixtures("needs_json_report")
def test_json_report_holds_every_sample_with_its_outcome(project: Any) -> None:
    project.write(TEXTS)
    _, report = json_report(project)
    outcomes = {test["nodeid"].rpartition("::")[2]: test["outcome"] for test in report["tests"]}
    assert outcomes == {
        "test_word[s-00]": "passed",
        "test_word[s-01]": "missed",
        "test_word[s-02]": "error",
        "test_word[s-03]": "skipped",
        "test_by_hand": "passed",
    }
    assert report["summary"] == {
        "passed": 2,
        "missed": 1,
        "error": 1,
        "skipped": 1,
        "total": 5,
        "collected": 5,
    }
    assert report["exitcode"] == 1


@pytest.mark.usefixtures("needs_json_report")
def test_json_report_holds_what_was_asked_and_how_it_ended(standard: Any) -> None:
    _, report = json_report(standard)
    for test in report["tests"]:
        assert {"call", "teardown"} <= test.keys()
    missed = next(test for test in report["tests"] if test["outcome"] == "missed")
    assert missed["call"]["longrepr"].startswith("missed: ")


@pytest.mark.usefixtures("needs_json_report")
def test_json_report_has_the_summary_under_our_name(standard: Any) -> None:
    _, report = json_report(standard)
    assert report["ckptbench"] == standard.summary


@pytest.mark.slow
@pytest.mark.usefixtures("needs_json_report")
def test_json_report_of_workers_has_the_same(standard: Any) -> None:
    pytest.importorskip("xdist")
    standard.run_apart(
        "-n1", "--json-report", "--json-report-file=report.json", plugins=["pytest_jsonreport"]
    )
    report = json.loads((standard.path / "report.json").read_text(encoding="utf-8"))
    assert report["ckptbench"] == standard.summary
    assert report["summary"]["missed"] == 2
    assert report["summary"]["total"] == 5


@pytest.mark.usefixtures("needs_json_report")
def test_json_report_without_benchmarks_has_no_part_of_ours(standard: Any) -> None:
    _, report = json_report(standard, "test_hand.py")
    assert "ckptbench" not in report


@pytest.mark.usefixtures("needs_json_report")
def test_json_report_of_several_files_and_fixtures_that_fail(standard: Any) -> None:
    standard.write(conftest="\n@pytest.fixture(scope='session')\ndef engine():\n    1 / 0\n")
    result, report = json_report(standard)
    assert report["summary"]["error"] == 4
    assert result.ret == 1


def test_html_report_lists_every_sample(project: Any) -> None:
    pytest.importorskip("pytest_html")
    project.write(TEXTS)
    result = project.run("--html=report.html", "--self-contained-html")
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    page = (project.path / "report.html").read_text(encoding="utf-8")
    for number in range(4):
        assert f"test_word[s-0{number}]" in page
    assert result.ret == 1


@pytest.mark.usefixtures("needs_rerunfailures")
def test_a_rerun_asks_an_error_again(project: Any) -> None:
    project.write(["right aa", "flaky bb", "right cc"])
    result = project.run("--reruns=1")
    assert project.asked.count("flaky bb") == 2
    assert project.coverage["scored"] == 3
    assert project.coverage["errors"] == 0
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*4 passed, 1 rerun*"])


@pytest.mark.usefixtures("needs_rerunfailures")
@pytest.mark.parametrize("option", ["--reruns=1", "--force-reruns=2"])
def test_a_miss_is_no_failure_to_rerun(standard: Any, option: str) -> None:
    result = standard.run(option)
    result.stdout.fnmatch_lines(["*= 3 passed, 2 missed in *"])
    result.stdout.no_fnmatch_line("*[0-9] rerun*")
    assert standard.scores == {"word@1": 0.5, "word@5": 0.75}
    assert standard.coverage["planned"] == standard.coverage["scored"] == 4
    assert result.ret == 0


@pytest.mark.usefixtures("needs_rerunfailures")
def test_what_fails_in_every_rerun_is_one_error(project: Any) -> None:
    project.write(["right aa", "failed b"])
    result = project.run("--reruns=2")
    assert project.coverage["errors"] == 1
    assert project.asked.count("failed b") == 3
    assert result.ret == 1


@pytest.mark.usefixtures("needs_rerunfailures")
def test_a_flaky_mark_reruns_that_benchmark(project: Any) -> None:
    project.write(["right aa", "flaky bb"])
    project.change(
        "test_bench.py", "@samples", "import pytest\n@pytest.mark.flaky(reruns=1)\n@samples"
    )
    assert project.run().ret == 0
    assert project.coverage["scored"] == 2


@pytest.mark.slow
@pytest.mark.usefixtures("needs_rerunfailures")
def test_reruns_with_workers(project: Any) -> None:
    pytest.importorskip("xdist")
    project.write(["right aa", "flaky bb", "right cc"])
    result = project.run_apart("--reruns=1", "-n1", plugins=["rerunfailures"])
    assert project.coverage["scored"] == 3
    assert result.ret == 0


def test_a_shuffled_order_changes_no_outcome(project: Any) -> None:
    pytest.importorskip("pytest_randomly")
    project.write([f"{'wrong' if i % 3 else 'right'} {i:02}" for i in range(12)])
    project.run("test_bench.py")
    in_order = project.statuses
    orders = []
    for seed in (1, 2):
        result = project.pytester.runpytest_inprocess(
            "-v", f"--randomly-seed={seed}", "test_bench.py"
        )
        orders.append(list(project.ran(result)))
        assert project.statuses == in_order
    assert orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])


@pytest.mark.usefixtures("needs_rerunfailures")
@pytest.mark.parametrize("first", ["rerunfailures", "ckptbench"])
def test_a_wrapper_of_reports_finds_one_whichever_plugin_is_loaded_first(
    project: Any, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Without --reruns items go our way, where pytest's own report maker is left out."""
    project.write(["right aa", "wrong bb"])
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugins = sorted(["rerunfailures", "ckptbench"], key=lambda name: name != first)
    options = [word for name in [*plugins, "ckptbench-fixtures"] for word in ("-p", name)]
    result = project.pytester.runpytest_subprocess(*options, timeout=240)
    assert result.ret == 0
    assert project.coverage["scored"] == 2


def test_hypothesis_is_not_called_for_what_it_has_no_part_in(project: Any) -> None:
    pytest.importorskip("_hypothesis_pytestplugin")
    project.write(TEXTS)
    project.file(
        "conftest.py",
        (project.path / "conftest.py").read_text(encoding="utf-8")
        + """

def pytest_runtestloop(session):
    from ckptbench.session.runner import outside_hooks

    manager = session.config.pluginmanager
    assert manager.has_plugin("hypothesispytest")
    ours = manager.get_plugin("ckptbench")
    found = outside_hooks(session.config, ours, session.config.rootpath)
    assert not (found.idle_phases or found.phases or found.makereport)
""",
    )
    off = ("randomly", "xdist", "anyio", "html", "metadata", "rerunfailures")
    options = [word for name in off for word in ("-p", f"no:{name}")]
    result = project.run(*options)
    result.assert_outcomes(passed=2, skipped=1, errors=1)


def test_the_wrappers_of_pytest_go_around_many_samples_at_once(project: Any) -> None:
    """They cost as much as a sample. What wraps the loop, as our progress does, wraps none."""
    project.write(TEXTS)
    project.file(
        "conftest.py",
        (project.path / "conftest.py").read_text(encoding="utf-8")
        + """

import _pytest.warnings
import pytest

made = _pytest.warnings.catch_warnings_for_item
wrapped = []


def counted(*given, **named):
    if named.get("item") is not None:
        wrapped.append(named["item"].name)
    return made(*given, **named)


_pytest.warnings.catch_warnings_for_item = counted


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    result = yield
    print(f"\\nwrapped: {wrapped}")
    return result
""",
    )
    result = project.run_apart("-s")
    result.stdout.fnmatch_lines(["wrapped: ['test_by_hand']"])
    assert len(project.statuses) == len(TEXTS)


def test_an_item_gets_no_attribute_after_it_is_made(project: Any) -> None:
    """CPython would then give each item a whole dictionary: a tenth of a large session's memory."""
    project.write(TEXTS)
    project.file(
        "conftest.py",
        (project.path / "conftest.py").read_text(encoding="utf-8")
        + """

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem():
    made = yield
    samples = [item for item in made if hasattr(item, "sample")] if isinstance(made, list) else []
    names.update((item, set(vars(item))) for item in samples)
    return made


def pytest_sessionfinish():
    later = {name for item, before in names.items() for name in vars(item).keys() - before}
    print(f"\\n{len(names)} items; set later: {later}")


names = {}
""",
    )
    result = project.run_apart("-s")
    result.stdout.fnmatch_lines(["4 items; set later: set()"])


# Each does to items what the real one does: a test with the real ones would depend on what is
# installed.
IMITATIONS = {
    "pytest_retry/retry_plugin.py": """
import pytest

def pytest_addoption(parser):
    parser.addoption("--retries", type=int, default=0)

def pytest_collection_modifyitems(config, items):
    for item in items if config.option.retries else ():
        item.add_marker(pytest.mark.flaky(retries=1))
""",
    "pytest_forked/__init__.py": """
def pytest_addoption(parser):
    parser.addoption("--forked", action="store_true")
""",
    "pytest_run_parallel/plugin.py": """
def pytest_addoption(parser):
    parser.addoption("--parallel-threads", default=1)
    parser.addoption("--iterations", default=1, type=int)
""",
}
LOADED = {
    "pytest-retry": "pytest_retry.retry_plugin",
    "pytest-forked": "pytest_forked",
    "pytest-run-parallel": "pytest_run_parallel.plugin",
}


@pytest.fixture
def imitated(standard: Any) -> Any:
    """A project in which the three plugins can be loaded, in processes of their own."""
    for path, text in IMITATIONS.items():
        standard.file(path, text)
        (standard.path / path).with_name("__init__.py").touch()
    standard.pytester.syspathinsert()
    return standard


def with_plugin(project: Any, name: str, *options: str) -> pytest.RunResult:
    result: pytest.RunResult = project.run_apart(*options, plugins=[LOADED[name]])
    return result


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("pytest-retry", "--retries=1"),
        ("pytest-forked", "--forked"),
        ("pytest-run-parallel", "--parallel-threads=auto"),
        ("pytest-run-parallel", "--iterations=2"),
    ],
)
def test_a_plugin_that_cannot_run_samples_is_refused_by_name(
    imitated: Any, name: str, option: str
) -> None:
    result = with_plugin(imitated, name, option)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{name}: would *", f"*-p no:{LOADED[name]}*"])
    assert imitated.asked == []
    assert with_plugin(imitated, name).ret == 0, "installed, and not used"
    assert with_plugin(imitated, name, option, "test_hand.py").ret == 0, "without samples"


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("pytest-retry", "flaky(retries=1)"),
        ("pytest-forked", "forked"),
        ("pytest-run-parallel", "iterations(2)"),
    ],
)
def test_it_is_refused_for_a_mark_of_a_benchmark_too(imitated: Any, name: str, mark: str) -> None:
    imitated.change("test_bench.py", "@samples", f"import pytest\n@pytest.mark.{mark}\n@samples")
    result = with_plugin(imitated, name)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{name}: would *"])


@pytest.mark.slow
def test_workers_refuse_it_too(imitated: Any) -> None:
    pytest.importorskip("xdist")
    result = with_plugin(imitated, "pytest-forked", "--forked", "-n2")
    assert result.ret == 4
    assert "pytest-forked: would load the model anew" in result.stdout.str() + result.stderr.str()
