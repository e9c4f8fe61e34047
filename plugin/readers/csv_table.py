"""A table of checkpoints: CSV with columns run, checkpoint, epoch, real1, real5, lambada, n."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import reading
from .._util.names import epoch_in, step_in
from ..analysis.composites import with_composite
from ..gate.measurement import Measurement
from ..scores.composite import DEFAULT_WEIGHTS
from .reported import real_and_lambada
from .result import Result

_SHARES = {"real1": "real@1", "real5": "real@5", "lambada": "lambada@1"}
_ABOUT = ("run", "seq_len", "checkpoint", "step", "epoch")
COLUMNS = (*_ABOUT, *_SHARES, "n", "lambada_n", "printed_composite")
_REMEDY = f"Columns are {', '.join(COLUMNS)}."


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
    read = [_measurement(row, number, path, scale, given, used) for number, row in rows]
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


def _table_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines by number, their cells by column."""
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
                yield reader.line_num, row
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


def _scale(rows: list[tuple[int, dict[str, str]]], path: Path) -> tuple[float, list[str]]:
    """What scores are divided by, and a note when that is not 1."""
    names = (*_SHARES, "printed_composite")
    cells = [(name, _number_in(row, name, number, path)) for number, row in rows for name in names]
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


def _measurement(
    row: Mapping[str, str],
    number: int,
    path: Path,
    scale: float,
    given: Mapping[str, int],
    used: set[str],
) -> Measurement:
    where = f"{path}:{number}"
    run, name = row.get("run", ""), row["checkpoint"]
    if not name:
        raise CkptbenchError("the checkpoint has no name", where=where)
    seq_len = _count_in(row, "seq_len", number, path)
    n = _count_in(row, "n", number, path) or _given((run, str(seq_len), "*"), given, used)
    lambada_n = _count_in(row, "lambada_n", number, path) or _given(("lambada",), given, used)
    shares: dict[str, float] = {}
    for column in (*_SHARES, "printed_composite"):
        value = _number_in(row, column, number, path)
        if value is not None:
            shares[column] = value / scale
            if not 0 <= shares[column] <= 1:
                raise CkptbenchError(f"{column!r} is {row[column]}, not a share", where=where)
    values = {_SHARES[column]: share for column, share in shares.items() if column in _SHARES}
    benchmarks = real_and_lambada(values, n, lambada_n)
    if not benchmarks:
        raise CkptbenchError(f"{name} has no score", where=where)
    step = _count_in(row, "step", number, path)
    epoch = _number_in(row, "epoch", number, path)
    measurement = Measurement(
        name=name,
        run=run,
        step=step if step is not None else step_in(name),
        epoch=epoch if epoch is not None else epoch_in(name),
        seq_len=seq_len,
        benchmarks=benchmarks,
        source=where,
        printed_composite=shares.get("printed_composite"),
    )
    return with_composite(measurement, DEFAULT_WEIGHTS)


def _given(keys: tuple[str, ...], given: Mapping[str, int], used: set[str]) -> int | None:
    for key in keys:
        if key in given:
            used.add(key)
            return given[key]
    return None


def _number_in(row: Mapping[str, str], column: str, number: int, path: Path) -> float | None:
    text = row.get(column, "")
    if not text:
        return None
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value < 0:
        raise CkptbenchError(f"{column!r} is {text!r}, not a number", where=f"{path}:{number}")
    return value


def _count_in(row: Mapping[str, str], column: str, number: int, path: Path) -> int | None:
    value = _number_in(row, column, number, path)
    if value is None:
        return None
    if value != int(value) or (value < 1 and column != "step"):
        raise CkptbenchError(
            f"{column!r} is {row[column]!r}, not a whole number", where=f"{path}:{number}"
        )
    return int(value)
