"""What a session or a command may not read or enter is refused in one line that names it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from permissions import run_bound

pytestmark = pytest.mark.slow
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
COMMAND = (sys.executable, "-c", "import sys; from ckptbench.cli import main; sys.exit(main())")
OF_A_FIXTURE = """
import pytest


@pytest.fixture(scope="session")
def checkpoint():
    yield open("shut/model.safetensors")
"""


@pytest.fixture
def shut(project: Any) -> Any:
    """A project with a folder of files that may not be entered."""
    project.write()
    folder = project.file("shut/x.json", "{}").parent
    folder.chmod(0)
    yield folder
    folder.chmod(0o755)


@pytest.mark.parametrize(
    "option",
    [
        "--checkpoint=shut",
        "--checkpoint=shut/checkpoint-*",
        "--checkpoint=shut/x.pt",
        "--baseline=shut/x.json",
        "--results-dir=shut/results",
        "--eval-config=shut/x.json",
        "--data-dir=shut",
    ],
)
def test_a_session_is_refused(shut: Path, option: str) -> None:
    done = run_bound([*PYTEST, option], shut.parent)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    first, remedy = done.stderr.strip().splitlines()
    assert first.startswith("ERROR: ")
    assert "shut" in first
    assert first.endswith("permission denied")
    assert "check the permissions" in remedy


def test_a_checkpoint_that_may_not_be_read_ends_the_session(shut: Path) -> None:
    conftest = shut.parent / "conftest.py"
    conftest.write_text(conftest.read_text().replace("def engine():", "def engine(checkpoint):"))
    (shut.parent / "test_bench.py").write_text(
        OF_A_FIXTURE + (shut.parent / "test_bench.py").read_text()
    )
    done = run_bound([*PYTEST, "test_bench.py"], shut.parent)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "ERROR: shut/model.safetensors: permission denied" in done.stderr


def test_a_dataset_that_may_not_be_read_ends_the_session(shut: Path) -> None:
    bench = shut.parent / "test_bench.py"
    bench.write_text(
        bench.read_text().replace("@samples(ROWS", "@samples(lambda options: open('shut/rows')")
    )
    done = run_bound([*PYTEST, "test_bench.py"], shut.parent)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "ERROR: shut/rows: permission denied" in done.stderr


def test_a_run_that_may_not_be_read_is_a_row_among_the_others(project: Any) -> None:
    project.write().run("--run-id=open")
    project.run("--run-id=shut")
    shut = project.path / "results/shut"
    shut.chmod(0)
    try:
        listed = run_bound([*COMMAND, "list"], project.path)
        shown = run_bound([*COMMAND, "show", "results/shut"], project.path)
    finally:
        shut.chmod(0o755)
    assert listed.returncode == 0, listed.stderr
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert rows["shut"].endswith("cannot be read: permission denied")
    assert rows["open"].endswith("no baseline")
    assert shown.returncode == 2
    first = shown.stderr.splitlines()[0]
    assert first == "ckptbench: error: results/shut/summary.json: permission denied"
