"""`<checkpoint>_<benchmark>_problems.csv`: one row a problem of a benchmark scored by pass@k.

n trials, c passed, the problem's own pass@k, and how the others failed. Problems that a limit left
out come last, with n = 0 and `left out by --limit`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.atomic import atomic_writer
from .._util.csv_file import write_rows
from .._util.names import natural_key
from ..results.layout import safe_name
from ..results.outcome import Outcome
from ..results.stored_run import GroupMetadata
from ..scores.reducers import PassAtK, estimate_pass_at_k, reducer_of

if TYPE_CHECKING:
    from ..results.store import RunStore
    from ..results.stored_run import PlannedItem

FAILURES = ("fail", "timeout", "memory", "output", "violation", "crash", "missed")
"""How a trial can fail: the sandbox's statuses, and `missed` where no program was run."""

NO_ANSWER = ("error", "skipped", "not_run")
_LEFT_OUT = "left out by --limit"
_NOT_RUN = Outcome("not_run")


@dataclass(slots=True)
class Problem:
    """The outcomes of one problem's trials.

    Attributes:
        tests: how many tests a program for it is run with; None where that is not recorded.
        tests_available: how many its dataset has; likewise.
        counts: trials by `passed`, one of `FAILURES`, or one of `NO_ANSWER`.
    """

    id: str
    tests: int | None = None
    tests_available: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """Trials with an outcome."""
        return self.counts.total() - sum(self.counts[status] for status in NO_ANSWER)

    def add(self, recorded: Outcome) -> None:
        """Count one trial."""
        status: str = recorded.status
        if status == "missed":
            failure = recorded.detail.partition(":")[0]
            status = failure if failure in FAILURES else "missed"
        self.counts[status] += 1


def write_problems(
    folder: Path, store: RunStore, outcomes: Mapping[str, Outcome]
) -> tuple[Path, ...]:
    """Write the file of every checkpoint and benchmark scored by pass@k, from items' outcomes.

    Raises:
        CkptbenchError: a file cannot be written.
    """
    tables: dict[tuple[str, str], list[tuple[GroupMetadata, list[Problem]]]] = {}
    for number, facts in enumerate(store.groups()):
        if isinstance(reducer_of(facts.reducer), PassAtK):
            problems = list(_problems(store.answered(number), outcomes))
            key = facts.checkpoint, facts.benchmark
            tables.setdefault(key, []).append((facts, problems))
    paths = []
    for (checkpoint, benchmark), groups in tables.items():
        path = folder / f"{safe_name(checkpoint)}_{safe_name(benchmark)}_problems.csv"
        with atomic_writer(path) as file:
            write_rows(file, _rows(groups))
        paths.append(path)
    return tuple(paths)


def _problems(
    answered: Iterable[tuple[PlannedItem, str, str | None]], outcomes: Mapping[str, Outcome]
) -> Iterable[Problem]:
    found: dict[str, Problem] = {}
    for item, fields, _ in answered:
        problem = found.get(item.id)
        if problem is None:
            problem = found[item.id] = Problem(item.id, *_tests(fields))
        problem.add(outcomes.get(item.nodeid, _NOT_RUN))
    return sorted(found.values(), key=lambda problem: natural_key(problem.id))


def _tests(fields: str) -> tuple[int | None, int | None]:
    if '"tests_available"' not in fields:
        return None, None
    values = json.loads(fields)
    return len(values["tests"]), values["tests_available"]


def _rows(groups: Sequence[tuple[GroupMetadata, list[Problem]]]) -> Iterator[list[Any]]:
    ks = sorted({k for group, _ in groups for k in group.reducer["at"]})
    passes = [f"pass@{k}" for k in ks]
    counted = [*FAILURES, *NO_ANSWER]
    yield ["protocol", "problem", "n", "c", *passes, *counted, "tests", "tests_available", "remark"]
    for group, problems in groups:
        rows = [(problem, _remark(problem, ks)) for problem in problems]
        rows += [(Problem(name), _LEFT_OUT) for name in group.left_out]
        for problem, remark in rows:
            n, c = problem.n, problem.counts["passed"]
            yield [
                *(group.protocol, problem.id, n, c),
                *(estimate_pass_at_k(n, c, k) for k in ks),
                *(problem.counts[status] for status in counted),
                *(problem.tests, problem.tests_available, remark),
            ]


def _remark(problem: Problem, ks: Sequence[int]) -> str:
    missing = [f"pass@{k}" for k in ks if k > problem.n]
    if not missing:
        return ""
    trials = "1 trial" if problem.n == 1 else f"{problem.n} trials"
    return f"{' '.join(missing)} does not exist for {trials}"
