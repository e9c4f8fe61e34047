"""EvalPlus's `*_eval_results.json`: every program's status under the base tests and the added ones.

https://github.com/evalplus/evalplus, `evalplus/evaluate.py`: `eval` has the programs of each
problem, since version 0.2 as `[{"base_status": "pass", "plus_status": "fail"}]`, before as
`{"base": [["success", ...]], "plus": [["failed", ...]]}`; `pass_at_k` is there since 0.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from .._util.errors import CkptbenchError
from ..gate.measurement import BenchmarkMeasurement
from ..scores.reducers import estimate_pass_at_k
from ..scores.score import SampleValues
from .numbers import as_result
from .reported import fraction, reported_score
from .result import Result

_PASSED = ("pass", "success")
_KS = (1, 10, 100)  # those that EvalPlus prints
_ROUNDING = 1e-6
_AGAIN = "Run evalplus.evaluate again."


def is_evalplus(content: Mapping[str, Any]) -> bool:
    """Whether a JSON object is EvalPlus's."""
    return isinstance(content.get("eval"), Mapping) and bool({"pass_at_k", "hash"} & set(content))


def read_evalplus(content: Mapping[str, Any], path: Path) -> Result:
    """Read pass@k of the base tests and of all tests, such as `humaneval-plus pass@1`.

    The problems are the samples, by their task ids, so two files are compared in pairs. Of a file
    without statuses the numbers are read.

    Raises:
        CkptbenchError: it has neither statuses nor pass@k, or they contradict each other.
    """
    try:
        return _read(content, path)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise CkptbenchError(
            f"is not as EvalPlus writes it: {error}", where=str(path), remedy=_AGAIN
        ) from None


def _read(content: Mapping[str, Any], path: Path) -> Result:
    problems = {task: list(_statuses(programs)) for task, programs in content["eval"].items()}
    datasets = {task.partition("/")[0].lower() for task in problems}
    dataset = datasets.pop() if len(datasets) == 1 else "evalplus"
    benchmarks = []
    for index, tests in enumerate(("base", "plus")):
        outcomes = {task: [each[index] for each in found] for task, found in problems.items()}
        benchmarks.append(_benchmark(f"{dataset}-{tests}", tests, outcomes, content, str(path)))
    benchmarks = [bench for bench in benchmarks if bench.scores]
    if not benchmarks:
        raise CkptbenchError(
            "holds neither the status of a program for every problem nor pass@k",
            where=str(path),
            remedy=_AGAIN,
        )
    name = path.stem.removesuffix("eval_results").rstrip("_") or path.resolve().parent.name
    return as_result(path, name, benchmarks)


def _statuses(programs: Any) -> Iterator[tuple[bool | None, bool | None]]:
    """Whether each program of a problem passes the base tests, and those and the added ones."""
    if isinstance(programs, Mapping):
        sides = [[each[0] for each in programs.get(side) or ()] for side in ("base", "plus")]
        pairs = list(zip_longest(*sides))
    else:
        pairs = [(each.get("base_status"), each.get("plus_status")) for each in programs]
    for base, plus in pairs:
        passed = None if base is None else base in _PASSED
        yield passed, None if plus is None else bool(passed) and plus in _PASSED


def _benchmark(
    name: str,
    tests: str,
    outcomes: Mapping[str, list[bool | None]],
    content: Mapping[str, Any],
    where: str,
) -> BenchmarkMeasurement:
    stated = (content.get("pass_at_k") or {}).get(tests) or {}
    complete = bool(outcomes) and all(each and None not in each for each in outcomes.values())
    fewest = min(map(len, outcomes.values())) if complete else 0
    columns = {
        f"pass@{k}": [estimate_pass_at_k(len(o), o.count(True), k) for o in outcomes.values()]
        for k in _KS
        if k <= fewest
    }
    scores = []
    for metric in columns or stated:
        known = fraction(stated, metric, f"{where}: pass_at_k -> {tests}")
        column = columns.get(metric)
        value = float(np.mean(np.array(column))) if column else known
        if known is not None and value is not None and abs(known - value) > _ROUNDING:
            raise CkptbenchError(
                f"{tests} {metric} is {known:g}, and {value:g} by the programs' statuses",
                where=where,
                remedy=_AGAIN,
            )
        scores.append(reported_score(f"{name} {metric}", value, n=len(outcomes) or None))
    table = None
    if columns:
        tasks, metrics = tuple(outcomes), tuple(score.metric for score in scores)
        values = np.array(list(columns.values()), dtype=float).T
        table = SampleValues(metrics, tasks, tasks, values)
    return BenchmarkMeasurement(name, "", True, tuple(scores), table)
