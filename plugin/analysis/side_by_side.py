"""Two measured checkpoints, benchmark by benchmark: what got better and what got worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from .._util.errors import CkptbenchError
from ..gate.baseline import FORMAT, Baseline, BaselineBenchmark
from ..gate.evaluate import evaluate
from ..gate.measured import Measured, Scope
from ..gate.verdict import Candidate, Rules, Verdict, decide
from ..results.measurement import BenchmarkMeasurement, Measurement
from ..scores.composite import DEFAULT_WEIGHTS, METRIC
from ..scores.score import SampleValues
from .compare import Settings, compare, standard_error_of
from .composites import with_composite
from .sides import held_of, measured_of


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
        known = {s.metric for s in self.before.scores if s.higher_is_better is not None}
        return tuple(
            s.metric
            for s in self.after.scores
            if s.higher_is_better is not None and s.metric in known
        )


def side_by_side(
    before: Measurement,
    after: Measurement,
    *,
    rules: Rules | None = None,
    scope: Scope | None = None,
    seed: int = 0,
) -> SideBySide:
    """Compare everything that two checkpoints have in common, as a session compares.

    Benchmarks are matched by protocol; where a side states none, by the benchmark's name; and
    where that is not stated either, by the metric's.

    Args:
        rules: what verdicts are made with.
        scope: tolerances, settings that may differ, and what is left out on purpose.

    Raises:
        CkptbenchError: nothing is in common.
    """
    rules, scope = rules or Rules(), scope or Scope()
    pairs = [pair for bench in after.benchmarks for pair in _matches(bench, before, after)]
    pairs = [pair for pair in pairs if pair.metrics]
    if not pairs:
        raise CkptbenchError(
            f"nothing to compare: {_name(before)} has {_listed(before)}; "
            f"{_name(after)} has {_listed(after)}",
            remedy="Give two results that share a metric.",
        )
    (evaluation,) = evaluate(
        [[_measured(pair, before, after) for pair in pairs]],
        _baseline(pairs, before),
        rules=rules,
        scope=scope,
        seed=seed,
    )
    tasks = tuple(
        Task(
            pair.after.benchmark,
            pair.after.protocol or pair.before.protocol,
            pair.after.primary,
            tuple(map(_unknown_n, verdicts)),
            pair.notes,
        )
        for pair, verdicts in zip(pairs, evaluation.verdicts, strict=True)
    )
    met = {metric for pair in pairs for metric in pair.metrics}
    return SideBySide(
        before,
        after,
        tasks,
        _composite(before, after, rules, scope, seed),
        _average(tasks),
        tuple(name for name in _metrics(before) if _bare(name) not in {*map(_bare, met)}),
        tuple(name for name in _metrics(after) if name not in met),
        evaluation.missing,
        (*evaluation.notes, *_not_compared(before, after)),
        evaluation.in_baseline,
        evaluation.compared,
    )


def _measured(pair: _Pair, before: Measurement, after: Measurement) -> Measured:
    """The judged side of a pair, under a protocol's name that both sides have."""
    found = measured_of(pair.after)
    scores = found.scores
    if pair.before.table is None or pair.after.table is None:
        scores = tuple(replace(s, standard_error=standard_error_of(s)) for s in scores)
    return replace(
        found, protocol=_key(pair), scores=scores, incomplete=_incomplete(pair, before, after)
    )


def _key(pair: _Pair) -> str:
    """The name a pair is evaluated under; where a side states no protocol, it is no mismatch."""
    return pair.after.protocol or f"{pair.after.benchmark}/{pair.before.protocol}"


def _baseline(pairs: Sequence[_Pair], before: Measurement) -> Baseline:
    held: dict[str, BaselineBenchmark] = {}
    for pair in pairs:
        both = pair.before.protocol and pair.after.protocol
        protocol = pair.before.protocol if both else _key(pair)
        of_pair = replace(held_of(pair.before), protocol=protocol, benchmark=pair.after.benchmark)
        held[protocol] = _merged(held.get(protocol), of_pair)
    used = {pair.before.benchmark for pair in pairs}
    metrics = {_bare(s.metric) for pair in pairs for s in pair.before.scores}
    for bench in before.primary_benchmarks():
        names = {_bare(score.metric) for score in bench.scores}
        if bench.benchmark not in used and not names & metrics:
            key = bench.protocol or f"{bench.benchmark}/"
            held[key] = replace(held_of(bench), protocol=key)
    return Baseline(FORMAT, before.name, before.fingerprint, {}, "", "", held)


def _merged(one: BaselineBenchmark | None, other: BaselineBenchmark) -> BaselineBenchmark:
    """Numbers of one benchmark that were matched metric by metric, together."""
    if one is None or one.outcomes or other.outcomes:
        return other
    scores = {**one.scores, **other.scores}
    return replace(other, scores=scores, metrics=tuple(scores))


def _matches(
    bench: BenchmarkMeasurement, before: Measurement, after: Measurement
) -> Iterator[_Pair]:
    same = [held for held in before.benchmarks if held.benchmark == bench.benchmark]
    held = next((each for each in same if each.protocol == bench.protocol), None)
    if held is None:
        held = next((each for each in same if not (each.protocol and bench.protocol)), None)
    if held is None and bench.primary:
        held = next((each for each in same if each.primary), None)
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


def _not_compared(before: Measurement, after: Measurement) -> Iterator[str]:
    """A note on metrics of both sides whose direction is not known."""
    unknown = [
        {s.metric for b in side.benchmarks for s in b.scores if s.higher_is_better is None}
        for side in (before, after)
    ]
    if names := sorted(unknown[0] & unknown[1]):
        rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield (
            "not compared, since it is not known whether more is better, or values are no shares: "
            f"{', '.join(names[:5])}{rest}"
        )


def _unknown_n(verdict: Verdict) -> Verdict:
    """Without the n that a source did not state, which is kept as 0."""
    figures = verdict.comparison
    if figures is None or figures.n:
        return verdict
    return replace(verdict, comparison=replace(figures, n=None))


def _incomplete(pair: _Pair, before: Measurement, after: Measurement) -> str:
    told = [
        f"{_name(side)}: {bench.incomplete}"
        for side, bench in ((before, pair.before), (after, pair.after))
        if bench.incomplete
    ]
    return "; ".join(told)


def _composite(
    before: Measurement, after: Measurement, rules: Rules, scope: Scope, seed: int
) -> Verdict | None:
    weights = after.weights or before.weights or DEFAULT_WEIGHTS
    now, then = with_composite(after, weights), with_composite(before, weights)
    if any(side.composite is None or side.composite.value is None for side in (now, then)):
        return None
    settings = Settings(rules.alpha, scope.tolerance, seed, weights)
    comparison = compare(METRIC, now, then, settings, sides=1)
    if comparison is None:
        return None
    candidate = Candidate(METRIC, comparison, settings.tolerance_of(METRIC), False)
    return _unknown_n(decide([candidate], rules)[0])


def _average(tasks: Sequence[Task]) -> Average | None:
    first = [task.verdicts[0].comparison for task in tasks if task.gated and task.verdicts]
    # A mean of shares and of perplexities would be a number of nothing.
    compared = [
        each
        for each in first
        if each is not None and each.unit == "share" and each.higher_is_better
    ]
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


def _listed(measurement: Measurement) -> str:
    names = _metrics(measurement)
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) or "no score") + rest


def _name(measurement: Measurement) -> str:
    return measurement.name or measurement.source
