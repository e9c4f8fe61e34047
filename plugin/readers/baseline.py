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
from typing import TYPE_CHECKING, Any, NoReturn

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError, nearest
from ..gate.baseline import (
    FORMAT,
    OLDER_FORMATS,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    BaselineScore,
)
from .lm_eval import read_lm_eval
from .numbers import read_bare_numbers

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_REMEDY = "Write the file with --update-baseline, or give bare numbers by metric."


def load(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline: our own file, bare numbers, lm-eval results, or an earlier run's folder.

    Args:
        path: a file, or a folder that holds exactly one `*_baseline.json`.

    Raises:
        CkptbenchError: it cannot be read or is not a baseline; names the place in the file.
    """
    file = _choose(Path(path))
    where = str(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CkptbenchError(
            "there is no such baseline", where=where, remedy="Check the path of --baseline."
        ) from None
    except UnicodeDecodeError as error:
        raise CkptbenchError(
            f"is not UTF-8 text (byte {error.start})", where=where, remedy=_REMEDY
        ) from None
    except OSError as error:
        raise CkptbenchError(
            f"cannot be read: {error.strerror}", where=where, remedy="Check its permissions."
        ) from error
    content = _parse(text, where)
    if "format" in content or "benchmarks" in content:
        return _read_baseline(content, text, where)
    if "results" in content:
        return read_lm_eval(content, where)
    return read_bare_numbers(content, where)


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


def _parse(text: str, where: str) -> dict[str, Any]:
    def refuse_constant(name: str) -> NoReturn:
        raise CkptbenchError(
            f"holds {name}, which is not JSON", where=where, remedy="Write null or leave it out."
        )

    def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                raise CkptbenchError(
                    f"holds the key {key!r} twice", where=where, remedy="Keep one of them."
                )
            content[key] = value
        return content

    try:
        content = json.loads(
            text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates
        )
    except json.JSONDecodeError as error:
        raise CkptbenchError(
            f"is not JSON: {error.msg}",
            where=f"{where}:{error.lineno}:{error.colno}",
            remedy=_REMEDY,
        ) from None
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or objects nested without end.
        raise CkptbenchError(f"cannot be read: {error}", where=where, remedy=_REMEDY) from None
    if not isinstance(content, dict):
        raise CkptbenchError(
            f"is a JSON {type(content).__name__}, not an object", where=where, remedy=_REMEDY
        )
    return content


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
        baseline = TypeAdapter(Baseline).validate_json(text.removeprefix("\ufeff"), strict=True)
    except ValidationError as error:
        raise _explain(error.errors(include_url=False), where) from None
    for location, wrong in _contradictions(baseline):
        raise CkptbenchError(wrong, where=f"{where}: {location}", remedy=_REMEDY)
    return baseline


def _explain(errors: list[ErrorDetails], where: str) -> CkptbenchError:
    """The error of the first wrong place; a mistyped key comes before the key it leaves missing."""
    unknown = ("extra_forbidden", "unexpected_keyword_argument")
    first = min(errors, key=lambda error: error["type"] not in unknown)
    loc = [str(part) for part in first["loc"]]
    others = len(errors) - 1
    if loc[0] == "settings" and len(loc) > 2:
        # A setting may be of several types: pydantic reports each that it tried as a place.
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
    """The keys that an object at this place of the file has."""
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
    """Places of a well-formed file and what is wrong there."""
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
                yield (
                    f"{location} → tolerance",
                    f"{metric!r} is {bound}, not a fraction from 0 to 1",
                )
        for sample, row in bench.outcomes.items():
            if len(row) != len(bench.metrics):
                wrong = f"has {len(row)} values for {len(bench.metrics)} metrics"
                yield f"{location} → outcomes → {sample}", wrong
                continue
            for metric, value in zip(bench.metrics, row, strict=True):
                if not _possible(metric, value):
                    wrong = f"{metric!r} is {value}, not a fraction from 0 to 1"
                    yield f"{location} → outcomes → {sample}", wrong


def _wrong_score(location: str, metric: str, score: BaselineScore) -> Iterator[tuple[str, str]]:
    if not _possible(metric, score.value):
        yield location, f"'value' is {score.value}, not a fraction from 0 to 1"
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
        yield f"{',' if number else '{'}\n{inner}{json.dumps(key, ensure_ascii=False)}: "
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
