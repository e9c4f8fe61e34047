"""Which benchmarks and tasks run with which settings: command line, then file, then defaults.

These are plain values, so that options can hold a configuration file without loading pydantic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._util.errors import CkptbenchError, nearest
from ..scores.metric import spellings

COMMAND_LINE = "command line"
_SECTIONS = ("benchmarks", "tasks")
# Without a priority of its own, a task runs after those that have one.
NO_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The settings of one entry of a configuration file.

    Attributes:
        entry: its key in the file, such as `tasks.gsm8k`.
        names: benchmarks of the suite or lm-eval tasks that it means.
        values: what the file sets, by the names of `Effective`.
    """

    entry: str
    names: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def priority(self) -> int:
        """Small numbers run first."""
        return int(self.values.get("priority", NO_PRIORITY))


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of `--list-benchmarks`.

    Attributes:
        tasks: what it runs; its own name for a benchmark of the suite.
    """

    name: str
    enabled: bool
    tasks: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """A configuration file, read and checked.

    Attributes:
        path: the file.
        settings: of everything that runs, in running order.
        listed: every benchmark of the file, also those that do not run.
        idle: settings of what does not run.
        notes: for the readers of the scores, such as tasks that no benchmark names.
    """

    path: str
    settings: tuple[TaskSettings, ...]
    listed: tuple[Listed, ...]
    notes: tuple[str, ...] = ()
    idle: tuple[TaskSettings, ...] = ()

    def of(self, name: str) -> TaskSettings | None:
        """The settings of a benchmark or task; None when it does not run."""
        return next((each for each in self.settings if name in each.names), None)

    def asked_by(self, benchmark: Listed) -> frozenset[str]:
        """Names of what a listed benchmark runs."""
        entries = {f"{section}.{task}" for task in benchmark.tasks for section in _SECTIONS}
        running = [each for each in self.settings if benchmark.enabled and each.entry in entries]
        return frozenset(name for each in running for name in each.names)


def check_wanted(metrics: Iterable[str], wanted: Iterable[str], where: str) -> None:
    """Refuse wanted metrics that no benchmark of an entry has.

    Raises:
        CkptbenchError: naming them.
    """
    known = list(dict.fromkeys(metrics))
    accepted = {spelling for metric in known for spelling in spellings(metric)}
    wrong = [name for name in wanted if name not in accepted]
    if wrong:
        raise CkptbenchError(
            f"no metric {', '.join(map(repr, wrong))}{nearest(wrong[0], sorted(accepted))}",
            where=where,
            remedy=f"metrics: {'; '.join(known)}",
        )
