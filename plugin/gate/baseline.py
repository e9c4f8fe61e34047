"""A baseline: the scores and outcomes that later checkpoints are compared with.

`readers.baseline` reads and writes its files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from .._util.jsonio import Scalar
from ..scores.metric import Unit

if TYPE_CHECKING:
    from .measurement import BenchmarkMeasurement

FORMAT = "ckptbench.baseline/2"
# What version 1 lacks has defaults below: settings, trials, clusters, units and directions.
OLDER_FORMATS = ("ckptbench.baseline/1",)
# Read by pydantic, which is imported only where a baseline is read or its schema is made.
_STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """A metric's score as far as the baseline reports it.

    Attributes:
        value: a fraction for shares; None when the metric did not exist.
        standard_error: in the unit of `value`.
        n: samples it was computed over.
        unit: see `scores.metric.Unit`.
        higher_is_better: None when not known: the metric is not compared.
        gated: whether a later run is gated on it unless it says otherwise.
    """

    value: float | None
    standard_error: float | None = None
    n: int | None = None
    unit: Unit = "share"
    higher_is_better: bool | None = True
    gated: bool = True

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class BaselineBenchmark:
    """One benchmark under one protocol.

    Attributes:
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`; empty where a file of numbers has none.
        primary: whether it is the protocol that is gated and enters the composite.
        dataset: content hash of the planned samples.
        n: samples scored; None where a file of numbers does not report it.
        metrics: column names of `outcomes`.
        scores: by metric.
        tolerance: allowed worsening by metric, in the metric's unit; metrics without one have
            the default.
        outcomes: by sample hash, a value for each of `metrics`, None where it does not exist.
        settings: what else affects what is measured, such as the temperature; see `identity`.
        trials: answers drawn for a sample; by sample hash where the numbers differ.
        clusters: cluster by sample hash, of the samples that share one.
    """

    benchmark: str
    protocol: str
    primary: bool
    dataset: str
    n: int | None
    metrics: tuple[str, ...]
    scores: Mapping[str, BaselineScore]
    tolerance: Mapping[str, float] = field(default_factory=dict)
    outcomes: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    trials: int | Mapping[str, int] = 1
    clusters: Mapping[str, str] = field(default_factory=dict)

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    def trials_of(self, sample: str) -> int:
        """How many answers were drawn for a sample."""
        return self.trials if isinstance(self.trials, int) else self.trials.get(sample, 1)

    def column(self, metric: str) -> dict[str, float]:
        """A metric's value by sample hash, of the samples that have one."""
        if metric not in self.metrics:
            return {}
        index = self.metrics.index(metric)
        return {
            sample: row[index]  # type: ignore[misc]
            for sample, row in self.outcomes.items()
            if row[index] is not None
        }


@dataclass(frozen=True, slots=True)
class BaselineComposite:
    """The composite and the weights it was made with."""

    weights: Mapping[str, float]
    value: float | None

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a checkpoint scored, in all benchmarks of a run.

    Attributes:
        format: `ckptbench.baseline/2`; empty for a file of bare numbers or lm-eval results.
        checkpoint: short name of the checkpoint.
        fingerprint: content hash of its weights, config and tokenizer.
        settings: what else affected its answers, such as the sequence length.
        created: ISO 8601 time.
        ckptbench: version that wrote it.
        benchmarks: by protocol name.
        composite: None when the run had none.
    """

    format: str
    checkpoint: str
    fingerprint: str
    settings: Mapping[str, Scalar]
    created: str
    ckptbench: str
    benchmarks: Mapping[str, BaselineBenchmark]
    composite: BaselineComposite | None = None

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    @property
    def bare(self) -> bool:
        """Whether it has numbers only, without protocols or samples."""
        return not self.format

    def find(self, protocol: str) -> BaselineBenchmark | None:
        """The benchmark under this protocol, or the bare numbers, or None."""
        return self.benchmarks.get("" if self.bare else protocol)


def bare_baseline(
    scores: Mapping[str, BaselineScore], settings: Mapping[str, Scalar] | None = None
) -> Baseline:
    """A baseline of numbers without protocol and samples; for the settings see `identity`."""
    numbers = BaselineBenchmark(
        "", "", True, "", None, tuple(scores), dict(scores), settings=dict(settings or {})
    )
    return Baseline("", "", "", {}, "", "", {"": numbers})


def baseline_benchmark(
    bench: BenchmarkMeasurement, tolerance: Mapping[str, float] | None = None
) -> BaselineBenchmark:
    """A measured benchmark as a baseline stores it: its scores, and its samples where known."""
    table = bench.table
    scores = {
        s.metric: BaselineScore(
            s.value,
            s.standard_error,
            s.n or (None if table is None else 0),
            s.unit,
            s.higher_is_better,
            s.gated,
        )
        for s in bench.scores
    }
    numbers = BaselineBenchmark(
        bench.benchmark,
        bench.protocol,
        bench.primary,
        bench.dataset,
        None,
        tuple(scores),
        scores,
        dict(tolerance or {}),
        settings=dict(bench.settings),
    )
    if table is None:
        return numbers
    counts = dict(zip(table.samples, table.trials, strict=True)) if table.trials else {}
    distinct = set(counts.values())
    shared = Counter(table.clusters)
    return replace(
        numbers,
        n=len(table.samples),
        metrics=table.metrics,
        outcomes={
            # NaN is the one value that differs from itself.
            sample: tuple(v if v == v else None for v in row)
            for sample, row in zip(table.samples, table.values.tolist(), strict=True)
        },
        trials=counts if len(distinct) > 1 else next(iter(distinct), 1),
        clusters={
            sample: cluster
            for sample, cluster in zip(table.samples, table.clusters, strict=True)
            if shared[cluster] > 1
        },
    )


def baseline_numbers(bench: BenchmarkMeasurement) -> BaselineBenchmark:
    """A measured benchmark as a baseline stores it without its samples."""
    counts = {score.n for score in bench.scores}
    n = counts.pop() or None if len(counts) == 1 else None
    return replace(baseline_benchmark(replace(bench, table=None)), n=n)


def baseline_notes(baseline: Baseline, settings: Mapping[str, Scalar]) -> Iterator[str]:
    """Notes on a baseline without a protocol, and on engine settings that differ from its own.

    Only settings that both sides record are compared.
    """
    if baseline.bare:
        yield (
            "the baseline has bare numbers without a protocol: "
            "whether they were measured in the same way is not known"
        )
    before = baseline.settings
    differing = [name for name, now in settings.items() if name in before and before[name] != now]
    if differing:
        then, now = (", ".join(f"{n} {of[n]}" for n in differing) for of in (before, settings))
        yield f"the baseline was made with {then}; this run uses {now}"
