"""A run as `readers.run` reads it from its folder, before anything is written there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..gate.measurement import Measurement
from ..readers.result import SampleRow, Samples
from ..readers.run import checked_table, measurement_of, sample_row, summary_of
from ..results.as_json import summary_as_json
from ..results.outcome import Outcome
from ..results.store import RunStore
from ..results.summary import Summary
from .fold import FoldedRun
from .write import sample_lines


def measurements(folder: Path, folded: FoldedRun, summary: Summary) -> tuple[Measurement, ...]:
    """The checkpoints of a run that is over, as they are compared with each other."""
    # As it will be in the file: what has no JSON form is no number to conclude from either.
    summary = summary_of(summary_as_json(summary), folder)
    made = []
    for checkpoint in summary.checkpoints:
        results = {bench.protocol: bench for bench in checkpoint.benchmarks}
        own = {m.protocol: m for m in folded.measured[checkpoint.name] if m.protocol in results}
        tables = {
            protocol: table
            for protocol, each in own.items()
            if each.table is not None
            and (table := checked_table(each.table, results[protocol])) is not None
        }
        planned = {protocol: each.planned for protocol, each in own.items() if each.planned}
        made.append(measurement_of(folder, checkpoint, tables, planned))
    return tuple(made)


def stored_rows(store: RunStore, outcomes: Mapping[str, Outcome]) -> Samples:
    """Reads samples from the store as `readers.run.sample_rows` reads them from files."""

    def rows(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        wanted = checkpoint, benchmark
        groups = [
            g for g in enumerate(store.groups()) if (g[1].checkpoint, g[1].benchmark) == wanted
        ]
        for line in sample_lines(store, outcomes, groups):
            yield sample_row(checkpoint, benchmark, json.loads(line))

    return rows
