"""A baseline: the scores and outcomes that later checkpoints are compared with.

These are the values; `baseline_file` reads and writes them. Other rooms import both from
`baseline`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import CkptbenchError, nearest

if TYPE_CHECKING:
    from ..scores.score import SampleValues, Score

FORMAT = "ckptbench.baseline/1"

Scalar = str | int | float | bool | None

# Read by pydantic, which is imported only where a baseline is read or its schema is made.
_STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """A metric's score as far as the baseline states it.

    Attributes:
        value: a fraction for shares; None when the metric did not exist.
        standard_error: in the unit of `value`.
        n: samples it was computed over.
    """

    value: float | None
    standard_error: float | None = None
    n: int | None = None

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class BaselineBenchmark:
    """One benchmark under one protocol.

    Attributes:
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`; empty where a file of numbers states none.
        primary: whether it is the protocol that is gated and enters the composite.
        dataset: content hash of the planned samples.
        n: samples scored; None where a file of numbers states none.
        metrics: column names of `outcomes`.
        scores: by metric.
        tolerance: allowed drop by metric, as a fraction; metrics without one have the default.
        outcomes: by sample hash, a value for each of `metrics`, None where it does not exist.
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

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    def column(self, metric: str) -> dict[str, float]:
        """A metric's value by sample hash, of the samples that have one."""
        if metric not in self.metrics:
            return {}
        place = self.metrics.index(metric)
        return {
            sample: row[place]  # type: ignore[misc]
            for sample, row in self.outcomes.items()
            if row[place] is not None
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
        format: `ckptbench.baseline/1`; empty for a file of bare numbers or lm-eval results.
        checkpoint: short name of the checkpoint.
        fingerprint: content hash of its weights, config and tokenizer.
        settings: what else decided its answers, such as the sequence length.
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
        """Whether it holds numbers only, without protocols or samples."""
        return not self.format

    def find(self, protocol: str) -> BaselineBenchmark | None:
        """The benchmark under this protocol, or the bare numbers, or None."""
        return self.benchmarks.get("" if self.bare else protocol)


def bare_baseline(scores: Mapping[str, BaselineScore]) -> Baseline:
    """A baseline of numbers that state no protocol and no samples."""
    numbers = BaselineBenchmark("", "", True, "", None, tuple(scores), dict(scores))
    return Baseline("", "", "", {}, "", "", {"": numbers})


def baseline_benchmark(
    benchmark: str,
    protocol: str,
    *,
    primary: bool,
    dataset: str,
    table: SampleValues,
    scores: Sequence[Score],
    tolerance: Mapping[str, float] | None = None,
) -> BaselineBenchmark:
    """What a baseline keeps of a benchmark of this run.

    Args:
        dataset: content hash of the planned samples.
        table: the values of every scored sample.
        scores: folded from the table. Those made of all answers at once stay out: they are not
            compared.
        tolerance: allowed drop by metric, of the metrics that differ from the default.
    """
    rows = zip(table.samples, table.values.tolist(), strict=True)
    return BaselineBenchmark(
        benchmark,
        protocol,
        primary,
        dataset,
        len(table.samples),
        table.metrics,
        {
            score.metric: BaselineScore(score.value, score.standard_error, score.n)
            for score in scores
            if score.metric in table.metrics
        },
        dict(tolerance or {}),
        # NaN is the one value that differs from itself.
        {sample: tuple(v if v == v else None for v in row) for sample, row in rows},
    )


def check_protocol(baseline: Baseline, benchmark: str, protocol: str) -> None:
    """Refuse to compare two protocols of one benchmark.

    Bare numbers state no protocol and pass; `protocol_note` says so. A benchmark that the
    baseline does not hold at all passes too: there is nothing to compare.

    Raises:
        CkptbenchError: the baseline holds the benchmark under other protocols only.
    """
    others = [held.protocol for held in baseline.benchmarks.values() if held.benchmark == benchmark]
    if baseline.bare or not others or protocol in others:
        return
    raise CkptbenchError(
        f"the baseline holds {' and '.join(others)}, this run asked {protocol}: "
        "scores of two protocols are not comparable",
        where=f"baseline of {benchmark}",
        remedy=f"Run with --protocol {benchmark}={others[0]}, or make a new baseline.",
    )


def protocol_note(baseline: Baseline) -> str:
    """A sentence for a baseline that states no protocol, or an empty string."""
    if not baseline.bare:
        return ""
    return (
        "The baseline holds bare numbers without a protocol: "
        "whether they were measured the same way is not known."
    )


def settings_note(baseline: Baseline, settings: Mapping[str, Scalar]) -> str:
    """A sentence naming the settings that differ from the baseline's, or an empty string.

    Only settings that both sides state are compared.
    """
    differing = [
        name
        for name, value in settings.items()
        if name in baseline.settings and baseline.settings[name] != value
    ]
    if not differing:
        return ""
    then = ", ".join(f"{name} {baseline.settings[name]}" for name in differing)
    now = ", ".join(f"{name} {settings[name]}" for name in differing)
    return f"The baseline was made with {then}; this run uses {now}."


def unmatched_metrics(baseline: Baseline, known: Iterable[str]) -> tuple[str, ...]:
    """The bare numbers that no known metric has the name of, each with the nearest known name.

    A mistyped name would otherwise be a metric that is silently never gated. Empty for a baseline
    of our own, whose names were not typed.

    Args:
        known: the metrics that this run computes.
    """
    names = sorted(known)
    numbers = baseline.benchmarks[""].metrics if baseline.bare else ()
    return tuple(f"{name}{nearest(name, names)}" for name in numbers if name not in names)
