"""The checkpoints of a session against a baseline: what is compared with what, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..scores.composite import METRIC
from ..scores.metric import default_tolerance
from ..scores.score import SampleValues, Score
from .baseline import Baseline, BaselineBenchmark, BaselineScore
from .comparison import Terms, compare_score
from .composite_comparison import compare_composite
from .identity import mismatches, unrecorded
from .measured import Measured, Scope
from .verdict import Candidate, Rules, Verdict, Word, decide


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One checkpoint's verdicts.

    Attributes:
        verdicts: of each benchmark, in the order given.
        missing: on gated metrics of the baseline whose benchmark this run does not have.
        notes: sentences the reader must know.
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
    """Candidates of one checkpoint, with the benchmark that each belongs to."""

    candidates: list[Candidate] = field(default_factory=list)
    places: list[int | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    in_baseline: int = 0

    def add(self, place: int | None, candidate: Candidate) -> None:
        self.places.append(place)
        self.candidates.append(candidate)

    def leave_out(self, metric: str, by: Sequence[str]) -> None:
        """Count a gated metric of the baseline that the user left out."""
        self.left_out.setdefault(", ".join(by), []).append(metric)


def evaluate(
    checkpoints: Sequence[Sequence[Measured]],
    baseline: Baseline,
    *,
    rules: Rules | None = None,
    scope: Scope | None = None,
    seed: int = 0,
) -> tuple[Evaluation, ...]:
    """Compare every checkpoint of a session with a baseline.

    All at once, because Holm's family is everything that the session gates, and each MDE is that
    of the corrected level.

    Args:
        checkpoints: the benchmarks of each.
        seed: of simulated p values; a p of 0/1 outcomes is exact and does not depend on it.
    """
    rules, scope = rules or Rules(), scope or Scope()
    pairs = [list(_pairs(measured, baseline)) for measured in checkpoints]
    family = sum(
        scope.gates(bench, score)
        for of_checkpoint in pairs
        for _, bench, held in of_checkpoint
        for score in bench.scores
        if _compared_metric(score, held)
    )
    level = rules.alpha / max(1, family)
    pending = [
        _candidates(measured, of_checkpoint, baseline, scope, level, seed)
        for measured, of_checkpoint in zip(checkpoints, pairs, strict=True)
    ]
    decided = iter(decide([c for each in pending for c in each.candidates], rules))
    return tuple(
        _evaluation(len(measured), each, [next(decided) for _ in each.candidates])
        for measured, each in zip(checkpoints, pending, strict=True)
    )


def evaluate_composite(
    score: Score,
    weights: Mapping[str, float],
    measured: Sequence[Measured],
    baseline: Baseline,
    *,
    rules: Rules | None = None,
    scope: Scope | None = None,
    seed: int = 0,
) -> Verdict | None:
    """The verdict on the composite: informative, never gated.

    Paired when the baseline holds the samples of every part; otherwise the two numbers are put
    side by side, with the errors of their parts.

    Args:
        score: the composite of this run.
        weights: those it was made with; the baseline's composite is made again with them.
        measured: the benchmarks of this run; the primary ones count.

    Returns:
        The verdict, or None when either side lacks a part.
    """
    rules, scope = rules or Rules(), scope or Scope()
    if score.value is None:
        return None
    parts = [
        (bench, held)
        for _, bench, held in _pairs(measured, baseline)
        if bench.primary and not set(_mismatch(bench, held, scope))
    ]
    tolerance = scope.tolerance.get(score.metric, scope.tolerance.get("*", default_tolerance("")))
    terms = Terms(alpha=rules.alpha, tolerance=tolerance, seed=seed)
    comparison = compare_composite(score, weights, parts, terms)
    if comparison is None:
        return None
    incomplete = next((bench.incomplete for bench, _ in parts if bench.incomplete), "")
    word: Word | None = "incomplete" if incomplete else None
    candidate = Candidate(score.metric, comparison, tolerance, False, word, incomplete)
    return decide([candidate], rules)[0]


def _pairs(
    measured: Sequence[Measured], baseline: Baseline
) -> Iterator[tuple[int, Measured, BaselineBenchmark]]:
    """Each benchmark of the run with the baseline's: by protocol, else by name if it is gated."""
    for place, bench in enumerate(measured):
        if baseline.bare:
            if bench.primary:
                yield place, bench, _addressed(bench, baseline.benchmarks[""])
            continue
        held = baseline.benchmarks.get(bench.protocol)
        if held is None and bench.primary:
            same = [b for b in baseline.benchmarks.values() if b.benchmark == bench.benchmark]
            held = next((b for b in same if b.primary), None)
        if held is not None:
            yield place, bench, held


