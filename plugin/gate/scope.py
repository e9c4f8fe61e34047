"""What the user asked the gate to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..scores.metric import default_tolerance
from ..scores.score import Score
from .measurement import BenchmarkMeasurement

if TYPE_CHECKING:
    from .baseline import BaselineBenchmark


@dataclass(frozen=True, slots=True)
class Scope:
    """What the user asked the gate to look at.

    Attributes:
        remedy: what to do about a benchmark that the run lacks.
        selection: what selected items (`-k`, `a file argument`): benchmarks and samples of the
            baseline that this run lacks are its doing. Empty when everything was to be measured.
        limited: what left out samples only (`--limit`).
        chosen_metrics: by benchmark, what chose among its metrics (`--k`).
        allowed: settings that may differ from the baseline's, see `identity.SETTINGS`.
        gate_on: metrics to gate beside those that are gated by default; `humaneval/pass@1` is
            that of one benchmark.
        tolerance: allowed worsening by metric, by `BENCH/METRIC`, and by `*` for all others; in
            hundredths of the unit for shares (0.01 is 1 pp), times 100 for other units.
    """

    remedy: str = "give its data, or deselect it on purpose (-k)"
    selection: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    chosen_metrics: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    gate_on: frozenset[str] = frozenset()
    tolerance: Mapping[str, float] = field(default_factory=dict)

    def given(self, benchmark: str, score: Score) -> float | None:
        """The tolerance given for a metric by its name, in the metric's unit; None without one."""
        for name in (f"{benchmark}/{score.metric}", score.metric):
            if name in self.tolerance:
                return self.tolerance[name] * (1 if score.share else 100)
        return None

    def tolerance_of(self, benchmark: str, score: Score, reference: BaselineBenchmark) -> float:
        """Allowed worsening in the metric's unit: what was given, the baseline's, the default."""
        allowed = self.given(benchmark, score)
        if allowed is not None:
            return allowed
        if "*" in self.tolerance and score.unit in ("share", "points"):
            return self.tolerance["*"] * (1 if score.share else 100)
        if score.metric in reference.tolerance:
            return reference.tolerance[score.metric]
        reported = reference.scores.get(score.metric)
        value = reported.value if reported is not None and reported.value is not None else 0.0
        return default_tolerance(score.unit, value)

    def gates(self, bench: BenchmarkMeasurement, score: Score) -> bool:
        """Whether a metric of this run is gated."""
        if not bench.primary or score.higher_is_better is None:
            return False
        names = {score.metric, f"{bench.benchmark}/{score.metric}"}
        return score.gated or bool(names & self.gate_on)
