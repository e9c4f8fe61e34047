"""Files of numbers: `{"model", "results": {task: {metric, metric_stderr}}}`, or bare ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .._util.names import step_in
from ..analysis.composites import with_composite
from ..results.measurement import BenchmarkMeasurement, Measurement
from ..scores.composite import DEFAULT_WEIGHTS
from ..scores.metric import known_metric
from ..scores.score import Score
from .model_names import model_of, named, revision_of
from .numbers_file import read_bare_numbers
from .reported import fraction, is_number, read_object, run_of, stated_score
from .result import Result

_ENDING = "_stderr"
_COUNTS = ("n", "n_samples", "samples")


def read_numbers_file(path: Path) -> Result:
    """Read numbers by task, or bare numbers by metric (`{"real@1": 0.6778, "n": 2400}`).

    A task's metrics are named `TASK METRIC`; its `n` may stand among them. A bare metric belongs
    to the benchmark before its `@`.

    Raises:
        CkptbenchError: a value is no fraction, or there is none.
    """
    content = read_object(path)
    if "results" in content:
        return _by_task(content, path)
    tasks = {key: held for key, held in content.items() if key != "config"}
    if isinstance(content.get("config"), Mapping) and all(map(_is_numbers, tasks.values())):
        # The evaluation harness of BigCode names its tasks at the top.
        return _by_task({"results": tasks, "config": content["config"]}, path)
    bare = read_bare_numbers(content, str(path)).benchmarks[""].scores
    by_benchmark: dict[str, list[Score]] = defaultdict(list)
    for metric, held in bare.items():
        score = stated_score(metric, held.value, n=held.n, standard_error=held.standard_error)
        by_benchmark[metric.partition("@")[0]].append(score)
    return _result(path, path.stem, by_benchmark)


def _by_task(content: Mapping[str, Any], path: Path) -> Result:
    results = content["results"]
    if not isinstance(results, Mapping) or not results:
        raise CkptbenchError("'results' holds no numbers by task", where=str(path))
    # A tool wrote it, and not a person: what is out of range is shown, and no typing error.
    config = content.get("config")
    by_task: dict[str, list[Score]] = {}
    for task, numbers in results.items():
        where = f"{path}: results -> {task}"
        if not isinstance(numbers, Mapping):
            raise CkptbenchError(
                f"is {numbers!r}, not an object of metrics",
                where=where,
                remedy='Write {"results": {"hellaswag": {"acc": 0.51, "acc_stderr": 0.005}}}.',
            )
        by_task[task] = _scores(task, numbers, where, content, strict=config is None)
    if not any(by_task.values()):
        raise CkptbenchError("'results' holds no metric", where=str(path))
    if config is None:
        return _result(path, str(content.get("model") or path.stem), by_task)
    result = _result(path, model_of(content) or path.stem, by_task)
    (measurement,) = result.measurements
    name, run, step = named(model_of(content), revision_of(content), path)
    measurement = replace(measurement, name=name, run=run, step=step)
    return replace(result, measurements=(measurement,))


def read_evalplus(content: Mapping[str, Any], path: Path) -> Result:
    """Read EvalPlus's results: pass@k of the base tests and of all, `base` and `plus`.

    Raises:
        CkptbenchError: a value is no fraction.
    """
    problems = content["eval"]
    n = len(problems) if isinstance(problems, Mapping | list) else None
    scores: dict[str, list[Score]] = {}
    for tests, numbers in content["pass_at_k"].items():
        where = f"{path}: pass_at_k -> {tests}"
        if not isinstance(numbers, Mapping):
            raise CkptbenchError("is no object of metrics", where=where)
        scores[tests] = [
            stated_score(f"{tests} {metric}", fraction(numbers, metric, where), n=n or None)
            for metric in numbers
        ]
    return _result(path, path.stem.removesuffix("_eval_results"), scores)


def _is_numbers(held: Any) -> bool:
    return isinstance(held, Mapping) and bool(held) and all(map(is_number, held.values()))


def _direction(content: Mapping[str, Any], task: str, metric: str) -> bool | None:
    """Whether more of a metric is better, as far as the file says."""
    stated = content.get("higher_is_better")
    of_task = stated.get(task) if isinstance(stated, Mapping) else None
    better = of_task.get(metric) if isinstance(of_task, Mapping) else None
    return better if isinstance(better, bool) else None


def _scores(
    task: str, numbers: Mapping[str, Any], where: str, content: Mapping[str, Any], strict: bool
) -> list[Score]:
    n = next((numbers[key] for key in _COUNTS if key in numbers), None)
    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
        raise CkptbenchError(f"'n' is {n!r}, not a whole number from 1", where=where)
    scores = []
    for metric, value in numbers.items():
        if metric in _COUNTS or metric.endswith(_ENDING) or not is_number(value):
            continue
        error = numbers.get(f"{metric}{_ENDING}")
        stated = float(error) if is_number(error) and error >= 0 else None
        kind = known_metric(metric, higher_is_better=_direction(content, task, metric))
        if kind.unit == "share" and strict:
            fraction(numbers, metric, where)
        scores.append(
            stated_score(f"{task} {metric}", float(value), n=n, standard_error=stated, kind=kind)
        )
    return scores


def _result(path: Path, model: str, scores: Mapping[str, list[Score]]) -> Result:
    benchmarks = tuple(
        BenchmarkMeasurement(name, "", True, tuple(found))
        for name, found in scores.items()
        if found
    )
    measurement = Measurement(
        name=model.rstrip("/").rpartition("/")[2] or model,
        run=run_of(model),
        step=step_in(model),
        benchmarks=benchmarks,
        source=str(path),
        spec=model,
    )
    measurement = with_composite(measurement, DEFAULT_WEIGHTS)
    return Result(path, "numbers", (measurement,))
