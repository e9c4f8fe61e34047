"""lm-eval's results and sample logs as measurements and baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._util.names import step_in
from ..gate.baseline import FORMAT, Baseline, BaselineScore, bare_baseline, baseline_numbers
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..results.lm_eval_files import ResultsFile, logged_documents, sample_log
from ..scores.metric import SHARE, known_metric
from ..scores.score import SampleValues, Score
from .reported import read_object, reported_score, run_of
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
    file = ResultsFile(read_object(path), str(path))
    notes: list[str] = []
    benchmarks = []
    for bench in _benchmarks(file):
        log = sample_log(path, bench.benchmark)
        table, note = _table(log, bench.scores) if log else (None, "")
        notes += [note] if note else []
        benchmarks.append(replace(bench, table=table))
    name, run, step = named(file.model, file.revision, path)
    measurement = Measurement(
        name=name,
        run=run,
        step=step,
        benchmarks=tuple(benchmarks),
        source=str(path),
        spec=file.model,
    )
    return Result(
        path, "lm-eval", (measurement,), samples=partial(_sample_rows, path), notes=tuple(notes)
    )


def read_lm_eval(content: Mapping[str, Any], where: str) -> Baseline:
    """The baseline of a results file of lm-eval, without samples.

    It has the protocols of the tasks, or bare numbers where one is not stated. Metrics are named
    `TASK METRIC,FILTER`, such as `hellaswag acc,none`, as in the file. Where it states whether it
    was a chat, its settings do too; see `identity`.

    Raises:
        CkptbenchError: `results` does not hold numbers by task.
    """
    file = ResultsFile(content, where)
    benchmarks = _benchmarks(file)
    if all(bench.protocol for bench in benchmarks):
        name, _, _ = named(file.model, file.revision, Path(where))
        by_protocol = {bench.protocol: baseline_numbers(bench) for bench in benchmarks}
        return Baseline(FORMAT, name, "", {}, "", "", by_protocol)
    scores = {
        f"{each.task} {each.metric}": BaselineScore(each.value, each.standard_error, each.n)
        for each in file.metrics()
    }
    return bare_baseline(scores, file.chat())


def named(model: str, revision: str, path: Path) -> tuple[str, str, int | None]:
    """A checkpoint's name, its run, and its step.

    Revisions of one model are checkpoints of one run, named by the revision; otherwise the model
    is the checkpoint.
    """
    last = model.rstrip("/").rpartition("/")[2]
    if revision and revision != "main":
        return revision, last, step_in(revision)
    name = last or path.stem
    return name, run_of(model), step_in(name)


def _benchmarks(file: ResultsFile) -> list[BenchmarkMeasurement]:
    """The tasks and groups of a file, with the scores that it states."""
    by_task: dict[str, list[Score]] = defaultdict(list)
    for each in file.metrics():
        rises = file.higher_is_better(each.task, each.metric)
        kind = known_metric(each.metric, higher_is_better=rises)
        if kind.unit == "" and kind.higher_is_better:
            kind = SHARE
        score = reported_score(
            f"{each.task} {each.metric}",
            each.value,
            n=each.n,
            standard_error=each.standard_error,
            kind=kind,
        )
        by_task[each.task].append(score)
    members, settings = file.members(by_task), file.chat()
    return [
        BenchmarkMeasurement(
            task, file.protocol(task), task not in members, tuple(scores), settings=settings
        )
        for task, scores in by_task.items()
    ]


def _table(log: Path, scores: tuple[Score, ...]) -> tuple[SampleValues | None, str]:
    """The documents' values of a task's scores, and a note on what has none."""
    columns: list[dict[str, float]] = [{} for _ in scores]
    wanted: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for index, score in enumerate(scores):
        metric, _, filter_name = score.metric.rpartition(" ")[2].partition(",")
        wanted[filter_name].append((index, metric))
    times: dict[tuple[str, str], int] = defaultdict(int)
    for document in logged_documents(log):
        same = document.filter, document.key
        times[same] += 1
        # The same document asked twice is two samples, in the order of the log.
        key = document.key if times[same] == 1 else f"{document.key}-{times[same]}"
        for index, metric in wanted.get(document.filter, ()):
            value = document.value(metric)
            if value is not None:
                columns[index][key] = value
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


def _sample_rows(path: Path, checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
    log = sample_log(path, benchmark)
    if log is None:
        return
    protocol = ResultsFile(read_object(path), str(path)).protocol(benchmark)
    for document in logged_documents(log):
        values = {f"{benchmark} {name}": value for name, value in document.values.items()}
        passed = bool(values) and next(iter(values.values())) >= 1.0
        yield SampleRow(
            checkpoint=checkpoint,
            benchmark=benchmark,
            protocol=protocol,
            id=f"{benchmark}/{document.number}",
            hash=document.key,
            nodeid="",
            trial=0,
            status="passed" if passed else "missed",
            reason="",
            values=dict(values),
            fields=document.fields,
            response=document.response,
        )
