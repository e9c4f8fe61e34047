"""The average over tasks: what checkpoints are compared by where there is no composite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum, sqrt

from ..results.measurement import Measurement
from ..scores.intervals import normal_interval
from ..scores.score import Score
from .compare import AVERAGE, first_of, standard_error_of

_METHOD = "independent-tasks"


def with_average(checkpoints: Sequence[Measurement]) -> tuple[tuple[Measurement, ...], str]:
    """The checkpoints of a run with the average of their tasks, and why there is none.

    Each task weighs the same and counts with its first metric that is a share of which more is
    better. Averages over different tasks cannot be compared, so it is only made where every
    checkpoint has a value in every task. A single task is its own average and gets none.

    Returns:
        The checkpoints, and a sentence where there is no average although there are several
        tasks; else an empty one.
    """
    tasks = [
        {b.benchmark: score for b in each.primary_benchmarks() if (score := first_of(b))}
        for each in checkpoints
    ]
    names = list(dict.fromkeys(name for held in tasks for name in held))
    if len(names) < 2:
        return tuple(checkpoints), ""
    for each, held in zip(checkpoints, tasks, strict=True):
        for name in names:
            if name not in held or held[name].value is None:
                return tuple(checkpoints), f"no average of the tasks: {each.name} lacks {name}"
    kinds = {tuple(held[name].metric for name in names) for held in tasks}
    if len(kinds) > 1:
        return tuple(checkpoints), "no average of the tasks: their first metrics differ"
    made = [
        replace(each, average=average_of([held[name] for name in names]))
        for each, held in zip(checkpoints, tasks, strict=True)
    ]
    return tuple(made), ""


def average_of(scores: Sequence[Score]) -> Score:
    """The mean of the tasks' scores, shares, with `sqrt(sum of SE^2) / tasks` as standard error.

    Tasks have different samples, so their errors are independent.

    Args:
        scores: one for each task, each with a value.
    """
    values = [score.value or 0.0 for score in scores]
    value = fsum(values) / len(values)
    errors = [standard_error_of(score) for score in scores]
    n, clusters = sum(s.n for s in scores), sum(s.clusters for s in scores)
    known = [error for error in errors if error is not None]
    if len(known) < len(scores):
        missing = next(s.metric for s, e in zip(scores, errors, strict=True) if e is None)
        return Score(AVERAGE, value, n, clusters, reason=f"{missing} has no standard error")
    error = sqrt(fsum(e * e for e in known)) / len(scores)
    return Score(AVERAGE, value, n, clusters, error, normal_interval(value, error), _METHOD)
