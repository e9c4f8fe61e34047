"""Numbers that a benchmark returns: of any unit, and where less is better."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow
TEXTS = [f"right {i:02}" for i in range(40)]
GRADED = """
import json, pathlib

from ckptbench import FillMask, EvalProtocol, Named, Sample, mean, samples

VALUES = json.loads(pathlib.Path("values.json").read_text())
ROWS = [Sample(f"g-{{i:02}}", {{"text": f"right {{i:02}}"}}) for i in range(40)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


@samples(ROWS, protocol=(EvalProtocol("graded/plain", ask),), score={score})
def test_graded(sample):
    return VALUES[int(sample.id[2:])]
"""


@pytest.fixture
def graded(project: Any) -> Any:
    """A project with one benchmark, whose values a file holds."""
    project.write(TEXTS, by_hand="")
    (project.path / "test_bench.py").unlink()

    def make(score: str, values: list[Any]) -> Any:
        project.file("test_graded.py", GRADED.format(score=score))
        project.file("values.json", json.dumps(values))
        return project

    return make


@pytest.mark.parametrize(
    ("score", "values", "missed"),
    [
        ("mean(unit='points')", [42.5, *[100.0] * 39], 1),
        ("mean(unit='seconds', higher_is_better=False)", [0.5, *[12.5] * 39], 0),
        ("mean(higher_is_better=False)", [0.5, *[0.0] * 39], 1),
        ("mean(unit='', higher_is_better=None)", [-3.5, *[1e6] * 39], 0),
    ],
)
def test_a_value_is_of_the_unit_that_was_declared(
    graded: Any, score: str, values: list[float], missed: int
) -> None:
    project = graded(score, values)
    result = project.run()
    assert result.ret == 0
    (found,) = project.summary["checkpoints"][0]["benchmarks"][0]["scores"]
    assert found["value"] == pytest.approx(sum(values) / 40)
    result.assert_outcomes(passed=40 - missed)


@pytest.mark.parametrize(
    ("score", "value", "told"),
    [
        ("mean(unit='points')", 100.5, "expected None or a number from 0 to 100"),
        ("mean()", 1.0000001, "expected None or a number from 0 to 1"),
        ("mean(unit='nats')", None, "an answer in nats is none that is right or wrong"),
        ("Named(('wer', 'acc'), decides='acc')", {"wer": 1e999, "acc": 1}, "wer is inf"),
    ],
)
def test_another_value_is_an_error_of_its_sample(
    graded: Any, score: str, value: Any, told: str
) -> None:
    usual = {"wer": 0.5, "acc": 1} if "Named" in score else 0.5
    project = graded(score, [value, *[usual] * 39])
    result = project.run("--baseline=base.json", "--update-baseline")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{told}*", "*base.json was not written: the run is incomplete*"])
    assert project.summary["complete"] is False


@pytest.mark.parametrize("rises", [True, False])
def test_lost_is_worse_whatever_the_direction(graded: Any, rises: bool) -> None:
    """And the baseline's answers are found where neither value is that of a right answer."""
    score = f"mean('rate', higher_is_better={rises})"
    before, worse, better = (0.5, 0.3, 0.7) if rises else (0.5, 0.7, 0.3)
    project = graded(score, [before] * 40)
    assert project.run("--baseline=base.json", "--update-baseline", "--run-id=old").ret == 0
    project = graded(score, [*[worse] * 30, *[better] * 5, *[before] * 5])
    result = project.run("--baseline=base.json", "--report=md")
    assert result.ret == 1
    (bench,) = project.summary["checkpoints"][0]["benchmarks"]
    changes = [flip["change"] for flip in bench["flips"]]
    assert (changes.count("lost"), changes.count("won")) == (30, 5)
    report = (project.latest.path / "report.md").read_text("utf-8")
    assert "30 lost" in report
    assert "--checkpoint=" not in report, "the suite's own engine has none"
    assert "not at hand" not in report + result.stdout.str()
    assert "answers are read from" in report + result.stdout.str()
