"""Folds the items of groups, and the groups of a checkpoint into its result and baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .._util.text import counted
from .._util.version import __version__
from ..api.requests import Answer, Generated
from ..api.sample import content_hash
from ..config.options import Options
from ..gate.baseline import (
    FORMAT,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    baseline_benchmark,
    baseline_notes,
)
from ..gate.evaluate import Evaluation
from ..gate.measurement import BenchmarkMeasurement
from ..gate.scope import Scope
from ..gate.sequential import Look
from ..gate.verdict import Verdict
from ..results.outcome import Outcome
from ..results.spent import Spent
from ..results.stored_run import GroupMetadata, PlannedItem
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
    without,
)
from ..scores.composite import DEFAULT_WEIGHTS, composite
from ..scores.metric import wanted_among
from ..scores.multi_token import HeadCounts, multi_token_scores
from ..scores.noise import floor_notes, noise_floor, noise_of
from ..scores.reducers import reducer_of
from ..scores.score import Reducer, SampleValues, Score

# How the reasons begin that mean: this model's vocabulary cannot spell the answer.
UNREACHABLE = "answer_not_"
# A sample of several trials has one status: the worst of theirs.
_WORST_FIRST = ("error", "not_run", "not_needed", "skipped", "missed", "passed")
ERRORS_KEPT = 20


@dataclass
class GroupFold:
    """One group while it is folded: `add` its items, then read the values.

    Attributes:
        number: its index in the plan.
        trials: values of the items that were answered.
        statuses, reasons, nodeids: of each sample, by its content hash.
        errors: the node id and reason of each item that ended in an error.
        most_trials: trials that were planned of a sample.
        repeats: of items that were asked again: whether the outcome flipped, in another batch size.
        work: seconds of wall time, items that the model answered, items with a stored answer.
        spent: what its answers cost in all sessions of the run.
        heads: heads of multi-token prediction that the checkpoint has.
        texts: generated texts of the scored items, where it has such heads.
        looks: comparisons made while it was asked, by metric.
    """

    number: int
    metadata: GroupMetadata
    trials: list[TrialValue] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    nodeids: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    most_trials: int = 1
    repeats: list[tuple[bool | None, bool]] = field(default_factory=list)
    work: tuple[float, int, int] = (0.0, 0, 0)
    spent: Spent = field(default_factory=Spent)
    heads: int = 0
    texts: list[HeadCounts] = field(default_factory=list)
    looks: Mapping[str, tuple[Look, ...]] = field(default_factory=dict)

    def add(self, item: PlannedItem, recorded: Outcome) -> None:
        """Count one item's outcome."""
        self.most_trials = max(self.most_trials, item.trial + 1)
        before = self.statuses.get(item.sample, "passed")
        worst = min(before, recorded.status, key=_WORST_FIRST.index)
        self.statuses[item.sample] = worst
        self.nodeids.setdefault(item.sample, item.nodeid)
        if recorded.status == "skipped":
            self.reasons[item.sample] = recorded.detail
        if recorded.status == "error":
            self.errors.append(f"{item.nodeid}: {recorded.detail}")
        if recorded.status in ("passed", "missed"):
            self.trials.append(TrialValue(item.sample, item.cluster, item.trial, recorded.values))

    @cached_property
    def reducer(self) -> Reducer:
        """Makes scores of the values."""
        return reducer_of(self.metadata.reducer)

    @cached_property
    def unavailable(self) -> tuple[str, ...]:
        """Metrics that need more trials than were drawn."""
        return impossible(self.reducer, self.metadata.benchmark, self.most_trials)

    @cached_property
    def table(self) -> SampleValues:
        """The samples' values of the metrics that are wanted and available."""
        values = tabulate(self.trials, self.reducer, self.metadata.benchmark)
        return without(only(values, self.metadata.metrics), self.unavailable)

    def add_text(self, item: PlannedItem, response: Answer) -> None:
        """Count what the heads of multi-token prediction got right in one item's text."""
        if isinstance(response, Generated):
            counts = (response.tokens, response.agreed, response.passes)
            self.texts.append(HeadCounts(item.sample, item.cluster, *counts))

    @cached_property
    def measured(self) -> BenchmarkMeasurement:
        """The group's scores, as they are compared with a baseline's."""
        own = self.metadata
        of_heads = {score.metric: score for score in multi_token_scores(self.texts, self.heads)}
        of_heads = {name: of_heads[name] for name in wanted_among(of_heads, own.metrics)}
        return BenchmarkMeasurement(
            own.benchmark,
            own.protocol,
            own.primary,
            (*fold(self.table), *of_heads.values()),
            self.table,
            incomplete=self.coverage.missing,
            settings=own.identity,
            planned=frozenset(self.statuses),
            deselected=None if own.collected is None else own.collected - len(self.statuses),
            unavailable=self.unavailable,
            asked=1 - self.coverage.not_needed / max(1, len(self.statuses)),
            looks=self.looks,
        )

    @cached_property
    def coverage(self) -> Coverage:
        """How many samples have a score, and why the others have none."""
        counts = Counter(self.statuses.values())
        reasons = Counter(
            self.reasons[sample] for sample, status in self.statuses.items() if status == "skipped"
        )
        unreachable = sum(n for reason, n in reasons.items() if reason.startswith(UNREACHABLE))
        return Coverage(
            planned=len(self.statuses),
            scored=sum(self.statuses[s] in ("passed", "missed") for s in self.table.samples),
            skipped=dict(sorted(reasons.items())),
            errors=counts["error"],
            not_run=counts["not_run"],
            reachable=len(self.statuses) - unreachable if unreachable else None,
            not_needed=counts["not_needed"],
        )


