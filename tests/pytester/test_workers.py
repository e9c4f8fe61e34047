"""pytest-xdist: the outcomes are the same, whoever runs an item."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

pytest.importorskip("xdist")

TEXTS = [f"{('right', 'wrong', 'second', 'skipped')[i % 4]} {i:02}" for i in range(14)]
SLOW_MODES = ("loadscope", "loadfile", "loadgroup", "each")
MODES = ["load", "worksteal", "no", *(pytest.param(m, marks=pytest.mark.slow) for m in SLOW_MODES)]


def status_by_name(project: Any) -> dict[str, str]:
    return {nodeid.partition("[")[2]: status for nodeid, status in project.statuses.items()}


def counts(project: Any) -> tuple[int, int]:
    """How many items the latest run asked, and how many it gave a stored answer."""
    (checkpoint,) = project.summary["checkpoints"]
    return checkpoint["asked"], checkpoint["reused"]


@pytest.fixture
def mixed(project: Any) -> Any:
    """Samples of every outcome but errors, and their statuses in a run of one process."""
    project.write(TEXTS)
    project.run("--run-id=alone")
    return project


@pytest.mark.parametrize("mode", MODES)
def test_every_way_to_distribute_gives_the_outcomes_of_one_process(mixed: Any, mode: str) -> None:
    alone, scores = status_by_name(mixed), mixed.scores
    result = mixed.run_apart("-n2", "--dist", mode, "--no-resume")
    assert result.ret == 0
    assert status_by_name(mixed) == alone
    assert mixed.scores == scores
    assert mixed.coverage["planned"] == len(TEXTS)
    assert set(mixed.asked) == set(TEXTS)
    assert counts(mixed) == (len(TEXTS), 0)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_samples_are_handed_out_in_blocks_of_the_plan(project: Any) -> None:
    project.write([f"right {i:02}" for i in range(40)])
    result = project.run_apart("-n2", "-v")
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    blocks = [int(n) for n in (project.path / "calls.log").read_text().split()]
    assert max(blocks) == 5
    assert project.coverage["scored"] == 40


AWAIT = """
_obey = Scripted.obey


def obey(self, index, word):
    deadline = time.monotonic() + 30
    while word == "await" and "right 09" not in (HERE / "asked.log").read_text():
        assert time.monotonic() < deadline, "nobody took the last blocks"
        time.sleep(0.01)
    yield from _obey(self, index, word)


Scripted.obey = obey


def pytest_runtest_teardown(item):
    from ckptbench.session.answering import ANSWERING

    if "s-05" in item.name:
        item.ask(item.config.stash[ANSWERING])
