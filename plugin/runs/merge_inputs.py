"""The parts of one run: each a run's folder, and what they must have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from ..config.shard import Shard
from ..readers.run import SUMMARY, read_summary, sample_heads
from ..results.layout import samples_path
from ..results.lm_eval_format import read_official
from ..results.outcome import Outcome
from ..results.stored_run import GroupMetadata, StoredRun
from ..results.summary import Summary

# What must be the same of a benchmark in all parts, and its name in messages.
_ALIKE = {"dataset": "dataset", "source": "source of the samples", "reducer": "score"}
GroupKey = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Part:
    """One run's folder, with its answers and plan; `summary` is None when the run did not end."""

    folder: Path
    summary: Summary | None
    store: StoredRun
    groups: Sequence[GroupMetadata]
    engines: Mapping[str, dict[str, Any]]

    @property
    def age(self) -> tuple[str, float]:
        """Sorts parts, the newest last."""
        started = self.summary.started if self.summary else ""
        return started, self.store.path.stat().st_mtime

    def with_epoch(self, group: GroupMetadata) -> GroupMetadata:
        """A group's metadata with the epoch that the run computed from the checkpoint's step."""
        known = self.summary.checkpoints if self.summary else ()
        epoch = next((c.epoch for c in known if c.name == group.checkpoint), None)
        return replace(group, epoch=epoch) if group.epoch is None else group

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of each item by its node id here; empty when the run did not end.

        Raises:
            CkptbenchError: a sample file is missing or cut off.
        """
        if self.summary is None:
            return {}
        found: dict[str, Outcome] = {}
        scored = {
            (c.name, b.benchmark)
            for c in self.summary.checkpoints
            for b in c.benchmarks
            if not b.is_group
        }
        for checkpoint, benchmark in sorted(scored):
            for head in sample_heads(samples_path(self.folder, checkpoint, benchmark)):
                values = (float("nan") if v is None else v for v in head["values"].values())
                found[head["nodeid"]] = Outcome(
                    head["status"], tuple(values), head["reason"], head.get("seconds", 0.0)
                )
        return found

    @cached_property
    def official(self) -> dict[str, dict[str, dict[str, Any]]]:
        """lm-eval's own results of tasks and groups; see `lm_eval_format.read_official`."""
        return read_official(self.folder, self.summary) if self.summary else {}


def open_part(folder: Path, stack: ExitStack) -> Part:
    """Open a run's folder; its store is closed with the stack.

    Raises:
        CkptbenchError: it is no run's folder.
    """
    store = stack.enter_context(closing(StoredRun(folder)))
    ended = (folder / SUMMARY).is_file()
    summary = read_summary(folder) if ended else None
    return Part(folder, summary, store, store.groups(), store.engines())


def check(parts: Sequence[Part]) -> None:
    """Refuse parts that are not of one run.

    Raises:
        CkptbenchError: they differ in a protocol, dataset, model or setting; names both values.
    """
    alike: dict[tuple[str, str], tuple[Any, Path]] = {}

    def same(of: str, what: str, value: Any, folder: Path) -> None:
        first, where = alike.setdefault((of, what), (value, folder))
        if first != value:
            raise CkptbenchError(
                f"{of}: the {what} is {first} in {where} and {value} in {folder}: "
                "these are not parts of one run",
                remedy="Merge parts that were made with the same options, or use compare.",
            )

    check_shards(parts)
    for part in parts:
        _check_whole(part)
        for group in part.groups:
            if group.primary:
                same(group.benchmark, "protocol", group.protocol, part.folder)
            for name, what in _ALIKE.items():
                same(group.protocol, what, getattr(group, name), part.folder)
            for name, value in group.settings.items():
                same(group.protocol, f"setting {name}", value, part.folder)
        for checkpoint, engine in part.engines.items():
            same(checkpoint, "fingerprint", engine.get("fingerprint", ""), part.folder)
            for name, value in engine.get("settings", {}).items():
                same(checkpoint, f"setting {name}", value, part.folder)
        for name, value in (part.summary.drawing if part.summary else {}).items():
            same("drawing", name.replace("_", "-"), value, part.folder)
        for item in part.store.plan():
            benchmark = part.groups[item.group].benchmark
            same(f"{benchmark}'s sample {item.id}", "content", item.sample, part.folder)


def check_shards(parts: Sequence[Part]) -> None:
    """Refuse shards of which some are missing: their samples are in no other part's plan.

    Raises:
        CkptbenchError: naming those, or a part of which the shard is not known.
    """
    known = {part: _shard_of(part) for part in parts if part.summary is not None}
    shards = [shard for shard in known.values() if shard is not None]
    if not shards:
        return
    numbers = {shard.of for shard in shards}
    if len(numbers) > 1 or None in known.values() or len(known) < len(parts):
        odd = [p for p in parts if (shard := known.get(p)) is None or shard.of != shards[0].of]
        raise CkptbenchError(
            f"is no shard of {shards[0].of}, as the others are, or did not end",
            where=", ".join(str(part.folder) for part in odd),
            remedy="Merge the shards of one run alone; a run that did not end is continued with "
            "its --run-id.",
        )
    limits = {part: _limit_of(part) for part in parts}
    if len({*limits.values()}) > 1:
        each = ", ".join(f"{part.folder.name}: {limit}" for part, limit in limits.items())
        raise CkptbenchError(
            f"the limits differ ({each}): these are not parts of the same samples",
            where="shards",
            remedy="Run all of them with the same --limit, or with none.",
        )
    missing = {*range(1, shards[0].of + 1)} - {shard.number for shard in shards}
    if missing:
        raise CkptbenchError(
            f"{', '.join(map(str, sorted(missing)))} of {shards[0].of} are missing",
            where="shards",
            remedy="Run them with --shard and give their folders too; take fewer shards where one "
            "has no sample.",
        )


def _limit_of(part: Part) -> str:
    given = part.summary.given.get("limit") if part.summary is not None else None
    return "none" if given is None else str(given.value)


def _shard_of(part: Part) -> Shard | None:
    given = part.summary.given.get("shard") if part.summary is not None else None
    return None if given is None else Shard.parse(str(given.value))


def _check_whole(part: Part) -> None:
    """Refuse a run that was decided early: its p values are of the looks at it alone."""
    results = [r for c in part.summary.checkpoints for r in c.benchmarks] if part.summary else ()
    if any(result.coverage.not_needed for result in results):
        raise CkptbenchError(
            "it was decided early, not all samples were asked",
            where=str(part.folder),
            remedy=f"Run it again with --run-id={part.folder.name}, without --decide.",
        )
