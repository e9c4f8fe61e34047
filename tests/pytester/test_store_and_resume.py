"""No answer is lost, and none is asked twice: the run store under a real pytest."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest

TEXTS = [f"slow {i:02}" for i in range(30)]


def test_a_killed_run_goes_on_where_it_was(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(TEXTS)
    monkeypatch.setenv("SLOW_S", "0.05")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "--run-id=r"]
    with (project.path / "out.txt").open("w") as out:
        process = subprocess.Popen(command, cwd=project.path, stdout=out, stderr=out)
        deadline = time.monotonic() + 60
        while len(project.asked) < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    reported = set(
        re.findall(r"test_word\[s-(\d\d)\] PASSED", (project.path / "out.txt").read_text())
    )
    first = project.asked
    assert 10 <= len(first) < len(TEXTS)
    project.forget_asked()
    monkeypatch.setenv("SLOW_S", "0")
    result = project.run("--run-id=r", "-v")
    assert result.ret == 0
    assert project.coverage["scored"] == len(TEXTS)
    # Only what was being answered when the process died is asked again.
    assert set(project.asked) >= set(TEXTS) - set(first)
    assert len(set(project.asked) & set(first)) <= 2
    # What had reported was on disk.
    assert reported.isdisjoint(text.partition(" ")[2] for text in project.asked)


def test_the_same_run_id_asks_nothing_again(standard: Any) -> None:
    standard.run("--run-id=r")
    before = standard.statuses
    standard.forget_asked()
    assert standard.run("--run-id=r").ret == 0
    assert standard.asked == []
    assert standard.statuses == before


def test_a_session_that_asks_nothing_leaves_the_run_of_its_id_as_it_is(standard: Any) -> None:
    """Else it would conclude the earlier session's plan, of which nothing has run this time."""
    standard.run("--run-id=r")
    summary = standard.path / "results/r/summary.json"
    before = summary.read_bytes()
    (standard.path / "test_plain.py").write_text("def test_plain():\n    pass\n")
    result = standard.run("test_plain.py", "--run-id=r")
    assert result.ret == 0
    assert summary.read_bytes() == before
    result.stdout.no_fnmatch_line("*results/r*")


def test_the_same_run_id_asks_only_errors_again(project: Any) -> None:
    project.write(["right 00", "flaky 01", "right 02"])
    assert project.run("--run-id=r").ret == 1
    project.forget_asked()
    assert project.run("--run-id=r").ret == 0
    assert project.asked == ["flaky 01"]


def test_a_second_session_asks_nothing_and_says_so(standard: Any) -> None:
    standard.run("--run-id=first")
    scores, statuses = standard.scores, standard.statuses
    standard.forget_asked()
    result = standard.run("--run-id=second")
    assert standard.asked == []
    assert standard.scores == scores
    assert standard.statuses == statuses
    result.stdout.fnmatch_lines(["*0 answers computed, 4 reused*"])


def test_a_run_that_reused_answers_holds_them_itself(standard: Any) -> None:
    import shutil

    standard.run("--run-id=first")
    standard.run("--run-id=second")
    shutil.rmtree(standard.path / "results" / "first")
    standard.forget_asked()
    standard.run("--run-id=third")
    assert standard.asked == []


def test_no_resume_asks_everything(standard: Any) -> None:
    standard.run("--run-id=r")
    standard.forget_asked()
    standard.run("--run-id=r", "--no-resume")
    assert len(standard.asked) == 4


