"""Sample items are pytest items: what pytest's users know goes on working."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

ALL = {"s-00": "PASSED", "s-01": "MISSED", "s-02": "MISSED", "s-03": "PASSED"}


def test_samples_are_items_beside_hand_written_tests(standard: Any) -> None:
    result = standard.run("-v")
    assert standard.ran(result) == {**ALL, "test_by_hand": "PASSED"}
    result.stdout.fnmatch_lines(["*3 passed, 2 missed*"])
    assert standard.scores == {"word@1": 0.5, "word@5": 0.75}


def test_items_of_equal_length_run_in_the_datasets_order(standard: Any) -> None:
    standard.write([f"right {i}" for i in range(8)])
    assert list(standard.ran(standard.run("-v"))) == [f"s-0{i}" for i in range(8)] + [
        "test_by_hand"
    ]


def test_the_longest_text_of_a_benchmark_runs_first(project: Any) -> None:
    project.write(["right a", "right aaaa", "right aa"])
    assert list(project.ran(project.run("-v", "test_bench.py"))) == ["s-01", "s-02", "s-00"]


def test_k_selects_by_sample_and_by_function(standard: Any) -> None:
    assert list(standard.ran(standard.run("-v", "-k", "s-01 or s-03"))) == ["s-01", "s-03"]
    assert list(standard.ran(standard.run("-v", "-k", "test_word and not s-01"))) == [
        "s-00",
        "s-02",
        "s-03",
    ]
    assert list(standard.ran(standard.run("-v", "-k", "by_hand"))) == ["test_by_hand"]


def test_only_selected_samples_are_asked_and_planned(standard: Any) -> None:
    standard.run("-k", "s-01")
    assert standard.asked == ["wrong bb"]
    assert standard.coverage["planned"] == 1


def test_m_selects_by_a_mark_on_the_benchmark_function(standard: Any) -> None:
    standard.file("pytest.ini", "[pytest]\nmarkers =\n    nightly: runs at night\n")
    standard.change("test_bench.py", "@samples", "import pytest\n@pytest.mark.nightly\n@samples")
    assert list(standard.ran(standard.run("-v", "-m", "nightly"))) == list(ALL)
    assert list(standard.ran(standard.run("-v", "-m", "not nightly"))) == ["test_by_hand"]


def test_a_node_id_on_the_command_line_runs_that_sample(standard: Any) -> None:
    result = standard.run("-v", "test_bench.py::test_word[s-02]")
    assert standard.ran(result) == {"s-02": "MISSED"}
    result = standard.run("-v", "test_bench.py::test_word[s-03]", "test_hand.py::test_by_hand")
    assert list(standard.ran(result)) == ["s-03", "test_by_hand"]
    assert len(standard.ran(standard.run("-v", "test_bench.py::test_word"))) == 4


def test_an_unknown_node_id_is_not_found(standard: Any) -> None:
    result = standard.run("test_bench.py::test_word[s-99]")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*not found: *test_word*"])


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_stopping_at_the_first_miss_leaves_the_run_incomplete(standard: Any, option: str) -> None:
    result = standard.run("-v", option)
    assert standard.ran(result) == {"s-00": "PASSED", "s-01": "MISSED"}
    assert result.ret == 1
    assert standard.coverage["not_run"] == 2
    result.stdout.fnmatch_lines(["*incomplete: 2 not run: exit 1*"])


def test_maxfail_counts_misses(standard: Any) -> None:
    assert list(standard.ran(standard.run("-v", "--maxfail=2"))) == ["s-00", "s-01", "s-02"]


def test_last_failed_asks_the_misses_again(standard: Any) -> None:
    standard.run()
    assert list(standard.ran(standard.run("-v", "--lf"))) == ["s-01", "s-02"]


def test_failed_first_keeps_its_order(standard: Any) -> None:
    standard.run()
    assert list(standard.ran(standard.run("-v", "--ff"))) == [
        "s-01",
        "s-02",
        "s-00",
        "s-03",
        "test_by_hand",
    ]


def test_new_first_runs_the_new_file_first(standard: Any) -> None:
    standard.run()
    standard.file("test_a_new.py", "def test_new():\n    pass\n")
    assert next(iter(standard.ran(standard.run("-v", "--nf")))) == "test_new"


def test_stepwise_stops_at_a_miss_and_goes_on_from_there(standard: Any) -> None:
    assert list(standard.ran(standard.run("-v", "--sw"))) == ["s-00", "s-01"]
    assert next(iter(standard.ran(standard.run("-v", "--sw")))) == "s-01"
    assert list(standard.ran(standard.run("-v", "--sw", "--sw-skip"))) == ["s-01", "s-02"]


def test_collecting_only_asks_nothing_and_leaves_nothing(standard: Any) -> None:
    result = standard.run("--collect-only", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"test_bench.py::test_word[[]s-0{i}[]]" for i in range(4)]
        + ["test_hand.py::test_by_hand", "5 tests collected*"]
    )
    assert standard.asked == []
    assert not (standard.path / "results").exists()


def test_collecting_only_shows_the_tree(standard: Any) -> None:
    result = standard.run("--collect-only")
    result.stdout.fnmatch_lines(["*<Module test_bench.py>", "*SampleItem*s-00*", "*test_by_hand*"])


def test_hand_written_tests_alone_leave_nothing(standard: Any) -> None:
    result = standard.run("test_hand.py")
    assert result.ret == 0
    assert not (standard.path / "results").exists()
    result.stdout.no_fnmatch_line("*ckptbench ==*")


def test_durations_name_the_slowest_samples(project: Any) -> None:
    project.write(["right a", "slow b"])
    result = project.run("--durations=3", "-vv")
    result.stdout.fnmatch_lines(["*slowest 3 durations*", "*call *test_bench.py::test_word?s-0*"])


def test_pdb_stops_in_a_benchmark_function(standard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = standard.pytester.run(
        *standard.pytester._getpytestargs(),
        "-p",
        "no:randomly",
        "--pdb",
        "-k",
        "s-00 or s-01",
        stdin=b"c\n",
    )
    result.stdout.fnmatch_lines(["*missed*", "*(Pdb)*"])
    assert standard.coverage["scored"] == 2
    assert standard.scores["word@1"] == 0.5


@pytest.mark.parametrize("option", ["--setup-show", "--trace-config", "--fixtures-per-test"])
def test_options_that_show_setup_do_not_disturb(standard: Any, option: str) -> None:
    result = standard.run(option)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_setup_show_shows_the_session_fixture_once(standard: Any) -> None:
    result = standard.run("--setup-show")
    shown = [line for line in result.outlines if "SETUP    S engine" in line]
    assert len(shown) == 1
    assert standard.scores == {"word@1": 0.5, "word@5": 0.75}


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_setting_up_only_asks_nothing(standard: Any, option: str) -> None:
    result = standard.run(option)
    assert result.ret == 0
    assert standard.asked == []


def test_the_cache_is_not_needed(standard: Any) -> None:
    result = standard.run("-v", "-p", "no:cacheprovider")
    assert standard.ran(result) == {**ALL, "test_by_hand": "PASSED"}
    assert result.ret == 0


@pytest.mark.parametrize("plugin", ["terminal", "capture", "logging", "warnings", "junitxml"])
def test_other_core_plugins_are_not_needed(standard: Any, plugin: str) -> None:
    result = standard.run("-p", f"no:{plugin}")
    assert result.ret == 0
    assert standard.scores == {"word@1": 0.5, "word@5": 0.75}


def test_without_the_plugin_hand_written_tests_run(standard: Any) -> None:
    standard.file("conftest.py", "")
    result = standard.run("-p", "no:ckptbench", "test_hand.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed*"])


def test_quiet_runs_print_the_verdict_alone(standard: Any) -> None:
    dot, verdict, counts = standard.run("-q").outlines
    assert dot.split() == [".", "[100%]"], "of the test that is no sample"
    assert verdict.startswith("no baseline: ")
    assert counts.startswith("3 passed, 2 missed in ")


def test_capturing_can_be_off(standard: Any) -> None:
    result = standard.run("-s")
    result.stdout.fnmatch_lines(["test_hand.py .", "engine: word/plain; *"])


def test_junitxml_counts_every_sample_once_where_samples_are_its_cases(project: Any) -> None:
    project.write(["right a", "wrong b", "failed c", "skipped d"])
    project.run("--junitxml=report.xml", "--ckpt-junit=samples")
    suite = ET.parse(project.path / "report.xml").getroot().find("testsuite")
    assert suite is not None
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert suite.get("tests") == "5"
    assert suite.get("skipped") == "1"
    assert int(suite.get("failures", 0)) + int(suite.get("errors", 0)) == 2
    assert set(cases) == {f"test_word[s-0{i}]" for i in range(4)} | {"test_by_hand"}
    missed = cases["test_word[s-01]"]
    assert missed.find("failure").get("message").startswith("missed")  # type: ignore[union-attr]
    assert cases["test_word[s-00]"].get("classname") == "test_bench"


def test_junitxml_carries_each_samples_values_as_properties(standard: Any) -> None:
    standard.run("--junitxml=report.xml", "--ckpt-junit=samples")
    root = ET.parse(standard.path / "report.xml").getroot()
    told = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in root.iter("testcase")
    }
    assert told["test_word[s-00]"] == {"word@1": "1.0", "word@5": "1.0"}
    assert told["test_word[s-02]"] == {"word@1": "0.0", "word@5": "1.0"}
    assert told["test_by_hand"] == {}


def test_skip_marks_are_obeyed_and_nothing_is_asked(standard: Any) -> None:
    standard.change(
        "test_bench.py", "@samples", "import pytest\n@pytest.mark.skip(reason='not now')\n@samples"
    )
    result = standard.run("-rs")
    result.stdout.fnmatch_lines(["*not now*", "*1 passed, 4 skipped*"])
    assert standard.asked == []
    assert standard.coverage["skipped"] == {"not now": 4}


@pytest.mark.parametrize(("condition", "skipped"), [("True", 4), ("False", 0)])
def test_skipif_marks_are_obeyed(standard: Any, condition: str, skipped: int) -> None:
    standard.change(
        "test_bench.py",
        "@samples",
        f"import pytest\n@pytest.mark.skipif({condition}, reason='no GPU')\n@samples",
    )
    standard.run()
    assert sum(standard.coverage["skipped"].values()) == skipped
    assert standard.coverage["scored"] == 4 - skipped


def test_xfail_marks_change_the_report_and_not_the_score(standard: Any) -> None:
    standard.change("test_bench.py", "@samples", "import pytest\n@pytest.mark.xfail\n@samples")
    result = standard.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed, 2 xfailed, 2 xpassed*"])
    assert standard.scores == {"word@1": 0.5, "word@5": 0.75}


def test_usefixtures_marks_are_obeyed(standard: Any) -> None:
    standard.write(
        conftest="""
