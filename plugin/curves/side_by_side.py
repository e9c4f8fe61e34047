"""Two measured checkpoints, benchmark by benchmark: what got better and what got worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from ..errors import CkptbenchError
from ..gate.decide import DEFAULT_ALPHA, Candidate, Rules, decide
from ..gate.verdict import Comparison, Verdict
from ..scores.composite import DEFAULT_WEIGHTS, METRIC
from ..scores.score import SampleValues, Score
from .comparing import Settings, compare
from .composites import with_composite
from .measurement import BenchmarkMeasurement, Measurement


@dataclass(frozen=True, slots=True)
class Task:
    """One benchmark of both checkpoints.

    Attributes:
        benchmark: name, such as `real`, or lm-eval's name of a task.
        protocol: name; empty where neither side states one.
        gated: whether its verdicts decide the exit status.
        verdicts: one for each metric that both sides have.
        notes: how they were compared, where that is not the best there is.
    """

    benchmark: str
    protocol: str
    gated: bool
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Average:
    """The mean over tasks of each one's first metric, each task weighing the same.

    Attributes:
        tasks: how many.
        before: mean of the checkpoint compared with.
        after: mean of the compared checkpoint.
        standard_error: of their difference, the tasks being independent; None where one task has
            none.
    """

    tasks: int
    before: float
    after: float
    standard_error: float | None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two checkpoints.

    Attributes:
        before: the one compared with.
        after: the compared one; differences are after minus before.
        tasks: in the order of `after`.
        composite: informative, never gated; None when a side lacks it.
        average: None for fewer than two tasks.
        only_before: metrics that only `before` has.
        only_after: metrics that only `after` has.
    """

    before: Measurement
    after: Measurement
    tasks: tuple[Task, ...]
    composite: Verdict | None
    average: Average | None
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @property
    def gated_verdicts(self) -> tuple[Verdict, ...]:
        """Those that decide the exit status."""
        return tuple(v for task in self.tasks if task.gated for v in task.verdicts)

    def having(self, *wanted: str) -> tuple[Verdict, ...]:
        """The verdicts with one of these words."""
        return tuple(v for task in self.tasks for v in task.verdicts if v.word in wanted)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A benchmark of both sides, the metrics of `before` named as those of `after`."""

    before: BenchmarkMeasurement
    after: BenchmarkMeasurement
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        known = {score.metric for score in self.before.scores if score.share}
        return tuple(s.metric for s in self.after.scores if s.share and s.metric in known)


def side_by_side(
    before: Measurement,
    after: Measurement,
    *,
    tolerance: Mapping[str, float] | None = None,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
) -> SideBySide:
    """Compare everything that two checkpoints have in common.

    Benchmarks are matched by protocol; where a side states none, by the benchmark's name; and
    where that is not stated either, by the metric's. A task is paired when both sides hold
    samples in common.

    Args:
        tolerance: allowed drop by metric, as a fraction, and by `*` for all others.
        alpha: significance level over all gated metrics together (Holm).

    Raises:
        CkptbenchError: a benchmark was asked by different protocols, or nothing is in common.
    """
    pairs = [pair for bench in after.benchmarks for pair in _matches(bench, before, after)]
    pairs = [pair for pair in pairs if pair.metrics]
    if not pairs:
        raise CkptbenchError(
            f"nothing to compare: {_name(before)} has {_listed(before)}; "
            f"{_name(after)} has {_listed(after)}",
            remedy="Give two results that share a metric.",
        )
    settings = Settings(alpha=alpha, tolerance=dict(tolerance or {}), seed=seed)
    gated = sum(len(pair.metrics) for pair in pairs if pair.after.primary)
    candidates = [
        Candidate(
            metric,
            _unknown_n(_compared(metric, pair, before, after, settings, gated)),
            settings.tolerance_of(metric),
            pair.after.primary,
            "incomplete" if (lacking := _incomplete(pair, before, after)) else None,
            lacking,
        )
        for pair in pairs
        for metric in pair.metrics
    ]
    verdicts = iter(decide(candidates, Rules(alpha)))
    tasks = tuple(
        Task(
            pair.after.benchmark,
            pair.after.protocol or pair.before.protocol,
            pair.after.primary,
            tuple(next(verdicts) for _ in pair.metrics),
            pair.notes,
        )
        for pair in pairs
    )
    met = {metric for pair in pairs for metric in pair.metrics}
    return SideBySide(
        before,
        after,
        tasks,
        _composite(before, after, settings),
        _average(tasks),
        tuple(name for name in _metrics(before) if _bare(name) not in {*map(_bare, met)}),
        tuple(name for name in _metrics(after) if name not in met),
    )


def _matches(
    bench: BenchmarkMeasurement, before: Measurement, after: Measurement
) -> Iterator[_Pair]:
    same = [held for held in before.benchmarks if held.benchmark == bench.benchmark]
    held = next((each for each in same if each.protocol == bench.protocol), None)
    if held is None:
        held = next((each for each in same if not (each.protocol and bench.protocol)), None)
    if held is None and same and bench.primary:
        raise CkptbenchError(
            f"{_name(before)} was asked by {' and '.join(each.protocol for each in same)}, "
            f"{_name(after)} by {bench.protocol}: scores of two protocols are not comparable",
            where=bench.benchmark,
            remedy=f"Measure one of them again with --protocol {bench.benchmark}=NAME.",
        )
    if held is not None:
        yield _aligned(held, bench)
    elif not same and bench.primary:
        yield from _by_metric(bench, before, after)


def _by_metric(
    bench: BenchmarkMeasurement, before: Measurement, after: Measurement
) -> Iterator[_Pair]:
    """Numbers that name no benchmark of their own, such as a bare `pass@1`."""
    for held in before.primary_benchmarks():
        if held.protocol and bench.protocol:
            continue
        for score in bench.scores:
            owners = [b for b in after.primary_benchmarks() if _has(b, score.metric)]
            others = [b for b in before.primary_benchmarks() if _has(b, score.metric)]
            # Two benchmarks with a metric of this name: which is meant is not known.
            if _has(held, score.metric) and len(owners) == len(others) == 1:
                yield _aligned(held, replace(bench, scores=(score,)))


def _has(bench: BenchmarkMeasurement, metric: str) -> bool:
    return any(score.metric == metric for score in bench.scores)


def _aligned(before: BenchmarkMeasurement, after: BenchmarkMeasurement) -> _Pair:
    """The two with the metrics of `before` under the names of `after`, and what can be paired."""
    names = {_bare(score.metric): score.metric for score in after.scores}
    renamed = {s.metric: names.get(_bare(s.metric), s.metric) for s in before.scores}
    scores = tuple(replace(score, metric=renamed[score.metric]) for score in before.scores)
    table = before.table and replace(
        before.table, metrics=tuple(renamed.get(m, m) for m in before.table.metrics)
    )
    notes = []
    if bool(before.protocol) != bool(after.protocol):
        notes.append("one side states no protocol: whether both were asked alike is not known")
    pairable = _pairable(table, after.table)
    if not pairable:
        notes.append(f"unpaired: {_why_unpaired(table, after.table)}")
    return _Pair(
        replace(before, primary=True, scores=scores, table=table if pairable else None),
        _with_known_clusters(after, table) if pairable else replace(after, table=None),
        tuple(notes),
    )


def _pairable(before: SampleValues | None, after: SampleValues | None) -> bool:
    if before is None or after is None:
        return False
    return not set(before.samples).isdisjoint(after.samples)


def _why_unpaired(before: SampleValues | None, after: SampleValues | None) -> str:
    if before is None and after is None:
        return "both sides hold numbers only"
    if before is None or after is None:
        return "one side holds numbers only"
    return "the two sides have no sample in common"


def _with_known_clusters(
    bench: BenchmarkMeasurement, other: SampleValues | None
) -> BenchmarkMeasurement:
    """With the other side's clusters, where only that side knows which samples belong together."""
    table = bench.table
    if table is None or other is None or table.clusters != table.samples:
        return bench
    known = dict(zip(other.samples, other.clusters, strict=True))
    clusters = tuple(known.get(sample, sample) for sample in table.samples)
    return replace(bench, table=replace(table, clusters=clusters))


