"""All benchmarks of one checkpoint against a baseline: who is compared with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..scores.score import SampleValues, Score
from .baseline_values import Baseline, BaselineBenchmark
from .comparison import compare_composite, compare_point, compare_score
from .decide import (
    DEFAULT_ALPHA,
    DEFAULT_TOLERANCE,
    Candidate,
    Rules,
    decide,
)
from .verdict import Comparison, Verdict


@dataclass(frozen=True, slots=True)
class Measured:
    """One benchmark of this run, ready for the gate.

    Attributes:
        benchmark: name, such as `real`.
        protocol: name, such as `real/whole-word`.
        primary: whether it is gated.
        table: values of every scored sample.
        scores: folded from the table.
        incomplete: why the scores cannot be judged, such as `3 of 1,600 samples are errors`;
            empty when the coverage is complete.
    """

    benchmark: str
    protocol: str
    primary: bool
    table: SampleValues
    scores: tuple[Score, ...]
    incomplete: str = ""


def judge(
    measured: Sequence[Measured],
    baseline: Baseline,
    *,
    tolerance: Mapping[str, float] | None = None,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
) -> tuple[tuple[Verdict, ...], ...]:
    """The verdicts of each benchmark, in the order given; none for what the baseline lacks, and
    none on a number that is no share, unless it has become so by losing samples.

    Call `check_protocol` first: a benchmark that the baseline holds under another protocol only
    gets no verdict here.

    Args:
        tolerance: allowed drop by metric, as a fraction, and by `*` for all others. What is not
            named there has the baseline's own tolerance, or else the default of 1.0 %p.
        alpha: significance level of the whole gate.
    """
    given = tolerance or {}
    pairs = [
        (place, score, held)
        for place, bench in enumerate(measured)
        if (held := baseline.find(bench.protocol)) is not None
        for score in bench.scores
        if score.metric in held.metrics and (score.share or _lost(score, bench.table, held))
    ]
    gated = sum(1 for place, score, held in pairs if measured[place].primary)
    level = alpha / max(1, gated)
    candidates = [
        Candidate(
            score.metric,
            _compare(score, measured[place].table, held, level, seed),
            tolerance_of(score.metric, given, held),
            measured[place].primary,
            "incomplete" if (why := _unusable(score, measured[place], held)) else None,
            why,
        )
        for place, score, held in pairs
    ]
    verdicts: list[list[Verdict]] = [[] for _ in measured]
    decided = decide(candidates, Rules(alpha))
    for (place, _, _), verdict in zip(pairs, decided, strict=True):
        verdicts[place].append(verdict)
    return tuple(tuple(each) for each in verdicts)


def judge_composite(
    score: Score,
    weights: Mapping[str, float],
    measured: Sequence[Measured],
    baseline: Baseline,
    *,
    alpha: float = DEFAULT_ALPHA,
    tolerance: float = DEFAULT_TOLERANCE,
    seed: int = 0,
) -> Verdict | None:
    """The verdict on the composite: informative, never gated.

    Paired when the baseline holds the samples of every part; otherwise the two numbers are put
    side by side, since the parts' correlation in the baseline is not known.

    Args:
        score: the composite of this run.
        weights: those it was made with; the baseline's composite is made again with them.
        measured: the benchmarks of this run; the primary ones count.

    Returns:
        The verdict, or None when either side lacks a part.
    """
    if score.value is None:
        return None
    parts = [
        (bench, held)
        for bench in measured
        if bench.primary and (held := baseline.find(bench.protocol)) is not None
    ]
    columns = {
        metric: held.column(metric)
        for bench, held in parts
        for metric in bench.table.metrics
        if weights.get(metric) and held.outcomes and metric in held.metrics
    }
    tables = [bench.table for bench, _ in parts]
    comparison = compare_composite(score.metric, weights, tables, columns, alpha=alpha, seed=seed)
    if comparison is None:
        values = {name: s.value for _, held in parts for name, s in held.scores.items()}
        known = {name: value for name, value in values.items() if value is not None}
        if any(weight and name not in known for name, weight in weights.items()):
            return None
        then = sum(weight * known[name] for name, weight in weights.items() if weight)
        comparison = compare_point(score.metric, score.value, then)
    incomplete = next((bench.incomplete for bench, _ in parts if bench.incomplete), "")
    candidate = Candidate(
        score.metric, comparison, tolerance, False, "incomplete" if incomplete else None, incomplete
    )
    return decide([candidate], Rules(alpha))[0]


def tolerance_of(metric: str, given: Mapping[str, float], held: BaselineBenchmark) -> float:
    """Allowed drop of a metric: the one given, the one given for `*`, the baseline's, 1.0 %p."""
    if metric in given:
        return given[metric]
    return given.get("*", held.tolerance.get(metric, DEFAULT_TOLERANCE))


def _unusable(score: Score, measured: Measured, held: BaselineBenchmark) -> str:
    lost = _lost(score, measured.table, held)
    return measured.incomplete or lost or score.reason * (score.value is None)


def _lost(score: Score, table: SampleValues, held: BaselineBenchmark) -> str:
    """Why a metric that the baseline has of every sample is not judged here; mostly empty.

    A benchmark may give some samples no value of a metric; one that it gave them all before has
    lost a part, and must not pass for one that is only shown.
    """
    if not table.by_name or not held.outcomes or score.n == len(table.samples):
        return ""
    if len(held.column(score.metric)) < len(held.outcomes):
        return ""
    n = len(table.samples)
    return f"{n - score.n:,} of {n:,} samples have no value of it, the baseline's all had one"


def _compare(
    score: Score, table: SampleValues, held: BaselineBenchmark, alpha: float, seed: int
) -> Comparison | None:
    stated = held.scores.get(score.metric)
    return compare_score(
        score,
        table,
        outcomes=held.column(score.metric),
        value=stated.value if stated else None,
        standard_error=stated.standard_error if stated else None,
        n=stated.n if stated else None,
        alpha=alpha,
        seed=seed,
    )
