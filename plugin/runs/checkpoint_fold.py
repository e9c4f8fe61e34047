"""One checkpoint's groups, folded: its result, and the baseline that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..api.requests import content_hash
from ..config.options import Options
from ..gate.baseline import (
    FORMAT,
    Baseline,
    BaselineComposite,
    baseline_benchmark,
    baseline_notes,
)
from ..gate.evaluate import Evaluation
from ..gate.measurement import BenchmarkMeasurement
from ..gate.scope import Scope
from ..gate.verdict import Verdict
from ..results.summary import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    DatasetInfo,
    Flip,
    Given,
)
from ..scores.aggregate import trials_per_sample
from ..scores.composite import DEFAULT_WEIGHTS, composite
from ..scores.noise import floor_notes, noise_floor, noise_of
from ..scores.score import SampleValues, Score
from .group_fold import GroupFold

ERRORS_KEPT = 20


class CheckpointFold:
    """One checkpoint's groups, folded.

    Attributes:
        notes: sentences the reader must know; `result` adds some.
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
            missing=evaluation.missing,
            in_baseline=evaluation.in_baseline,
            compared=evaluation.compared,
            **self._training_progress(engine.get("facts", {}), options.steps_per_epoch),
        )

    def _training_progress(
        self, recorded: Mapping[str, Any], steps_per_epoch: int | None
    ) -> dict[str, Any]:
        """The run, step, epoch and facts of the checkpoint.

        What the loaded file records goes before what its name shows, and either before an epoch
        computed from the step.
        """
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
            fewest, largest = trials_per_sample(group.trials) or (0, 0)
            if fewest != largest:
                self.notes.append(f"{protocol}: {fewest} to {largest} trials a sample")
            if group.unavailable:
                drawn = "1 trial" if most == 1 else f"{most} trials"
                self.notes.append(
                    f"{protocol}: {', '.join(group.unavailable)} need more than {drawn} "
                    "a sample (--num-samples)"
                )

    def _composite(self) -> Score | None:
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
                    group.measured,
                    # Those made of all answers at once stay out: they are not compared.
                    scores=tuple(s for s in bench.scores if s.metric in group.table.metrics),
                    dataset=bench.dataset.hash,
                    settings=bench.settings,
                ),
                {
                    score.metric: allowed
                    for score in bench.scores
                    if score.metric in group.table.metrics
                    and (allowed := scope.given(bench.benchmark, score)) is not None
                },
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
            ckptbench=version,
            benchmarks=benchmarks,
            composite=whole,
        )


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
        scores=measured.scores,
        verdicts=verdicts,
        flips=_flips(measured, group.nodeids, verdicts, baseline),
        errors=tuple(group.errors[:ERRORS_KEPT]),
        seconds=group.work[0],
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
    """Samples whose value of the first metric differs from the baseline's, lost ones first.

    None where the metric was not compared.
    """
    reference = baseline.find(measured.protocol) if baseline is not None else None
    table = measured.table
    if reference is None or table is None or not table.metrics:
        return ()
    first = table.metrics[0]
    if not any(v.metric == first and v.comparison is not None for v in verdicts):
        return ()
    then, now = reference.column(first), _column(table, 0)
    lost = [s for s, value in now.items() if s in then and value < then[s]]
    won = [s for s, value in now.items() if s in then and value > then[s]]
    return (
        *(Flip(nodeid, "lost") for nodeid in sorted(nodeids[s] for s in lost)),
        *(Flip(nodeid, "won") for nodeid in sorted(nodeids[s] for s in won)),
    )


def _column(table: SampleValues, column: int) -> dict[str, float]:
    return dict(zip(table.samples, table.values[:, column].tolist(), strict=True))
