"""Reading and writing baseline files."""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import parse_object, reading
from ..gate.baseline import (
    FORMAT,
    OLDER_FORMATS,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    BaselineScore,
)
from ..results.lm_eval_files import ResultsFile

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_REMEDY = "Write the file with --update-baseline, or give bare numbers by metric."
_NO_FRACTION = "not a fraction from 0 to 1"
# `json.dumps` would make an encoder for each of thousands of keys.
_KEYS = json.JSONEncoder(ensure_ascii=False)


def load(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline: our own file, numbers of this or another tool, or an earlier run's folder.

    A folder must have exactly one `*_baseline.json`.

    Raises:
        CkptbenchError: it cannot be read or is not a baseline; names the part of the file.
    """
    file = _choose(Path(path))
    where = str(file)
    if not file.exists():
        raise CkptbenchError(
            "there is no such baseline", where=where, remedy="Check the path of --baseline."
        )
    with reading(file, "Check its permissions."):
        encoded = file.read_bytes()
    try:
        text = encoded.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 text (byte {error.start})"
        raise CkptbenchError(what, where=where, remedy=_REMEDY) from None
    content = parse_object(text, where, remedy=_REMEDY, strict=True)
    if "format" in content or "benchmarks" in content:
        return _read_baseline(content, text, where)
    return _read_numbers(content, file)


def _read_numbers(content: Mapping[str, Any], file: Path) -> Baseline:
    """A baseline of the numbers of this or another tool."""
    # Every run writes a baseline, and few read such files.
    from .evalplus import is_evalplus, read_evalplus
    from .few_numbers import KEYS, read_eval_results
    from .lm_eval import read_lm_eval
    from .numbers import as_bare_baseline, has_tasks, read_bare_numbers, read_tasks
    from .reported import refuse_training

    where = str(file)
    if KEYS & content.keys():
        return as_bare_baseline(read_eval_results([file]))
    refuse_training(content, where)
    if is_evalplus(content):
        return as_bare_baseline(read_evalplus(content, file))
    if has_tasks(content) and not _has_filters(content):
        return as_bare_baseline(read_tasks(content, file))
    if "results" in content:
        return read_lm_eval(content, where)
    return read_bare_numbers(content, where)


def _has_filters(content: Mapping[str, Any]) -> bool:
    return "results" in content and ResultsFile(content, "").has_filters


def dump(baseline: Baseline) -> str:
    """The text of a baseline file: one line a sample, sorted by hash, so that a diff is readable.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    bench = {
        name: replace(bench, outcomes=dict(sorted(bench.outcomes.items())))
        for name, bench in baseline.benchmarks.items()
    }
    return "".join(_lines(replace(baseline, benchmarks=bench), "")) + "\n"


def write(baseline: Baseline, path: str | os.PathLike[str]) -> None:
    """Write a baseline file whole or not at all.

    Raises:
        CkptbenchError: it cannot be written; the old file is unchanged.
    """
    atomic_write_text(path, dump(baseline))


def baseline_schema() -> dict[str, Any]:
    """The JSON Schema of our own baseline file, made from the dataclasses."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Baseline).json_schema()
    schema["properties"]["format"] = {"enum": [FORMAT, *OLDER_FORMATS]}
    for definition in (schema, *schema["$defs"].values()):
        definition["description"] = definition.get("description", "").partition("\n")[0]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _choose(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(file.name for file in path.glob("*_baseline.json"))
    if len(found) == 1:
        return path / found[0]
    raise CkptbenchError(
        f"holds several baselines: {', '.join(found)}" if found else "holds no *_baseline.json",
        where=str(path),
        remedy="Give one of the files." if found else "Give a file, or the folder of a run.",
    )


def _read_baseline(content: Mapping[str, Any], text: str, where: str) -> Baseline:
    from pydantic import TypeAdapter, ValidationError

    version = content.get("format", FORMAT)
    if version not in (FORMAT, *OLDER_FORMATS):
        raise CkptbenchError(
            f"has the format {version!r}; this version reads {FORMAT!r} and older ones",
            where=where,
            remedy="Use the ckptbench version that wrote it, or make the baseline again.",
        )
    try:
        baseline = TypeAdapter(Baseline).validate_json(text, strict=True)
    except ValidationError as error:
        raise _explain(error.errors(include_url=False), where) from None
    for location, wrong in _contradictions(baseline):
        raise CkptbenchError(wrong, where=f"{where}: {location}", remedy=_REMEDY)
    return baseline


def _explain(errors: list[ErrorDetails], where: str) -> CkptbenchError:
    """The first error; an unknown key comes before the missing one that it may be a typo of."""
    unknown = ("extra_forbidden", "unexpected_keyword_argument")
    first = min(errors, key=lambda error: error["type"] not in unknown)
    loc = [str(part) for part in first["loc"]]
    others = len(errors) - 1
    if loc[0] == "settings" and len(loc) > 2:
        # A setting may have several types: pydantic reports an error for each.
        *above, key = loc[:2]
        given = reprlib.repr(first["input"])
        what = f"{key!r} is {given}, not a string, a number, true, false or null"
        others = 0
    else:
        *above, key = loc
        if first["type"] in unknown:
            what = f"unknown key {key!r}{nearest(key, _known_keys(above))}"
        elif first["type"] in ("missing", "missing_argument"):
            what = f"the key {key!r} is missing"
        else:
            what = f"{key!r} is {reprlib.repr(first['input'])}: {first['msg'].lower()}"
    location = " → ".join(above) or "top level"
    more = f" (and {others} more)" if others else ""
    return CkptbenchError(f"{what}{more}", where=f"{where}: {location}", remedy=_REMEDY)


def _known_keys(location: list[str]) -> list[str]:
    match location:
        case []:
            owner: Any = Baseline
        case ["composite"]:
            owner = BaselineComposite
        case ["benchmarks", _]:
            owner = BaselineBenchmark
        case _:
            owner = BaselineScore
    return [field.name for field in fields(owner)]


def _contradictions(baseline: Baseline) -> Iterator[tuple[str, str]]:
    for protocol, bench in baseline.benchmarks.items():
        location = f"benchmarks → {protocol}"
        if isinstance(bench.trials, int) and bench.trials < 1:
            yield location, f"'trials' is {bench.trials}"
        if bench.protocol != protocol or protocol.partition("/")[0] != bench.benchmark:
            yield location, f"is benchmark {bench.benchmark!r} under protocol {bench.protocol!r}"
        if bench.n is not None and bench.n < 0:
            yield location, f"'n' is {bench.n}"
        for metric, score in bench.scores.items():
            yield from _wrong_score(f"{location} → scores → {metric}", metric, score)
        for part, names in (("scores", bench.scores), ("tolerance", bench.tolerance)):
            for metric in names:
                if metric not in bench.metrics:
                    hint = nearest(metric, bench.metrics)
                    yield f"{location} → {part}", f"unknown metric {metric!r}{hint}"
        for metric, bound in bench.tolerance.items():
            shares = metric not in bench.scores or bench.scores[metric].unit == "share"
            if bound < 0 or (shares and bound > 1):
                yield f"{location} → tolerance", f"{metric!r} is {bound}, {_NO_FRACTION}"
        for sample, row in bench.outcomes.items():
            inside = f"{location} → outcomes → {sample}"
            if len(row) != len(bench.metrics):
                yield inside, f"has {len(row)} values for {len(bench.metrics)} metrics"
                continue
            for metric, value in zip(bench.metrics, row, strict=True):
                if not _possible(metric, value):
                    yield inside, f"{metric!r} is {value}, {_NO_FRACTION}"


def _wrong_score(location: str, metric: str, score: BaselineScore) -> Iterator[tuple[str, str]]:
    if not _possible(metric, score.value):
        yield location, f"'value' is {score.value}, {_NO_FRACTION}"
    if score.standard_error is not None and score.standard_error < 0:
        yield location, f"'standard_error' is {score.standard_error}"
    if score.n is not None and score.n < 0:
        yield location, f"'n' is {score.n}"


def _possible(metric: str, value: float | None) -> bool:
    """Whether a metric can have this value: one named `NAME@K` is a share."""
    return value is None or "@" not in metric or 0 <= value <= 1


def _lines(value: Any, indent: str) -> Iterator[str]:
    """JSON with each object's members on lines of their own and each list on one line."""
    if is_dataclass(value):
        value = {member.name: getattr(value, member.name) for member in fields(value)}
    if not isinstance(value, Mapping) or not value:
        plain = {} if isinstance(value, Mapping) else _compact(value)
        yield json.dumps(plain, ensure_ascii=False, allow_nan=False)
        return
    inner = indent + "  "
    for number, (key, member) in enumerate(value.items()):
        yield f"{',' if number else '{'}\n{inner}{_KEYS.encode(key)}: "
        if isinstance(member, tuple):
            yield _row(member)
        else:
            yield from _lines(member, inner)
    yield f"\n{indent}}}"


@lru_cache(maxsize=1024)
def _row(values: tuple[Any, ...]) -> str:
    """A list on one line; the outcomes of thousands of samples are few different rows."""
    return json.dumps(_compact(values), ensure_ascii=False, allow_nan=False)


def _compact(value: Any) -> Any:
    """Outcomes without needless digits: 1 for 1.0."""
    if isinstance(value, list | tuple):
        return [_compact(part) for part in value]
    if isinstance(value, float) and isfinite(value) and value.is_integer():
        return int(value)
    return value
