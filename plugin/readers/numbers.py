"""Files of numbers: `{"model", "results": {task: {metric, metric_stderr}}}`, or bare ones."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import is_count, is_number
from .._util.names import step_in
from ..analysis.composites import with_composite
from ..gate.baseline import Baseline, BaselineScore, bare_baseline
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..results.lm_eval_files import ResultsFile
from ..scores.composite import DEFAULT_WEIGHTS
from ..scores.metric import known_metric
from ..scores.score import Score
from .lm_eval import named
from .reported import FRACTIONS, fraction, read_object, reported_score, run_of
from .result import Result

_ENDING = "_stderr"
# Of leaderboards: `all`, `average`, and lighteval's `leaderboard|mmlu:_average|5`.
_AVERAGE = re.compile(r"^(all|average|avg)$|:_average\b", re.IGNORECASE)
_COUNTS = ("n", "n_samples", "samples")
_KEYS = ("value", "standard_error", "n")


def read_numbers_file(path: Path) -> Result:
    """Read numbers by task, or bare numbers by metric (`{"real@1": 0.6778, "n": 2400}`).

    A task's metrics are named `TASK METRIC`; its `n` may stand among them. A bare metric belongs
    to the benchmark before its `@`.

    Raises:
        CkptbenchError: a value is no fraction, or there is none.
    """
    content = read_object(path)
    if "results" in content or has_tasks(content):
        return read_tasks(content, path)
    bare = read_bare_numbers(content, str(path)).benchmarks[""].scores
    by_benchmark: dict[str, list[Score]] = defaultdict(list)
    for metric, entry in bare.items():
        score = reported_score(metric, entry.value, n=entry.n, standard_error=entry.standard_error)
        by_benchmark[metric.partition("@")[0]].append(score)
    return as_result(path, path.stem, _benchmarks(by_benchmark))


def has_tasks(content: Mapping[str, Any]) -> bool:
    """Whether a JSON object has numbers by task."""
    if "results" in content:
        return has_numbers(content["results"])
    # The evaluation harness of BigCode names its tasks at the top.
    return isinstance(content.get("config"), Mapping) and has_numbers(content, but="config")


def has_numbers(tasks: Any, but: str = "") -> bool:
    """Whether any entry of an object but one is an object with a number."""
    entries = [tasks[task] for task in tasks if task != but] if isinstance(tasks, Mapping) else []
    return any(isinstance(e, Mapping) and any(map(is_number, e.values())) for e in entries)


def read_tasks(content: Mapping[str, Any], path: Path) -> Result:
    """Read numbers by task: ours, lm-eval's older ones, BigCode's, lighteval's, leaderboards'.

    The entries of leaderboards that are averages of other entries are left out, with a note, and
    of BigCode's tasks those without numbers by metric.

    Raises:
        CkptbenchError: a value is no fraction, or there is none.
    """
    results = content.get("results")
    if "results" not in content:
        results = {task: numbers for task, numbers in content.items() if task != "config"}
    if not isinstance(results, Mapping) or not results:
        raise CkptbenchError("'results' holds no numbers by task", where=str(path))
    averages = [task for task in results if _AVERAGE.search(task)] if len(results) > 1 else []
    # With `config` a tool wrote it: a value out of range is shown, and not taken for a typo.
    config = content.get("config")
    file = ResultsFile(content, str(path))
    by_task: dict[str, list[Score]] = {}
    without: list[str] = []
    for task, numbers in results.items():
        where = f"{path}: results -> {task}"
        if task in averages:
            continue
        if "results" not in content and not isinstance(numbers, Mapping):
            without.append(task)
            continue
        if not isinstance(numbers, Mapping):
            raise CkptbenchError(
                f"is {numbers!r}, not an object of metrics",
                where=where,
                remedy='Write {"results": {"hellaswag": {"acc": 0.51, "acc_stderr": 0.005}}}.',
            )
        by_task[task] = _scores(task, numbers, where, file, strict=config is None)
        if not by_task[task]:
            without.append(task)
    if not any(by_task.values()):
        raise CkptbenchError("'results' holds no metric", where=str(path))
    notes = [f"{path}: left out, averages of the others: {', '.join(averages)}"] if averages else []
    notes += [f"{path}: left out, no numbers by metric: {', '.join(without)}"] if without else []
    names = named(file.model, file.revision, path) if config is not None and file.model else None
    model = file.model or _model(content) or path.stem
    return as_result(path, model, _benchmarks(by_task), names, tuple(notes))


def _model(content: Mapping[str, Any]) -> str:
    """The model as ours, BigCode's and leaderboards' files name it; empty where they do not."""
    general = content.get("config_general")
    # In lm-eval's files `config` names the kind of model: hf, local-completions.
    places = [content if "results" in content else content.get("config"), general]
    if isinstance(general, Mapping):
        places.append(general.get("model_config"))
    found = (
        place[key]
        for place in places
        for key in ("model_name", "model")
        if isinstance(place, Mapping) and isinstance(place.get(key), str)
    )
    return next(found, "")


def _scores(
    task: str, numbers: Mapping[str, Any], where: str, file: ResultsFile, strict: bool
) -> list[Score]:
    n = next((numbers[key] for key in _COUNTS if key in numbers), None)
    if n is not None and not is_count(n):
        raise CkptbenchError(f"'n' is {n!r}, not a whole number from 1", where=where)
    scores = []
    for metric, value in numbers.items():
        if metric in _COUNTS or metric.endswith(_ENDING) or not is_number(value):
            continue
        error = numbers.get(f"{metric}{_ENDING}")
        known = float(error) if is_number(error) and error >= 0 else None
        kind = known_metric(metric, higher_is_better=file.higher_is_better(task, metric))
        if kind.unit == "share" and strict:
            fraction(numbers, metric, where)
        scores.append(
            reported_score(f"{task} {metric}", float(value), n=n, standard_error=known, kind=kind)
        )
    return scores


def _benchmarks(scores: Mapping[str, list[Score]]) -> list[BenchmarkMeasurement]:
    return [
        BenchmarkMeasurement(name, "", True, tuple(found))
        for name, found in scores.items()
        if found
    ]


def as_result(
    path: Path,
    model: str,
    benchmarks: Sequence[BenchmarkMeasurement],
    names: tuple[str, str, int | None] | None = None,
    notes: tuple[str, ...] = (),
) -> Result:
    """A result of one checkpoint; `names` are its name, run and step, else they are the model's."""
    last = model.rstrip("/").rpartition("/")[2] or model
    name, run, step = names or (last, run_of(model), step_in(model))
    measurement = Measurement(
        name=name,
        run=run,
        step=step,
        benchmarks=tuple(benchmarks),
        source=str(path),
        spec=model,
    )
    measurement = with_composite(measurement, DEFAULT_WEIGHTS)
    return Result(path, "numbers", (measurement,), notes=notes)


