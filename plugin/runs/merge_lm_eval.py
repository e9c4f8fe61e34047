"""Reuses lm-eval's results of a task or group from the part that has all of its answers.

lm-eval's last step needs the tasks themselves, which only a session loads. Where the answers are
from several parts, metrics that only lm-eval computes are left out, and a note says how to get
them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._util.text import listed
from ..results.lm_eval_format import tasks_below, united, with_all_below
from ..results.stored_run import GroupMetadata
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from .merge_inputs import GroupKey, Part

_TASKS = re.compile(r"--(ckpt-)?tasks=")

Official = Mapping[str, Any]


@dataclass
class LmEvalMerge:
    """Amends the results of a merged run with those of parts that have all answers.

    Attributes:
        parts: of the run, the newest last.
        sources: the parts that outcomes of a group are from.
        groups: metadata of each group.
        official: lm-eval's results that were reused, by checkpoint; filled by `amend`.
    """

    parts: Sequence[Part]
    sources: Mapping[GroupKey, Sequence[Part]]
    groups: Mapping[GroupKey, GroupMetadata]
    official: dict[str, dict[str, Any]] = field(default_factory=dict)
    _left_out: dict[str, str] = field(default_factory=dict)

    def amend(self, result: CheckpointResult) -> CheckpointResult:
        """A checkpoint's result with the scores and groups of parts that have all answers."""
        benchmarks: list[BenchmarkResult] = []
        whole_in: dict[str, Part] = {}
        taken: list[Official] = []
        left_out: list[str] = []
        for bench in result.benchmarks:
            part, same = self._whole(result.name, bench)
            benchmarks.append(replace(bench, scores=same.scores) if same else bench)
            found = part.official.get(result.name, {}).get(bench.benchmark) if part else None
            if part and found:
                whole_in[bench.benchmark] = part
                taken.append(found)
            elif bench.coverage.scored and _is_task(self.groups[result.name, bench.protocol]):
                left_out.append(bench.benchmark)
        for group, its_result in self._whole_groups(result.name, whole_in):
            benchmarks.append(group)
            taken.append(its_result)
        known = {bench.benchmark for bench in benchmarks}
        left_out += self._lost_groups({*whole_in, *left_out}) - known
        what = [listed(sorted(left_out))] if left_out else []
        if len(set(whole_in.values())) > 1 and any(map(_may_ask_groups, self.parts)):
            what.append("groups whose tasks are in several parts")
        if taken:
            self.official[result.name] = united(taken)
        if what:
            self._left_out[result.name] = " nor to ".join(what)
        return replace(result, benchmarks=tuple(benchmarks))

    def rerun_options(self) -> tuple[str, ...]:
        """The options that make the items of all parts again, each once."""
        given = (o for part in self.parts if part.summary for o in part.summary.rerun_options)
        options = list(dict.fromkeys(given))
        tasks = [option for option in options if _TASKS.match(option)]
        if len(tasks) < 2:
            return tuple(options)
        names = dict.fromkeys(n for each in tasks for n in each.partition("=")[2].split(","))
        found = [f for part in self.parts for each in part.official.values() for f in each.values()]
        # lm-eval refuses a task that is named beside a group that has it.
        below = {n for name in names for each in found for n in with_all_below(name, each) - {name}}
        together = f"--tasks={','.join(name for name in names if name not in below)}"
        return tuple(dict.fromkeys(together if o in tasks else o for o in options))

    def notes(self, results: Path, run_id: str) -> Iterator[str]:
        """What is left out of each checkpoint, and the command that makes it.

        Args:
            results: the folder that the merged run's folder is in.
        """
        items = (item.nodeid for part in self.parts for item in part.store.plan())
        files = dict.fromkeys(nodeid.partition("::")[0] for nodeid in items)
        folder = [] if results == Path("results") else [f"--results-dir={results}"]
        command = shlex.join(
            ["pytest", *files, *self.rerun_options(), *folder, f"--run-id={run_id}"]
        )
        for checkpoint, what in self._left_out.items():
            yield (
                f"{checkpoint}: no part has lm-eval's result of all answers to {what}: "
                "metrics and groups that only lm-eval aggregates are left out, and the other "
                f"values are plain means, until `{command}` makes them of the answers here, which "
                "are not asked again"
            )

    def _whole(
        self, checkpoint: str, bench: BenchmarkResult
    ) -> tuple[Part | None, BenchmarkResult | None]:
        """The part that alone has the outcomes of a benchmark, and the result that it has."""
        parts = self.sources.get((checkpoint, bench.protocol), ())
        if len(parts) == 1 and parts[0].summary is not None:
            for each in _results(parts[0].summary, checkpoint):
                if each.protocol == bench.protocol and each.coverage == bench.coverage:
                    return parts[0], each
        return None, None

    def _whole_groups(
        self, checkpoint: str, whole_in: Mapping[str, Part]
    ) -> Iterator[tuple[BenchmarkResult, Official]]:
        """The groups whose tasks are all of one part, as that part has them."""
        for part in dict.fromkeys(whole_in.values()):
            for each in _results(part.summary, checkpoint):
                found = part.official.get(checkpoint, {}).get(each.benchmark)
                if not each.is_group or found is None:
                    continue
                tasks = tasks_below(each.benchmark, found)
                if all(whole_in.get(task) is part for task in tasks):
                    yield each, found

    def _lost_groups(self, tasks: set[str]) -> set[str]:
        """Groups that some part has of some checkpoint, and that a checkpoint's tasks make."""
        return {
            each.benchmark
            for part in self.parts
            for checkpoint, found in part.official.items()
            for each in _results(part.summary, checkpoint)
            if each.is_group
            and each.benchmark in found
            and tasks >= tasks_below(each.benchmark, found[each.benchmark])
        }


def _results(summary: Summary | None, checkpoint: str) -> Iterator[BenchmarkResult]:
    for each in summary.checkpoints if summary else ():
        if each.name == checkpoint:
            yield from each.benchmarks


def _is_task(group: GroupMetadata) -> bool:
    """Whether a group of items is a task of lm-eval: its metrics are named `METRIC,FILTER`."""
    reducer = group.reducer
    names = [*reducer.get("names", ()), *reducer.get("corpus", ())]
    return bool(names) and all("," in name for name in names)


def _may_ask_groups(part: Part) -> bool:
    """Whether a part was given more than names of tasks: groups, tags or patterns."""
    summary = part.summary
    if summary is None:
        return False
    tasks = summary.given.get("tasks")
    if tasks is None:
        return "eval_config" in summary.given
    known = {each.benchmark for c in summary.checkpoints for each in c.benchmarks}
    return not known.issuperset(str(tasks.value).split(","))
