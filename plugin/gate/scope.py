"""Which metrics the gate compares and how strictly, and the metric names that users write."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._util.errors import CkptbenchError, nearest
from ..scores.composite import METRIC
from ..scores.metric import default_tolerance
from ..scores.reducers import Named, reducer_of
from ..scores.score import Score
from .baseline import Baseline, BaselineBenchmark
from .measurement import BenchmarkMeasurement

# Metrics of the suite's own benchmarks: a session that was narrowed does not collect them all.
_SUITE = re.compile(r"(?:(?:humaneval|mbpp|codecontests|problems)/)?pass@\d+|(?:real|lambada)@\d+")


def same_but_k(metric: str, other: str) -> bool:
    """Whether two names are of one metric at any k: `real@1` and `real@5`."""
    stem, at, k = metric.rpartition("@")
    return bool(at) and k.isdecimal() and stem == other.rpartition("@")[0]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which metrics the gate compares, and how strictly.

    Attributes:
        remedy: what to do about a benchmark that the run lacks.
        selection: what selected items (`-k`, `a file argument`) and so explains benchmarks and
            samples of the baseline that this run lacks. Empty when everything was to be measured.
        limited: what left out samples only (`--limit`).
        chosen_metrics: by benchmark, what selected among its metrics (`--k`).
        chosen_protocols: by benchmark, what selected among its protocols (`--protocol`).
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
    chosen_protocols: Mapping[str, str] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class MetricNames:
    """The gated benchmarks of a session and the metrics of each.

    Attributes:
        metrics: names of the metrics by benchmark.
    """

    metrics: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, reducers: Mapping[str, Mapping[str, Any]]) -> MetricNames:
        """Of the benchmarks of a session, by the record of each one's reducer."""
        found: dict[str, tuple[str, ...]] = {}
        for name, record in reducers.items():
            reducer = reducer_of(record)
            corpus = reducer.corpus if isinstance(reducer, Named) else ()
            found[name] = (*reducer.metrics(name), *(f"{name} {metric}" for metric in corpus))
        return cls(found)

    @property
    def known(self) -> set[str]:
        """Every name that may be typed: `pass@1`, and `humaneval/pass@1`."""
        names = {metric for each in self.metrics.values() for metric in each}
        qualified = {f"{bench}/{m}" for bench, each in self.metrics.items() for m in each}
        return names | qualified

    def owners(self, metric: str) -> tuple[str, ...]:
        """The benchmarks that have a metric of this bare name."""
        return tuple(bench for bench, metrics in self.metrics.items() if metric in metrics)

    def check(self, names: Iterable[str], where: str, *, also: Iterable[str] = ()) -> None:
        """Refuse names that no benchmark has.

        Raises:
            CkptbenchError: naming the nearest known one.
        """
        known = self.known
        for name in names:
            if name not in known and name not in also and not _SUITE.fullmatch(name):
                raise CkptbenchError(
                    f"no metric named {name!r}{nearest(name, sorted(known))}",
                    where=where,
                    remedy=f"Metrics are {', '.join(sorted(known)) or 'none'}.",
                )

    def check_options(self, config: Any, options: Any) -> None:
        """Refuse metrics in `--tolerance` and `--gate-on` that no benchmark has.

        An ini file may name metrics of benchmarks that this session does not run.

        Raises:
            CkptbenchError: see `check`.
        """
        typed = {n for given in config.getoption("ckpt_tolerance", None) or [] for n in given}
        self.check(typed, "--tolerance", also=("*", METRIC))
        if options.sources.get("gate_on", "") == "command line":
            self.check(options.gate_on, "--gate-on")

    def check_numbers(self, baseline: Baseline, where: str, narrowed: Collection[str] = ()) -> None:
        """Refuse bare numbers of unknown metrics, and those that several benchmarks could mean.

        Args:
            narrowed: benchmarks of which some k were chosen: numbers of others are left out.

        Raises:
            CkptbenchError: naming the benchmarks, or the nearest known name.
        """
        if not baseline.bare:
            return
        # `TASK METRIC,FILTER` was written by lm-eval, perhaps for tasks that are not run here.
        numbers = [name for name in baseline.benchmarks[""].scores if "," not in name]
        of_other_k = {
            name
            for name in numbers
            for bench in narrowed
            for metric in self.metrics.get(bench, ())
            if same_but_k(name.removeprefix(f"{bench}/"), metric)
        }
        self.check(numbers, where, also=(METRIC, *of_other_k))
        for metric in numbers:
            owners = self.owners(metric)
            if len(owners) > 1:
                names = " and ".join(owners)
                raise CkptbenchError(
                    f"{metric!r} is ambiguous: {names} have it",
                    where=where,
                    remedy=f"Write {owners[0]}/{metric}.",
                )