def _compared(
    metric: str,
    pair: _Pair,
    before: Measurement,
    after: Measurement,
    settings: Settings,
    gated: int,
) -> Comparison | None:
    # One benchmark at a time: two may have a metric of the same name.
    now = replace(after, benchmarks=(replace(pair.after, primary=True),), composite=None)
    then = replace(before, benchmarks=(pair.before,), composite=None)
    both = {score.metric for score in pair.before.scores if _tabled(pair.before, score)}
    if pair.before.table is not None and metric not in both:
        now = replace(now, benchmarks=(replace(pair.after, primary=True, table=None),))
    return compare(metric, now, then, settings, choices=max(1, gated), sides=1)


def _tabled(bench: BenchmarkMeasurement, score: Score) -> bool:
    """Whether a table has values of a metric: one is known from its number alone."""
    table = bench.table
    if table is None or score.metric not in table.metrics:
        return False
    column = table.values[:, table.metrics.index(score.metric)]
    return bool((column == column).any())


def _unknown_n(comparison: Comparison | None) -> Comparison | None:
    """Without the n that a source did not state, which is kept as 0."""
    if comparison is None or comparison.n:
        return comparison
    return replace(comparison, n=None)


def _incomplete(pair: _Pair, before: Measurement, after: Measurement) -> str:
    told = [
        f"{_name(side)}: {bench.incomplete}"
        for side, bench in ((before, pair.before), (after, pair.after))
        if bench.incomplete
    ]
    return "; ".join(told)


def _composite(before: Measurement, after: Measurement, settings: Settings) -> Verdict | None:
    weights = after.weights or before.weights or DEFAULT_WEIGHTS
    settings = replace(settings, weights=weights)
    now, then = with_composite(after, weights), with_composite(before, weights)
    if any(side.composite is None or side.composite.value is None for side in (now, then)):
        return None
    comparison = compare(METRIC, now, then, settings, sides=1)
    if comparison is None:
        return None
    candidate = Candidate(METRIC, _unknown_n(comparison), settings.tolerance_of(METRIC), False)
    return decide([candidate], Rules(settings.alpha))[0]


def _average(tasks: Sequence[Task]) -> Average | None:
    first = [
        task.verdicts[0].comparison
        for task in tasks
        if task.gated and task.verdicts[0].comparison is not None
    ]
    compared = [each for each in first if each is not None]
    if len(compared) < 2:
        return None
    n = len(compared)
    errors = [each.standard_error for each in compared]
    squares = sum((error or 0.0) ** 2 for error in errors)
    return Average(
        n,
        sum(each.baseline for each in compared) / n,
        sum(each.current for each in compared) / n,
        None if None in errors else sqrt(squares) / n,
    )


def _bare(metric: str) -> str:
    """A metric without lm-eval's name for "no filter": `hellaswag acc` of `hellaswag acc,none`."""
    return metric.removesuffix(",none")


def _metrics(measurement: Measurement) -> tuple[str, ...]:
    benches = measurement.primary_benchmarks()
    return tuple(dict.fromkeys(s.metric for b in benches for s in b.scores if s.share))


def _listed(measurement: Measurement) -> str:
    names = _metrics(measurement)
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) or "no score") + rest


def _name(measurement: Measurement) -> str:
    return measurement.name or measurement.source
