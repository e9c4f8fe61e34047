"""A checkpoint whose answers are all stored is scored again without loading it, and no other is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).parents[2]
COMMAND = "pytest benchmarks/test_lambada.py --checkpoint='runs/x/checkpoint-*'"
BOTH = {"checkpoint-1500", "checkpoint-6000"}
NONE: set[str] = set()
LINE = re.compile(r"lambada/\S+ of (\S+): set up( without its model)?$", re.M)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Any:
    """A workspace where both checkpoints have answered ten samples, in the run `first`."""
    workspace = make_workspace(tmp_path_factory.mktemp("asked"))
    for name in BOTH:
        copy(name, workspace.path / "runs/x" / name)
    workspace.run(f"{COMMAND} --limit=10 --run-id=first").expect(0)
    assert loaded(workspace, "first") == BOTH
    return workspace


def copy(name: str, place: Path) -> None:
    shutil.copytree(REPOSITORY / "benchmarks/demo/demo-mlm" / name, place)


def loaded(workspace: Any, run: str) -> set[str]:
    """The checkpoints whose fixtures were set up with their model."""
    log = (workspace.path / f"results/{run}/run.log").read_text("utf-8")
    found = dict(LINE.findall(log))
    assert found
    return {name for name, without in found.items() if not without}


def test_nothing_is_loaded_and_nothing_else_changes(asked: Any) -> None:
    again = "--limit=10 -n 2 --run-id=again"
    asked.run(f"{COMMAND} {again}").expect(0)
    assert loaded(asked, "again") == NONE
    first, later = (RunFolder(asked.path / "results" / name) for name in ("first", "again"))
    assert later.outcomes == first.outcomes
    assert later.summary["notes"] == first.summary["notes"]
    for name in BOTH:
        before, after = first.checkpoints[name], later.checkpoints[name]
        for key in ("fingerprint", "settings", "facts", "step"):
            assert after[key] == before[key]
        assert (after["asked"], after["reused"]) == (0, 20)
    asked.run(f"{COMMAND} {again.replace(' -n 2', '')}").expect(0)
    assert loaded(asked, "again") == NONE, "the same run goes on"


@pytest.mark.parametrize(
    ("run", "option"),
    [
        ("more", "--limit=11"),
        ("anew", "--limit=10 --no-resume"),
        ("noise", "--limit=10 --noise-floor=2"),
        ("shorter", "--limit=10 --seq-len=100"),
        ("dtype", "--limit=10 --dtype=bf16"),
    ],
)
def test_what_has_to_be_asked_is_asked_of_the_model(asked: Any, run: str, option: str) -> None:
    asked.run(f"{COMMAND} {option} --run-id={run}").expect(0)
    assert loaded(asked, run) == BOTH


def test_only_the_new_checkpoint_is_loaded(asked: Any) -> None:
    new = asked.path / "runs/x/checkpoint-9000"
    copy("checkpoint-100", new)
    try:
        asked.run(f"{COMMAND} --limit=10 --run-id=grown").expect(0)
    finally:
        shutil.rmtree(new)
    assert loaded(asked, "grown") == {"checkpoint-9000"}


def test_a_checkpoint_that_was_replaced_is_loaded(asked: Any) -> None:
    place = asked.path / "runs/x/checkpoint-1500"
    shutil.rmtree(place)
    copy("checkpoint-100", place)
    try:
        asked.run(f"{COMMAND} --limit=10 --run-id=replaced").expect(0)
    finally:
        shutil.rmtree(place)
        copy("checkpoint-1500", place)
    assert loaded(asked, "replaced") == {"checkpoint-1500"}
    before, after = (
        RunFolder(asked.path / "results" / run).checkpoints["checkpoint-1500"]
        for run in ("first", "replaced")
    )
    assert after["fingerprint"] != before["fingerprint"]
    asked.run(f"{COMMAND} --limit=10 --run-id=restored").expect(0)
    assert loaded(asked, "restored") == NONE, "it is known from the run before"


TAKES_IT = """
def test_by_hand(checkpoint):
    assert checkpoint.model.training is False
"""
TAKEN = "def test_lambada(response: Filled | Likelihood, k: int) -> None:"


def own_test(path: Path) -> str:
    """A test of one's own beside the samples."""
    (path / "test_own.py").write_text(TAKES_IT, "utf-8")
    return "test_own.py"


def own_argument(path: Path) -> str:
    """A benchmark whose function takes the checkpoint."""
    source = (path / "benchmarks/test_lambada.py").read_text("utf-8")
    assert TAKEN in source
    taking = TAKEN.replace("k: int", "k: int, tokenizer: object")
    (path / "benchmarks/test_lambada.py").write_text(source.replace(TAKEN, taking), "utf-8")
    return ""


@pytest.mark.parametrize(("use", "needed"), [(own_test, NONE), (own_argument, BOTH)])
def test_whoever_takes_the_checkpoint_gets_it(
    asked: Any, tmp_path: Path, make_workspace: Any, use: Callable[[Path], str], needed: set[str]
) -> None:
    workspace = make_workspace(tmp_path / "own")
    shutil.copytree(asked.path / "runs", workspace.path / "runs")
    shutil.copytree(asked.path / "results/first", workspace.path / "results/first")
    more = use(workspace.path)
    output = workspace.run(f"{COMMAND} {more} --limit=10 --run-id=own").expect(0)
    assert loaded(workspace, "own") == needed
    assert "0 answers computed, 40 reused" in output