class CheckpointFold:
    """One checkpoint's groups, folded.

    Attributes:
        notes: sentences for the readers of the scores; `result` adds some.
        measured: of each group, its scores as they are compared.
        composite: the composite score; None where no metric of it was measured.
    """

    def __init__(self, name: str, groups: Sequence[GroupFold]) -> None:
        self.name = name
        self.groups = groups
        self.notes: list[str] = []
        self.measured = tuple(group.measured for group in groups)
        self.composite = self._composite()

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
            for own in (engine.get("settings", {}), *(g.metadata.settings for g in self.groups))
            for name, value in own.items()
        }
        self._note_trials()
        self.notes += evaluation.notes
        floors = [(g.metadata.protocol, g.reducer, g.repeats) for g in self.groups]
        self.notes += floor_notes(floors, settings, options.temperature, options.noise_floor)
        if baseline is not None:
            self.notes += baseline_notes(baseline, settings)
        composite = self.composite
        return CheckpointResult(
            name=self.name,
            spec=self.groups[0].metadata.spec,
            fingerprint=engine.get("fingerprint", ""),
            settings=settings,
            benchmarks=tuple(
                _benchmark_result(group, verdicts, baseline)
                for group, verdicts in zip(self.groups, evaluation.verdicts, strict=True)
            ),
            composite=None
            if composite is None
            else CompositeResult(DEFAULT_WEIGHTS, composite, verdict),
            baseline=str(options.baseline) if baseline is not None else "",
            seconds=sum(group.work[0] for group in self.groups),
            asked=sum(group.work[1] for group in self.groups),
            reused=sum(group.work[2] for group in self.groups),
            spent=sum((group.spent for group in self.groups), Spent()),
            missing=evaluation.missing,
            in_baseline=evaluation.in_baseline,
            compared=evaluation.compared,
            **self._training_progress(engine.get("facts", {}), options.steps_per_epoch),
        )

    def _training_progress(
        self, recorded: Mapping[str, Any], steps_per_epoch: int | None
    ) -> dict[str, Any]:
        """The run, step, epoch and facts of the checkpoint."""
        # Step: of the name, else of the loaded file. Epoch: the reverse, else from the step.
        known = self.groups[0].metadata
        step = recorded.get("step") if known.step is None else known.step
        epoch = recorded.get("epoch", known.epoch)
        if epoch is None and step is not None and steps_per_epoch:
            epoch = step / steps_per_epoch
        facts = {**known.facts, **recorded}
        return {
            "run": known.run,
            "step": step,
            "epoch": epoch,
            "facts": {n: v for n, v in facts.items() if n not in ("step", "epoch")},
        }

    def _note_trials(self) -> None:
        for group in self.groups:
            protocol, most = group.metadata.protocol, group.most_trials
            sizes = group.table.trials or (0,)
            fewest, largest = min(sizes), max(sizes)
            if fewest != largest:
                self.notes.append(f"{protocol}: {fewest} to {largest} trials a sample")
            if group.unavailable:
                self.notes.append(
                    f"{protocol}: {', '.join(group.unavailable)} need more than "
                    f"{counted(most, 'trial')} a sample (--num-samples)"
                )

    def _composite(self) -> Score | None:
        gated = [bench for bench in self.measured if bench.primary]
        parts = {score.metric: score for bench in gated for score in _whole(bench)}
        if parts.keys().isdisjoint(DEFAULT_WEIGHTS):
            return None
        return composite(parts, DEFAULT_WEIGHTS, [t for b in gated if (t := b.table) is not None])

    def as_baseline(
        self,
        result: CheckpointResult,
        options: Options,
        created: str,
        previous: Baseline | None = None,
    ) -> Baseline:
        """This checkpoint's result as a baseline.

        Results that were added behind those of its groups hold no samples: they are left out.

        Args:
            previous: what it may replace: its tolerances stay where none is given.
        """
        scope = Scope(tolerance=options.tolerance)
        before = {} if previous is None else previous.benchmarks
        benchmarks = {
            bench.protocol: baseline_benchmark(
                replace(
                    group.measured,
                    # Metrics of all answers at once are left out: they are not compared.
                    scores=tuple(s for s in bench.scores if s.metric in group.table.metrics),
                    dataset=bench.dataset.hash,
                    settings=bench.settings,
                ),
                _tolerances(bench, group.table.metrics, scope, before.get(bench.protocol)),
            )
            for bench, group in zip(result.benchmarks, self.groups, strict=False)
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
            ckptbench=__version__,
            benchmarks=benchmarks,
            composite=whole,
        )


