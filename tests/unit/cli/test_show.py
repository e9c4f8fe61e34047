"""Runs are listed, and shown again with one sample, from what is on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckptbench.cli import main

RIGHT, WRONG = [(1.0, 1.0)], [(0.0, 0.0)]


@pytest.fixture
def results(tmp_path: Path, make_run: Callable[..., Path]) -> Path:
    """Two runs that ended, one with an error, a sweep, and one that was killed."""
    answered = {"s-1": RIGHT, "s-2": WRONG}
    folder = tmp_path / "results"
    make_run(folder / "tuesday", {"step-9": answered}, started="2026-01-06T10:00:00+00:00")
    make_run(folder / "monday", {"step-9": answered}, started="2026-01-05T10:00:00+00:00")
    partly = {"s-1": RIGHT, "s-2": ["error"]}
    make_run(folder / "partly", {"step-9": partly}, started="2026-01-07T10:00:00+00:00")
    sweep = {"step-8": answered, "step-9": answered}
    make_run(folder / "sweep", sweep, started="2026-01-08T10:00:00+00:00")
    make_run(folder / "killed", {"step-9": answered}, ended=False)
    (folder / "notes").mkdir()
    return folder


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main([str(argument) for argument in arguments]) == 2
    return capsys.readouterr().err


def test_runs_are_listed_oldest_first(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list", results).splitlines()
    assert [line.split()[0] for line in lines] == [
        "run", "killed", "monday", "tuesday", "partly", "sweep",
    ]  # fmt: skip
    assert "not finished, 2 answers: --run-id=killed goes on" in lines[1]
    assert lines[2].split() == [
        "monday", "2026-01-05", "10:00", "step-9", "real@1", "50.00%,", "real@5", "50.00%",
        "no", "baseline",
    ]  # fmt: skip
    assert lines[4].endswith("incomplete")
    assert "real@1 -" in lines[4]
    assert "step-8, step-9" in lines[5]


def test_a_run_that_cannot_be_read_is_a_row(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "monday/summary.json").write_text("{}")
    assert "cannot be read: has the format None" in printed(capsys, "list", results)


def test_a_folder_without_runs_is_refused(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "holds no run" in refused(capsys, "list", results / "notes")
    assert "holds no run" in refused(capsys, "show", "last", "--results-dir", results / "none")


def test_the_summary_is_shown_again(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = ("--results-dir", results)
    shown = printed(capsys, "show", "monday", *inside)
    assert "real@1" in shown
    assert "50.00%" in shown
    assert printed(capsys, "show", results / "monday") == shown
    last = printed(capsys, "show", "last", "-v", *inside)
    assert "step-8" in last


def test_a_name_that_is_no_run_is_refused(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "show", "mondy", "--results-dir", results)
    assert "did you mean 'monday'?" in said
    assert "ckptbench list" in said


def test_a_sample_is_shown_with_each_answer(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(capsys, "show", results / "sweep", "s-2")
    assert "text: s-2 of passages, with a word that returns" in shown
    assert "answer: word" in shown
    assert "step-8, real/whole-word: missed (real@1 0.0000, real@5 0.0000)" in shown
    assert shown.count("answer: (0.0, 0.0) by sweep") == 2
    assert "pytest 'benchmarks/test_real.py::test[step-8/s-2]' --checkpoint=" in shown
    one = printed(capsys, "show", results / "sweep", "s-2", "--checkpoint", "step-9")
    assert "step-8, real" not in one
    node = "benchmarks/test_real.py::test[step-9/s-1]"
    assert "passed" in printed(capsys, "show", results / "sweep", node)


def test_an_error_is_shown_with_its_reason(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(capsys, "show", results / "partly", "s-2")
    assert "reason: no answer was obtained" in shown
    assert "answer: none" in shown


def test_what_the_run_does_not_have_is_refused(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "show", results / "sweep", "s-3")
    assert "no sample 's-3' among 2 samples" in said
    said = refused(capsys, "show", results / "sweep", "s-1", "--checkpoint", "step9")
    assert "no checkpoint 'step9' (did you mean 'step-9'?)" in said
