"""The tables of `ckptbench plan`: the samples, problems and trials needed to find a drop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from .._util.text import aligned
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..gate.planning import (
    Passes,
    PlanRow,
    Shares,
    Target,
    by_flips,
    by_trials,
    changed_beside_the_draw,
    design_effect,
    trials_of,
)
from ..gate.units import NO_DROP, size
from ..readers.result import Result
from ..scores.score import Score

_ASSUMED = (0.03, 0.06, 0.12)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Inputs that are not read from the baseline.

    Attributes:
        flips: shares of samples that flip when nothing has changed; empty for the usual ones.
        trials: answers to each problem, beside those of the baseline.
        second: a result over the same samples, for the flips between the two.
    """

    flips: Sequence[float] = ()
    trials: int | None = None
    second: Measurement | None = None

    def shares(self) -> list[tuple[float, str]]:
        """The shares of flips, without a source."""
        return [(share, "") for share in self.flips or _ASSUMED]


@dataclass(frozen=True, slots=True)
class Planned:
    """The table of one metric, and what a plot of it needs.

    Attributes:
        flips: rows of a metric of 0/1 outcomes; empty for others.
        baseline: its shares; None without a baseline.
    """

    title: str
    lines: tuple[str, ...]
    flips: tuple[PlanRow, ...] = ()
    baseline: Shares | None = None


def points(share: float) -> str:
    """`2 pp`."""
    return f"{100 * share:g} pp"


def plan_without_baseline(target: Target, assumed: Assumptions) -> Planned:
    """The samples that metrics of 0/1 outcomes need."""
    return _of_flips(target, "0/1 outcomes of single samples", assumed.shares(), None)


def plan_metric(
    target: Target,
    result: Result,
    benchmark: BenchmarkMeasurement,
    score: Score,
    assumed: Assumptions,
) -> Planned:
    """The samples, or the problems and trials, that a metric of a baseline needs."""
    title = f"{score.metric} ({benchmark.protocol or 'no protocol reported'})"
    if not score.share or not score.higher_is_better:
        return _not_planned(title, "it is no share of which more is better")
    if score.value is None or not score.n:
        return _not_planned(title, "the baseline reports no value with its n")
    passes = _passes_of(result, benchmark, score.metric)
    if passes is not None:
        return _of_trials(target, title, score, passes, benchmark, assumed)
    column = benchmark.column(score.metric)
    if any(value not in (0.0, 1.0) for value in column.values()):
        why = "its values are graded, which is planned only for pass@k with pass@1 beside it"
        return _not_planned(title, why)
    effect = design_effect(score.value, score.n, score.standard_error)
    seen = [*_noise_floor(result, benchmark), *_seen_flips(column, score, assumed.second)]
    title += f": {score.value:.2%} of {score.n:,} samples"
    title += f", design effect {effect:.2f}" if effect > 1 else ""
    shares = Shares(score.value, score.n, effect)
    planned = _of_flips(target, title, [*assumed.shares(), *seen], shares)
    if assumed.trials is None:
        return planned
    note = "  --trials: with one trial a problem, the share of the draw in its error is not known"
    return replace(planned, lines=(*planned.lines, note))


def _not_planned(title: str, why: str) -> Planned:
    return Planned(title, (f"  not planned: {why}",))


def _of_flips(
    target: Target, title: str, flips: list[tuple[float, str]], baseline: Shares | None
) -> Planned:
    rows = by_flips(target, flips, baseline)
    header = ["flips", "samples needed"] + ([f"MDE at n = {baseline.n:,}"] if baseline else [])
    cells = [
        [
            f"{100 * row.assumed:.3g}%" + (f" ({row.source})" if row.source else ""),
            _count(row.needed),
            *([_effect(row.mde)] if baseline else []),
        ]
        for row in rows
    ]
    return Planned(title, tuple(aligned([header, *cells])), rows, baseline)


