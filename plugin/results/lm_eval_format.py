"""lm-eval's result files: one checkpoint's result in one benchmark, written and read back.

Tools that read lm-eval's files read these. What lm-eval has no key for stands under `ckptbench`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from .._util.jsonio import JSON
from .as_json import as_json
from .layout import safe_name
from .summary import BenchmarkResult, CheckpointResult, Summary

# Parts of lm-eval's result that are kept by task.
_BY_TASK = ("configs", "versions", "n-shot", "higher_is_better", "n-samples", "task_hashes")
_PARTS = ("results", "groups", "group_subtasks", *_BY_TASK, "samples")
NO_FILTER = "none"
LM_EVAL = "lm-eval"


def task_results(
    summary: Summary,
    checkpoint: CheckpointResult,
    benchmark: str,
    official: Mapping[str, Any] | None = None,
) -> dict[str, JSON]:
    """The content of `<task>_results.json`.

    Args:
        benchmark: name of the benchmark, task or group.
        official: what lm-eval made of this checkpoint's answers; None for other benchmarks.
    """
    members = [result for result in checkpoint.benchmarks if result.benchmark == benchmark]
    theirs = official if official and benchmark in official["results"] else None
    found = _theirs(theirs, benchmark) if theirs else _ours(members)
    return {
        **found,
        "config": {
            "model": "ckptbench",
            "model_args": checkpoint.spec,
            **as_json(dict(sorted(checkpoint.settings.items()))),
        },
        "date": datetime.fromisoformat(summary.started).timestamp(),
        "model_name": checkpoint.name,
        "total_evaluation_time_seconds": as_json(sum(result.seconds for result in members)),
        "ckptbench": {
            "format": "ckptbench.benchmark/1",
            "run_id": summary.run_id,
            "checkpoint": checkpoint.name,
            "fingerprint": checkpoint.fingerprint,
            **({"aggregated_by": LM_EVAL} if theirs else {}),
            "baseline": checkpoint.baseline,
            "protocols": [as_json(result) for result in members],
        },
    }


def _theirs(official: Mapping[str, Any], name: str) -> dict[str, JSON]:
    """The part of lm-eval's result that is of one task, or of one group and its tasks."""
    members = with_all_below(name, official)

    def of_members(part: str) -> dict[str, JSON]:
        return {n: value for n, value in official.get(part, {}).items() if n in members}

    found: dict[str, JSON] = {"results": as_json(of_members("results"))}
    if groups := of_members("groups"):
        found["groups"] = as_json(groups)
    found["group_subtasks"] = of_members("group_subtasks")
    found |= {part: as_json(of_members(part)) for part in _BY_TASK}
    if samples := of_members("samples"):
        found["samples"] = as_json(samples)
    return found


def results_file(checkpoint: CheckpointResult, benchmark: str, *, alone: bool) -> str:
    """Name of a benchmark's result file; it has the checkpoint's unless the run has no other."""
    owner = "" if alone else f"{safe_name(checkpoint.name)}_"
    return f"{owner}{safe_name(benchmark)}_results.json"


def read_results_file(path: Path) -> dict[str, Any]:
    """The object that a result file holds; an empty one when it is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(content, dict) and isinstance(content.get("ckptbench"), dict)
    return content if whole else {}


def read_official(folder: Path, summary: Summary) -> dict[str, dict[str, dict[str, Any]]]:
    """What lm-eval made of a run, by checkpoint and name of the task or group.

    It is read from the run's result files. One that is missing or damaged, or that does not hold
    the very results of the summary, is ignored: it may be of an earlier session of the run.

    Args:
        summary: of the run, as `summary.json` has it.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    alone = len(summary.checkpoints) == 1
    for checkpoint in summary.checkpoints:
        for benchmark in checkpoint.benchmark_names:
            content = read_results_file(folder / results_file(checkpoint, benchmark, alone=alone))
            official = of_lm_eval(content)
            if official is None:
                continue
            expected = task_results(summary, checkpoint, benchmark, official)
            if content["ckptbench"] == expected["ckptbench"]:
                found.setdefault(checkpoint.name, {})[benchmark] = official
    return found


def of_lm_eval(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """What lm-eval made of a task or group, of its result file; None where lm-eval made nothing."""
    if content.get("ckptbench", {}).get("aggregated_by") != LM_EVAL:
        return None
    found = {part: content[part] for part in _PARTS if isinstance(content.get(part), dict)}
    return found if "results" in found else None


def united(found: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What lm-eval made of several tasks and groups of one checkpoint, as one result of it."""
    whole: dict[str, Any] = {"results": {}}
    for each in found:
        for part, by_name in each.items():
            whole.setdefault(part, {}).update(by_name)
    return whole


def tasks_below(name: str, official: Mapping[str, Any]) -> set[str]:
    """The tasks of a group, those of groups within it too; a task is its own."""
    subtasks = official.get("group_subtasks", {})
    return {each for each in with_all_below(name, official) if not subtasks.get(each)}


def with_all_below(name: str, official: Mapping[str, Any]) -> set[str]:
    """A task or group with the tasks and groups in it, at any depth."""
    subtasks: Mapping[str, list[str]] = official.get("group_subtasks", {})
    found, rest = {name}, [name]
    while rest:
        new = [task for task in subtasks.get(rest.pop(), ()) if task not in found]
        found.update(new)
        rest += new
    return found


def _ours(members: list[BenchmarkResult]) -> dict[str, JSON]:
    """A benchmark of our own: its gated protocol under its name, others under theirs."""
    found: dict[str, JSON] = {}
    for result in members:
        task = result.benchmark if result.primary else result.protocol
        data, coverage = result.dataset, result.coverage
        directions = {score.metric: score.higher_is_better for score in result.scores}
        path = data.source or data.name
        parts = {
            "results": _scores(task, result),
            "group_subtasks": [],
            "configs": {"task": task, "protocol": result.protocol, "dataset_path": path},
            "versions": result.protocol,
            "n-shot": 0,
            "higher_is_better": {m: more for m, more in directions.items() if more is not None},
            "n-samples": {"original": coverage.planned, "effective": coverage.scored},
            "task_hashes": data.hash,
        }
        for part, value in parts.items():
            found.setdefault(part, {})[task] = value
    return found


def _scores(task: str, result: BenchmarkResult) -> dict[str, JSON]:
    found: dict[str, JSON] = {"alias": task, "sample_len": result.coverage.scored}
    complete = result.coverage.complete
    for score in result.scores:
        metric, _, key = score.metric.rpartition(" ")[2].partition(",")
        key = key or NO_FILTER
        # A score of some of the samples would look like one of all.
        error = as_json(score.standard_error) if complete else None
        found[f"{metric},{key}"] = as_json(score.value) if complete else None
        found[f"{metric}_stderr,{key}"] = "N/A" if error is None else error
    return found
