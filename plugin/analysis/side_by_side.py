"""Compare two checkpoints benchmark by benchmark, with a verdict on every common metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from .._util.errors import CkptbenchError
from .._util.text import listed
from ..gate.baseline import BaselineBenchmark, baseline_benchmark
from ..gate.evaluate import evaluate_matched
from ..gate.matching import Matched, Pair, match
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..gate.scope import Scope
from ..gate.verdict import Candidate, Rules, Verdict, decide
from ..scores.composite import DEFAULT_WEIGHTS, METRIC
from ..scores.score import SampleValues
from .compare import Settings, compare, standard_error_of
from .composites import with_composite


@dataclass(frozen=True, slots=True)
class Task:
    """One benchmark of both checkpoints.

    Attributes:
        benchmark: name, such as `real`, or lm-eval's name of a task.
        protocol: name; empty where neither side reports one.
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
    """The mean over tasks of each one's first metric, where that is a share, all weighing the same.

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
        missing: verdicts on gated metrics whose benchmark only `before` has.
        notes: of the comparison as a whole.
        in_baseline: gated metrics that `before` has.
        compared: those of them that were compared.
    """

    before: Measurement
    after: Measurement
    tasks: tuple[Task, ...]
    composite: Verdict | None
    average: Average | None
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    missing: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    in_baseline: int = 0
    compared: int = 0

    @property
    def gated_verdicts(self) -> tuple[Verdict, ...]:
        """Those that decide the exit status."""
        judged = (v for task in self.tasks if task.gated for v in task.verdicts if v.gated)
        return (*judged, *self.missing)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A benchmark of both sides, the metrics of `before` named as those of `after`.

    Attributes:
        before: the benchmark of `before` under its own names.
        pair: what is compared.
        notes: how, where that is not the best there is.
    """

    before: BenchmarkMeasurement
    pair: Pair
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        known = {m for m, s in self.pair.reference.scores.items() if s.higher_is_better is not None}
        compared = (s.metric for s in self.pair.bench.scores if s.higher_is_better is not None)
        return tuple(metric for metric in compared if metric in known)


def side_by_side(
    before: Measurement,
    after: Measurement,
    *,
    rules: Rules | None = None,
    scope: Scope | None = None,
) -> SideBySide:
    """Compare everything that two checkpoints have in common, as a session does.

    Raises:
        CkptbenchError: nothing is in common.
    """
    rules, scope = rules or Rules(), scope or Scope()
    common = _common(before, after)
    if not common:
        raise CkptbenchError(
            f"nothing to compare: {_name(before)} has {listed(_metrics(before), 5) or 'no score'}; "
            f"{_name(after)} has {listed(_metrics(after), 5) or 'no score'}",
            remedy="Give two results that share a metric.",
        )
    pairs = tuple(replace(each.pair, index=index) for index, each in enumerate(common))
    matched = Matched(len(pairs), pairs, tuple(_lacking(common, before)))
    (evaluation,) = evaluate_matched([matched], rules, scope)
    tasks = tuple(
        Task(
            pair.bench.benchmark,
            pair.bench.protocol or pair.reference.protocol,
            pair.bench.primary,
            tuple(map(_unknown_n, verdicts)),
            each.notes,
        )
        for each, pair, verdicts in zip(common, pairs, evaluation.verdicts, strict=True)
    )
    met = {metric for each in common for metric in each.metrics}
    return SideBySide(
        before,
        after,
        tasks,
        _composite(before, after, rules, scope),
        _average(tasks),
        tuple(name for name in _metrics(before) if _bare(name) not in {*map(_bare, met)}),
        tuple(name for name in _metrics(after) if name not in met),
        evaluation.missing,
        (*evaluation.notes, *_not_compared(before, after)),
        evaluation.in_baseline,
        evaluation.compared,
    )


def _common(before: Measurement, after: Measurement) -> list[_Aligned]:
    """The benchmarks that have a metric of known direction on both sides."""
    sides = [(baseline_benchmark(bench), bench) for bench in before.benchmarks]
    found = []
    for pair in match(after.benchmarks, [reference for reference, _ in sides]):
        then = next(bench for reference, bench in sides if reference is pair.reference)
        incomplete = "; ".join(
            f"{_name(side)}: {bench.incomplete}"
            for side, bench in ((before, then), (after, pair.bench))
            if bench.incomplete
        )
        found.append(
            _aligned(then, replace(pair, bench=replace(pair.bench, incomplete=incomplete)))
        )
    return [each for each in found if each.metrics]


def _aligned(before: BenchmarkMeasurement, pair: Pair) -> _Aligned:
    """With the metrics of `before` under the names of `after`, and what can be paired."""
    bench, reference = pair.bench, pair.reference
    names = {_bare(score.metric): score.metric for score in bench.scores}
    renamed = {metric: names.get(_bare(metric), metric) for metric in reference.scores}
    reference = replace(
        reference,
        benchmark=bench.benchmark,
        primary=True,
        scores={renamed[metric]: score for metric, score in reference.scores.items()},
        metrics=tuple(renamed.get(metric, metric) for metric in reference.metrics),
    )
    notes = []
    if bool(reference.protocol) != bool(bench.protocol):
        notes.append("one side reports no protocol: whether both used the same is not known")
    if why := _why_unpaired(before.table, bench.table):
        notes.append(f"unpaired: {why}")
        scores = tuple(replace(s, standard_error=standard_error_of(s)) for s in bench.scores)
        bench = replace(bench, table=None, scores=scores)
        reference = replace(reference, n=None, outcomes={}, clusters={}, trials=1)
    else:
        bench = _with_known_clusters(bench, reference)
    return _Aligned(before, replace(pair, bench=bench, reference=reference), tuple(notes))


def _lacking(common: Sequence[_Aligned], before: Measurement) -> Iterator[BaselineBenchmark]:
    """The headline benchmarks of which `after` has neither the name nor a metric."""
    used = {each.before.benchmark for each in common}
    metrics = {_bare(score.metric) for each in common for score in each.before.scores}
    for bench in before.primary_benchmarks():
        names = {_bare(score.metric) for score in bench.scores}
        if bench.benchmark not in used and not names & metrics:
            yield baseline_benchmark(bench)


def _why_unpaired(before: SampleValues | None, after: SampleValues | None) -> str:
    if before is None and after is None:
        return "both sides have numbers only"
    if before is None or after is None:
        return "one side has numbers only"
    if set(before.samples).isdisjoint(after.samples):
        return "the two sides have no sample in common"
    return ""


def _with_known_clusters(
    bench: BenchmarkMeasurement, reference: BaselineBenchmark
) -> BenchmarkMeasurement:
    """With the other side's clusters, where only that side knows which samples belong together."""
    table = bench.table
    if table is None or table.clusters != table.samples:
        return bench
    clusters = tuple(reference.clusters.get(sample, sample) for sample in table.samples)
    return replace(bench, table=replace(table, clusters=clusters))


