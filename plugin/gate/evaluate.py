"""The checkpoints of a session against a baseline: what is compared with what, and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..scores.metric import default_tolerance
from ..scores.score import SampleValues, Score
from .baseline import Baseline, BaselineBenchmark
from .comparison import compare_score, with_looks
from .composite_comparison import compare_composite
from .identity import Mismatch, mismatches, unrecorded
from .matching import Matched, Pair, match_baseline
from .mde import Rule
from .measurement import BenchmarkMeasurement
from .scope import Scope, same_but_k
from .verdict import Candidate, Rules, Verdict, Word, decide


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One checkpoint's verdicts.

    Attributes:
        verdicts: of each benchmark, in the order given.
        missing: on gated metrics of the baseline whose benchmark this run does not have.
        notes: sentences for the reader.
        in_baseline: gated metrics that the baseline has.
        compared: those of them that were compared.
    """

    verdicts: tuple[tuple[Verdict, ...], ...]
    missing: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    in_baseline: int = 0
    compared: int = 0


@dataclass
class _Pending:
    """Candidates of one checkpoint, with the index of the benchmark that each belongs to."""

    candidates: list[tuple[int | None, Candidate]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    in_baseline: int = 0

    def not_judged(self, index: int | None, metric: str, word: Word, reason: str) -> None:
        """Add a gated metric of the baseline that the run lacks, or has no score of."""
        self.candidates.append((index, Candidate(metric, None, 0.0, True, word, reason)))

    def leave_out(self, metric: str, by: Sequence[str]) -> None:
        """Record a gated metric of the baseline that the user left out."""
        self.left_out.setdefault(", ".join(by), []).append(metric)


def evaluate(
    checkpoints: Sequence[Sequence[BenchmarkMeasurement]],
    baseline: Baseline,
    *,
    rules: Rules | None = None,
    scope: Scope | None = None,
    seed: int = 0,
) -> tuple[Evaluation, ...]:
    """Compare the benchmarks of every checkpoint of a session with a baseline."""
    matched = [match_baseline(each, baseline) for each in checkpoints]
    return evaluate_matched(matched, rules or Rules(), scope or Scope(), seed)


def evaluate_matched(
    checkpoints: Sequence[Matched], rules: Rules, scope: Scope, seed: int = 0
) -> tuple[Evaluation, ...]:
    """The verdicts on every checkpoint of a session.

    All at once, because Holm's family is everything that the session gates, and each MDE is that
    of the corrected level.

    Args:
        seed: of simulated p values; a p of 0/1 outcomes is exact and does not depend on it.
    """
    family = sum(
        _gates(scope, pair, score)
        for matched in checkpoints
        for pair in matched.pairs
        for score in pair.bench.scores
        if _compared_metric(score, pair.reference)
    )
    level = rules.alpha / max(1, family, rules.family)
    rule = Rule(level, seed=seed, must_see=rules.must_see if rules.looks else None)
    pending = [_candidates(matched, scope, rule) for matched in checkpoints]
    decided = iter(decide([c for each in pending for _, c in each.candidates], rules))
    return tuple(
        _evaluation(matched.benchmarks, each, [next(decided) for _ in each.candidates])
        for matched, each in zip(checkpoints, pending, strict=True)
    )


def evaluate_composite(
    score: Score,
    weights: Mapping[str, float],
    measured: Sequence[BenchmarkMeasurement],
    baseline: Baseline,
    *,
    rules: Rules | None = None,
    scope: Scope | None = None,
    seed: int = 0,
) -> Verdict | None:
    """The verdict on the composite: informative, never gated.

    Paired when the baseline has the samples of every part; otherwise the two numbers are
    compared, with the errors of their parts.

    Args:
        score: the composite of this run.
        weights: its weights; the baseline's composite is computed again with them.
        measured: the benchmarks of this run; the primary ones count.

    Returns:
        The verdict, or None when either side lacks a part.
    """
    rules, scope = rules or Rules(), scope or Scope()
    if score.value is None:
        return None
    parts = [
        (pair.bench, pair.reference)
        for pair in match_baseline(measured, baseline).pairs
        if pair.bench.primary and not _mismatches(pair, scope)[0]
    ]
    tolerance = scope.tolerance.get(score.metric, scope.tolerance.get("*", default_tolerance("")))
    rule = Rule(alpha=rules.alpha, tolerance=tolerance, seed=seed)
    comparison = compare_composite(score, weights, parts, rule)
    if comparison is None:
        return None
    incomplete = next((bench.incomplete for bench, _ in parts if bench.incomplete), "")
    word: Word | None = "incomplete" if incomplete else None
    candidate = Candidate(score.metric, comparison, tolerance, False, word, incomplete)
    return decide([candidate], rules)[0]


def _compared_metric(score: Score, reference: BaselineBenchmark) -> bool:
    reported = reference.scores.get(score.metric)
    return (
        score.higher_is_better is not None
        and reported is not None
        and (reported.value is not None or bool(reference.outcomes))
    )


def _gates(scope: Scope, pair: Pair, score: Score) -> bool:
    """Whether a metric is gated: also where values that are missing took it out of the gate."""
    lost = bool(score.reason) and score.metric in _gated_metrics(pair.reference, scope)
    return scope.gates(pair.bench, score) or (lost and pair.bench.primary)


def _candidates(matched: Matched, scope: Scope, rule: Rule) -> _Pending:
    pending = _Pending()
    for pair in matched.pairs:
        _compare_pair(pending, pair, scope, rule)
    protocols = {pair.reference.protocol for pair in matched.pairs}
    for reference in matched.lacking:
        bare = not reference.benchmark
        for metric in reference.scores if bare else _gated_metrics(reference, scope):
            pending.in_baseline += 1
            name = metric if bare else _full_name(reference.benchmark, metric)
            reason = f"the baseline has {metric}, and this run did not measure it"
            if reference.protocol and reference.protocol in protocols:
                reason = (
                    f"the baseline gates {metric} of {reference.protocol}, which this run measures "
                    "beside the protocol that it gates"
                )
            elif not bare:
                reason = (
                    f"the baseline has {metric} of {reference.benchmark}, and this run did not "
                    f"measure {reference.benchmark}: {scope.remedy}"
                )
            by = scope.selection or _chosen(matched, reference, metric, scope)
            if by:
                pending.leave_out(name, by)
            else:
                pending.not_judged(None, name, "missing", reason)
    return pending


def _chosen(
    matched: Matched, reference: BaselineBenchmark, metric: str, scope: Scope
) -> tuple[str, ...]:
    """What left out a metric of a benchmark that the run measures otherwise; empty for nothing."""
    measured = {pair.bench.benchmark: pair.bench for pair in matched.pairs}
    found: set[str | None] = set()
    if reference.benchmark in measured:
        found.add(scope.chosen_protocols.get(reference.benchmark))
    elif not reference.benchmark:
        for name, bench in measured.items():
            own = metric.removeprefix(f"{name}/")
            if any(same_but_k(own, score.metric) for score in bench.scores):
                found.add(scope.chosen_metrics.get(name))
    return tuple(sorted(by for by in found if by))


def _compare_pair(pending: _Pending, pair: Pair, scope: Scope, rule: Rule) -> None:
    bench, reference = pair.bench, pair.reference
    differing, allowed = _mismatches(pair, scope)
    pending.notes += [f"{pair.name}: allowed mismatch: {each}" for each in allowed]
    absent = unrecorded(reference, bench.settings) if reference.outcomes else ()
    if absent:
        pending.notes.append(
            f"{pair.name}: the baseline does not record {', '.join(absent)}; "
            "--update-baseline writes one that does"
        )
    lost, by = _lost_samples(bench, reference, scope)
    if by:
        pending.notes.append(f"{pair.name}: {lost} ({', '.join(by)})")
        lost = ""
    for score in bench.scores:
        if not _compared_metric(score, reference):
            continue
        gated = _gates(scope, pair, score)
        pending.in_baseline += gated
        tolerance = scope.tolerance_of(bench.benchmark, score, reference)
        why = bench.incomplete or lost or _lost_values(score, bench.table, reference)
        why = why or (score.reason if score.value is None else "")
        word: Word | None = "incomplete" if why else None
        comparison = None
        if differing:
            word, why = "incomparable", "; ".join(map(str, differing))
        elif not bench.incomplete:
            of_metric = replace(rule, tolerance=tolerance)
            comparison = compare_score(score, bench.table, reference, of_metric)
        if comparison is not None:
            comparison = with_looks(comparison, bench.looks.get(score.metric, ()), bench.asked)
        candidate = Candidate(score.metric, comparison, tolerance, gated, word, why)
        pending.candidates.append((pair.index, candidate))
    if bench.primary and (reference.primary or not reference.protocol):
        _missing_metrics(pending, pair, scope)


def _missing_metrics(pending: _Pending, pair: Pair, scope: Scope) -> None:
    bench = pair.bench
    scored = {score.metric: score for score in bench.scores}
    for metric in _gated_metrics(pair.reference, scope):
        score = scored.get(metric)
        if score is not None and (score.higher_is_better is not None or not score.reason):
            continue
        pending.in_baseline += 1
        if score is not None:  # its values are none of the metric's unit
            pending.not_judged(pair.index, metric, "incomplete", score.reason)
            continue
        by = scope.chosen_metrics.get(bench.benchmark, "")
        if metric in bench.unavailable:
            by = "the number of trials"
        if by:
            pending.leave_out(_full_name(bench.benchmark, metric), [by])
            continue
        of = pair.reference.protocol or pair.name
        reason = f"the baseline has {metric} of {of}, this run has no such score"
        pending.not_judged(pair.index, metric, "missing", reason)


def _full_name(benchmark: str, metric: str) -> str:
    """`humaneval/pass@1`; `gsm8k exact_match,none` names its benchmark already."""
    return metric if metric.startswith(f"{benchmark} ") else f"{benchmark}/{metric}"


def _gated_metrics(reference: BaselineBenchmark, scope: Scope) -> list[str]:
    return [
        metric
        for metric, score in reference.scores.items()
        if score.value is not None
        and score.higher_is_better is not None
        and (score.gated or bool({metric, f"{reference.benchmark}/{metric}"} & scope.gate_on))
    ]


def _mismatches(pair: Pair, scope: Scope) -> tuple[list[Mismatch], list[Mismatch]]:
    differing: list[Mismatch] = []
    allowed: list[Mismatch] = []
    for each in mismatches(pair.reference, pair.bench.protocol, pair.bench.settings):
        (allowed if each.name in scope.allowed else differing).append(each)
    return differing, allowed


def _lost_samples(
    bench: BenchmarkMeasurement, reference: BaselineBenchmark, scope: Scope
) -> tuple[str, tuple[str, ...]]:
    """How many samples of the baseline this run lacks, empty for none; and what explains that.

    A selection explains no more samples than it deselected: a file argument alone explains none.
    """
    total = len(reference.outcomes)
    lost = 0 if bench.planned is None else len(reference.outcomes.keys() - bench.planned)
    if not lost:
        return "", ()
    selected = bench.deselected is None or lost <= bench.deselected
    by = (*scope.selection, *scope.limited) if selected or scope.limited else ()
    return f"{lost:,} of the baseline's {total:,} samples are not in this run's dataset", by


def _lost_values(score: Score, table: SampleValues | None, reference: BaselineBenchmark) -> str:
    """Why a metric that the baseline has of every sample is incomplete here; usually empty.

    A benchmark may give some samples no value of a metric. Where it gave every sample one before,
    a part is missing.
    """
    if table is None or not table.by_name or not reference.outcomes:
        return ""
    n = len(table.samples)
    if score.n == n or len(reference.column(score.metric)) < len(reference.outcomes):
        return ""
    return f"{n - score.n:,} of {n:,} samples have no value of it, the baseline's all had one"


def _evaluation(benchmarks: int, pending: _Pending, verdicts: Sequence[Verdict]) -> Evaluation:
    by_index: list[list[Verdict]] = [[] for _ in range(benchmarks)]
    missing: list[Verdict] = []
    compared = 0
    for (index, candidate), verdict in zip(pending.candidates, verdicts, strict=True):
        (missing if index is None else by_index[index]).append(verdict)
        compared += candidate.gated and candidate.not_judged not in ("incomparable", "missing")
    left_out = (
        f"{len(metrics):,} of {pending.in_baseline:,} gated metrics of the baseline were left out "
        f"by {by}: {', '.join(metrics[:5])}{' ...' if len(metrics) > 5 else ''}"
        for by, metrics in pending.left_out.items()
    )
    notes = (*pending.notes, *left_out)
    return Evaluation(
        tuple(map(tuple, by_index)), tuple(missing), notes, pending.in_baseline, compared
    )
