"""A checkpoint, measured: what every comparison and every conclusion is drawn from.

What a source does not report is None or empty, and the conclusions name what cannot be concluded
without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._util.jsonio import Scalar
from ..scores.score import SampleValues, Score
from .sequential import Look


@dataclass(frozen=True, slots=True)
class BenchmarkMeasurement:
    """One benchmark under one protocol.

    Attributes:
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`; empty where the source reports none.
        primary: whether its metrics are the benchmark's headline ones (gated, in the composite).
        scores: one for each metric.
        table: each sample's values; None where the source has only numbers. With it,
            comparisons are paired.
        dataset: content hash of the planned samples; empty where the source reports none.
        incomplete: why the scores are not of every planned sample; empty when they are.
        settings: what decides what is measured beside the samples; see `identity`.
        planned: content hashes of the planned samples; None where that is not known.
        deselected: how many samples of the dataset were not selected; None where that is not known.
        unavailable: metrics that cannot exist with the run's settings, such as pass@5 of one trial.
        asked: share of the planned samples that were asked; 1 unless the verdict needed no more.
        looks: comparisons made before these, by metric.
    """

    benchmark: str
    protocol: str
    primary: bool
    scores: tuple[Score, ...]
    table: SampleValues | None = None
    dataset: str = ""
    incomplete: str = ""
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    planned: frozenset[str] | None = None
    deselected: int | None = None
    unavailable: tuple[str, ...] = ()
    asked: float = 1.0
    looks: Mapping[str, tuple[Look, ...]] = field(default_factory=dict)

    def score(self, metric: str) -> Score | None:
        """A metric's score; None if not measured."""
        return next((score for score in self.scores if score.metric == metric), None)

    def column(self, metric: str) -> dict[str, float]:
        """A metric's value by sample, NaN where there is none; empty without a table of it."""
        table = self.table
        if table is None or metric not in table.metrics:
            return {}
        values = table.values[:, table.metrics.index(metric)].tolist()
        return dict(zip(table.samples, values, strict=True))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One checkpoint.

    Attributes:
        name: short name, such as `checkpoint-655`.
        run: the training run, or the family, it belongs to: the folder it is in. Empty where
            the source reports none.
        step: optimizer steps it was trained for.
        epoch: passes over the training data it was trained for.
        seq_len: tokens of a sequence.
        benchmarks: one for each protocol.
        composite: the weighted mean, made with `weights`.
        source: file or folder the values were read from, for messages.
        spec: what was given as `--checkpoint`.
        fingerprint: content hash of weights, config and tokenizer.
        facts: what else the source reports of it (validation loss, settings), scalars by name.
        printed_composite: a composite that the source itself reports; it is only compared
            with the one computed here.
        average: the mean over tasks of each one's first metric; see `composites`.
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
