"""Read a run of our own: `summary.json`, and the sample files beside it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .._util.jsonio import reading
from .._util.names import epoch_in, step_in
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..results.layout import safe_name, samples_path
from ..results.summary import (
    OLDER_SUMMARY_FORMATS,
    SUMMARY_FORMAT,
    BenchmarkResult,
    CheckpointResult,
    Summary,
)
from ..scores.aggregate import TrialValue, fold, tabulate
from ..scores.reducers import reducer_of
from ..scores.score import SampleValues
from .baseline import load
from .baseline_measurement import sequence_and_facts, table_of
from .reported import read_object, run_of
from .result import Result, SampleRow

SUMMARY = "summary.json"
_OF_THE_LINE = [field.name for field in fields(SampleRow)][2:]
# No JSON string contains this, because a quotation mark within one is escaped.
_FIELDS = ', "fields": '
# What the fields of a line are; a sample file of a full disk or of an editor may hold anything.
_OF_THE_HEAD: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("protocol", "id", "hash", "cluster", "nodeid", "status", "reason"), (str,)),
    "trial": (int,),
    "values": (dict,),
}
_OF_THE_ROW = {**_OF_THE_HEAD, "fields": (dict,), "response": (dict, type(None))}
_REMEDY = "Copy the run's folder again, or continue the run with the same --run-id."


def read_run(folder: Path) -> Result:
    """Read a run's folder.

    The scores are those of `summary.json`. The tables are aggregated from the sample files again,
    or taken from the run's baseline file where its reducer is not registered in this process. A
    table is used only when it gives the scores of the summary: otherwise a note names the file, and
    comparisons are of numbers.

    Raises:
        CkptbenchError: `summary.json` is missing or is no summary of this version.
    """
    summary = read_summary(folder)
    notes = list(summary.notes)
    measurements = []
    for checkpoint in summary.checkpoints:
        tables: dict[str, SampleValues] = {}
        planned: dict[str, frozenset[str]] = {}
        for benchmark in dict.fromkeys(
            b.benchmark for b in checkpoint.benchmarks if not b.is_group
        ):
            found, hashes, problems = _tables(folder, checkpoint, benchmark)
            tables |= found
            planned |= hashes
            notes += problems
        measurements.append(measurement_of(folder, checkpoint, tables, planned))
    return Result(
        folder,
        "ckptbench",
        tuple(measurements),
        summary,
        partial(sample_rows, folder),
        tuple(dict.fromkeys(notes)),
    )


def read_summary(folder: Path) -> Summary:
    """The summary of a run's folder.

    Raises:
        CkptbenchError: it is missing, of another version, or not whole.
    """
    path = folder / SUMMARY
    if not path.is_file():
        raise CkptbenchError(f"holds no {SUMMARY}", where=str(folder), remedy=_REMEDY)
    return summary_of(read_object(path), path)


def summary_of(content: dict[str, Any], path: Path) -> Summary:
    """The summary that the JSON object of a `summary.json` is.

    Raises:
        CkptbenchError: as `read_summary`.
    """
    from pydantic import TypeAdapter, ValidationError

    written = content.get("format")
    if written not in (SUMMARY_FORMAT, *OLDER_SUMMARY_FORMATS):
        raise CkptbenchError(
            f"has the format {written!r}; this version reads {SUMMARY_FORMAT!r}",
            where=str(path),
            remedy="Use the ckptbench version that wrote it, or run again.",
        )
    try:
        return _without_partial_scores(TypeAdapter(Summary).validate_python(content))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = " -> ".join(map(str, first["loc"]))
        raise CkptbenchError(
            f"is no summary: {first['msg'].lower()}", where=f"{path}: {location}", remedy=_REMEDY
        ) from None


def _without_partial_scores(summary: Summary) -> Summary:
    """The summary without values over some of the samples, which would look like those of all.

    None is in a file of this version.
    """
    nothing: Any = {"value": None, "standard_error": None, "interval": None}
    checkpoints = []
    for checkpoint in summary.checkpoints:
        benchmarks = tuple(
            bench
            if bench.coverage.complete
            else replace(
                bench,
                scores=tuple(
                    replace(score, **nothing, reason=bench.coverage.missing)
                    for score in bench.scores
                ),
            )
            for bench in checkpoint.benchmarks
        )
        checkpoints.append(replace(checkpoint, benchmarks=benchmarks))
    return replace(summary, checkpoints=tuple(checkpoints))


def finished_runs(results: Path) -> list[tuple[Path, Summary]]:
    """The runs of a results folder that have a summary, by the time when they began.

    One that is not whole, or of another version, is left out.
    """
    found = []
    for file in results.glob(f"*/{SUMMARY}"):
        with suppress(CkptbenchError):
            found.append((file.parent, read_summary(file.parent)))
    return sorted(found, key=lambda run: datetime.fromisoformat(run[1].started))


def sample_rows(folder: Path, checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
    """The lines of a sample file, one in memory at a time.

    Raises:
        CkptbenchError: the file is missing, or a line is not whole; names the line.
    """
    path = samples_path(folder, checkpoint, benchmark)
    for number, line in _lines(path):
        yield sample_row(checkpoint, benchmark, _parsed(line, path, number, _OF_THE_ROW))


def sample_row(checkpoint: str, benchmark: str, line: dict[str, Any]) -> SampleRow:
    """The row that a parsed line of a sample file is."""
    return SampleRow(checkpoint, benchmark, **{key: line[key] for key in _OF_THE_LINE})


def sample_heads(path: Path) -> Iterator[dict[str, Any]]:
    """The part of each line before the sample's fields, which are most of it.

    Raises:
        CkptbenchError: as `sample_rows`.
    """
    for number, line in _lines(path):
        head, found, tail = line.partition(_FIELDS)
        if found and not tail.rstrip().endswith("}"):
            raise _cut_off(path, number)
        yield _parsed(f"{head}}}" if found else line, path, number, _OF_THE_HEAD)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with reading(path, _REMEDY), path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                raise _cut_off(path, number)
            yield number, line


def _parsed(
    text: str, path: Path, number: int, kinds: Mapping[str, tuple[type, ...]]
) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError:
        raise _cut_off(path, number) from None
    if not isinstance(row, dict):
        what = f"the line holds {type(row).__name__}, and no sample"
        raise CkptbenchError(what, where=f"{path}:{number}", remedy=_REMEDY)
    wrong = next((name for name, kind in kinds.items() if not isinstance(row.get(name), kind)), "")
    if not wrong and not all(
        v is None or isinstance(v, int | float) for v in row["values"].values()
    ):
        wrong = "values"
    if wrong:
        what = f"the line's {wrong!r} is not what a sample has there"
        raise CkptbenchError(what, where=f"{path}:{number}", remedy=_REMEDY)
    return row


def _cut_off(path: Path, number: int) -> CkptbenchError:
    return CkptbenchError("the line was cut off", where=f"{path}:{number}", remedy=_REMEDY)


def _tables(
    folder: Path, checkpoint: CheckpointResult, benchmark: str
) -> tuple[dict[str, SampleValues], dict[str, frozenset[str]], list[str]]:
    """One benchmark's tables and planned samples by protocol, and notes on missing tables."""
    path = samples_path(folder, checkpoint.name, benchmark)
    unpaired = "its scores are compared as numbers"
    trials: dict[str, list[TrialValue]] = defaultdict(list)
    planned: dict[str, set[str]] = defaultdict(set)
    try:
        for head in sample_heads(path):
            planned[head["protocol"]].add(sys.intern(head["hash"]))
            if head["status"] not in ("passed", "missed"):
                continue
            protocol, values = sys.intern(head["protocol"]), head["values"]
            # The same names occur in every checkpoint: interned, they are one object each.
            sample, cluster = sys.intern(head["hash"]), sys.intern(head["cluster"])
            numbers = tuple(float("nan") if v is None else v for v in values.values())
            trials[protocol].append(TrialValue(sample, cluster, head["trial"], numbers))
    except CkptbenchError as error:
        return {}, {}, [f"{error.where}: {error.what}; {unpaired}"]
    tables, notes = {}, []
    for result in (b for b in checkpoint.benchmarks if b.benchmark == benchmark):
        protocol = result.protocol
        table = _table(trials[protocol], result)
        if table is None:
            scored = {trial.sample for trial in trials[protocol]}
            table = _kept_table(folder, checkpoint.name, result, scored)
        if table is None:
            problems = f"{protocol} has a reducer of its own, or samples are missing"
            notes.append(f"{path}: {problems}; {unpaired}")
        else:
            tables[protocol] = table
    return tables, {name: frozenset(kept) for name, kept in planned.items()}, notes


