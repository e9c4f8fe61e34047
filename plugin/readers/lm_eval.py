"""A results file of lm-eval, and the sample logs beside it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .._util.errors import CkptbenchError
from ..results.measurement import BenchmarkMeasurement, Measurement
from ..scores.metric import SHARE, known_metric
from ..scores.score import SampleValues, Score
from .model_names import model_of, named, revision_of
from .numbers import read_lm_eval
from .reported import read_object, stated_score
from .result import Result, SampleRow


def read_lm_eval_file(path: Path) -> Result:
    """Read what lm-eval wrote for one model.

    A task is a benchmark; those of a group that is scored itself are shown beside it, since a
    group's score is made of theirs. A task's protocol is its version and number of shots, where
    both are stated. Its metrics are named `TASK METRIC,FILTER` as in the file. Where a sample log
    stands beside the file (`--log_samples`), the task has a table, by the content hash of each
    document. A metric whose documents do not have the stated score as their mean has no values
    there and is compared as a number.

    Raises:
        CkptbenchError: `results` does not hold numbers by task, or a log is cut off.
    """
    content = read_object(path)
    scores = read_lm_eval(content, str(path)).benchmarks[""].scores
    by_task: dict[str, list[Score]] = defaultdict(list)
    notes: list[str] = []
    for name, held in scores.items():
        task, _, metric = name.rpartition(" ")
        kind = known_metric(metric, higher_is_better=_direction(content, task, metric))
        if kind.unit == "" and kind.higher_is_better:
            kind = SHARE
        score = stated_score(
            name, held.value, n=held.n, standard_error=held.standard_error, kind=kind
        )
        by_task[task].append(score)
    benchmarks = []
    members = _members(content, by_task)
    for task, found in by_task.items():
        log = _log_of(path, task)
        table, note = _table(log, tuple(found)) if log else (None, "")
        notes += [note] if note else []
        protocol = _protocol(content, task)
        primary = task not in members
        benchmarks.append(BenchmarkMeasurement(task, protocol, primary, tuple(found), table))
    model = model_of(content)
    name, run, step = named(model, revision_of(content), path)
    measurement = Measurement(
        name=name,
        run=run,
        step=step,
        benchmarks=tuple(benchmarks),
        source=str(path),
        spec=model,
    )
    return Result(path, "lm-eval", (measurement,), samples=partial(_rows, path), notes=tuple(notes))


def stamp_of(path: Path) -> str:
    """The time in the name of a results file or a log, as text that sorts by it."""
    return path.stem.rpartition("_")[2]


def _direction(content: Mapping[str, Any], task: str, metric: str) -> bool | None:
    """Whether more of a metric is better, as far as the file says."""
    name = metric.partition(",")[0]
    stated = content.get("higher_is_better")
    of_task = stated.get(task) if isinstance(stated, Mapping) else None
    rises = of_task.get(name) if isinstance(of_task, Mapping) else None
    return rises if isinstance(rises, bool) else None


def _members(content: Mapping[str, Any], scored: Collection[str]) -> set[str]:
    """The tasks and groups that belong to a group which has a score of its own."""
    groups = content.get("group_subtasks")
    if not isinstance(groups, Mapping):
        return set()
    return {name for group, names in groups.items() if group in scored for name in names or ()}


def _protocol(content: Mapping[str, Any], task: str) -> str:
    """A task's protocol as our own runs of it name theirs: its version and number of shots."""
    version, shots = (
        held.get(task) if isinstance(held := content.get(key), Mapping) else None
        for key in ("versions", "n-shot")
    )
    return "" if version is None or shots is None else f"{task}/v{version}-{shots}-shot"


