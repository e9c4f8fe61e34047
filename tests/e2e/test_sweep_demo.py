"""A sweep over the demo's checkpoints: the curve rises, one model at a time, a whole report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

pytestmark = pytest.mark.slow

# Counts the models in memory before and after each checkpoint is loaded.
WATCH = """
import gc
from pathlib import Path

import pytest


def models():
    gc.collect()
    return sum(type(found).__name__.endswith("ForMaskedLM") for found in gc.get_objects())


def note():
    with Path("models.log").open("a") as log:
        log.write(f"{models()} ")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    if fixturedef.argname != "checkpoint":
        return (yield)
    note()
    value = yield
    note()
    return value


def pytest_unconfigure():
    note()
"""
COMMAND = (
    "pytest benchmarks -k 'real_k or lambada' --checkpoint 'demo-mlm/checkpoint-*' "
    "--protocol real=whole-word --protocol lambada=mlm-whole-word --report html,md "
    "-p watch -o pythonpath=."
)
STEPS = (100, 1500, 6000)


@pytest.fixture(scope="module")
def folder(make_workspace: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A workspace in which the sweep has run twice."""
    pytest.importorskip("matplotlib")
    place = make_workspace(tmp_path_factory.mktemp("sweep"))
    (place.path / "watch.py").write_text(WATCH)
    return place


@pytest.fixture(scope="module")
def first(folder: Any) -> tuple[str, Path]:
    """What the first run prints, and its folder."""
    output = folder.run(f"{COMMAND} --run-id=first").expect(0)
    return output, folder.path / "results/first"


@pytest.fixture(scope="module")
def again(folder: Any, first: tuple[str, Path]) -> tuple[str, Path]:
    """The same of a second run."""
    output = folder.run(f"{COMMAND} --run-id=again").expect(0)
    return output, folder.path / "results/again"


def checkpoints(folder: Path) -> list[dict[str, Any]]:
    return list(RunFolder(folder).checkpoints.values())


def curve(folder: Path, metric: str) -> list[float]:
    """A metric's values, the earliest checkpoint first."""
    return [
        score["value"]
        for checkpoint in checkpoints(folder)
        for bench in checkpoint["benchmarks"]
        for score in bench["scores"]
        if score["metric"] == metric
    ]


def test_the_checkpoints_come_in_the_order_of_their_training(first: tuple[str, Path]) -> None:
    found = checkpoints(first[1])
    assert [each["name"] for each in found] == [f"checkpoint-{step}" for step in STEPS]
    assert [each["step"] for each in found] == list(STEPS)
    assert {each["run"] for each in found} == {"demo-mlm"}
    epochs = [each["epoch"] for each in found]
    assert epochs == sorted(epochs)
    assert epochs[1] == pytest.approx(0.3429)


@pytest.mark.parametrize("metric", ["real@1", "real@5", "lambada@1"])
def test_the_curve_rises(first: tuple[str, Path], metric: str) -> None:
    early, middle, late = curve(first[1], metric)
    assert early < middle < late


def test_the_terminal_shows_one_table_and_what_it_means(first: tuple[str, Path]) -> None:
    output = first[0]
    rows = re.findall(r"^ +(checkpoint-\d+) +[\d.]+ .*%", output, re.MULTILINE)
    assert rows == [f"checkpoint-{step}" for step in STEPS]
    assert "coverage:" not in output
    summary = output.partition("= ckptbench =")[2].splitlines()
    assert len(summary) <= 22, "with three lines of what happens, 25"
    assert re.search(r"^demo-mlm: .*checkpoint-6000", output, re.MULTILINE)


def test_at_most_one_model_is_in_memory_and_none_at_the_end(
    folder: Any, first: tuple[str, Path]
) -> None:
    assert (folder.path / "models.log").read_text().split()[:7] == ["0", "1"] * 3 + ["0"]


def test_run_again_no_model_is_called(first: tuple[str, Path], again: tuple[str, Path]) -> None:
    asked = sum(each["asked"] for each in checkpoints(first[1]))
    assert asked > 1_000
    assert [each["asked"] for each in checkpoints(again[1])] == [0, 0, 0]
    assert sum(each["reused"] for each in checkpoints(again[1])) == asked


def test_run_again_the_report_is_the_same(first: tuple[str, Path], again: tuple[str, Path]) -> None:
    one, two = ((folder / "report.md").read_text() for _, folder in (first, again))
    assert one == two
    for step in STEPS:
        assert f"checkpoint-{step}" in one
    for _, folder in (first, again):
        assert "checkpoint-6000" in (folder / "report.html").read_text(encoding="utf-8")
    for metric in ("real@1", "real@5", "lambada@1", "score"):
        assert curve(again[1], metric) == curve(first[1], metric)


def test_a_pattern_without_a_match_says_what_there_is(folder: Any) -> None:
    output = folder.run("pytest benchmarks --checkpoint 'demo-mlm/chekpoint-*'").expect(4)
    assert "demo-mlm/chekpoint-* matches nothing" in output
    assert "nearest: checkpoint-100, checkpoint-1500, checkpoint-6000" in output
