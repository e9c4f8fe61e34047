"""Which checkpoint is recommended: by the composite, the average of the tasks, or `by`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.analysis.composites import average_of, with_average
from ckptbench.analysis.conclude import conclude
from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
from ckptbench.scores.score import Score

Make = Callable[..., Measurement]


def tasks(
    name: str, values: Mapping[str, float], step: int, error: float | None = 0.01, run: str = "run"
) -> Measurement:
    """A checkpoint with a perplexity and an accuracy of each task, the accuracy second."""
    benches = tuple(
        BenchmarkMeasurement(
            task,
            task,
            True,
            (
                Score(f"{task} ppl", 20.0, 0, 0, 0.5, unit="perplexity", higher_is_better=False),
                Score(f"{task} acc", value, 0, 0, error),
                Score(f"{task} acc_norm", 0.9, 0, 0, error),
            ),
        )
        for task, value in values.items()
    )
    return Measurement(name, run=run, step=step, benchmarks=benches)


def suite(error: float | None = 0.01) -> list[Measurement]:
    """`b` is best by the average, `c` by the first task."""
    return [
        tasks("a", {"arc": 0.30, "piqa": 0.50, "sciq": 0.60}, 1, error),
        tasks("b", {"arc": 0.40, "piqa": 0.70, "sciq": 0.80}, 2, error),
        tasks("c", {"arc": 0.50, "piqa": 0.55, "sciq": 0.70}, 3, error),
    ]


def test_an_average_weighs_each_task_the_same_and_its_errors_are_independent() -> None:
    score = average_of([Score("x", 0.2, 100, 100, 0.03), Score("y", 0.6, 900, 900, 0.04)])
    assert score.value == pytest.approx(0.4)
    assert score.standard_error == pytest.approx(0.025)
    assert score.interval == pytest.approx((0.4 - 1.96 * 0.025, 0.4 + 1.96 * 0.025), abs=1e-4)


def test_several_tasks_without_a_composite_are_judged_by_their_average() -> None:
    (run,) = conclude(suite()).runs
    assert (run.by, run.recommended) == ("average", "b")
    average = run.measurements[1].average
    assert average is not None
    assert average.value == pytest.approx((0.4 + 0.7 + 0.8) / 3)
    best = next(each for each in run.best if each.metric == "average")
    assert all(rival.distinguishable for rival in best.rivals)
    comparison = best.rivals[1].comparison
    assert comparison is not None
    assert comparison.kind == "unpaired"
    assert comparison.standard_error == pytest.approx(np.sqrt(2 / 3) * 0.01)
    # A stated error without n is taken as exact: the interval is the normal one.
    assert comparison.interval is not None
    width = comparison.interval[1] - comparison.interval[0]
    assert width == pytest.approx(2 * 1.96 * np.sqrt(2 / 3) * 0.01, rel=1e-3)
    assert run.stopping is not None
    assert (run.stopping.metric, run.stopping.best) == ("average", "b")


def test_without_standard_errors_the_average_is_a_point() -> None:
    (run,) = conclude(suite(error=None)).runs
    # One task that states its errors does not stand for all of them.
    assert (run.by, run.recommended) == ("average", "b")
    best = next(each for each in run.best if each.metric == "average")
    assert {each.comparison.kind for each in best.rivals if each.comparison} == {"point"}
    (run,) = conclude(suite(error=None), by="average").runs
    assert (run.by, run.recommended) == ("average", "b")


def test_by_names_the_metric_that_decides() -> None:
    conclusions = conclude(suite(), by="arc acc")
    (run,) = conclusions.runs
    assert (run.by, run.recommended) == ("arc acc", "c")
    assert "recommended so far: c (step 3), highest arc acc" in conclusions.sentences[0]


def test_by_a_metric_that_is_not_there_is_an_error_with_the_nearest() -> None:
    with pytest.raises(CkptbenchError, match=r"'arc_acc' to compare by \(did you mean 'arc acc'"):
        conclude(suite(), by="arc_acc")


def test_there_is_no_average_where_a_checkpoint_lacks_a_task() -> None:
    short = tasks("d", {"arc": 0.5, "piqa": 0.5}, 4)
    kept, reason = with_average([*suite(), short])
    assert reason == "no average of the tasks: d lacks sciq"
    assert all(each.average is None for each in kept)
    conclusions = conclude([*suite(), short])
    assert "run: no average of the tasks: d lacks sciq" in conclusions.notes
    assert conclusions.runs[0].by == "arc ppl"


def test_a_single_task_has_no_average_and_a_composite_goes_before_it(stated: Make) -> None:
    assert with_average([tasks("a", {"arc": 0.5}, 1)])[0][0].average is None
    run = [stated(f"checkpoint-{i}", 0.6 + i / 100, 0.8, 0.3, n=900) for i in range(1, 4)]
    (found,) = conclude(run).runs
    assert (found.by, found.recommended) == ("score", "checkpoint-3")
    assert all(each.average is None for each in found.measurements)


def test_runs_are_compared_in_averages_of_the_same_tasks_only() -> None:
    other = [replace(each, run="other") for each in suite()]
    metrics = {row.metric for row in conclude([*suite(), *other]).compared}
    assert "average" in metrics
    fewer = [tasks(n, {"arc": 0.4, "piqa": 0.5}, i, run="other") for i, n in enumerate("ab", 1)]
    metrics = {row.metric for row in conclude([*suite(), *fewer]).compared}
    assert "average" not in metrics
    assert "arc acc" in metrics
