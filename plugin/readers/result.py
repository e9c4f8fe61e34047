"""The results of one source: the value that every reader returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .._util.jsonio import JSON
from ..gate.measurement import Measurement
from ..results.summary import Summary


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One line of a sample file: one trial of a sample under a protocol.

    Attributes:
        checkpoint: name of the checkpoint that answered.
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`.
        id: of the sample in its dataset.
        hash: content hash of the sample.
        nodeid: the item, ready to paste after `pytest`.
        trial: which of the sample's trials, from 0.
        status: `passed`, `missed`, `error`, `skipped` or `not_run`.
        reason: why it was skipped or is an error, or how its program failed.
        values: the trial's value of each metric.
        fields: the sample's question and answer.
        response: what the engine answered; None without an answer.
    """

    checkpoint: str
    benchmark: str
    protocol: str
    id: str
    hash: str
    nodeid: str
    trial: int
    status: str
    reason: str
    values: dict[str, float | None]
    fields: dict[str, JSON]
    response: dict[str, JSON] | None


Samples = Callable[[str, str], Iterator[SampleRow]]
"""Reads the rows of a checkpoint and a benchmark, each time again: they may be many."""


def no_samples(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
    """The sample rows of a source without any."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Result:
    """One source of results.

    Attributes:
        path: the file or folder that was read.
        origin: the tool that wrote it: `ckptbench`, `lm-eval`, `numbers`, `eval-results`, `table`.
        measurements: one for each checkpoint, in the source's order.
        summary: the run's whole summary, of a run of our own.
        samples: reads its sample rows by checkpoint and benchmark.
        notes: sentences for the reader, such as what was left out and why.
    """

    path: Path
    origin: str
    measurements: tuple[Measurement, ...]
    summary: Summary | None = None
    samples: Samples = no_samples
    notes: tuple[str, ...] = ()
