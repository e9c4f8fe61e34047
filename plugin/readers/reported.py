"""Scores of sources that report numbers without samples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .._util.jsonio import is_number, parse_object, reading
from ..scores.intervals import (
    BOUNDED_METHOD,
    Interval,
    normal_interval,
    proportion_standard_error,
    share_interval,
)
from ..scores.metric import SHARE, UNKNOWN, Metric
from ..scores.score import Score

NO_N = "n is not reported"
_PHASES = ("train_", "eval_", "test_", "predict_")
_OF_TRAINER = {"epoch", "loss", "runtime", "samples_per_second", "steps_per_second"}
FRACTIONS = "Scores are fractions: write 0.6778, not 67.78."


def reported_score(
    metric: str,
    value: float | None,
    *,
    n: int | None = None,
    standard_error: float | None = None,
    kind: Metric = SHARE,
) -> Score:
    """A score as far as a source reports it.

    A standard error that is not reported is that of a proportion over n independent samples. The
    interval of a share is `share_interval`'s, of another number with a standard error the normal
    one, and there is none where the error is 0: all answers were equal, which proves nothing.

    Args:
        value: a fraction from 0 to 1 (any number when it is no share), or None when the source
            has none.
        n: samples it was computed over; None where the source does not report it, which is kept
            as 0.
        kind: unit and direction. A share outside of 0 to 1 is shown and not compared.
    """
    count, share = n or 0, kind.unit == "share"
    if share and value is not None and not 0 <= value <= 1:
        kind, share = UNKNOWN, False
    if value is None:
        reason = "the source reports no value"
        return Score(metric, None, count, count, reason=reason).of(kind)
    if standard_error is None and not (count and share):
        reason = NO_N if not count else "its standard error is not reported"
        return Score(metric, value, count, count, reason=reason).of(kind)
    interval: Interval | None
    if share:
        interval, method = share_interval(value, n or None, standard_error), BOUNDED_METHOD
    else:
        interval = normal_interval(value, standard_error) if standard_error else None
        method = "normal"
    error = proportion_standard_error(value, count) if standard_error is None else standard_error
    reason = "" if interval else "too little is reported for an interval"
    method = method if interval else ""
    return Score(metric, value, count, count, error, interval, method, reason).of(kind)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        CkptbenchError: it cannot be read, or is something else; names the file and the line.
    """
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    return parse_object(text, str(path), remedy="If it was cut off, copy or make it again.")


def fraction(content: Mapping[str, Any], key: str, where: str) -> float | None:
    """The share under a key of an object; None where it is null or missing.

    Raises:
        CkptbenchError: it is no number from 0 to 1.
    """
    value = content.get(key)
    if value is None:
        return None
    if not is_number(value) or not 0 <= value <= 1:
        looks = " (a percentage?)" if is_number(value) and 1 < value <= 100 else ""
        raise CkptbenchError(
            f"{key!r} is {value!r}, not a fraction from 0 to 1{looks}",
            where=where,
            remedy=FRACTIONS,
        )
    return float(value)


def run_of(spec: str) -> str:
    """The training run of a checkpoint: the folder it is in; empty where it is not known."""
    if "://" in spec:
        return ""
    parts = [part for part in re.split(r"[/\\]+", spec) if part not in ("", ".", "..")]
    return parts[-2] if len(parts) > 1 else ""


def refuse_training(content: Mapping[str, Any], where: str) -> None:
    """Refuse what the Trainer of transformers writes, which looks like numbers of benchmarks.

    `eval_results.json` and `all_results.json` hold `epoch`, `eval_loss`, `eval_runtime`, ... of its
    own validation data; `trainer_state.json` the log.

    Raises:
        CkptbenchError: it is one of them; says which.
    """
    what = ""
    if "log_history" in content:
        what = "is the state of a training run, which holds no results of benchmarks"
    elif any(key.startswith(_PHASES) for key in content) and _OF_TRAINER & {
        key.partition("_")[2] or key for key in content
    }:
        what = "is a trainer's: losses and speeds of its own data, no results of benchmarks"
    if what:
        raise CkptbenchError(
            what,
            where=where,
            remedy='Write a score of it with its n by name, as in {"accuracy": 0.85, "n": 277}.',
        )
