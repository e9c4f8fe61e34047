"""What a session prints while it runs."""

from __future__ import annotations

from typing import Any

import pytest

import ckptbench.session.progress


def before_summary(result: pytest.RunResult) -> list[str]:
    """The lines after pytest's header."""
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if line.startswith("collected "))
    end = next(i for i, line in enumerate(lines) if "= ckptbench =" in line)
    return [line.rstrip() for line in lines[start + 1 : end]]


def test_samples_print_no_letters_and_other_tests_do(standard: Any) -> None:
    """Right, second-best and wrong answers; a hand-written test has its file and its dot."""
    lines = before_summary(standard.run())
    assert lines[0] == "loading the engine"
    assert not any("test_bench.py" in line for line in lines)
    (own,) = (line for line in lines if line.startswith("test_hand.py"))
    assert own.split()[1] == "."


def test_verbose_names_each_sample(standard: Any) -> None:
    ran = standard.ran(standard.run("-v"))
    assert {"PASSED", "MISSED"} <= set(ran.values())
    assert "s-00" in ran


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_the_first_error_of_a_kind_is_shown_at_once(project: Any, options: list[str]) -> None:
    project.write(["failed 1", "right 2", "failed 3", "silent 4"])
    result = project.run_apart(*options)
    shown = result.outlines[: next(i for i, s in enumerate(result.outlines) if "= ERRORS =" in s)]
    errors = [line for line in shown if line.startswith("error: ")]
    assert len(errors) == 2
    assert sum(line.endswith("]: the server said no") for line in errors) == 1


def test_the_count_of_errors_is_in_the_summary(project: Any) -> None:
    project.write(["failed 1", "right 2", "failed 3"])
    result = project.run()
    assert "word/plain: 1 of 3 scored, 2 errors" in result.outlines


def test_a_file_has_a_line_now_and_then(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(["right 1", "right 2", "slow 3", "slow 4"])
    quiet = project.run("--no-resume")
    quiet.stdout.no_fnmatch_line("* of 4 samples*")
    monkeypatch.setattr(ckptbench.session.progress, "PIPE_S", 0.0)
    lines = before_summary(project.run("--no-resume"))
    assert any(line.startswith("4 of 4 samples") for line in lines)
    assert all(line.endswith(": word/plain of engine") for line in lines if " of 4 " in line)
    project.run("-q").stdout.no_fnmatch_line("* of 4 samples*")


@pytest.mark.slow
def test_workers_are_said_to_load(project: Any) -> None:
    project.write([f"right {n}" for n in range(8)])
    assert project.run_apart("-n2").outlines.count("loading the engine in 2 workers") == 1
    project.run_apart("-n2", "-q").stdout.no_fnmatch_line("loading *")
