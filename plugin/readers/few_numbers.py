"""Sources with few numbers of each checkpoint, Real@K and LAMBADA@1: `*_eval_results.json`, and a
CSV with the columns run, checkpoint, epoch, real1, real5, lambada, n."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import is_count, is_number, reading
from .._util.names import epoch_in, natural_key, step_in
from ..analysis.composites import with_composite
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..scores.composite import DEFAULT_WEIGHTS
from .reported import fraction, read_object, refuse_training, reported_score, run_of
from .result import Result

ENDING = "_eval_results.json"
_SCORES = {"real1": "real@1", "real5": "real@5", "lambada_top1": "lambada@1"}
_NEEDED = ("coref_samples", *_SCORES, "score")
KEYS = {"coref_samples", "real1", "lambada_top1"}  # without one, a file is another tool's
_KNOWN = (*_NEEDED, "checkpoint", "run", "step", "epoch", "seq_len", "lambada_samples")
_SHARES = {"real1": "real@1", "real5": "real@5", "lambada": "lambada@1"}
_ABOUT = ("run", "seq_len", "checkpoint", "step", "epoch")
COLUMNS = (*_ABOUT, *_SHARES, "n", "lambada_n", "printed_composite")
_REMEDY = f"Columns are {', '.join(COLUMNS)}."


def read_eval_results(paths: Sequence[Path]) -> Result:
    """Read the files of one folder, the checkpoints in natural order.

    `coref_samples` is the n of Real@K. That of LAMBADA@1 is only in `lambada_samples`; without it
    differences are not tested. Other scalars of a file become facts of its checkpoint.

    Raises:
        CkptbenchError: a missing key is there mistyped, or a score is no fraction.
    """
    read = sorted((_of_file(path) for path in paths), key=lambda m: natural_key(m.name))
    notes = []
    parts = [bench for measurement in read for bench in measurement.benchmarks]
    if any(b.benchmark == "lambada" and not b.scores[0].n for b in parts):
        notes.append("lambada@1 is reported without its n: its differences are not tested")
    location = paths[0] if len(paths) == 1 else paths[0].parent
    return Result(location, "eval-results", tuple(read), notes=tuple(notes))


def _of_file(path: Path) -> Measurement:
    content, where = read_object(path), str(path)
    if not KEYS & content.keys():
        refuse_training(content, where)
    _check_keys(content, path)
    values = {metric: fraction(content, key, where) for key, metric in _SCORES.items()}
    n, lambada_n = (_count_of(content, key, where) for key in ("coref_samples", "lambada_samples"))
    spec = str(content.get("checkpoint") or path.name.removesuffix(ENDING))
    name = spec.rstrip("/").rpartition("/")[2] or spec
    facts = {
        key: value
        for key, value in content.items()
        if key not in _KNOWN and isinstance(value, str | int | float | bool)
    }
    step, epoch = content.get("step"), content.get("epoch")
    known = Measurement(
        name=name,
        run=str(content.get("run") or run_of(spec) or path.resolve().parent.name),
        step=step if isinstance(step, int) else None,
        epoch=float(epoch) if is_number(epoch) else None,
        seq_len=_count_of(content, "seq_len", where),
        source=where,
        spec=spec,
        facts=facts,
        printed_composite=fraction(content, "score", where),
    )
    measurement = _with_scores(known, values, n, lambada_n)
    if measurement is None:
        raise CkptbenchError("holds no score", where=where)
    return measurement


def _check_keys(content: Mapping[str, Any], path: Path) -> None:
    missing = [key for key in _NEEDED if key not in content]
    for key in content:
        if key not in _KNOWN and (hint := nearest(key, missing)):
            raise CkptbenchError(
                f"unknown key {key!r}{hint}",
                where=str(path),
                remedy=f"Known are {', '.join(_KNOWN)}.",
            )


def _count_of(content: Mapping[str, Any], key: str, where: str) -> int | None:
    value = content.get(key)
    if value is not None and not is_count(value):
        raise CkptbenchError(f"{key!r} is {value!r}, not a whole number from 1", where=where)
    return value


def read_table(path: Path, n: Mapping[str, int] | None = None) -> Result:
    """Read a table, one checkpoint a line.

    Scores are all fractions, or all percentages: with one value above 1 they are percentages, and
    a table in which that leaves a column unclear (a part of its values above 1) is refused. `n` is
    the number of samples of Real@K; that of LAMBADA@1 is `lambada_n`.

    Args:
        n: samples where the table has none: by run, by sequence length, `lambada`, or `*`.

    Raises:
        CkptbenchError: a column is unknown, or a value is not valid in its column.
    """
    given = dict(n or {})
    rows = list(_table_rows(path))
    if not rows:
        raise CkptbenchError("holds no checkpoint", where=str(path), remedy=_REMEDY)
    scale, notes = _scale(rows, path)
    used: set[str] = set()
    read = [_of_row(row, where, scale, given, used) for where, row in rows]
    if unused := sorted(given.keys() - used):
        keys = sorted({m.run for m in read} | {str(m.seq_len) for m in read if m.seq_len})
        raise CkptbenchError(
            f"nothing in {path} is named {unused[0]!r}, or it has its own n"
            f"{nearest(unused[0], keys)}",
            where="--n",
            remedy=f"Runs and sequence lengths are {', '.join(keys)}.",
        )
    missing = [m.name for m in read for s in m.benchmarks[0].scores if not s.n]
    if missing and any(b.benchmark == "real" for m in read for b in m.benchmarks):
        notes.append("checkpoints without n cannot be tested: give it with --n")
    if any(b.benchmark == "lambada" and not b.scores[0].n for m in read for b in m.benchmarks):
        notes.append("lambada@1 is reported without its n (lambada_n): it is not tested")
    return Result(path, "table", tuple(read), notes=tuple(notes))


def _table_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """`FILE:LINE` of each line, and its cells by column."""
    try:
        with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            _check_header(header, path)
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                if len(cells) != len(header):
                    raise CkptbenchError(
                        f"has {len(cells)} cells for {len(header)} columns",
                        where=f"{path}:{reader.line_num}",
                    )
                row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
                yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise CkptbenchError(f"cannot be read: {error}", where=str(path)) from error


def _check_header(header: list[str], path: Path) -> None:
    for name in header:
        if name not in COLUMNS:
            raise CkptbenchError(
                f"unknown column {name!r}{nearest(name, COLUMNS)}", where=str(path), remedy=_REMEDY
            )
        if header.count(name) > 1:
            raise CkptbenchError(f"has the column {name!r} twice", where=str(path))
    if "checkpoint" not in header:
        raise CkptbenchError("has no column 'checkpoint'", where=str(path), remedy=_REMEDY)
    if not set(_SHARES) & set(header):
        raise CkptbenchError("has no column of scores", where=str(path), remedy=_REMEDY)


def _scale(rows: list[tuple[str, dict[str, str]]], path: Path) -> tuple[float, list[str]]:
    """What scores are divided by, and a note when that is not 1."""
    names = (*_SHARES, "printed_composite")
    cells = [(name, _number_in(row, name, where)) for where, row in rows for name in names]
    columns = {name: [v for part, v in cells if part == name and v is not None] for name in names}
    percentages = [name for name, values in columns.items() if any(v > 1 for v in values)]
    if not percentages:
        return 1.0, []
    unclear = [name for name, values in columns.items() if any(0 < v <= 1 for v in values)]
    if unclear:
        raise CkptbenchError(
            f"{percentages[0]} holds percentages and {unclear[0]} values of at most 1: "
            "whether those are fractions or percentages is not clear",
            where=str(path),
            remedy="Write every score as a fraction: 0.6778, not 67.78.",
        )
    return 100.0, [f"{path.name}: scores are read as percentages"]


def _of_row(
    row: Mapping[str, str],
    where: str,
    scale: float,
    given: Mapping[str, int],
    used: set[str],
) -> Measurement:
    run, name = row.get("run", ""), row["checkpoint"]
    if not name:
        raise CkptbenchError("the checkpoint has no name", where=where)
    seq_len = _count_in(row, "seq_len", where)
    n = _count_in(row, "n", where) or _given((run, str(seq_len), "*"), given, used)
    lambada_n = _count_in(row, "lambada_n", where) or _given(("lambada",), given, used)
    shares: dict[str, float] = {}
    for column in (*_SHARES, "printed_composite"):
        value = _number_in(row, column, where)
        if value is not None:
            shares[column] = value / scale
            if not 0 <= shares[column] <= 1:
                raise CkptbenchError(f"{column!r} is {row[column]}, not a share", where=where)
    values = {_SHARES[column]: share for column, share in shares.items() if column in _SHARES}
    known = Measurement(
        name=name,
        run=run,
        step=_count_in(row, "step", where),
        epoch=_number_in(row, "epoch", where),
        seq_len=seq_len,
        source=where,
        printed_composite=shares.get("printed_composite"),
    )
    measurement = _with_scores(known, values, n, lambada_n)
    if measurement is None:
        raise CkptbenchError(f"{name} has no score", where=where)
    return measurement


def _given(keys: tuple[str, ...], given: Mapping[str, int], used: set[str]) -> int | None:
    for key in keys:
        if key in given:
            used.add(key)
            return given[key]
    return None


def _number_in(row: Mapping[str, str], column: str, where: str) -> float | None:
    text = row.get(column, "")
    if not text:
        return None
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value < 0:
        raise CkptbenchError(f"{column!r} is {text!r}, not a number", where=where)
    return value


def _count_in(row: Mapping[str, str], column: str, where: str) -> int | None:
    value = _number_in(row, column, where)
    if value is None:
        return None
    if value != int(value) or (value < 1 and column != "step"):
        raise CkptbenchError(f"{column!r} is {row[column]!r}, not a whole number", where=where)
    return int(value)


def _with_scores(
    known: Measurement, values: Mapping[str, float | None], n: int | None, lambada_n: int | None
) -> Measurement | None:
    """A checkpoint with its scores, and with its name's step and epoch where none is reported.

    Args:
        values: fractions by metric: `real@1`, `real@5`, `lambada@1`.
        n: samples of Real@K.
        lambada_n: samples of LAMBADA@1.

    Returns:
        None where there is no value.
    """
    benchmarks = []
    for name, samples in (("real", n), ("lambada", lambada_n)):
        found = [(metric, value) for metric, value in values.items() if metric.startswith(name)]
        if any(value is not None for _, value in found):
            scores = tuple(reported_score(metric, value, n=samples) for metric, value in found)
            benchmarks.append(BenchmarkMeasurement(name, "", True, scores))
    if not benchmarks:
        return None
    step = step_in(known.name) if known.step is None else known.step
    epoch = epoch_in(known.name) if known.epoch is None else known.epoch
    made = replace(known, step=step, epoch=epoch, benchmarks=tuple(benchmarks))
    return with_composite(made, DEFAULT_WEIGHTS)
