"""What a release hands out: the wheel, installed where this checkout is not, runs the suite."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from installed import environment, required, run
from run_folder import RunFolder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def korean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter where `pip install 'ckptbench[korean]'` was all."""
    packages = sorted(required("ckptbench", "korean", set()))
    return environment(tmp_path_factory.mktemp("korean"), wheel, packages)


def test_the_suite_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = "import ckptbench, ckptbench.fixtures; print(ckptbench.__file__, ckptbench.__version__)"
    file, found = run(installed, "-c", where, cwd=tmp_path).split()
    assert Path(file).is_relative_to(installed.parents[1])
    assert found == version("ckptbench")
    suite = ("--pyargs", "ckptbench.benchmarks", "--checkpoint=demo-mlm", "--run-id=wheel")
    run(installed, "-m", "pytest", *suite, "--limit=20", "--report=html,md", cwd=tmp_path)
    wheel = RunFolder(tmp_path / "results/wheel")
    assert {"real@1", "real@5", "lambada@1"} <= wheel.scores.keys()
    assert wheel.summary["complete"]
    page = (tmp_path / "results/wheel/report.html").read_text(encoding="utf-8")
    assert "<style>" in page
    assert "real@1" in page


def test_the_command_comes_with_it(installed: Path, tmp_path: Path) -> None:
    assert "compare" in run(installed.parent / "ckptbench", "--help", cwd=tmp_path)


def test_with_korean_alone_one_word_runs_the_suite_and_finds_a_shipped_configuration(
    korean: Path, tmp_path: Path
) -> None:
    absent = "import importlib.util as u; print(*map(u.find_spec, ['lm_eval', 'xdist', 'peft']))"
    assert run(korean, "-c", absent, cwd=tmp_path).split() == ["None"] * 3
    command = korean.parent / "ckptbench"
    said = run(command, "run", "demo-mlm", "--eval-config", "quick", "--run-id=q", cwd=tmp_path)
    assert "Warning" not in said
    assert {"real@1", "lambada@1"} <= RunFolder(tmp_path / "results/q").scores.keys()
    assert "demo-mlm" in run(command, "list", cwd=tmp_path)


def test_run_is_pytest_on_the_suite(installed: Path, tmp_path: Path) -> None:
    """The same answers, the same exit status: 1 with a drop, 4 for what cannot be used."""
    command = installed.parent / "ckptbench"
    (tmp_path / "best.json").write_text('{"real@1": 0.9, "real@5": 0.95, "n": 232}', "utf-8")
    first, options = (
        "demo-mlm/checkpoint-100",
        ("--limit=20", "-k", "real and not origin", "--baseline=best.json"),
    )
    suite = ("-m", "pytest", "--pyargs", "ckptbench.benchmarks", f"--checkpoint={first}")
    own = run(command, "run", first, *options, "--run-id=run", cwd=tmp_path, status=1)
    run(installed, *suite, *options, "--run-id=pytest", "--no-resume", cwd=tmp_path, status=1)
    assert "regressed" in own
    results = tmp_path / "results"
    assert RunFolder(results / "run").outcomes == RunFolder(results / "pytest").outcomes
    mistyped = run(command, "run", first, "--limt=2", cwd=tmp_path, status=4)
    assert "did you mean '--limit'" in mistyped
