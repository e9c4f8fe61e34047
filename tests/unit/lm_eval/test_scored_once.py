"""A document is scored once, by its item; the end of a run takes what it came to."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ckptbench.api.requests import CompoundResponse, Generated
from ckptbench.fixtures.lm_eval import tasks as loading
from ckptbench.fixtures.lm_eval.benchmarks import benchmark_of
from ckptbench.fixtures.lm_eval.results import aggregate

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
)


def counted(task: Any) -> list[int]:
    """How often a task has scored each document so far; it counts from now on."""
    calls: list[int] = []
    score = task.process_results

    def counting(doc: Any, results: Any) -> Any:
        calls.append(int(doc["answer"].split()[-1]))
        return score(doc, results)

    task.process_results = counting
    return calls


@pytest.mark.parametrize(("task_name", "filters"), [("tiny_return", 2), ("tiny_f1", 1)])
def test_each_filter_of_a_document_is_scored_once(
    tmp_path: Path, task_name: str, filters: int
) -> None:
    small = runpy.run_path(str(ROOT / "tests/lm_eval_tasks/small_tasks.py"))
    loaded = loading.load(loading.Wanted((task_name,), (small["write"](tmp_path),)))
    task = loaded.tasks[task_name]
    calls = counted(task)
    benchmark = benchmark_of(task_name, task, "", loaded.documents(task_name))
    samples = list(benchmark.dataset)  # type: ignore[arg-type]
    read = benchmark.protocols[0].read
    rows = [
        (sample, CompoundResponse((Generated(f"    return n + {number}", 5, "eos"),)))
        for number, sample in enumerate(samples)
    ]
    for sample, answers in rows:
        read(sample, answers)  # type: ignore[arg-type]
    assert len(calls) == filters * len(samples)
    found = aggregate(loaded, {task_name: rows}, bootstrap_iters=100)
    assert len(calls) == filters * len(samples)
    # Of answers that no item has read, such as those of another run, they are made now.
    other = [(s, CompoundResponse((Generated("    return n", 3, "eos"),))) for s in samples]
    aggregate(loaded, {task_name: other}, bootstrap_iters=100)
    assert len(calls) == 2 * filters * len(samples)
    again = aggregate(loaded, {task_name: rows}, bootstrap_iters=100)
    assert again["results"] == found["results"]


def test_two_checkpoints_are_scored_once_each(tmp_path: Path) -> None:
    small = runpy.run_path(str(ROOT / "tests/lm_eval_tasks/small_tasks.py"))
    loaded = loading.load(loading.Wanted(("tiny_f1",), (small["write"](tmp_path),)))
    calls = counted(loaded.tasks["tiny_f1"])
    documents = loaded.documents("tiny_f1")
    samples = documents.samples()
    of_both = [
        [(s, CompoundResponse((Generated(f"    return n {sign} 2", 5, "eos"),))) for s in samples]
        for sign in "+-"
    ]
    for rows in of_both:
        for sample, answers in rows:
            documents.score(sample, answers)
    for rows in of_both:
        aggregate(loaded, {"tiny_f1": rows}, bootstrap_iters=100)
    assert len(calls) == 2 * len(samples)
