"""From a run's plan and its items' outcomes to what each checkpoint came to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .gate.baseline import (
    Baseline,
    BaselineComposite,
    baseline_benchmark,
    protocol_note,
    settings_note,
    unmatched_metrics,
)
from .gate.judge import Measured, judge, judge_composite
from .gate.verdict import Verdict
from .options import Options
from .outcomes import Recorded
from .results import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    Coverage,
    DatasetInfo,
    Flip,
    Given,
)
from .samples import content_hash
from .scores.composite import DEFAULT_WEIGHTS, composite
from .scores.fold import TrialValue, fold, only, tabulate, trials_per_sample
from .scores.registry import reducer_of
from .scores.score import SampleValues
from .store import PlannedItem, RunStore
from .sweep.subjects import subjects

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

    def take(self, item: PlannedItem, recorded: Recorded) -> None:
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
) -> FoldedRun:
    """Fold a run's outcomes into scores and verdicts.

    Args:
        outcomes: what items came to, by node id; planned items without one were not run.
        baseline: what to compare with.
        created: ISO 8601 time, for the baselines made.
        version: of ckptbench, likewise.
        amend: makes a checkpoint's result what other code says of its answers.
    """
    groups = [_GroupFold(facts) for facts in store.groups()]
    for item in store.plan():
        groups[item.group].take(item, outcomes.get(item.nodeid, _NOT_RUN))
    work = store.work()
    engines = store.engines()
    by_checkpoint: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        if group.statuses:
            by_checkpoint[group.facts["checkpoint"]].append(number)
    results, baselines, notes = [], {}, []
    said_of: dict[str, list[str]] = {}
    for name, numbers in by_checkpoint.items():
        folded = _Checkpoint(name, [groups[n] for n in numbers], [work.get(n) for n in numbers])
        result = folded.result(engines.get(name, {}), options, baseline)
        result = result if amend is None else amend(result)
        results.append(result)
        for note in engines.get(name, {}).get("notes", []):
            said_of.setdefault(note, []).append(name)
        notes += folded.notes
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
        self.tables = [
            only(
                tabulate(g.trials, reducer_of(g.facts["reducer"]), g.facts["benchmark"]),
                g.facts.get("metrics"),
            )
            for g in groups
        ]
        self.scores = [fold(table) for table in self.tables]
        self.coverages = [
            g.coverage(len(t.samples)) for g, t in zip(groups, self.tables, strict=True)
        ]
        self.notes: list[str] = []

    def result(
        self, engine: Mapping[str, Any], options: Options, baseline: Baseline | None
    ) -> CheckpointResult:
        measured = [
            Measured(
                g.facts["benchmark"],
                g.facts["protocol"],
                g.facts["primary"],
                table,
                scores,
                why_incomplete(coverage),
            )
            for g, table, scores, coverage in zip(
                self.groups, self.tables, self.scores, self.coverages, strict=True
            )
        ]
        verdicts = self._verdicts(measured, options, baseline)
        # What a group adds to the engine's: how long its programs may run, say.
        settings = {
            name: value
            for source in (engine, *(group.facts for group in self.groups))
            for name, value in source.get("settings", {}).items()
        }
        self._note_uneven_trials()
        if baseline is not None:
            self._note_comparison(measured, settings, baseline)
        return CheckpointResult(
            name=self.name,
            spec=self.groups[0].facts["spec"],
            fingerprint=engine.get("fingerprint", ""),
            settings=settings,
            benchmarks=tuple(
                self._benchmark(place, measured[place], verdicts[place], baseline)
                for place in range(len(self.groups))
            ),
            composite=self._composite(measured, options, baseline),
            baseline=str(options.baseline) if baseline is not None else "",
            seconds=sum(seconds for seconds, _, _ in self.work),
            asked=sum(asked for _, asked, _ in self.work),
            reused=sum(reused for _, _, reused in self.work),
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

    def _note_uneven_trials(self) -> None:
        for group in self.groups:
            fewest, most = trials_per_sample(group.trials) or (0, 0)
            if fewest != most:
                self.notes.append(f"{group.facts['protocol']}: {fewest} to {most} trials a sample")

    def _verdicts(
        self, measured: Sequence[Measured], options: Options, baseline: Baseline | None
    ) -> list[tuple[Verdict, ...]]:
        if baseline is None:
            return [()] * len(measured)
        # Bare numbers name no protocol: they can only speak of the ones that are gated.
        compared = [p for p, m in enumerate(measured) if m.primary or not baseline.bare]
        judged = judge(
            [measured[place] for place in compared],
            baseline,
            tolerance=options.tolerance,
            alpha=options.alpha,
            seed=options.seed,
        )
        found: list[tuple[Verdict, ...]] = [()] * len(measured)
        for place, verdicts in zip(compared, judged, strict=True):
            found[place] = verdicts
        return found

    def _note_comparison(
        self, measured: Sequence[Measured], settings: Mapping[str, Any], baseline: Baseline
    ) -> None:
        known = [metric for bench in measured for metric in bench.table.metrics]
        unmatched = unmatched_metrics(baseline, known)
        if unmatched:
            self.notes.append(
                f"the baseline also holds {', '.join(unmatched)}, which this run did not measure"
            )
        self.notes += filter(None, [protocol_note(baseline), settings_note(baseline, settings)])

    def _benchmark(
        self,
        place: int,
        measured: Measured,
        verdicts: tuple[Verdict, ...],
        baseline: Baseline | None,
    ) -> BenchmarkResult:
        group = self.groups[place]
        facts = group.facts
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
            flips=_flips(measured, group.nodeids, baseline),
            errors=tuple(group.errors[:ERRORS_KEPT]),
            seconds=self.work[place][0],
            given={name: Given(**given) for name, given in facts.get("asked", {}).items()},
        )

    def _composite(
        self, measured: Sequence[Measured], options: Options, baseline: Baseline | None
    ) -> CompositeResult | None:
        gated = [bench for bench in measured if bench.primary]
        parts = {score.metric: score for bench in gated for score in bench.scores}
        if parts.keys().isdisjoint(DEFAULT_WEIGHTS):
            return None
        tables = [bench.table for bench in gated]
        score = composite(parts, DEFAULT_WEIGHTS, tables)
        verdict = None
        if baseline is not None:
            verdict = judge_composite(
                score, DEFAULT_WEIGHTS, measured, baseline, alpha=options.alpha, seed=options.seed
            )
        return CompositeResult(DEFAULT_WEIGHTS, score, verdict)

    def as_baseline(
        self, result: CheckpointResult, options: Options, created: str, version: str
    ) -> Baseline:
        """This checkpoint's result as what later ones are compared with.

        Results that were joined to it behind those of its groups hold no samples: they stay out.
        """
        benchmarks = {
            bench.protocol: baseline_benchmark(
                bench.benchmark,
                bench.protocol,
                primary=bench.primary,
                dataset=bench.dataset.hash,
                table=table,
                scores=bench.scores,
                tolerance={
                    metric: allowed
                    for metric, allowed in options.tolerance.items()
                    if metric in table.metrics
                },
            )
            for bench, table in zip(result.benchmarks, self.tables, strict=False)
        }
        whole = None
        if result.composite is not None:
            whole = BaselineComposite(result.composite.weights, result.composite.score.value)
        return Baseline(
            format="ckptbench.baseline/1",
            checkpoint=result.name,
            fingerprint=result.fingerprint,
            settings=result.settings,
            created=created,
            ckptbench=version,
            benchmarks=benchmarks,
            composite=whole,
        )


def why_incomplete(coverage: Coverage) -> str:
    """What a coverage lacks: `3 of 1,600 samples are errors`; empty when it is complete."""
    parts = []
    if coverage.errors:
        parts.append(f"{coverage.errors:,} of {coverage.planned:,} samples are errors")
    if coverage.not_run:
        parts.append(f"{coverage.not_run:,} of {coverage.planned:,} samples were not run")
    return ", ".join(parts)


def _flips(
    measured: Measured, nodeids: Mapping[str, str], baseline: Baseline | None
) -> tuple[Flip, ...]:
    """Samples whose value of the first metric differs from the baseline's, lost ones first."""
    held = baseline.find(measured.protocol) if baseline is not None else None
    if held is None or not measured.table.metrics:
        return ()
    then = held.column(measured.table.metrics[0])
    now = _column(measured.table, 0)
    lost = [s for s, value in now.items() if s in then and value < then[s]]
    won = [s for s, value in now.items() if s in then and value > then[s]]
    return (
        *(Flip(nodeid, "lost") for nodeid in sorted(nodeids[s] for s in lost)),
        *(Flip(nodeid, "won") for nodeid in sorted(nodeids[s] for s in won)),
    )


def _column(table: SampleValues, place: int) -> dict[str, float]:
    return dict(zip(table.samples, table.values[:, place].tolist(), strict=True))