def as_bare_baseline(result: Result) -> Baseline:
    """The baseline of a result of numbers, without its samples."""
    scores = (s for m in result.measurements for bench in m.benchmarks for s in bench.scores)
    return bare_baseline(
        {
            s.metric: BaselineScore(
                s.value, s.standard_error, s.n or None, s.unit, s.higher_is_better
            )
            for s in scores
            if s.value is not None
        }
    )


def read_bare_numbers(content: Mapping[str, Any], where: str) -> Baseline:
    """The baseline of `{"real@1": 0.6778, "real@5": 0.8244, "n": 2400}`.

    `n` may be missing, one number for all, or a number by metric. A value may be an object with
    `value`, `standard_error` and `n`. Shares must be fractions; the benchmark that other names are
    compared with declares their unit.

    Raises:
        CkptbenchError: a value is no number, a share is no fraction, or `n` is no count or names
            an unknown metric.
    """
    values = {name: value for name, value in content.items() if name != "n"}
    if not values:
        raise CkptbenchError(
            "holds no score", where=where, remedy='Write scores by name, as in {"real@1": 0.6778}.'
        )
    counts = _counts(content.get("n"), values, where)
    return bare_baseline(
        {name: _score(name, value, counts.get(name), where) for name, value in values.items()}
    )


def _score(name: str, given: Any, n: int | None, where: str) -> BaselineScore:
    entry = given if isinstance(given, Mapping) else {"value": given}
    for key in entry:
        if key not in _KEYS:
            raise CkptbenchError(
                f"unknown key {key!r}{nearest(key, _KEYS)}",
                where=f"{where}: {name}",
                remedy=f"Keys are {', '.join(_KEYS)}.",
            )
    kind = known_metric(name)
    value = entry.get("value")
    if not is_number(value):
        raise CkptbenchError(f"{name!r} is {value!r}, not a number", where=where, remedy=FRACTIONS)
    if kind.unit == "share" and not 0 <= value <= 1:
        why = "looks like a percentage" if 1 < value <= 100 else "is not between 0 and 1"
        what = f"{name!r} is {value}, which {why}: fractions are expected"
        raise CkptbenchError(what, where=where, remedy=FRACTIONS)
    error = entry.get("standard_error")
    if error is not None and (not is_number(error) or error < 0):
        raise CkptbenchError(
            f"'standard_error' is {error!r}",
            where=f"{where}: {name}",
            remedy="It is a number from 0, in the unit of the value.",
        )
    own = _counts(entry.get("n"), {name: 0}, f"{where}: {name}").get(name)
    return BaselineScore(
        float(value),
        None if error is None else float(error),
        n if own is None else own,
        kind.unit,
        kind.higher_is_better,
    )


def _counts(n: Any, values: Mapping[str, Any], where: str) -> dict[str, int]:
    by_metric = n if isinstance(n, Mapping) else {} if n is None else dict.fromkeys(values, n)
    for metric, count in by_metric.items():
        if metric not in values:
            raise CkptbenchError(
                f"'n' names the unknown metric {metric!r}{nearest(metric, values)}",
                where=where,
                remedy="Give n for metrics that the file has a score of.",
            )
        if not is_count(count):
            raise CkptbenchError(
                f"'n' is {count!r}",
                where=where,
                remedy="n is the number of samples: a whole number from 1, or one by metric.",
            )
    return dict(by_metric)
