"""One checkpoint of a run is recommended, by one metric, and every report names the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from ckptbench.curves.comparing import AVERAGE
from ckptbench.curves.conclude import conclude
from ckptbench.curves.conclusions import Conclusions
from ckptbench.curves.measurement import BenchmarkMeasurement, Measurement
from ckptbench.errors import CkptbenchError
from ckptbench.reports.conclusions_json import conclusions_json
from ckptbench.reports.curve_table import curve_lines
from ckptbench.reports.overview import overview
from ckptbench.scores.score import Score

Make = Callable[..., Measurement]
TASKS = {
    "arc": [0.30, 0.40, 0.50, 0.48, 0.47],
    "boolq": [0.50, 0.55, 0.60, 0.66, 0.60],
    "piqa": [0.50, 0.60, 0.70, 0.72, 0.60],
}


def run_of(tasks: Mapping[str, Sequence[float]], *, error: float = 0.005) -> list[Measurement]:
    def benchmark(task: str, value: float) -> BenchmarkMeasurement:
        scores = (
            Score(f"{task} ppl", 30.0, 900, 900, 1.0, unit="perplexity", higher_is_better=False),
            Score(f"{task} acc", value, 900, 900, error),
            Score(f"{task} acc_norm", 1 - value, 900, 900, error),
        )
        return BenchmarkMeasurement(task, "", True, scores)

    return [
        Measurement(
            f"step{i + 1}",
            run="run",
            step=i + 1,
            benchmarks=tuple(benchmark(task, values[i]) for task, values in tasks.items()),
        )
        for i in range(len(next(iter(tasks.values()))))
    ]


def recommended(conclusions: Conclusions) -> tuple[str, str]:
    keep = conclusions.runs[0].recommended
    assert keep is not None
    return keep.checkpoint, keep.metric


def test_without_a_composite_the_average_of_each_tasks_first_share_decides() -> None:
    conclusions = conclude(run_of(TASKS))
    assert recommended(conclusions) == ("step4", AVERAGE)
    average = conclusions.runs[0].measurements[3].average
    assert average is not None
    assert average.value == pytest.approx((0.48 + 0.66 + 0.72) / 3)
    assert average.standard_error == pytest.approx(0.005 / 3**0.5)
    assert any("the mean over 3 tasks" in note for note in conclusions.notes)


def test_a_task_that_one_checkpoint_lacks_is_not_in_the_average() -> None:
    run = run_of(TASKS)
    short = run_of({"arc": [0.9], "boolq": [0.9]})[0]
    (first, *others) = run
    made = [Measurement("step1", run="run", step=1, benchmarks=short.benchmarks), *others]
    average = conclude(made).runs[0].measurements[1].average
    assert average is not None
    assert average.value == pytest.approx((0.40 + 0.55) / 2)
    assert first.name == "step1"


def test_by_names_another_metric_with_or_without_its_filter() -> None:
    assert recommended(conclude(run_of(TASKS), by="arc acc")) == ("step3", "arc acc")
    assert recommended(conclude(run_of(TASKS), by=AVERAGE)) == ("step4", AVERAGE)
    with pytest.raises(CkptbenchError, match=r"the metric 'arc ac'.*did you mean 'arc acc'"):
        conclude(run_of(TASKS), by="arc ac")


def test_a_composite_goes_before_the_average(stated: Make) -> None:
    run = [
        stated("checkpoint-1", 0.66, 0.81, 0.37, n=2_400, step=1),
        stated("checkpoint-2", 0.60, 0.80, 0.30, n=2_400, step=2),
    ]
    assert recommended(conclude(run)) == ("checkpoint-1", "score")
    assert conclude(run).runs[0].measurements[0].average is None


@pytest.mark.parametrize("by", [None, "arc acc", "piqa acc"])
def test_every_report_names_the_same_checkpoint(by: str | None) -> None:
    conclusions = conclude(run_of(TASKS), by=by)
    (run,) = conclusions.runs
    name, metric = recommended(conclusions)
    assert run.stopping is not None
    assert (run.stopping.best, run.stopping.metric) == (name, metric)
    assert f"keep {name} " in conclusions.sentences[0]
    badges = {row.label: row.recommended for row in overview((), conclusions).rows}
    assert {label for label, by_what in badges.items() if by_what} == {name}
    assert badges[name] == (metric,)
    (line,) = (each for each in curve_lines(conclusions) if each.endswith(f"by {metric}"))
    assert line.split()[0] == name
    runs = conclusions_json(conclusions)["runs"]
    assert isinstance(runs, list)
    assert runs[0]["recommended"] == {"checkpoint": name, "metric": metric}  # type: ignore[index,call-overload]
