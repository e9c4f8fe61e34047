"""The scores are on the terminal before a file is written: no fault in writing costs them."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest

# Where the summary, or the baseline, is about to be on the disk.
FAULT = """
import errno, os, signal
real = os.fsync


def fsync(descriptor):
    name = os.readlink(f"/proc/self/fd/{descriptor}")
    if os.path.isfile(name) and os.environ["MARK"] in open(name).read(200):
        if os.environ["FAULT"] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return real(descriptor)


os.fsync = fsync
"""
SUMMARY, BASELINE = "ckptbench.summary/", "ckptbench.baseline/"
SCORE = re.compile(r"^  word@1 +50\.00%", re.M)


@pytest.fixture
def run(standard: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    standard.file("faulty.py", FAULT)
    monkeypatch.setenv("PYTHONPATH", str(standard.path))

    def run(fault: str, mark: str, *arguments: str) -> Any:
        monkeypatch.setenv("FAULT", fault)
        monkeypatch.setenv("MARK", mark)
        return standard.run_apart(*arguments, plugins=["faulty"])

    return run


def test_a_kill_while_files_are_written_comes_after_the_scores(run: Any) -> None:
    result = run("killed", SUMMARY)
    assert result.ret == -signal.SIGKILL
    assert SCORE.search(result.stdout.str())
    assert "no baseline: give --baseline=FILE" in result.stdout.str()
    assert "results: " not in result.stdout.str()


def test_what_cannot_be_written_is_named_below_the_scores(run: Any) -> None:
    result = run("full", SUMMARY, "-q")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "no baseline: *: exit 0",
            "*summary.json: cannot be written: No space left*--run-id",
            "*: exit 1, because files were not written",
        ]
    )


def test_a_baseline_that_cannot_be_written_is_the_last_word_on_it(run: Any) -> None:
    result = run("full", BASELINE, "--baseline=b.json", "--update-baseline")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*exit 0; b.json becomes the new baseline",
            "*b.json: cannot be written: No space left*",
            "*: exit 1, because files were not written*",
            "results: *",
        ]
    )
    assert "b.json was written" not in result.stdout.str()


def test_files_are_written_where_no_summary_is_shown(standard: Any) -> None:
    assert standard.run("--no-summary", "--run-id=r").ret == 0
    assert (standard.path / "results/r/summary.json").exists()