def _table(trials: list[TrialValue], result: BenchmarkResult) -> SampleValues | None:
    """The table that a benchmark's scores were computed from; None when it gives other scores.

    Also None where the run does not record its reducer (older versions), and where a conftest
    registers it, which is not loaded here.
    """
    if not result.reducer:
        return None
    try:
        table = tabulate(trials, reducer_of(dict(result.reducer)), result.benchmark)
    except (CkptbenchError, ValueError):
        return None
    return checked_table(table, result)


def _kept_table(
    folder: Path, checkpoint: str, result: BenchmarkResult, scored: set[str]
) -> SampleValues | None:
    """The table in the run's own baseline file, where the samples' trials are reduced already.

    For custom reducers: only the process that measured has the conftest that registers them. None
    when the file is missing or of another session, without the scored samples or with other scores.

    Args:
        scored: hashes of the samples that have an outcome in the sample file.
    """
    try:
        kept = load(folder / f"{safe_name(checkpoint)}_baseline.json").find(result.protocol)
    except CkptbenchError:
        return None
    if kept is None or set(kept.outcomes) != scored:
        return None
    return checked_table(table_of(kept), result)


def checked_table(table: SampleValues, result: BenchmarkResult) -> SampleValues | None:
    """The columns of the metrics that a result shows; None when they give other scores.

    A run may show only some of its metrics, and beside them others that are made of all answers at
    once and have no column.
    """
    scores = [score for score in result.scores if score.metric in table.metrics]
    if not scores:
        return None
    metrics = tuple(score.metric for score in scores)
    indexes = [table.metrics.index(metric) for metric in metrics]
    table = replace(table, metrics=metrics, values=table.values[:, indexes])
    same = all(
        made.metric == written.metric
        and made.n == written.n
        and (made.value is None) == (written.value is None)
        and abs((made.value or 0.0) - (written.value or 0.0)) < 1e-9
        for made, written in zip(fold(table), scores, strict=True)
    )
    # An incomplete result shows no values, and is not compared.
    return table if same or not result.coverage.complete else None


