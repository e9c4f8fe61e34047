"""The same tasks asked by lm-eval and by a run of ours, and their numbers side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from run_folder import RunFolder


def model(folder: Path, batch_size: int) -> Any:
    """lm-eval's face of a Hugging Face folder, in fp32 on the CPU."""
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=batch_size)


def evaluated(lm: Any, tasks: Sequence[str], folder: Path, **settings: Any) -> Mapping[str, Any]:
    """What `simple_evaluate` returns for tasks of a folder."""
    import lm_eval

    manager = _manager(folder, False)
    if not set(tasks) <= set(manager.all_tasks):
        manager = _manager(folder, True)
    found = lm_eval.simple_evaluate(lm, tasks=list(tasks), task_manager=manager, **settings)
    assert found is not None
    return found


@cache
def _manager(folder: Path, with_lm_evals: bool) -> Any:
    """lm-eval's index of a folder's tasks; with its own ones, it takes seconds to make."""
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=str(folder), include_defaults=with_lm_evals)


def stated(run: Path) -> dict[str, dict[str, Any]]:
    """The values and standard errors of a run's result files, by task and group."""
    found: dict[str, dict[str, Any]] = {}
    for file in run.glob("*_results.json"):
        content = json.loads(file.read_text())
        for task, values in content.get("results", {}).items():
            assert found.setdefault(task, values) == values
    return found


def scored(run: Path) -> dict[str, tuple[float, float | None]]:
    """Each score of a run's summary and its standard error."""
    scores = RunFolder(run).scores
    return {metric: (score["value"], score["standard_error"]) for metric, score in scores.items()}


def assert_same_numbers(run: Path, expected: Mapping[str, Any]) -> int:
    """See that every number of lm-eval stands in our files and in our summary.

    Returns:
        How many metrics were compared, each with its standard error.
    """
    files, scores = stated(run), scored(run)
    compared = 0
    # A group's own values stand under `groups`, and under `results` too where it aggregates.
    for task, values in {**expected["results"], **expected.get("groups", {})}.items():
        for key, value in values.items():
            name, comma, filtered = key.partition(",")
            if not comma or name.endswith("_stderr"):
                continue
            in_file = files[task][key]
            error, our_error = (v[f"{name}_stderr,{filtered}"] for v in (values, files[task]))
            number = None if our_error == "N/A" else our_error
            assert scores[f"{task} {key}"] == (in_file, number)
            assert in_file == value, f"{task} {key}"
            assert our_error == error, f"standard error of {task} {key}"
            compared += 1
    return compared