def _addressed(bench: Measured, numbers: BaselineBenchmark) -> BaselineBenchmark:
    """The bare numbers that speak of a benchmark: `pass@1`, or `humaneval/pass@1`."""
    names = [score.metric for score in bench.scores] + list(bench.unavailable)
    scores: dict[str, BaselineScore] = {}
    for metric in names:
        for name in (metric, f"{bench.benchmark}/{metric}"):
            if name in numbers.scores:
                scores[metric] = numbers.scores[name]
    return BaselineBenchmark(bench.benchmark, "", True, "", numbers.n, tuple(scores), scores)


def _compared_metric(score: Score, held: BaselineBenchmark) -> bool:
    stated = held.scores.get(score.metric)
    return (
        score.higher_is_better is not None
        and stated is not None
        and (stated.value is not None or bool(held.outcomes))
    )


def _candidates(
    measured: Sequence[Measured],
    pairs: Sequence[tuple[int, Measured, BaselineBenchmark]],
    baseline: Baseline,
    scope: Scope,
    level: float,
    seed: int,
) -> _Pending:
    pending = _Pending()
    met: set[str] = set()
    for place, bench, held in pairs:
        met.add(held.protocol)
        _compare_benchmark(pending, place, bench, held, scope, level, seed)
    if baseline.bare:
        _missing_numbers(pending, measured, baseline.benchmarks[""], scope)
        return pending
    for held in baseline.benchmarks.values():
        if held.protocol in met or not held.primary:
            continue
        for metric in _gated_metrics(held, scope):
            pending.in_baseline += 1
            name = _full_name(held.benchmark, metric)
            if scope.selection:
                pending.leave_out(name, scope.selection)
                continue
            reason = (
                f"the baseline has {metric} of {held.benchmark}, and this run did not ask "
                f"{held.benchmark}: {scope.remedy}"
            )
            pending.add(None, Candidate(name, None, 0.0, True, "missing", reason))
    return pending


def _missing_numbers(
    pending: _Pending, measured: Sequence[Measured], numbers: BaselineBenchmark, scope: Scope
) -> None:
    """Bare numbers of which no benchmark of the run has a score."""
    known = {
        name
        for bench in measured
        if bench.primary
        for metric in (*(score.metric for score in bench.scores), *bench.unavailable)
        for name in (metric, f"{bench.benchmark}/{metric}")
    }
    for metric in numbers.scores:
        if metric in known or metric == METRIC:
            continue
        pending.in_baseline += 1
        if scope.selection:
            pending.leave_out(metric, scope.selection)
        else:
            reason = f"the baseline has {metric}, and this run did not measure it"
            pending.add(None, Candidate(metric, None, 0.0, True, "missing", reason))


def _compare_benchmark(
    pending: _Pending,
    place: int,
    bench: Measured,
    held: BaselineBenchmark,
    scope: Scope,
    level: float,
    seed: int,
) -> None:
    gated_here = bench.primary and (held.primary or not held.protocol)
    differing = list(_mismatch(bench, held, scope))
    allowed = [m for m in mismatches(held, bench.protocol, bench.settings) if m not in differing]
    pending.notes += [f"{bench.protocol}: allowed mismatch: {each}" for each in allowed]
    absent = unrecorded(held, bench.settings) if held.outcomes else ()
    if absent:
        pending.notes.append(
            f"{bench.protocol}: the baseline does not record {', '.join(absent)}; "
            "--update-baseline writes one that does"
        )
    lost = _lost_samples(bench, held)
    chosen = (*scope.selection, *scope.limited)
    if lost and chosen:
        pending.notes.append(f"{bench.protocol}: {lost} ({', '.join(chosen)})")
        lost = ""
    for score in bench.scores:
        if not _compared_metric(score, held):
            continue
        gated = scope.gates(bench, score)
        pending.in_baseline += gated
        tolerance = scope.tolerance_of(bench.benchmark, score, held)
        word, reason = _not_judged(bench, score, held, lost)
        if differing:
            word, reason = "incomparable", "; ".join(map(str, differing))
        comparison = None
        if word not in ("incomparable", "missing"):
            comparison = compare_score(score, bench.table, held, Terms(level, tolerance, seed))
        pending.add(place, Candidate(score.metric, comparison, tolerance, gated, word, reason))
    if gated_here:
        _missing_metrics(pending, place, bench, held, scope)


