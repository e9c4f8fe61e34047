"""lm-eval's results, of any version of it, and the sample logs beside them: all that is known of
their format where they are read."""

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
from .._util.jsonio import Scalar
from .._util.names import step_in
from ..gate.baseline import Baseline, BaselineScore, bare_baseline
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..scores.metric import SHARE, known_metric
from ..scores.score import SampleValues, Score
from .reported import is_count, is_number, read_object, reported_score, run_of
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
    for name, entry in scores.items():
        task, _, metric = name.rpartition(" ")
        kind = known_metric(metric, higher_is_better=direction_of(content, task, metric))
        if kind.unit == "" and kind.higher_is_better:
            kind = SHARE
        score = reported_score(
            name, entry.value, n=entry.n, standard_error=entry.standard_error, kind=kind
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
    return Result(
        path, "lm-eval", (measurement,), samples=partial(_sample_rows, path), notes=tuple(notes)
    )


def read_lm_eval(content: Mapping[str, Any], where: str) -> Baseline:
    """The baseline of a results file of lm-eval.

    Metrics are named `TASK METRIC,FILTER`, such as `hellaswag acc,none`, as in the file; standard
    errors come from its `_stderr` entries and n from the effective number of its `n-samples`. Where
    it states whether it was a chat, its settings do too; see `identity`.

    Raises:
        CkptbenchError: `results` does not hold numbers by task.
    """
    remedy = "Give the results_*.json that lm-eval wrote."
    scores: dict[str, BaselineScore] = {}
    results = content["results"]
    if not isinstance(results, Mapping):
        raise CkptbenchError("'results' is no object", where=where, remedy=remedy)
    for task, numbers in results.items():
        if not isinstance(numbers, Mapping):
            raise CkptbenchError(f"results of {task!r} are no object", where=where, remedy=remedy)
        n = _count_of(content, task)
        for name, value in numbers.items():
            metric, comma, filter_name = name.partition(",")
            # Keys without a filter (`alias`, `sample_len`) are not metrics.
            if not comma or metric.endswith("_stderr") or not is_number(value):
                continue
            error = numbers.get(f"{metric}_stderr,{filter_name}")
            known = float(error) if is_number(error) and error >= 0 else None
            scores[f"{task} {name}"] = BaselineScore(float(value), known, n)
    if not scores:
        raise CkptbenchError("'results' holds no metric", where=where, remedy=remedy)
    return bare_baseline(scores, _chat(content))


def model_of(content: Mapping[str, Any]) -> str:
    """The model's name or folder; empty where the file does not say."""
    name = content.get("model_name")
    if isinstance(name, str) and name:
        return name
    return _arguments(content).get("pretrained", "")


def revision_of(content: Mapping[str, Any]) -> str:
    """The revision of the model on its hub, such as `step1000`; empty without one."""
    return _arguments(content).get("revision", "")


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


def _arguments(content: Mapping[str, Any]) -> dict[str, str]:
    """`model_args`, which is a text of pairs in some versions and an object in others."""
    config = content.get("config")
    given = config.get("model_args") if isinstance(config, Mapping) else None
    if isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}
    if isinstance(given, str):
        return dict(part.strip().partition("=")[::2] for part in given.split(","))
    return {}


def direction_of(content: Mapping[str, Any], task: str, metric: str) -> bool | None:
    """Whether more of a metric is better, as far as the file says."""
    of_task = _of_task(content, "higher_is_better", task)
    rises = of_task.get(metric.partition(",")[0]) if isinstance(of_task, Mapping) else None
    return rises if isinstance(rises, bool) else None


def _of_task(content: Mapping[str, Any], key: str, task: str) -> Any:
    """What the file has of a task under one of its keys; None without it."""
    by_task = content.get(key)
    return by_task.get(task) if isinstance(by_task, Mapping) else None


def _count_of(content: Mapping[str, Any], task: str) -> int | None:
    """Documents that were asked, the effective number where there are two."""
    counts = _of_task(content, "n-samples", task)
    n = counts.get("effective") if isinstance(counts, Mapping) else counts
    return n if is_count(n) else None


def _members(content: Mapping[str, Any], scored: Collection[str]) -> set[str]:
    """The tasks and groups that belong to a group which has a score of its own."""
    groups = content.get("group_subtasks")
    if not isinstance(groups, Mapping):
        return set()
    return {name for group, names in groups.items() if group in scored for name in names or ()}


def _protocol(content: Mapping[str, Any], task: str) -> str:
    """A task's protocol as our own runs of it name theirs: its version and number of shots."""
    version, shots = (_of_task(content, key, task) for key in ("versions", "n-shot"))
    return "" if version is None or shots is None else f"{task}/v{version}-{shots}-shot"


def _chat(content: Mapping[str, Any]) -> dict[str, Scalar]:
    """What lm-eval's command line writes of the prompts: the template's text, and the system's."""
    if "chat_template" not in content:
        return {}
    chats = bool(content["chat_template"])
    # lm-eval writes it of plain prompts too, where it changes nothing.
    turns = chats and bool(content.get("fewshot_as_multiturn"))
    system = str(content.get("system_instruction") or "")
    return {"chat": chats, "fewshot_as_multiturn": turns, "system_instruction": system}


def stamp_of(path: Path) -> str:
    """The time in the name of a results file or a log, as text that sorts by it."""
    return path.stem.rpartition("_")[2]


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
    for index, score in enumerate(scores):
        metric, _, filter_name = score.metric.rpartition(" ")[2].partition(",")
        wanted[filter_name].append((index, metric))
    times: dict[tuple[str, str], int] = defaultdict(int)
    for row in _documents(log):
        filter_name = str(row.get("filter", "none"))
        key = _key(row)
        times[filter_name, key] += 1
        # The same document asked twice is two samples, in the order of the log.
        key = key if times[filter_name, key] == 1 else f"{key}-{times[filter_name, key]}"
        for index, metric in wanted.get(filter_name, ()):
            value = row.get(metric)
            if isinstance(value, bool | int | float) and isfinite(value):
                columns[index][key] = float(value)
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