def _log_of(path: Path, task: str) -> Path | None:
    """The sample log of a task that was written with the results; the newest one before it."""
    exact = path.with_name(f"samples_{task}_{stamp_of(path)}.jsonl")
    if exact.is_file():
        return exact
    # Newer versions of lm-eval write the logs moments before the results.
    prefix = f"samples_{task}_"
    found = [
        log
        for log in path.parent.glob("samples_*.jsonl")
        if log.name.startswith(prefix) and log.stem.removeprefix(prefix) == stamp_of(log)
    ]
    only_results = len(list(path.parent.glob("results_*.json"))) == 1
    return max(found, key=stamp_of) if found and only_results else None


def _documents(log: Path) -> Iterator[dict[str, Any]]:
    try:
        with log.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    raise CkptbenchError(
                        "the line was cut off",
                        where=f"{log}:{number}",
                        remedy="Copy the log again, or take it away to compare numbers.",
                    ) from None
                if isinstance(row, dict):
                    yield row
    except (OSError, UnicodeDecodeError) as error:
        raise CkptbenchError(f"cannot be read: {error}", where=str(log)) from error


def _key(row: Mapping[str, Any]) -> str:
    """What makes a document the same in another log: its content, or else its number."""
    return str(row.get("doc_hash") or f"doc-{row.get('doc_id')}")


def _table(log: Path, scores: tuple[Score, ...]) -> tuple[SampleValues | None, str]:
    """The documents' values of a task's scores, and a note on what has none."""
    columns: list[dict[str, float]] = [{} for _ in scores]
    wanted: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for place, score in enumerate(scores):
        metric, _, filter_name = score.metric.rpartition(" ")[2].partition(",")
        wanted[filter_name].append((place, metric))
    times: dict[tuple[str, str], int] = defaultdict(int)
    for row in _documents(log):
        filter_name = str(row.get("filter", "none"))
        key = _key(row)
        times[filter_name, key] += 1
        # The same document asked twice is two samples, in the order of the log.
        key = key if times[filter_name, key] == 1 else f"{key}-{times[filter_name, key]}"
        for place, metric in wanted.get(filter_name, ()):
            value = row.get(metric)
            if isinstance(value, bool | int | float) and isfinite(value):
                columns[place][key] = float(value)
    kept = [
        column if _is_mean_of(column, score) else {}
        for column, score in zip(columns, scores, strict=True)
    ]
    missing = [s.metric for s, column in zip(scores, kept, strict=True) if not column]
    note = ""
    if missing:
        names = ", ".join(missing)
        note = f"{names}: its mean over the documents of {log.name} is another; taken as a number"
    if len(missing) == len(scores):
        return None, note
    samples = tuple(sorted({key for column in kept for key in column}))
    values = np.array([[column.get(s, np.nan) for column in kept] for s in samples])
    return SampleValues(tuple(s.metric for s in scores), samples, samples, values), note


def _is_mean_of(column: Mapping[str, float], score: Score) -> bool:
    if not column or score.value is None or (score.n and score.n != len(column)):
        return False
    return abs(sum(column.values()) / len(column) - score.value) < 1e-6


def _rows(path: Path, checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
    log = _log_of(path, benchmark)
    if log is None:
        return
    protocol = _protocol(read_object(path), benchmark)
    for row in _documents(log):
        filter_name = str(row.get("filter", "none"))
        names = [
            name for name in row.get("metrics") or () if isinstance(row.get(name), int | float)
        ]
        values = {f"{benchmark} {name},{filter_name}": float(row[name]) for name in names}
        passed = bool(values) and next(iter(values.values())) >= 1.0
        answer = row.get("filtered_resps")
        yield SampleRow(
            checkpoint=checkpoint,
            benchmark=benchmark,
            protocol=protocol,
            id=f"{benchmark}/{row.get('doc_id')}",
            hash=_key(row),
            nodeid="",
            trial=0,
            status="passed" if passed else "missed",
            reason="",
            values=dict(values),
            fields={"doc": row.get("doc"), "target": row.get("target")},
            response={"filtered_resps": answer} if answer is not None else None,
        )
