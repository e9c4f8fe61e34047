"""Match the benchmarks of a run with those of a baseline; what is left over has no match."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..scores.composite import METRIC
from .baseline import Baseline, BaselineBenchmark, BaselineScore
from .measurement import BenchmarkMeasurement


@dataclass(frozen=True, slots=True)
class Pair:
    """A benchmark of a run with the baseline's.

    Attributes:
        index: of the run's benchmark among those that are given a verdict.
        bench: the run's.
        reference: the baseline's.
    """

    index: int
    bench: BenchmarkMeasurement
    reference: BaselineBenchmark

    @property
    def name(self) -> str:
        """For notes: the protocol, else what is known."""
        return self.bench.protocol or self.reference.protocol or self.bench.benchmark


@dataclass(frozen=True, slots=True)
class Matched:
    """One checkpoint, matched with its baseline.

    Attributes:
        benchmarks: how many get a list of verdicts each; pairs are indexed from 0 up to it.
        pairs: what is compared.
        lacking: gated benchmarks of the baseline that the run does not have, or does not gate.
    """

    benchmarks: int
    pairs: tuple[Pair, ...]
    lacking: tuple[BaselineBenchmark, ...]


def match(
    measured: Sequence[BenchmarkMeasurement], baseline: Sequence[BaselineBenchmark]
) -> Iterator[Pair]:
    """Pair each benchmark of a run with the baseline's of the same name; of several the first of:

    1. the one under the same protocol,
    2. one where either side has no protocol,
    3. the gated one, for a gated benchmark, unless the run has its protocol too: the difference is
       reported and nothing compared.

    A gated benchmark that the baseline does not have by its name is matched with numbers of a
    benchmark without a protocol, such as a bare `pass@1`, by the names of its metrics, where one
    gated benchmark only has a metric of that name on either side. The pair has these metrics.
    """
    protocols = {bench.protocol for bench in measured}
    for index, bench in enumerate(measured):
        same = [reference for reference in baseline if reference.benchmark == bench.benchmark]
        rule_of = partial(_rule_of, bench, protocols)
        chosen = min(filter(rule_of, same), key=rule_of, default=None)
        if chosen is not None:
            yield Pair(index, bench, chosen)
        elif not same and bench.primary:
            yield from _by_metric(index, bench, measured, baseline)


def _rule_of(
    bench: BenchmarkMeasurement, protocols: Collection[str], reference: BaselineBenchmark
) -> int:
    """Which rule of `match` makes a pair of two benchmarks of one name; 0: none."""
    if reference.protocol == bench.protocol:
        return 1
    if not (reference.protocol and bench.protocol):
        return 2
    other = reference.protocol not in protocols
    return 3 if reference.primary and bench.primary and other else 0


def _by_metric(
    index: int,
    bench: BenchmarkMeasurement,
    measured: Sequence[BenchmarkMeasurement],
    baseline: Sequence[BaselineBenchmark],
) -> Iterator[Pair]:
    ours = [score.metric for each in measured if each.primary for score in each.scores]
    theirs = [metric for reference in baseline if reference.primary for metric in reference.scores]
    # With two benchmarks that have a metric of this name, it is not known which is meant.
    unique = {name for name in ours if ours.count(name) == theirs.count(name) == 1}
    for reference in baseline:
        if not reference.primary or (reference.protocol and bench.protocol):
            continue
        scores = tuple(
            s for s in bench.scores if s.metric in unique and s.metric in reference.scores
        )
        if scores:
            yield Pair(index, replace(bench, scores=scores), reference)


def match_baseline(measured: Sequence[BenchmarkMeasurement], baseline: Baseline) -> Matched:
    """Pair a run's benchmarks with those of a baseline file.

    Bare numbers apply to every gated benchmark that has a metric of their name, `pass@1` or
    `humaneval/pass@1`; `MetricNames.check_numbers` refuses ambiguous ones.

    Of bare numbers, those that are no metric of the run are one benchmark that it lacks.
    """
    if not baseline.bare:
        pairs = tuple(match(measured, tuple(baseline.benchmarks.values())))
        met = {pair.reference.protocol for pair in pairs if pair.bench.primary}
        left = (b for b in baseline.benchmarks.values() if b.primary and b.protocol not in met)
        return Matched(len(measured), pairs, tuple(left))
    numbers = baseline.benchmarks[""]
    pairs = tuple(
        Pair(index, bench, _numbers_of(bench, numbers))
        for index, bench in enumerate(measured)
        if bench.primary
    )
    known = {name for pair in pairs for names in _names(pair.bench) for name in names}
    unknown = {
        name: score
        for name, score in numbers.scores.items()
        if name not in known and name != METRIC
    }
    return Matched(len(measured), pairs, (replace(numbers, scores=unknown),))


def _names(bench: BenchmarkMeasurement) -> Iterable[tuple[str, str]]:
    """The names of a benchmark's metrics in a file of bare numbers."""
    metrics = (*(score.metric for score in bench.scores), *bench.unavailable)
    return ((metric, f"{bench.benchmark}/{metric}") for metric in metrics)


def _numbers_of(bench: BenchmarkMeasurement, numbers: BaselineBenchmark) -> BaselineBenchmark:
    scores: dict[str, BaselineScore] = {}
    for metric, qualified in _names(bench):
        for name in (metric, qualified):
            if name in numbers.scores:
                scores[metric] = numbers.scores[name]
    return BaselineBenchmark(bench.benchmark, "", True, "", numbers.n, tuple(scores), scores)
