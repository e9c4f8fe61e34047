"""Scores of sources that state numbers and hold no samples."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .._util.jsonio import is_number
from ..scores.intervals import (
    BOUNDED_METHOD,
    Interval,
    normal_interval,
    proportion_standard_error,
    share_interval,
)
from ..scores.metric import SHARE, UNKNOWN, Metric
from ..scores.score import Score

NO_N = "n is not stated"


def reported_score(
    metric: str,
    value: float | None,
    *,
    n: int | None = None,
    standard_error: float | None = None,
    kind: Metric = SHARE,
) -> Score:
    """A score as far as a source states it.

    A standard error that is not stated is that of a proportion over n independent samples. The
    interval of a share is `share_interval`'s, of another number with a standard error the normal
    one, and none where the error is 0: all answers were alike, which is no certainty.

    Args:
        value: a fraction from 0 to 1 (any number when it is no share), or None when the source
            has none.
        n: samples it was computed over; None where the source does not state it, which is kept
            as 0.
        kind: what the metric means. A share outside of 0 to 1 is shown and not compared.
    """
    score = _stated(metric, value, n or 0, standard_error, kind.unit == "share")
    impossible = kind.unit == "share" and value is not None and not 0 <= value <= 1
    return score.of(UNKNOWN if impossible else kind)


def _stated(
    metric: str, value: float | None, count: int, standard_error: float | None, share: bool
) -> Score:
    share = share and value is not None and 0 <= value <= 1
    if value is None:
        return Score(metric, None, count, count, reason="the source states no value")
    if standard_error is None and (not count or not share):
        reason = NO_N if not count else "its standard error is not stated"
        return Score(metric, value, count, count, reason=reason)
    interval: Interval | None
    if share:
        interval, method = share_interval(value, count or None, standard_error), BOUNDED_METHOD
    else:
        interval = normal_interval(value, standard_error) if standard_error else None
        method = "normal"
    error = proportion_standard_error(value, count) if standard_error is None else standard_error
    reason = "" if interval else "too little is stated for an interval"
    method = method if interval else ""
    return Score(metric, value, count, count, error, interval, method, reason)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object a file holds.

    Raises:
        CkptbenchError: it cannot be read, or holds something else; names the file and the place.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CkptbenchError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise CkptbenchError(f"is not UTF-8 text (byte {error.start})", where=str(path)) from None
    except json.JSONDecodeError as error:
        raise CkptbenchError(
            f"is not JSON, or was cut off: {error.msg}",
            where=f"{path}:{error.lineno}:{error.colno}",
            remedy="Copy the file again, or make it again.",
        ) from None
    if not isinstance(content, dict):
        raise CkptbenchError(f"is a JSON {type(content).__name__}, not an object", where=str(path))
    return content


def fraction(content: Mapping[str, Any], key: str, where: str) -> float | None:
    """A share that an object holds under a key; None where it is null or missing.

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
            remedy="Scores are fractions: write 0.6778, not 67.78.",
        )
    return float(value)


def run_of(spec: str) -> str:
    """The training run of a checkpoint: the folder it lies in; empty where that is not told."""
    if "://" in spec:
        return ""
    parts = [part for part in re.split(r"[/\\]+", spec) if part not in ("", ".", "..")]
    return parts[-2] if len(parts) > 1 else ""
