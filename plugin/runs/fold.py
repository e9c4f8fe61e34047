"""From a run's plan and its items' outcomes to what each checkpoint came to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._util.abbreviate import subjects
from ..api.requests import content_hash
from ..config.options import Options
from ..gate.baseline import (
    FORMAT,
    Baseline,
    BaselineComposite,
    baseline_benchmark,
    protocol_note,
    settings_note,
)
from ..gate.evaluate import Evaluation, evaluate, evaluate_composite
from ..gate.measured import BenchmarkMeasurement, Scope
from ..gate.verdict import Rules, Verdict
from ..results.outcome import Recorded
from ..results.store import PlannedItem, RunStore
from ..results.summary import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    Coverage,
    DatasetInfo,
    Flip,
    Given,
)
from ..scores.aggregate import (
    TrialValue,
    fold,
    impossible,
    only,
    tabulate,
    trials_per_sample,
    without,
)
from ..scores.composite import DEFAULT_WEIGHTS, composite
from ..scores.noise import floor_notes, noise_floor, noise_of
from ..scores.registry import reducer_of
from ..scores.score import SampleValues, Score

ERRORS_KEPT = 20
# How the reasons begin that say: this model's vocabulary cannot spell the answer.
UNREACHABLE = "answer_not_"
_NOT_RUN = Recorded("not_run")
# A sample of several trials is told once, by the worst that happened to one of them.
_WORST_FIRST = ("error", "not_run", "skipped", "missed", "passed")


@dataclass
class _GroupFold:
    """One group while it is folded."""

    facts: Mapping[str, Any]
    trials: list[TrialValue] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    nodeids: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    most_trials: int = 1
    repeats: Sequence[tuple[bool | None, bool]] = ()

    def take(self, item: PlannedItem, recorded: Recorded) -> None:
        self.most_trials = max(self.most_trials, item.trial + 1)
        before = self.statuses.get(item.sample, "passed")
        worst = min(before, recorded.status, key=_WORST_FIRST.index)
        self.statuses[item.sample] = worst
        self.nodeids.setdefault(item.sample, item.nodeid)
        if recorded.status == "skipped":
            self.reasons[item.sample] = recorded.reason
        if recorded.status == "error":
            self.errors.append(f"{item.nodeid}: {recorded.reason}")
        if recorded.status in ("passed", "missed"):
            self.trials.append(TrialValue(item.sample, item.cluster, item.trial, recorded.values))

    def coverage(self, scored: int) -> Coverage:
        counts = Counter(self.statuses.values())
        reasons = Counter(
            self.reasons[sample] for sample, word in self.statuses.items() if word == "skipped"
        )
        unreachable = sum(n for reason, n in reasons.items() if reason.startswith(UNREACHABLE))
        return Coverage(
            planned=len(self.statuses),
            scored=scored,
            skipped=dict(sorted(reasons.items())),
            errors=counts["error"],
            not_run=counts["not_run"],
            reachable=len(self.statuses) - unreachable if unreachable else None,
        )


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """What a run came to.

    Attributes:
        checkpoints: results by checkpoint, in the session's order.
        baselines: each complete checkpoint's result in the form of a baseline.
        notes: sentences the reader must know.
        errors: every error: the item and its reason.
    """

    checkpoints: tuple[CheckpointResult, ...]
    baselines: Mapping[str, Baseline]
    notes: tuple[str, ...]
    errors: tuple[str, ...]


def fold_run(
    store: RunStore,
    outcomes: Mapping[str, Recorded],
    options: Options,
    baseline: Baseline | None,
    *,
    created: str,
    version: str,
    amend: Callable[[CheckpointResult], CheckpointResult] | None = None,
    scope: Scope | None = None,
) -> FoldedRun:
    """Fold a run's outcomes into scores and verdicts.

    Args:
        outcomes: what items came to, by node id; planned items without one were not run.
        baseline: what to compare with.
        created: ISO 8601 time, for the baselines made.
        version: of ckptbench, likewise.
        amend: makes a checkpoint's result what other code says of its answers.
        scope: what the user asked the gate to look at.
    """
    groups = [_GroupFold(facts) for facts in store.groups()]
    for item in store.plan():
        groups[item.group].take(item, outcomes.get(item.nodeid, _NOT_RUN))
    for number, repeats in store.repeats().items():
        groups[number].repeats = repeats
    work = store.work()
    engines, nulls = store.engines(), store.nulls()
    by_checkpoint: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        if group.statuses:
            by_checkpoint[group.facts["checkpoint"]].append(number)
    results, baselines, notes = [], {}, []
    said_of: dict[str, list[str]] = {}
    rules = Rules(options.alpha, options.must_see)
    scope = scope or Scope(tolerance=options.tolerance, gate_on=frozenset(options.gate_on))
    folds = [
        _Checkpoint(name, [groups[n] for n in numbers], [work.get(n) for n in numbers])
        for name, numbers in by_checkpoint.items()
    ]
    measured = [folded.measured for folded in folds]
    if baseline is None:
        evaluations = [Evaluation(((),) * len(each)) for each in measured]
    else:
        evaluations = list(
            evaluate(measured, baseline, rules=rules, scope=scope, seed=options.seed)
        )
    for folded, evaluation in zip(folds, evaluations, strict=True):
        name = folded.name
        verdict = None
        if baseline is not None and folded.composite is not None:
            verdict = evaluate_composite(
                folded.composite,
                DEFAULT_WEIGHTS,
                folded.measured,
                baseline,
                rules=rules,
                scope=scope,
                seed=options.seed,
            )
        result = folded.result(engines.get(name, {}), options, baseline, evaluation, verdict)
        result = result if amend is None else amend(result)
        results.append(result)
        for note in engines.get(name, {}).get("notes", []):
            said_of.setdefault(note, []).append(name)
        notes += folded.notes
        if empty := sum(nulls.get(number, 0) for number in by_checkpoint[name]):
            notes.append(f"{empty:,} answers of {name} were null: they count as empty texts")
        if all(bench.coverage.complete for bench in result.benchmarks):
            baselines[name] = folded.as_baseline(result, options, created, version)
    errors = tuple(line for group in groups for line in group.errors)
    notes = [f"{subjects(names, len(results))}: {note}" for note, names in said_of.items()] + notes
    return FoldedRun(tuple(results), baselines, tuple(dict.fromkeys(notes)), errors)


class _Checkpoint:
    """One checkpoint's groups, folded."""

    def __init__(
        self,
        name: str,
        groups: Sequence[_GroupFold],
        work: Sequence[tuple[float, int, int] | None],
    ) -> None:
        self.name = name
        self.groups = groups
        self.work = [entry or (0.0, 0, 0) for entry in work]
        self.notes: list[str] = []
        tables = [
            only(
                tabulate(g.trials, reducer_of(g.facts["reducer"]), g.facts["benchmark"]),
                g.facts.get("metrics"),
            )
            for g in groups
        ]
        self.unavailable = [
            impossible(reducer_of(g.facts["reducer"]), g.facts["benchmark"], g.most_trials)
            for g in groups
        ]
        self.tables = [
            without(table, names) for table, names in zip(tables, self.unavailable, strict=True)
        ]
        self.scores = [fold(table) for table in self.tables]
        self.coverages = [
            g.coverage(len(t.samples)) for g, t in zip(groups, self.tables, strict=True)
        ]
        self.measured = tuple(
            BenchmarkMeasurement(
                g.facts["benchmark"],
                g.facts["protocol"],
                g.facts["primary"],
                scores,
                table,
                incomplete=coverage.missing,
                settings=g.facts.get("identity", {}),
                planned=frozenset(g.statuses),
                unavailable=unavailable,
            )
            for g, table, scores, coverage, unavailable in zip(
                groups, self.tables, self.scores, self.coverages, self.unavailable, strict=True
            )
        )
        self.composite = self._made_composite()

    def result(
        self,
        engine: Mapping[str, Any],
        options: Options,
        baseline: Baseline | None,
        evaluation: Evaluation,
        verdict: Verdict | None,
    ) -> CheckpointResult:
        # What a group adds to the engine's: how long its programs may run, say.
        settings = {
            name: value
            for source in (engine, *(group.facts for group in self.groups))
            for name, value in source.get("settings", {}).items()
        }
        self._note_trials()
        self.notes += evaluation.notes
        floors = [
            (g.facts["protocol"], reducer_of(g.facts["reducer"]), g.repeats) for g in self.groups
        ]
        self.notes += floor_notes(floors, settings, options.temperature, options.noise_floor)
        if baseline is not None:
            self.notes += filter(None, [protocol_note(baseline), settings_note(baseline, settings)])
        composite = self.composite
        return CheckpointResult(
            name=self.name,
            spec=self.groups[0].facts["spec"],
            fingerprint=engine.get("fingerprint", ""),
            settings=settings,
            benchmarks=tuple(
                self._benchmark(place, self.measured[place], evaluation.verdicts[place], baseline)
                for place in range(len(self.groups))
            ),
            composite=None
            if composite is None
            else CompositeResult(DEFAULT_WEIGHTS, composite, verdict),
            baseline=str(options.baseline) if baseline is not None else "",
            seconds=sum(seconds for seconds, _, _ in self.work),
            asked=sum(asked for _, asked, _ in self.work),
            reused=sum(reused for _, _, reused in self.work),
            missing=evaluation.missing,
            in_baseline=evaluation.in_baseline,
            compared=evaluation.compared,
            **self._place_in_training(engine.get("facts", {}), options.steps_per_epoch),
        )

    def _place_in_training(
        self, stated: Mapping[str, Any], steps_per_epoch: int | None
    ) -> dict[str, Any]:
        """The run, step, epoch and facts of the checkpoint.

        What the file states that was loaded goes before what its name says, and either before
        an epoch made of the step.
        """
        known = self.groups[0].facts
        step = known.get("step")
        step = stated.get("step") if step is None else step
        epoch = stated.get("epoch", known.get("epoch"))
        if epoch is None and step is not None and steps_per_epoch:
            epoch = step / steps_per_epoch
        facts = {**known.get("facts", {}), **stated}
        return {
            "run": known.get("run", ""),
            "step": step,
            "epoch": epoch,
            "facts": {n: v for n, v in facts.items() if n not in ("step", "epoch")},
        }

    def _note_trials(self) -> None:
        for group, unavailable in zip(self.groups, self.unavailable, strict=True):
            fewest, most = trials_per_sample(group.trials) or (0, 0)
            if fewest != most:
                self.notes.append(f"{group.facts['protocol']}: {fewest} to {most} trials a sample")
            if unavailable:
                drawn = "1 trial" if group.most_trials == 1 else f"{group.most_trials} trials"
                self.notes.append(
                    f"{group.facts['protocol']}: {', '.join(unavailable)} need more than {drawn} "
                    "a sample (--num-samples)"
                )

    def _benchmark(
        self,
        place: int,
        measured: BenchmarkMeasurement,
        verdicts: tuple[Verdict, ...],
        baseline: Baseline | None,
    ) -> BenchmarkResult:
        group = self.groups[place]
        facts, reducer = group.facts, reducer_of(group.facts["reducer"])
        return BenchmarkResult(
            benchmark=measured.benchmark,
            protocol=measured.protocol,
            primary=measured.primary,
            dataset=DatasetInfo(
                facts["dataset"],
                content_hash(sorted(group.statuses)),
                facts["source"],
                facts["licence"],
            ),
            coverage=self.coverages[place],
            scores=measured.scores,
            verdicts=verdicts,
            flips=_flips(measured, group.nodeids, verdicts, baseline),
            errors=tuple(group.errors[:ERRORS_KEPT]),
            seconds=self.work[place][0],
            given={name: Given(**given) for name, given in facts.get("asked", {}).items()},
            reducer=facts["reducer"],
            settings=measured.settings,
            noise=noise_of(group.trials, reducer, measured.benchmark, self.tables[place].metrics),
            floor=noise_floor(group.repeats),
        )

    def _made_composite(self) -> Score | None:
        gated = [bench for bench in self.measured if bench.primary]
        parts = {
            score.metric: replace(score, value=None, reason=bench.incomplete)
            if bench.incomplete
            else score
            for bench in gated
            for score in bench.scores
        }
        if parts.keys().isdisjoint(DEFAULT_WEIGHTS):
            return None
        return composite(parts, DEFAULT_WEIGHTS, [t for b in gated if (t := b.table) is not None])

    def as_baseline(
        self, result: CheckpointResult, options: Options, created: str, version: str
    ) -> Baseline:
        """This checkpoint's result as what later ones are compared with.

        Results that were joined to it behind those of its groups hold no samples: they stay out.
        """
        scope = Scope(tolerance=options.tolerance)
        benchmarks = {
            bench.protocol: baseline_benchmark(
                replace(
                    measured,
                    # Those made of all answers at once stay out: they are not compared.
                    scores=tuple(s for s in bench.scores if s.metric in table.metrics),
                    dataset=bench.dataset.hash,
                    settings=bench.settings,
                ),
                {
                    score.metric: allowed
                    for score in bench.scores
                    if score.metric in table.metrics
                    and (allowed := scope.given(bench.benchmark, score)) is not None
                },
            )
            for bench, measured, table in zip(
                result.benchmarks, self.measured, self.tables, strict=False
            )
        }
        whole = None
        if result.composite is not None:
            whole = BaselineComposite(result.composite.weights, result.composite.score.value)
        return Baseline(
            format=FORMAT,
            checkpoint=result.name,
            fingerprint=result.fingerprint,
            settings=result.settings,
            created=created,
            ckptbench=version,
            benchmarks=benchmarks,
            composite=whole,
        )


def _flips(
    measured: BenchmarkMeasurement,
    nodeids: Mapping[str, str],
    verdicts: tuple[Verdict, ...],
    baseline: Baseline | None,
) -> tuple[Flip, ...]:
    """Samples whose value of the first metric differs from the baseline's, lost ones first.

    None where the metric was not compared.
    """
    held = baseline.find(measured.protocol) if baseline is not None else None
    table = measured.table
    if held is None or table is None or not table.metrics:
        return ()
    first = table.metrics[0]
    if not any(v.metric == first and v.comparison is not None for v in verdicts):
        return ()
    then = held.column(first)
    now = _column(table, 0)
    lost = [s for s, value in now.items() if s in then and value < then[s]]
    won = [s for s, value in now.items() if s in then and value > then[s]]
    return (
        *(Flip(nodeid, "lost") for nodeid in sorted(nodeids[s] for s in lost)),
        *(Flip(nodeid, "won") for nodeid in sorted(nodeids[s] for s in won)),
    )


def _column(table: SampleValues, place: int) -> dict[str, float]:
    return dict(zip(table.samples, table.values[:, place].tolist(), strict=True))
