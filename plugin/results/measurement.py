"""A checkpoint, measured: what every conclusion about a training run is drawn from.

The values know nothing of where they were read: a session's own run folder, another tool's
result file, a table of numbers. What a source does not state is None or empty, and the
conclusions say what they cannot say without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._util.jsonio import Scalar
from ..gate.measured import BenchmarkMeasurement
from ..scores.score import Score

__all__ = ["BenchmarkMeasurement", "Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One checkpoint.

    Attributes:
        name: short name, such as `checkpoint-655`.
        run: the training run, or the family, it belongs to: the folder it lies in. Empty where
            the source states none.
        step: optimizer steps it was trained for.
        epoch: passes over the training data it was trained for.
        seq_len: tokens of a sequence.
        benchmarks: one for each protocol.
        composite: the weighted mean, made with `weights`.
        source: file or folder the values were read from, for messages.
        spec: what was given as `--checkpoint`.
        fingerprint: content hash of weights, config and tokenizer.
        facts: what else the source states of it (validation loss, settings), scalars by name.
        printed_composite: a composite that the source states of its own; it is only compared
            with the one made here.
        average: the mean over tasks of each one's first metric; see `averages`.
    """

    name: str
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    seq_len: int | None = None
    benchmarks: tuple[BenchmarkMeasurement, ...] = ()
    composite: Score | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    spec: str = ""
    fingerprint: str = ""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    printed_composite: float | None = None
    average: Score | None = None

    @property
    def complete(self) -> bool:
        """Whether every planned sample of every benchmark was scored or left out by rule."""
        return not any(bench.incomplete for bench in self.benchmarks)

    def primary_benchmarks(self) -> tuple[BenchmarkMeasurement, ...]:
        """Those whose metrics are the headline ones."""
        return tuple(bench for bench in self.benchmarks if bench.primary)

    def score(self, metric: str) -> Score | None:
        """A headline metric's score, or the composite's by its name; None if not measured."""
        if self.composite is not None and metric == self.composite.metric:
            return self.composite
        if self.average is not None and metric == self.average.metric:
            return self.average
        owner = self.owner_of(metric)
        return owner.score(metric) if owner is not None else None

    def owner_of(self, metric: str) -> BenchmarkMeasurement | None:
        """The headline benchmark that a metric is of; None if not measured."""
        return next((b for b in self.primary_benchmarks() if b.score(metric) is not None), None)
