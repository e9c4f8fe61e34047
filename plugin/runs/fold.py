"""Aggregate a run's outcomes into one result per checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._util.names import name_list
from ..api.requests import MTP_HEADS
from ..config.options import Options
from ..gate.baseline import Baseline
from ..gate.evaluate import Evaluation, evaluate, evaluate_composite
from ..gate.measurement import BenchmarkMeasurement
from ..gate.scope import Scope
from ..gate.sequential import Look
from ..gate.verdict import Rules, Verdict
from ..results.answers import decode
from ..results.outcome import Outcome
from ..results.spent import Spent
from ..results.store import RunStore
from ..results.summary import CheckpointResult
from ..scores.composite import DEFAULT_WEIGHTS
from .checkpoint_fold import CheckpointFold, GroupFold

Looks = Mapping[int, Mapping[str, tuple[Look, ...]]]
"""Comparisons made while samples were asked, by the number of their group and by metric."""

NOT_RUN = Outcome("not_run")
"""The outcome of a planned item that did not run."""


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """A run's results.

    Attributes:
        checkpoints: results by checkpoint, in the session's order.
        baselines: each complete checkpoint's result in the form of a baseline.
        notes: sentences for the readers of the scores.
        errors: every error: the item and its reason.
        measured: each checkpoint's scores with their tables, one measurement a group.
    """

    checkpoints: tuple[CheckpointResult, ...]
    baselines: Mapping[str, Baseline]
    notes: tuple[str, ...]
    errors: tuple[str, ...]
    measured: Mapping[str, Sequence[BenchmarkMeasurement]]

    @property
    def complete(self) -> bool:
        """Whether every sample of every benchmark has an outcome."""
        return all(bench.coverage.complete for c in self.checkpoints for bench in c.benchmarks)


def fold_run(
    store: RunStore,
    outcomes: Mapping[str, Outcome],
    options: Options,
    baseline: Baseline | None,
    *,
    created: str,
    amend: Callable[[CheckpointResult], CheckpointResult] | None = None,
    scope: Scope | None = None,
    looks: Looks | None = None,
) -> FoldedRun:
    """Fold a run's outcomes into scores and verdicts.

    Args:
        outcomes: of the items, by node id; planned items without one were not run.
        baseline: what to compare with.
        created: ISO 8601 time, for the baselines made.
        amend: gives a checkpoint's result as other code completes it.
        scope: what the gate compares.
        looks: comparisons made while samples were asked.
    """
    engines, nulls = store.engines(), store.nulls()
    groups = _group_folds(store, outcomes, engines)
    for number, made in (looks or {}).items():
        groups[number].looks = made
    members: dict[str, list[GroupFold]] = {}
    for group in groups:
        if group.statuses:
            members.setdefault(group.metadata.checkpoint, []).append(group)
    folds = [CheckpointFold(name, of_one) for name, of_one in members.items()]
    scope = scope or Scope(tolerance=options.tolerance, gate_on=frozenset(options.gate_on))
    results, baselines, notes = [], {}, []
    noted: dict[str, list[str]] = {}
    evaluations = _evaluations(folds, options, baseline, scope)
    for folded, verdicts in zip(folds, evaluations, strict=True):
        name = folded.name
        result = folded.result(engines.get(name, {}), options, baseline, *verdicts)
        result = result if amend is None else amend(result)
        results.append(result)
        for note in engines.get(name, {}).get("notes", []):
            noted.setdefault(note, []).append(name)
        notes += folded.notes
        if empty := sum(nulls.get(group.number, 0) for group in folded.groups):
            notes.append(f"{empty:,} answers of {name} were null: they count as empty texts")
        if all(b.coverage.complete and not b.coverage.not_needed for b in result.benchmarks):
            baselines[name] = folded.as_baseline(result, options, created, baseline)
    errors = tuple(line for group in groups for line in group.errors)
    notes = [f"{name_list(names, len(results))}: {note}" for note, names in noted.items()] + notes
    return FoldedRun(
        tuple(results),
        baselines,
        tuple(dict.fromkeys(notes)),
        errors,
        {result.name: each.measured for result, each in zip(results, folds, strict=True)},
    )


def rules_of(options: Options) -> Rules:
    """What verdicts are made with."""
    return Rules(options.alpha, options.must_see, looks=options.decide == "early")


def _group_folds(
    store: RunStore, outcomes: Mapping[str, Outcome], engines: Mapping[str, Mapping[str, Any]]
) -> list[GroupFold]:
    """The planned groups in order, with the outcomes of their items."""
    groups = [GroupFold(number, metadata) for number, metadata in enumerate(store.groups())]
    for item in store.plan():
        groups[item.group].add(item, outcomes.get(item.nodeid, NOT_RUN))
    for _, number, flipped, other_batch in store.repeats():
        groups[number].repeats.append((flipped, other_batch))
    for number, work in store.work().items():
        groups[number].work = work
    spent = store.spent()
    for group in groups:
        group.spent = spent.get(group.metadata.key, Spent())
    for group in groups:
        settings = engines.get(group.metadata.checkpoint, {}).get("settings", {})
        group.heads = settings.get(MTP_HEADS, 0)
        for item, _, response in store.answered(group.number) if group.heads else ():
            scored = outcomes.get(item.nodeid, NOT_RUN).status in ("passed", "missed")
            if scored and response is not None:
                group.add_text(item, decode(response))
    return groups


def _evaluations(
    folds: list[CheckpointFold], options: Options, baseline: Baseline | None, scope: Scope
) -> list[tuple[Evaluation, Verdict | None]]:
    """Each checkpoint's verdicts: of its metrics, and of its composite score."""
    measured = [folded.measured for folded in folds]
    if baseline is None:
        return [(Evaluation(((),) * len(each)), None) for each in measured]
    rules = rules_of(options)
    evaluations = evaluate(measured, baseline, rules=rules, scope=scope, seed=options.seed)
    return [
        (
            evaluation,
            None
            if folded.composite is None
            else evaluate_composite(
                folded.composite,
                DEFAULT_WEIGHTS,
                folded.measured,
                baseline,
                rules=rules,
                scope=scope,
                seed=options.seed,
            ),
        )
        for folded, evaluation in zip(folds, evaluations, strict=True)
    ]