def measurement_of(
    folder: Path,
    checkpoint: CheckpointResult,
    tables: Mapping[str, SampleValues],
    planned: Mapping[str, frozenset[str]],
) -> Measurement:
    """A checkpoint of a run's summary as it is compared.

    Args:
        tables, planned: the values, and the hashes of the planned samples, by protocol.
    """
    seq_len, facts = sequence_and_facts(checkpoint.settings)
    composite = checkpoint.composite
    return Measurement(
        name=checkpoint.name,
        run=checkpoint.run or run_of(checkpoint.spec),
        step=step_in(checkpoint.name) if checkpoint.step is None else checkpoint.step,
        epoch=epoch_in(checkpoint.name) if checkpoint.epoch is None else checkpoint.epoch,
        seq_len=seq_len,
        benchmarks=tuple(
            BenchmarkMeasurement(
                b.benchmark,
                b.protocol,
                b.primary,
                b.scores,
                tables.get(b.protocol),
                b.dataset.hash,
                b.coverage.missing,
                b.settings,
                planned.get(b.protocol),
            )
            for b in checkpoint.benchmarks
        ),
        composite=composite.score if composite else None,
        weights=composite.weights if composite else {},
        source=str(folder),
        spec=checkpoint.spec,
        fingerprint=checkpoint.fingerprint,
        facts={**facts, **checkpoint.facts},
    )