@pytest.mark.parametrize("name", ["FINGERPRINT", "SEQ_LEN"])
def test_another_checkpoint_or_setting_is_asked_anew(
    standard: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    standard.run()
    standard.forget_asked()
    monkeypatch.setenv(name, "7")
    standard.run()
    assert len(standard.asked) == 4


def test_another_revision_of_the_engine_is_asked_anew(standard: Any) -> None:
    standard.run()
    standard.forget_asked()
    standard.change("conftest.py", "class Scripted:", "class Scripted:\n    revision = 2")
    standard.run_apart()
    assert len(standard.asked) == 4
    standard.forget_asked()
    standard.run_apart()
    assert standard.asked == []


def test_another_seed_is_asked_anew(standard: Any) -> None:
    standard.run()
    standard.forget_asked()
    standard.run("--seed=1")
    assert len(standard.asked) == 4


def test_another_request_is_asked_anew(standard: Any) -> None:
    standard.run()
    standard.forget_asked()
    standard.run("--k=word=1,9")
    assert len(standard.asked) == 4


def test_another_protocol_is_asked_anew(standard: Any) -> None:
    standard.run()
    standard.forget_asked()
    standard.change("test_bench.py", "protocol=(PROTOCOL,)", "protocol=(OTHER,)")
    standard.run()
    assert len(standard.asked) == 4


def test_a_sample_that_changed_is_asked_anew_and_no_other(standard: Any) -> None:
    standard.run()
    standard.forget_asked()
    standard.write(["right aa", "wrong xx", "second c", "right dd"])
    standard.run()
    assert standard.asked == ["wrong xx"]


def test_an_engine_without_a_fingerprint_is_always_asked(standard: Any) -> None:
    standard.change("conftest.py", 'os.environ.get("FINGERPRINT", "scripted")', '""')
    standard.run()
    standard.run()
    assert len(standard.asked) == 8


def test_judging_again_needs_no_model(standard: Any) -> None:
    standard.run()
    standard.forget_asked()
    standard.change("test_bench.py", "    assert response", "    assert k == 5 or response")
    standard.run()
    assert standard.asked == []
    assert standard.scores["word@5"] == 1.0


def test_answers_are_on_disk_before_their_items_report(standard: Any) -> None:
    standard.write(
        conftest="""
def pytest_runtest_logreport(report):
    if report.when == "call" and "test_word" in report.nodeid:
        import sqlite3
        db = sqlite3.connect(next(HERE.glob("results/*/store.sqlite")))
        (n,) = db.execute("SELECT COUNT(*) FROM responses JOIN plan USING (sample) "
                          "WHERE nodeid = ?", (report.nodeid,)).fetchone()
        note("found.log", n)
"""
    )
    standard.run()
    assert (standard.path / "found.log").read_text().split() == ["1"] * 4


def test_a_full_disk_is_told_in_one_message_and_the_run_is_incomplete(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write([f"right {i:02}" for i in range(60)])
    project.change("conftest.py", '("x", "y"), (-0.1', '("x" * 3000, "y"), (-0.1')
    connect = sqlite3.connect

    def connect_to_a_small_disk(path: Any, **options: Any) -> sqlite3.Connection:
        db = connect(path, **options)
        db.execute("PRAGMA max_page_count = 40")
        return db

    monkeypatch.setattr("ckptbench.results.store.sqlite3.connect", connect_to_a_small_disk)
    result = project.run("--run-id=r", "--no-resume")
    assert result.ret == 1
    # How many answers are on disk before it is full depends on how many one commit holds.
    assert project.coverage["errors"] > 0
    assert project.coverage["errors"] + project.coverage["scored"] == 60
    text = result.stdout.str() + result.stderr.str()
    assert "database or disk is full" in text
    assert "INTERNALERROR" not in text


@pytest.mark.parametrize(
    ("size", "characters"), [(24_000, 10), (400_000, 500_000)], ids=["not opened", "not planned"]
)
def test_a_disk_that_is_full_at_the_start_is_told_once_and_no_folder_is_left(
    project: Any, size: int, characters: int
) -> None:
    # A limit on the size of files stands in for a full disk: the system refuses the write.
    project.write(["right " + "a" * characters])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        result = project.run("--run-id=r")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *store.sqlite: the run store cannot be written: *"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert not (project.path / "results").exists()


def test_runs_at_the_same_time_do_not_disturb_each_other(project: Any) -> None:
    project.write([f"right {i:02}" for i in range(30)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly"]
    processes = [
        subprocess.Popen(
            [*command, f"--run-id={name}"], cwd=project.path, stdout=subprocess.DEVNULL
        )
        for name in "ab"
    ]
    assert [process.wait(timeout=240) for process in processes] == [0, 0]
    assert {folder.name for folder in project.run_folders} == {"a", "b"}
    assert max(Counter(project.asked).values()) <= 2


def test_an_unreadable_earlier_run_is_passed_over(standard: Any) -> None:
    standard.file("results/broken/store.sqlite", "no database" * 99)
    assert standard.run("--run-id=r").ret == 0
    assert standard.coverage["scored"] == 4
    (note,) = (n for n in standard.summary["notes"] if "broken" in n)
    assert "results/broken/store.sqlite cannot be read" in note


def test_a_damaged_answer_of_the_run_is_asked_again_and_noted(standard: Any) -> None:
    standard.run("--run-id=r")
    scores = standard.scores
    store = standard.path / "results/r/store.sqlite"
    content = store.read_bytes()
    assert content.count(b'"rank": 2') == 1
    store.write_bytes(content.replace(b'"rank": 2', b'"rank": 1'))
    standard.forget_asked()
    standard.run("--run-id=r")
    assert standard.asked == ["second c"]
    assert standard.scores == scores
    assert any("1 stored answer in" in note for note in standard.summary["notes"])


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_run_whose_store_is_damaged_goes_on_with_a_new_one(
    standard: Any, workers: tuple[str, ...]
) -> None:
    standard.run("--run-id=r")
    store = standard.path / "results/r/store.sqlite"
    store.write_bytes(b"\xa5" * 4096 + store.read_bytes()[4096:])
    run = standard.run_apart if workers else standard.run
    assert run("--run-id=r", *workers).ret == 0
    assert standard.coverage["scored"] == 4
    assert any("damaged-1.sqlite" in note for note in standard.summary["notes"])
    standard.forget_asked()
    assert run("--run-id=r", *workers).ret == 0
    assert standard.asked == []


@pytest.mark.parametrize("left", [["run.log"], ["store.sqlite-wal", "damaged-1.sqlite"], []])
def test_a_run_that_lost_its_store_before_its_end_begins_anew(
    standard: Any, left: list[str]
) -> None:
    for name in left:
        standard.file(f"results/r/{name}", "left behind")
    assert standard.run("--run-id=r").ret == 0
    assert standard.coverage["scored"] == 4


NO_THREADS = """
import threading


@pytest.fixture(scope="session")
def engine():
    threading.stack_size(1 << 47)  # more than there are addresses: no thread can be started
    return Scripted()


def pytest_runtest_logreport(report):
    threading.stack_size(0)
"""


def test_a_thread_that_cannot_be_started_costs_one_item_and_nothing_is_waited_for(
    standard: Any,
) -> None:
    standard.write(conftest=NO_THREADS)
    assert standard.run_apart("--run-id=r").ret == 1
    assert (standard.coverage["errors"], standard.coverage["scored"]) == (1, 3)
    standard.write()
    assert standard.run_apart("--run-id=r").ret == 0


def test_the_log_tells_what_happened_while_it_happens(project: Any) -> None:
    project.write(["right 00", "wrong 01"])
    project.run("--run-id=told")
    lines = (project.path / "results/told/run.log").read_text(encoding="utf-8").splitlines()
    said = [line.split(" ", 1)[1] for line in lines]
    assert said[0] == "2 items to ask, in 1 blocks"
    assert any("2 of 2 answered in" in line for line in said)
    assert said[-1].endswith("exit 0")


def test_the_log_of_a_run_that_goes_on_is_continued(project: Any) -> None:
    project.write(["right 00"])
    project.run("--run-id=told")
    project.run("--run-id=told")
    text = (project.path / "results/told/run.log").read_text(encoding="utf-8")
    assert text.count("items to ask") == 2
    assert "1 from the store" in text


@pytest.mark.parametrize("odd", ["nan", "inf", "-inf"])
def test_a_log_probability_that_is_not_finite_is_an_error_and_asked_again(
    project: Any, odd: str
) -> None:
    project.write(["right 00", "wrong 01", f"{odd} 02", "right 03"])
    result = project.run("--run-id=r")
    assert result.ret == 1
    assert project.statuses["test_bench.py::test_word[s-02]"] == "error"
    assert (project.coverage["errors"], project.coverage["scored"]) == (1, 3)
    result.stdout.fnmatch_lines([f"*the engine gave {odd} as logprobs, so there is no valid*"])
    project.forget_asked()
    assert project.run("--run-id=r").ret == 1
    assert project.asked == [f"{odd} 02"]


NULLS = """

from ckptbench import Generated


class Nulls(Scripted):
    def obey(self, index, word):
        null = word == "null"
        yield index, Generated("" if null else word, 1, "eos", null=null)


@pytest.fixture(scope="session")
def engine():
    return Nulls()
"""


def test_what_is_said_of_answers_that_were_null_is_said_of_a_resumed_run_too(
    project: Any,
) -> None:
    project.write(["right 00", "null 01", "null 02", "right 03"], conftest=NULLS)
    project.change(
        "test_bench.py",
        "def test_word(response, k):\n    assert response.within(k)\n",
        "def test_word(response):\n    return float(response.text == 'right')\n",
    )
    project.change("test_bench.py", "score=top_k(1, 5)", "score=mean()")
    project.change("test_bench.py", "samples, top_k", "mean, samples")
    note = "2 answers of engine were null: they count as empty texts"
    for command in (["--run-id=a"], ["--run-id=a"], ["--run-id=b"]):
        project.run(*command)
        assert note in project.summary["notes"]
        assert project.scores == {"word": 0.5}
    assert len(project.asked) == 4
    project.run("--run-id=b", "-k", "s-00 or s-01")
    assert "1 answers of engine were null: they count as empty texts" in project.summary["notes"]


SPOILT = {
    "half a character": 'Filled(("x\\ud800", "y"), (-0.1, -2.0), 1, 1)',
    "half a character in a text of its own class": 'Filled((Own("x\\ud800"),), (-0.1,), 1, 1)',
    "half a character in a table": 'Filled(({"x": "\\ud800"},), (-0.1,), 1, 1)',
    "bytes": 'Filled((b"x", "y"), (-0.1, -2.0), 1, 1)',
    "a whole number of thousands of digits": 'Filled(("x", "y"), (-0.1, -2.0), 10**5000, 1)',
    "a table with such a number": 'Filled(("x", {"y": 10**5000}), (-0.1, -2.0), 1, 1)',
    "nesting without end": "Filled((deep(),), (-0.1,), 1, 1)",
}
HELPERS = """
class Own(str):
    pass


def deep():
    value = "x"
    for _ in range(5000):
        value = [value]
    return value
"""


@pytest.mark.parametrize("answer", SPOILT.values(), ids=SPOILT.keys())
def test_an_answer_that_cannot_be_stored_is_the_error_of_its_sample_alone(
    project: Any, answer: str
) -> None:
    project.write(["right 0", "spoilt 1", *(f"right {i}" for i in range(2, 12))], conftest=HELPERS)
    old = '        elif word == "silent":'
    new = f'        elif word == "spoilt":\n            yield index, {answer}\n{old}'
    project.change("conftest.py", old, new)
    project.run("--run-id=r")
    assert (project.coverage["scored"], project.coverage["errors"]) == (11, 1)
    assert project.asked.count("right 11") == 1
    project.change("conftest.py", f"yield index, {answer}", 'yield index, Skipped("too_long")')
    project.forget_asked()
    project.run_apart("--run-id=r")
    assert project.asked == ["spoilt 1"]
    assert project.coverage["errors"] == 0


@pytest.mark.parametrize("spoilt", ['"\\ud800"', '"x" + chr(0xDFFF)', "b'x'"])
def test_a_request_that_no_model_reads_is_the_error_of_its_sample_alone(
    project: Any, spoilt: str
) -> None:
    project.write(["right 0", "spoilt 1", "right 2"])
    old = '    if sample["text"].startswith("unaskable"):'
    new = f'    if sample["text"] == "spoilt 1":\n        return FillMask({spoilt}, (0, 1), "x")\n'
    project.change("test_bench.py", old, new + old)
    project.run("--run-id=r")
    assert (project.coverage["scored"], project.coverage["errors"]) == (2, 1)
    assert project.asked == ["right 0", "right 2"]


@pytest.mark.parametrize(
    "fact",
    [
        'facts = {"val_loss": float("nan")}',
        'notes = ("read from a\\udcff",)',
        'fingerprint = "a\\udcff"',
        'settings = {"seq_len": 128, "path": "a\\udcff"}',
    ],
)
def test_what_an_engine_says_of_itself_never_costs_an_answer(project: Any, fact: str) -> None:
    project.write(["right 0", "right 1"])
    project.change("conftest.py", "    def answer(self", f"    {fact}\n\n    def answer(self")
    assert project.run("--run-id=r").ret == 0
    assert project.coverage["scored"] == 2
    project.forget_asked()
    project.run("--run-id=r")
    assert project.asked == []


def test_a_clock_that_is_set_back_does_not_shorten_the_run(standard: Any) -> None:
    conftest = (standard.path / "conftest.py").read_text()
    back = "import time\n_now = time.time\n"
    hook = "\n\ndef pytest_runtest_logreport(report):\n    time.time = lambda: _now() - 86_400\n"
    hook += "\n\ndef pytest_unconfigure():\n    time.time = _now\n"
    (standard.path / "conftest.py").write_text(conftest + "\n" + back + hook)
    standard.run("--run-id=back")
    summary = json.loads((standard.path / "results/back/summary.json").read_text())
    assert 0 <= summary["seconds"] < 3_600
