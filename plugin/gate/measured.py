"""A benchmark as it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._util.jsonio import Scalar
from ..scores.score import SampleValues, Score

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class BenchmarkMeasurement:
    """One benchmark under one protocol.

    Attributes:
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`; empty where the source states none.
        primary: whether its metrics are the benchmark's headline ones (gated, in the composite).
        scores: one for each metric.
        table: each sample's values; None where the source holds only numbers. With it,
            comparisons are paired.
        dataset: content hash of the planned samples; empty where the source states none.
        incomplete: why the scores are not of every planned sample; empty when they are.
        settings: what decides what is measured beside the samples; see `identity`.
        planned: content hashes of the planned samples; None where that is not known.
        unavailable: metrics that cannot exist with the run's settings, such as pass@5 of one trial.
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
    unavailable: tuple[str, ...] = ()

    def score(self, metric: str) -> Score | None:
        """A metric's score; None if not measured."""
        return next((score for score in self.scores if score.metric == metric), None)