def _missing_metrics(
    pending: _Pending, place: int, bench: Measured, held: BaselineBenchmark, scope: Scope
) -> None:
    """Gated metrics of the baseline that the run's benchmark does not have."""
    scored = {score.metric for score in bench.scores}
    for metric in _gated_metrics(held, scope):
        if metric in scored:
            continue
        pending.in_baseline += 1
        by = scope.chosen_metrics.get(bench.benchmark, "")
        if metric in bench.unavailable:
            by = "the number of trials"
        if by:
            pending.leave_out(_full_name(bench.benchmark, metric), [by])
            continue
        reason = f"the baseline has {metric} of {held.protocol}, this run has no such score"
        pending.add(place, Candidate(metric, None, 0.0, True, "missing", reason))


def _full_name(benchmark: str, metric: str) -> str:
    """`humaneval/pass@1`; `gsm8k exact_match,none` says itself whose it is."""
    return metric if metric.startswith(f"{benchmark} ") else f"{benchmark}/{metric}"


def _gated_metrics(held: BaselineBenchmark, scope: Scope) -> list[str]:
    return [
        metric
        for metric, score in held.scores.items()
        if score.value is not None
        and score.higher_is_better is not None
        and (score.gated or bool({metric, f"{held.benchmark}/{metric}"} & scope.gate_on))
    ]


def _mismatch(bench: Measured, held: BaselineBenchmark, scope: Scope) -> Iterator[object]:
    for each in mismatches(held, bench.protocol, bench.settings):
        if each.name not in scope.allowed:
            yield each


def _not_judged(
    bench: Measured, score: Score, held: BaselineBenchmark, lost: str
) -> tuple[Word | None, str]:
    why = bench.incomplete or lost or _lost_values(score, bench.table, held)
    if not why and score.value is None:
        why = score.reason
    return ("incomplete", why) if why else (None, "")


def _lost_samples(bench: Measured, held: BaselineBenchmark) -> str:
    if bench.planned is None or not held.outcomes:
        return ""
    lost = len(held.outcomes.keys() - bench.planned)
    if not lost:
        return ""
    total = len(held.outcomes)
    return f"{lost:,} of the baseline's {total:,} samples are not in this run's dataset"


def _lost_values(score: Score, table: SampleValues, held: BaselineBenchmark) -> str:
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


def _evaluation(benchmarks: int, pending: _Pending, verdicts: Sequence[Verdict]) -> Evaluation:
    by_place: list[list[Verdict]] = [[] for _ in range(benchmarks)]
    missing: list[Verdict] = []
    compared = 0
    for place, candidate, verdict in zip(pending.places, pending.candidates, verdicts, strict=True):
        (missing if place is None else by_place[place]).append(verdict)
        compared += candidate.gated and candidate.not_judged not in ("incomparable", "missing")
    notes = list(pending.notes)
    for by, metrics in pending.left_out.items():
        names = f"{', '.join(metrics[:5])}{' ...' if len(metrics) > 5 else ''}"
        notes.append(
            f"{len(metrics):,} of {pending.in_baseline:,} gated metrics of the baseline were left "
            f"out by {by}: {names}"
        )
    return Evaluation(
        tuple(map(tuple, by_place)), tuple(missing), tuple(notes), pending.in_baseline, compared
    )
