"""Looks at a run before it is over: which benchmarks have their verdict and need no more samples.

Items run in stages (`gate.sequential.stage_of`). Before the first item of a stage the gate looks at
the outcomes so far, and what is left of a benchmark that is decided is not asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .._util.text import counted
from ..config.options import Options
from ..gate.baseline import Baseline
from ..gate.comparison import with_looks
from ..gate.evaluate import evaluate
from ..gate.scope import Scope
from ..gate.sequential import Look
from ..gate.units import size
from ..gate.verdict import Candidate, Rules, Verdict, decide
from ..results.outcome import Outcome
from ..results.store import RunStore
from ..runs.checkpoint_fold import GroupFold
from ..runs.fold import rules_of

if TYPE_CHECKING:
    from .blocks import Question


class EarlyDecision:
    """Decides which groups need no more samples. In the main process.

    Attributes:
        looks: the comparisons so far, by the number of their group and by metric.
        reasons: of the groups that are decided, by their number.
    """

    def __init__(
        self,
        store: RunStore,
        outcomes: Mapping[str, Outcome],
        options: Options,
        baseline: Baseline,
        scope: Scope,
        n_checkpoints: int,
    ) -> None:
        """Nothing is decided yet.

        Args:
            outcomes: of the items that reported so far, by node id.
            n_checkpoints: of the session.
        """
        self.looks: dict[int, dict[str, tuple[Look, ...]]] = defaultdict(dict)
        self.reasons: dict[int, str] = {}
        self._store = store
        self._outcomes = outcomes
        self._options = options
        self._baseline = baseline
        self._scope = scope
        self._n_checkpoints = n_checkpoints
        self._reached: dict[str, int] = {}

    def decided(self, item: Question) -> str:
        """Why an item is not needed; empty when it must be asked. Looks first where it is time."""
        checkpoint = item.group.checkpoint_name
        if self._reached.setdefault(checkpoint, 0) < item.stage:
            self._reached[checkpoint] = item.stage
            self.look(checkpoint)
        return self.reasons.get(item.group.index, "")

    def look(self, checkpoint: str) -> None:
        """Compare what a checkpoint has answered so far, and decide what that allows."""
        groups, fractions = self._so_far(checkpoint)
        rules = rules_of(self._options)
        (evaluation,) = evaluate(
            [[group.measured for group in groups]],
            self._baseline,
            rules=rules,
            scope=self._scope,
            seed=self._options.seed,
        )
        found = [
            (group, verdict)
            for group, verdicts in zip(groups, evaluation.verdicts, strict=True)
            for verdict in verdicts
            if verdict.gated and group.number not in self.reasons
        ]
        for group, verdict in found:
            if (figures := verdict.comparison) is None:
                continue
            fraction, made = fractions[group.number], self.looks[group.number]
            earlier = made.get(verdict.metric, ())
            # With nothing new since the last one it is no further look.
            if not earlier or earlier[-1].fraction < fraction:
                look = Look(fraction, figures.p_worse, figures.p_better, figures.p_excluded)
                made[verdict.metric] = (*earlier, look)
        judged = self._judged(found, fractions, rules)
        for group in groups:
            own = [v for (g, _), v in zip(found, judged, strict=True) if g is group]
            if own and all(self._is_certain(verdict, rules) for verdict in own):
                share = f"{100 * fractions[group.number]:.0f}% of the samples"
                self.reasons[group.number] = f"decided after {share}: {_named(own, rules)}"
        self._follow(groups)

    def notes(self) -> list[str]:
        """What was not asked and why, for the readers of the scores."""
        groups = self._store.groups()
        found = []
        for number, reason in sorted(self.reasons.items()):
            metadata = groups[number]
            if metadata.primary:
                found.append(
                    f"{metadata.protocol} of {metadata.checkpoint}: {reason}; its interval is that "
                    "of a fixed number of samples; without --decide, this --run-id asks the rest"
                )
        return found

    def _so_far(self, checkpoint: str) -> tuple[list[GroupFold], dict[int, float]]:
        """The groups of a checkpoint with what was answered, and which share that is of each."""
        folds = {
            number: GroupFold(number, metadata)
            for number, metadata in enumerate(self._store.groups())
            if metadata.checkpoint == checkpoint
        }
        planned: Counter[int] = Counter()
        reported: Counter[int] = Counter()
        for item in self._store.plan():
            if item.group in folds:
                planned[item.group] += 1
                if (outcome := self._outcomes.get(item.nodeid)) is not None:
                    reported[item.group] += 1
                    folds[item.group].add(item, outcome)
        shares = {number: reported[number] / planned[number] for number in planned}
        return [fold for fold in folds.values() if fold.statuses], shares

    def _judged(
        self,
        found: Sequence[tuple[GroupFold, Verdict]],
        fractions: dict[int, float],
        rules: Rules,
    ) -> tuple[Verdict, ...]:
        """Verdicts that hold over all looks, as if every later comparison had p = 1."""
        candidates = []
        for group, verdict in found:
            figures = verdict.comparison
            if figures is not None:
                looks = self.looks[group.number][verdict.metric]
                figures = with_looks(figures, looks, fractions[group.number])
            candidates.append(Candidate(verdict.metric, figures, verdict.tolerance))
        family = self._family * max(1, self._n_checkpoints)
        return decide(
            candidates,
            Rules(rules.alpha, rules.must_see, looks=True, family=max(family, len(candidates))),
        )

    @property
    def _family(self) -> int:
        """Gated comparisons of one checkpoint, as far as they were seen."""
        sizes: Counter[str] = Counter()
        groups = self._store.groups()
        for number, metrics in self.looks.items():
            sizes[groups[number].checkpoint] += len(metrics)
        return max(sizes.values(), default=1)

    def _is_certain(self, verdict: Verdict, rules: Rules) -> bool:
        figures = verdict.comparison
        if verdict.word == "regressed":
            return True
        if figures is None or figures.p_excluded is None or figures.p_excluded > rules.alpha:
            return False
        # Where an inconclusive drop fails the run, more samples may still clear it.
        return self._options.gate != "strict" or verdict.word != "inconclusive"

    def _follow(self, groups: Sequence[GroupFold]) -> None:
        """Protocols that are not gated end with the one of their benchmark that is."""
        by_benchmark = {
            group.metadata.benchmark: self.reasons[group.number]
            for group in groups
            if group.metadata.primary and group.number in self.reasons
        }
        for group in groups:
            if not group.metadata.primary and group.metadata.benchmark in by_benchmark:
                reason = by_benchmark[group.metadata.benchmark]
                self.reasons.setdefault(group.number, reason)


def _named(verdicts: Sequence[Verdict], rules: Rules) -> str:
    """`real@1 regressed`, or which drops were not looked for."""
    regressed = [v.metric for v in verdicts if v.word == "regressed"]
    if regressed:
        return f"{', '.join(regressed)} regressed"
    figures = verdicts[0].comparison
    assert figures is not None
    drop = size(rules.must_see_of(figures), figures.unit)
    excluded = f"a drop of {drop} is excluded ({counted(len(verdicts), 'metric')})"
    return f"{excluded}, smaller ones were not looked for (--must-see)"