def _not_compared(before: Measurement, after: Measurement) -> Iterator[str]:
    unknown = [
        {s.metric for b in side.benchmarks for s in b.scores if s.higher_is_better is None}
        for side in (before, after)
    ]
    if names := sorted(unknown[0] & unknown[1]):
        yield (
            "not compared, as it is not known whether more is better, or values are not shares: "
            f"{listed(names, 5)}"
        )


def _unknown_n(verdict: Verdict) -> Verdict:
    """Without the n that a source did not report, which is kept as 0."""
    figures = verdict.comparison
    if figures is None or figures.n:
        return verdict
    return replace(verdict, comparison=replace(figures, n=None))


def _composite(
    before: Measurement, after: Measurement, rules: Rules, scope: Scope
) -> Verdict | None:
    weights = after.weights or before.weights or DEFAULT_WEIGHTS
    now, then = with_composite(after, weights), with_composite(before, weights)
    if any(side.composite is None or side.composite.value is None for side in (now, then)):
        return None
    settings = Settings(rules.alpha, scope.tolerance, weights=weights)
    comparison = compare(METRIC, now, then, settings, sides=1)
    if comparison is None:
        return None
    candidate = Candidate(METRIC, comparison, settings.tolerance_of(METRIC), False)
    return _unknown_n(decide([candidate], rules)[0])


def _average(tasks: Sequence[Task]) -> Average | None:
    first = [task.verdicts[0].comparison for task in tasks if task.gated and task.verdicts]
    # A mean of shares and of perplexities would be meaningless.
    shares = (each for each in first if each is not None and each.unit == "share")
    compared = [each for each in shares if each.higher_is_better]
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
    compared = (s for b in benches for s in b.scores if s.higher_is_better is not None)
    return tuple(dict.fromkeys(score.metric for score in compared))


def _name(measurement: Measurement) -> str:
    return measurement.name or measurement.source
