"""Results as plain JSON values."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from .._util.jsonio import JSON, on_one_line
from ..gate.verdict import Verdict
from ..scores.score import Score
from .summary import Summary

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
NOT_FINITE = "the computed value is not a finite number"


def summary_as_json(summary: Summary) -> dict[str, JSON]:
    """A summary as the JSON object of `summary.json`, the format's name first."""
    return {"format": summary.format, **as_json(summary)}


def as_json(value: Any) -> JSON:
    """A value of dataclasses, mappings, sequences and scalars as plain JSON values.

    Dataclasses become objects with their fields in order; mappings inside them are sorted by
    key, because counts by reason arrive in whatever order workers finish. NaN and Infinity
    become null: the reason of a score, or the detail of a verdict, which loses its comparison,
    then has a note of it. NumPy scalars become Python's.

    Raises:
        TypeError: a value has no JSON form.
    """
    # Scalars first: a hundred thousand samples are made of little else.
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: as_json(item) for name, item in _fields(value).items()}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, Sequence)):
        return [as_json(item) for item in value]
    if hasattr(value, "item"):
        return as_json(value.item())
    raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


def one_line(value: Any) -> str:
    """A value as JSON on one line of a JSON Lines file, with its newline.

    What is not plain JSON goes through `as_json` first.
    """
    try:
        line = _ENCODER.encode(value)
    except (TypeError, ValueError):
        line = _ENCODER.encode(as_json(value))
    return on_one_line(line)


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, with the reason when the number it is about does not exist."""
    found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Score) and value.value is not None and not math.isfinite(value.value):
        found |= dict.fromkeys(("value", "standard_error", "interval"))
        found["reason"] = value.reason or NOT_FINITE
    if isinstance(value, Verdict) and value.comparison is not None:
        figures = value.comparison
        if not all(map(math.isfinite, (figures.current, figures.baseline, figures.difference))):
            found["comparison"] = None
            found["detail"] = ": ".join(filter(None, [value.detail, NOT_FINITE]))
    if not all(map(math.isfinite, found.get("interval") or ())):
        found["interval"] = None
    return {k: dict(sorted(v.items())) if isinstance(v, Mapping) else v for k, v in found.items()}