"""


@pytest.mark.parametrize("again", [[], ["right 05"]])
def test_a_block_that_was_taken_is_answered_by_nobody_else(project: Any, again: list[str]) -> None:
    """Blocks of two: gw0 waits in its first one until gw1 has taken what gw0 has not begun.

    These are the blocks of items 12 and 8. The one of item 4, which gw0 answers ahead, stays its.
    Item 5, the last of gw0, is asked a second time: whatever was to be asked ahead comes before.
    """
    texts = ["await 00", *(f"right {i:02}" for i in range(1, 16))]
    project.write(texts, conftest=AWAIT, by_hand="")
    result = project.run_apart("-n2", "-v", *(["--no-resume"] if again else []))
    assert result.ret == 0
    ran = re.findall(r"^\[(gw\d)\].*\[s-(\d\d)\]", result.stdout.str(), re.MULTILINE)
    assert {item for worker, item in ran if worker == "gw0"} == {"00", "01", "04", "05"}
    assert sorted(project.asked) == sorted(texts + again)
    assert counts(project) == (16, 0)


def test_an_item_is_counted_once_when_answers_of_before_are_reused(mixed: Any) -> None:
    mixed.forget_asked()
    mixed.run_apart("-n2", "--run-id=again", "--dist=each")
    assert mixed.asked == []
    assert counts(mixed) == (0, len(TEXTS))


def test_hand_written_tests_alone_are_left_to_xdist(standard: Any) -> None:
    result = standard.run_apart("-n2", "-v", "test_hand.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed*"])
    assert not (standard.path / "results").exists()


def test_a_hand_written_test_that_kills_its_worker_fails_the_session(standard: Any) -> None:
    standard.file("test_hand.py", "import os\ndef test_by_hand():\n    os._exit(3)\n")
    result = standard.run_apart("-n2")
    assert result.ret == 1
    assert standard.coverage["scored"] == 4


@pytest.mark.slow
def test_a_killed_worker_loses_no_other_outcome(project: Any) -> None:
    texts = [f"right {i:02}" for i in range(12)]
    texts[5] = "die-once"
    project.write(texts)
    result = project.run_apart("-n2", "--run-id=r")
    result.stdout.fnmatch_lines(["*crashed while running*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert result.ret == 1
    coverage = project.coverage
    assert coverage["planned"] == 12
    assert coverage["errors"] == 1
    assert coverage["scored"] == 11
    result.stdout.fnmatch_lines(["*incomplete: 1 error*"])
    asked, reused = counts(project)
    assert asked in (11, 12)  # what gw0 died in may have been answered
    assert reused == 0
    # The same run id goes on with what is missing.
    project.forget_asked()
    assert project.run("--run-id=r").ret == 0
    assert project.coverage["scored"] == 12
    assert len(project.asked) <= 3


def test_workers_that_always_die_end_the_session(project: Any) -> None:
    project.write(["right 00", "die 0001", "right 02"])
    result = project.run_apart("-n2", "--max-worker-restart=2")
    assert result.ret != 0
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert project.coverage["errors"] + project.coverage["not_run"] >= 1


def test_errors_and_failures_of_workers_are_told(project: Any) -> None:
    project.write(["right 00", "failed 1"], by_hand="def test_by_hand():\n    assert 1 == 2\n")
    result = project.run_apart("-n2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no answer: the server said no*", "*assert 1 == 2*"])
    assert project.coverage["errors"] == 1


def test_a_failing_session_fixture_makes_every_item_of_every_worker_an_error(project: Any) -> None:
    project.write(conftest="\n@pytest.fixture(scope='session')\ndef engine():\n    1 / 0\n")
    result = project.run_apart("-n2")
    assert result.ret == 1
    assert project.coverage["errors"] == 4


def test_stopping_at_the_first_miss_with_workers(project: Any) -> None:
    project.write(["wrong 00"] + [f"right {i:02}" for i in range(1, 10)])
    result = project.run_apart("-n2", "-x")
    assert result.ret in (1, 2)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_each_worker_has_its_share_of_the_cores(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    project.write(
        conftest="""
@pytest.fixture(scope="session")
def engine():
    with (HERE / "shares.log").open("a") as log:
        log.write(os.environ["CUDA_VISIBLE_DEVICES"] + " " + os.environ["OMP_NUM_THREADS"] + "\\n")
    return Scripted()
"""
    )
    project.run_apart("-n2", "test_bench.py")
    threads = max(1, len(os.sched_getaffinity(0)) // 2)
    assert sorted((project.path / "shares.log").read_text().splitlines()) == [
        f"4 {threads}",
        f"7 {threads}",
    ]


NOTE = """

def pytest_runtest_setup(item):
    from ckptbench.hooks import KEY

    run = item.config.stash[KEY].run
    if run.worker:
        run.notes.append("the walls are thin")
"""


def test_what_a_worker_finds_worth_telling_is_in_the_summary(project: Any) -> None:
    project.write(["right 00", "right 01"], conftest=NOTE)
    project.run_apart("-n2")
    assert "the walls are thin" in project.summary["notes"]


@pytest.mark.parametrize(("given", "workers"), [(["--checkpoint=a"], 3), ([], None)])
def test_auto_is_one_worker_a_gpu_where_checkpoints_are_asked(
    project: Any, monkeypatch: pytest.MonkeyPatch, given: list[str], workers: int | None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")  # xdist's own count
    project.write(["right 00"])
    result = project.run_apart("-nauto", *given)
    result.stdout.fnmatch_lines([f"*{workers or 1} worker*"])