def _of_trials(
    target: Target,
    title: str,
    score: Score,
    passes: Passes,
    benchmark: BenchmarkMeasurement,
    assumed: Assumptions,
) -> Planned:
    now = max(n for n, _ in passes.counts)
    footnote = "  of two sides that differ by the draw alone"
    changed = _changed_of(passes, benchmark, score.metric, assumed.second)
    if changed is not None:
        passes = replace(passes, changed=changed)
        footnote = "  of two sides that differ as these two do, beside the draw"
    wanted = sorted({now, 2 * now, 4 * now, *([assumed.trials] if assumed.trials else [])})
    rows = by_trials(target, passes, wanted)
    n = len(passes.counts)
    title += f": {score.value:.2%} of {n:,} problems, {now:,} trials each"
    if not rows:
        why = f"an estimate needs {2 * passes.k} trials a problem, and a problem that was passed"
        return _not_planned(title, why)
    header = ["trials", "standard error", "problems needed", f"MDE at n = {n:,}"]
    cells = [
        [f"{row.assumed:,}", _effect(row.standard_error), _count(row.needed), _effect(row.mde)]
        for row in rows
    ]
    lines = [*aligned([header, *cells], left=0), footnote]
    noise = passes.noise
    if noise is not None:
        lines.append(
            f"  {noise.share_of_draw:.0%} of the score's variance is the draw of answers, "
            f"{noise.share_of_problems:.0%} the choice of problems"
        )
    return Planned(title, tuple(lines))


def _noise_floor(result: Result, benchmark: BenchmarkMeasurement) -> Iterator[tuple[float, str]]:
    checkpoints = result.summary.checkpoints if result.summary else ()
    for bench in (b for checkpoint in checkpoints for b in checkpoint.benchmarks):
        if bench.protocol == benchmark.protocol and bench.floor and bench.floor.samples:
            yield bench.floor.flipped / bench.floor.samples, "noise floor"


def _seen_flips(
    column: dict[str, float], score: Score, second: Measurement | None
) -> Iterator[tuple[float, str]]:
    if second is None:
        return
    other = _column_of(second, score.metric)
    common = column.keys() & other.keys()
    if common:
        flips = sum(column[sample] != other[sample] for sample in common)
        yield flips / len(common), f"against {second.name}"


def _column_of(measurement: Measurement, metric: str) -> dict[str, float]:
    columns = (each.column(metric) for each in measurement.primary_benchmarks())
    return next(filter(None, columns), {})


def _passes_of(result: Result, benchmark: BenchmarkMeasurement, metric: str) -> Passes | None:
    """The trials behind a metric pass@k, from its problems' shares of passed ones.

    None for another metric, without the problems' pass@1, or with one trial each.
    """
    name, at, k = metric.partition("@")
    shares = benchmark.column("pass@1")
    if name != "pass" or not at or not k.isdecimal():
        return None
    if not shares or not all(map(isfinite, shares.values())):
        return None
    requested = result.summary.drawing.get("num_samples") if result.summary else None
    trials = (
        requested if isinstance(requested, int) and requested > 1 else trials_of(shares.values())
    )
    if trials is None or trials < 2 or benchmark.table is None:
        return None
    counts = [(trials, round(share * trials)) for share in shares.values()]
    return Passes(counts, int(k), benchmark.table.clusters)


def _changed_of(
    passes: Passes, benchmark: BenchmarkMeasurement, metric: str, second: Measurement | None
) -> float | None:
    """The problems' differences between two results beside the draw; None where not known."""
    if second is None:
        return None
    now, then = benchmark.column(metric), _column_of(second, metric)
    shares = _column_of(second, "pass@1")
    common = [sample for sample in now if sample in then and sample in shares]
    trials = trials_of(shares[sample] for sample in common)
    if not common or trials is None:
        return None
    other = Passes(
        [(trials, round(shares[sample] * trials)) for sample in common], passes.k, common
    )
    differences = [now[sample] - then[sample] for sample in common]
    both = max(n for n, _ in passes.counts), trials
    return changed_beside_the_draw(passes, other, differences, both)


def _effect(share: float | None) -> str:
    return NO_DROP if share is None else size(share)


def _count(number: int | None) -> str:
    return "no number" if number is None else f"{number:,}"
