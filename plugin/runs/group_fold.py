"""The items of one group, folded into the values that scores are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..gate.measurement import BenchmarkMeasurement
from ..results.group import GroupMetadata
from ..results.outcome import Recorded
from ..results.stored_run import PlannedItem
from ..results.summary import Coverage
from ..scores.aggregate import TrialValue, fold, impossible, only, tabulate, without
from ..scores.registry import reducer_of
from ..scores.score import Reducer, SampleValues

# How the reasons begin that mean: this model's vocabulary cannot spell the answer.
UNREACHABLE = "answer_not_"
# A sample of several trials has one status: the worst of theirs.
_WORST_FIRST = ("error", "not_run", "skipped", "missed", "passed")


@dataclass
class GroupFold:
    """One group while it is folded: `add` its items, then read what they amount to.

    Attributes:
        number: its index in the plan.
        trials: values of the items that were answered.
        statuses, reasons, nodeids: of each sample, by its content hash.
        errors: the node id and reason of each item that ended in an error.
        most_trials: trials that were planned of a sample.
        repeats: of items that were asked again: whether the outcome flipped, in another batch size.
        work: seconds of wall time, items that the model answered, items with a stored answer.
    """

    number: int
    metadata: GroupMetadata
    trials: list[TrialValue] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    nodeids: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    most_trials: int = 1
    repeats: Sequence[tuple[bool | None, bool]] = ()
    work: tuple[float, int, int] = (0.0, 0, 0)

    def add(self, item: PlannedItem, recorded: Recorded) -> None:
        """Count one item's outcome."""
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

    @cached_property
    def reducer(self) -> Reducer:
        """What makes scores of the values."""
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

    @cached_property
    def measured(self) -> BenchmarkMeasurement:
        """The group's scores, as they are compared with a baseline's."""
        own = self.metadata
        return BenchmarkMeasurement(
            own.benchmark,
            own.protocol,
            own.primary,
            fold(self.table),
            self.table,
            incomplete=self.coverage.missing,
            settings=own.identity,
            planned=frozenset(self.statuses),
            unavailable=self.unavailable,
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
            scored=len(self.table.samples),
            skipped=dict(sorted(reasons.items())),
            errors=counts["error"],
            not_run=counts["not_run"],
            reachable=len(self.statuses) - unreachable if unreachable else None,
        )