def _whole(bench: BenchmarkMeasurement) -> tuple[Score, ...]:
    """The scores of all planned samples: a number of some would look like one of all."""
    if not bench.incomplete:
        return tuple(bench.scores)
    nothing = {"value": None, "standard_error": None, "interval": None, "reason": bench.incomplete}
    return tuple(replace(score, **nothing) for score in bench.scores)  # type: ignore[arg-type]


def _tolerances(
    bench: BenchmarkResult,
    metrics: Sequence[str],
    scope: Scope,
    previous: BaselineBenchmark | None,
) -> dict[str, float]:
    """The tolerance of each metric that is given one, or was before."""
    found = (
        {} if previous is None else {m: t for m, t in previous.tolerance.items() if m in metrics}
    )
    for score in bench.scores:
        given = scope.given(bench.benchmark, score)
        if score.metric in metrics and given is not None:
            found[score.metric] = given
    return found


def _benchmark_result(
    group: GroupFold, verdicts: tuple[Verdict, ...], baseline: Baseline | None
) -> BenchmarkResult:
    own, measured = group.metadata, group.measured
    return BenchmarkResult(
        benchmark=measured.benchmark,
        protocol=measured.protocol,
        primary=measured.primary,
        dataset=DatasetInfo(
            own.dataset, content_hash(sorted(group.statuses)), own.source, own.licence
        ),
        coverage=group.coverage,
        scores=_whole(measured),
        verdicts=verdicts,
        flips=_flips(measured, group.nodeids, verdicts, baseline),
        errors=tuple(group.errors[:ERRORS_KEPT]),
        seconds=group.work[0],
        spent=group.spent,
        given={name: Given(**given) for name, given in own.asked.items()},
        reducer=own.reducer,
        settings=measured.settings,
        noise=noise_of(group.trials, group.reducer, measured.benchmark, group.table.metrics),
        floor=noise_floor(group.repeats),
    )


def _flips(
    measured: BenchmarkMeasurement,
    nodeids: Mapping[str, str],
    verdicts: tuple[Verdict, ...],
    baseline: Baseline | None,
) -> tuple[Flip, ...]:
    """Samples whose first metric is worse or better than the baseline's; none if not compared."""
    reference = baseline.find(measured.protocol) if baseline is not None else None
    table = measured.table
    if reference is None or table is None or not table.metrics:
        return ()
    first = table.metrics[0]
    if not any(v.metric == first and v.comparison is not None for v in verdicts):
        return ()
    then = reference.column(first)
    pairs = zip(table.samples, table.values[:, 0].tolist(), strict=True)
    both = [(nodeids[s], value, then[s]) for s, value in pairs if s in then]
    score = measured.score(first)
    if score is not None and score.higher_is_better is False:
        both = [(nodeid, before, now) for nodeid, now, before in both]
    lost = sorted(nodeid for nodeid, now, before in both if now < before)
    won = sorted(nodeid for nodeid, now, before in both if now > before)
    return (*(Flip(nodeid, "lost") for nodeid in lost), *(Flip(nodeid, "won") for nodeid in won))
