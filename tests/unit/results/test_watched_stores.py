"""Runs and parts of watched runs reuse each other's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptbench.results.earlier import earlier_runs
from ckptbench.results.layout import STORE

RUN = "20260728_091500_17"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in (RUN, "watch-x/parts/checkpoint-1", "watch-x/parts/checkpoint-2"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / STORE).touch()
    return tmp_path


def names(found: list[Path], results: Path) -> set[str]:
    return {str(path.relative_to(results)) for path in found}


def test_a_run_finds_the_parts_of_a_watched_one(results: Path) -> None:
    assert names(earlier_runs(results, RUN), results) == {
        "watch-x/parts/checkpoint-1",
        "watch-x/parts/checkpoint-2",
    }


def test_a_part_finds_other_runs_and_other_parts(results: Path) -> None:
    found = earlier_runs(results / "watch-x/parts", "checkpoint-1")
    assert names(found, results) == {RUN, "watch-x/parts/checkpoint-2"}


def test_a_run_named_like_a_part_finds_it(results: Path) -> None:
    assert "watch-x/parts/checkpoint-1" in names(earlier_runs(results, "checkpoint-1"), results)
