"""What planning takes from results: shares, observed flips, and trials of problems."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..gate.planning import Passes, changed_beside_the_draw, trials_of
from ..scores.score import Score
from .result import Result


def noise_floor(result: Result, benchmark: BenchmarkMeasurement) -> Iterator[tuple[float, str]]:
    """The noise floor, where the result is a run that measured it."""
    checkpoints = result.summary.checkpoints if result.summary else ()
    for bench in (b for checkpoint in checkpoints for b in checkpoint.benchmarks):
        if bench.protocol == benchmark.protocol and bench.floor and bench.floor.samples:
            yield bench.floor.flipped / bench.floor.samples, "noise floor"


def seen_flips(
    column: dict[str, float], score: Score, second: Measurement | None
) -> Iterator[tuple[float, str]]:
    """The share of the samples of both results that flipped between them."""
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


def passes_of(result: Result, benchmark: BenchmarkMeasurement, metric: str) -> Passes | None:
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


def changed_of(
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