@pytest.fixture(scope="session")
def lights():
    note("lights.log", "on")
"""
    )
    standard.change(
        "test_bench.py", "@samples", "import pytest\n@pytest.mark.usefixtures('lights')\n@samples"
    )
    assert standard.run().ret == 0
    assert (standard.path / "lights.log").read_text() == "on\n"


def test_a_conftest_may_mark_single_items(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_collection_modifyitems(items):
    for item in items:
        if "s-01" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason="known bad"))
        if "s-02" in item.nodeid:
            item.add_marker(pytest.mark.xfail(reason="hard"))
        if "s-03" in item.nodeid:
            item.add_marker("special")
"""
    )
    result = standard.run("-W", "ignore::pytest.PytestUnknownMarkWarning")
    result.stdout.fnmatch_lines(["*1 xfailed*"])
    assert standard.statuses["test_bench.py::test_word[s-01]"] == "skipped"
    assert standard.statuses["test_bench.py::test_word[s-02]"] == "missed"
    assert list(standard.ran(standard.run("-v", "-m", "special"))) == ["s-03"]


def test_a_conftest_may_deselect_and_reorder(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_collection_modifyitems(items):
    items[:] = [item for item in reversed(items) if "s-02" not in item.nodeid]
"""
    )
    assert list(standard.ran(standard.run("-v"))) == ["test_by_hand", "s-03", "s-01", "s-00"]
    assert standard.coverage["scored"] == 3


def test_a_session_without_samples_leaves_the_garbage_collector_alone(project: Any) -> None:
    project.file("test_hand.py", "def test_by_hand():\n    pass\n")
    project.file(
        "conftest.py",
        "import gc\ndef pytest_unconfigure():\n    print('frozen', gc.get_freeze_count())\n",
    )
    assert "frozen 0" in project.run_apart().outlines


def test_output_of_a_benchmark_function_stays_out_of_other_tests(standard: Any) -> None:
    standard.change("test_bench.py", "    assert", "    print('from a sample')\n    assert")
    standard.file("test_hand.py", "def test_by_hand():\n    assert False\n")
    result = standard.run("test_bench.py", "test_hand.py")
    result.stdout.no_fnmatch_line("*Captured stdout setup*")
    result.stdout.no_fnmatch_line("*from a sample*")


def test_output_of_a_sample_in_error_is_shown(standard: Any) -> None:
    standard.change(
        "test_bench.py", "    assert", "    print('about to break')\n    1 / 0\n    assert"
    )
    result = standard.run("-k", "s-00")
    result.stdout.fnmatch_lines(["*ZeroDivisionError*", "*about to break*"])


def test_a_warning_of_a_benchmark_function_is_listed(standard: Any) -> None:
    standard.change(
        "test_bench.py",
        "    assert",
        "    import warnings; warnings.warn('old format')\n    assert",
    )
    result = standard.run()
    result.stdout.fnmatch_lines(["*warnings summary*", "*old format*"])
    assert result.ret == 0


def test_warnings_made_errors_are_errors(standard: Any) -> None:
    standard.change(
        "test_bench.py",
        "    assert",
        "    import warnings; warnings.warn('old format')\n    assert",
    )
    assert standard.run("-W", "error").ret == 1
    assert standard.coverage["errors"] == 4


def test_an_interrupt_leaves_what_was_measured(standard: Any) -> None:
    standard.change(
        "test_bench.py",
        "def test_word(response, k):",
        "def test_word(sample, response, k):\n"
        "    if sample.id == 's-02':\n        raise KeyboardInterrupt",
    )
    result = standard.run_apart()
    assert result.ret == 2
    assert standard.coverage["scored"] == 2
    assert standard.coverage["not_run"] == 2
    assert standard.summary["exit_status"] == 2


def test_pytest_exit_ends_the_session(standard: Any) -> None:
    standard.change(
        "test_bench.py",
        "def test_word(response, k):",
        "def test_word(sample, response, k):\n"
        "    if sample.id == 's-02':\n        import pytest; pytest.exit('enough', 7)",
    )
    result = standard.run_apart()
    assert result.ret == 7
    assert standard.coverage["not_run"] == 2


def test_benchmarks_run_from_another_root_by_package_name(
    standard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = standard.path / "installed" / "suite_of_ours"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "test_bench.py").write_text((standard.path / "test_bench.py").read_text())
    (standard.path / "test_bench.py").unlink()
    monkeypatch.setenv("PYTHONPATH", str(standard.path / "installed"))
    result = standard.run_apart("--pyargs", "suite_of_ours", "-v", "-p", "conftest")
    assert result.ret == 0
    assert standard.coverage["scored"] == 4


def test_summary_and_run_folder_are_named(standard: Any) -> None:
    result = standard.run("--run-id=first")
    result.stdout.fnmatch_lines(["*= ckptbench =*", "results: results/first"])
    folder = standard.path / "results" / "first"
    assert {path.name for path in folder.iterdir()} >= {"summary.json", "store.sqlite", "samples"}
    assert standard.summary["run_id"] == "first"
