"""Runs that are broken and resumed come to what undisturbed ones do: a round of each way.

`make faults` makes many more of them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import suite
from comparison import Reference, compare
from rounds import Lab, Result, Way
from ways import WAYS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="breaks processes by /proc")

QUICK = {"session killed", "store damaged"}


def marked(way: Way) -> object:
    marks = [] if way.name in QUICK else [pytest.mark.slow]
    marks += {"programs": [pytest.mark.sandbox], "served": [pytest.mark.server]}.get(way.kind, [])
    return pytest.param(way, id=way.name.replace(" ", "-"), marks=marks)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("way", [marked(way) for way in WAYS])
def test_a_broken_run_is_resumed_without_a_trace(lab: Lab, way: Way) -> None:
    result = lab.round(way, seed=1)
    assert not result.faults, result


def test_the_seed_decides_the_way_and_nothing_else_is_needed_for_a_round(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[tuple[str, int]] = []

    def noted(_: Lab, way: Way, seed: int) -> Result:
        made.append((way.name, seed))
        return Result(way.name, seed)

    monkeypatch.setattr(Lab, "round", noted)
    assert suite.main(["--rounds=40", "--jobs=1"]) == 0
    all_of_them, made[:] = dict(map(reversed, made)), []
    assert set(all_of_them.values()) == {way.name for way in WAYS}
    suite.main(["--seed=17", "--rounds=1"])
    assert made == [(all_of_them[17], 17)]
    assert "all" in capsys.readouterr().out.splitlines()[-1]


# What compares must see what is wrong


@pytest.fixture
def undisturbed(lab: Lab, tmp_path: Path) -> tuple[Path, Reference]:
    """A copy of an undisturbed run's folder, and what it came to."""
    reference = lab.reference("words")
    (run,) = lab.path.glob("words-*/results/r")
    return Path(shutil.copytree(run, tmp_path / "r")), reference


def change(run: Path, old: str, new: str) -> None:
    """Change the first place in the run's files of samples."""
    for file in sorted(run.glob("samples/*/*.jsonl")):
        text = file.read_text()
        if old in text:
            file.write_text(text.replace(old, new, 1))
            return
    raise AssertionError(f"nowhere {old}")


def test_an_undisturbed_run_is_right(undisturbed: tuple[Path, Reference]) -> None:
    run, reference = undisturbed
    found = compare(run, [reference])
    assert (found.different, found.wrong_scores, found.missing) == ((), (), 0)
    assert found.complete
    assert not found.looks_normal(0)


def test_another_outcome_is_different_and_looks_normal(undisturbed: tuple[Path, Reference]) -> None:
    run, reference = undisturbed
    change(run, '"status": "missed"', '"status": "passed"')
    found = compare(run, [reference])
    assert len(found.different) == 1
    assert found.looks_normal(0)
    assert found.looks_normal(1)
    assert not found.looks_normal(2)


def test_a_sample_that_is_missing_in_a_complete_run_looks_normal(
    undisturbed: tuple[Path, Reference],
) -> None:
    run, reference = undisturbed
    change(run, '"status": "missed"', '"status": "error"')
    found = compare(run, [reference])
    assert (found.different, found.missing) == ((), 1)
    assert found.looks_normal(1)
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps(summary | {"complete": False}))
    assert not compare(run, [reference]).looks_normal(1)
    assert compare(run, [reference]).looks_normal(0)


def test_a_run_that_left_nothing_may_not_exit_with_0(
    tmp_path: Path, undisturbed: tuple[Path, Reference]
) -> None:
    found = compare(tmp_path / "nothing", [undisturbed[1]])
    assert found.looks_normal(0)
    assert not found.looks_normal(1)


def test_another_score_is_wrong(undisturbed: tuple[Path, Reference]) -> None:
    run, reference = undisturbed
    text = (run / "summary.json").read_text()
    score = reference.scores["red@1"]
    assert text.count(f'"value": {score}') >= 1
    (run / "summary.json").write_text(text.replace(f'"value": {score}', '"value": 0.5', 1))
    assert len(compare(run, [reference]).wrong_scores) == 1
