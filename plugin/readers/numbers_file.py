"""Baselines from files that hold numbers only: bare scores, and lm-eval's results."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeGuard

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import Scalar
from ..gate.baseline import Baseline, BaselineScore, bare_baseline
from ..scores.metric import known_metric

_KEYS = ("value", "standard_error", "n")
_FRACTIONS = "Scores are fractions: write 0.6778, not 67.78."


def read_bare_numbers(content: Mapping[str, Any], where: str) -> Baseline:
    """The baseline of `{"real@1": 0.6778, "real@5": 0.8244, "n": 2400}`.

    `n` may be missing, one number for all, or a number by metric. A value may be an object with
    `value`, `standard_error` and `n`. Names of shares must have fractions; what other names mean
    is declared by the benchmark they are compared with.

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
        {name: _stated(name, value, counts.get(name), where) for name, value in values.items()}
    )


def _stated(name: str, given: Any, n: int | None, where: str) -> BaselineScore:
    held = given if isinstance(given, Mapping) else {"value": given}
    for key in held:
        if key not in _KEYS:
            raise CkptbenchError(
                f"unknown key {key!r}{nearest(key, _KEYS)}",
                where=f"{where}: {name}",
                remedy=f"Keys are {', '.join(_KEYS)}.",
            )
    kind = known_metric(name)
    _check_number(name, held.get("value"), kind.unit == "share", where)
    error = held.get("standard_error")
    if error is not None and (not _is_number(error) or error < 0):
        raise CkptbenchError(
            f"'standard_error' is {error!r}",
            where=f"{where}: {name}",
            remedy="It is a number from 0, in the unit of the value.",
        )
    own = _counts(held.get("n"), {name: 0}, f"{where}: {name}").get(name)
    return BaselineScore(
        float(held["value"]),
        None if error is None else float(error),
        n if own is None else own,
        kind.unit,
        kind.higher_is_better,
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
        n = _effective(content, task)
        for name, value in numbers.items():
            metric, comma, filter_name = name.partition(",")
            # Keys without a filter (`alias`, `sample_len`) are not metrics.
            if not comma or metric.endswith("_stderr") or not _is_number(value):
                continue
            error = numbers.get(f"{metric}_stderr,{filter_name}")
            stated = float(error) if _is_number(error) and error >= 0 else None
            scores[f"{task} {name}"] = BaselineScore(float(value), stated, n)
    if not scores:
        raise CkptbenchError("'results' holds no metric", where=where, remedy=remedy)
    return bare_baseline(scores, _chat(content))


def _chat(content: Mapping[str, Any]) -> dict[str, Scalar]:
    """What lm-eval's command line writes of the prompts: the template's text, and the system's."""
    if "chat_template" not in content:
        return {}
    chats = bool(content["chat_template"])
    # lm-eval states it of plain prompts too, where it changes nothing.
    turns = chats and bool(content.get("fewshot_as_multiturn"))
    system = str(content.get("system_instruction") or "")
    return {"chat": chats, "fewshot_as_multiturn": turns, "system_instruction": system}


def _check_number(name: str, value: Any, share: bool, where: str) -> None:
    if not _is_number(value):
        raise CkptbenchError(f"{name!r} is {value!r}, not a number", where=where, remedy=_FRACTIONS)
    if share and not 0 <= value <= 1:
        kind = "looks like a percentage" if 1 < value <= 100 else "is not between 0 and 1"
        raise CkptbenchError(
            f"{name!r} is {value}, which {kind}: fractions are expected",
            where=where,
            remedy=_FRACTIONS,
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
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise CkptbenchError(
                f"'n' is {count!r}",
                where=where,
                remedy="n is the number of samples: a whole number from 1, or one by metric.",
            )
    return dict(by_metric)


def _effective(content: Mapping[str, Any], task: str) -> int | None:
    counts = content.get("n-samples")
    of_task = counts.get(task) if isinstance(counts, Mapping) else None
    n = of_task.get("effective") if isinstance(of_task, Mapping) else of_task
    return n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else None


def _is_number(value: Any) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)
