"""Merges parts of one run, made on several machines.

A part is a run's folder. The store holds answers and no outcomes: these are read from the sample
files, and folded as at the end of every session.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._util.errors import CkptbenchError
from .._util.names import name_list, with_checkpoint
from .._util.text import counted, listed
from ..config.options import Options, sampling_options
from ..gate.baseline import Baseline
from ..results.outcome import Outcome
from ..results.store import RunStore
from ..results.stored_run import GroupMetadata, PlannedItem, Repeat
from ..results.summary import Summary
from .fold import NOT_RUN, fold_run
from .merge_inputs import GroupKey, Part, check, open_part
from .merge_lm_eval import LmEvalMerge
from .write import gate_fails, write_files

_WITH_OUTCOME = ("passed", "missed", "skipped")
ItemKey = tuple[str, str, str, int]


@dataclass
class _Item:
    """One item of the merged run, and the part it is of."""

    item: PlannedItem
    recorded: Outcome
    digest: str | None
    repeat: Repeat | None
    part: Part


@dataclass
class _Merged:
    """The parts together, before they are written."""

    groups: dict[GroupKey, GroupMetadata] = field(default_factory=dict)
    items: dict[ItemKey, _Item] = field(default_factory=dict)
    engines: dict[str, dict[str, Any]] = field(default_factory=dict)
    twice: set[ItemKey] = field(default_factory=set)  # more than one part has an outcome of them
    disagreeing: set[ItemKey] = field(default_factory=set)  # and these outcomes differ

    def add(self, part: Part) -> None:
        """Add a part, newer than those before it."""
        served, outcomes = part.store.served(), part.outcomes()
        repeats = {repeat[0]: repeat for repeat in part.store.repeats()}
        for group in part.groups:
            self.groups[group.key] = part.with_epoch(group)
        for item in part.store.plan():
            key = (*part.groups[item.group].key, item.sample, item.trial)
            recorded = outcomes.get(item.nodeid, NOT_RUN)
            older = self.items.get(key)
            if older is not None and older.recorded.status in _WITH_OUTCOME:
                # An error is no answer: it does not replace one.
                if recorded.status not in _WITH_OUTCOME:
                    continue
                self.twice.add(key)
                if not recorded.agrees_with(older.recorded):
                    self.disagreeing.add(key)
            position = item.position
            digest, repeat = served.get(position), repeats.get(position)
            self.items[key] = _Item(item, recorded, digest, repeat, part)
        self.engines.update(part.engines)

    def repeated(self) -> str:
        """How many items have several outcomes, and how many of them contradict; else empty."""
        if not self.twice:
            return ""
        twice = f"{counted(len(self.twice), 'outcome')} twice"
        if not self.disagreeing:
            return f"{twice}, the newest kept"
        return (
            f"{twice}, {len(self.disagreeing):,} of them disagree: the model's own noise between "
            "runs with the same settings; the newest kept"
        )

    def sources(self) -> dict[GroupKey, list[Part]]:
        """The parts that the items of each group are from."""
        found: dict[GroupKey, dict[Part, None]] = defaultdict(dict)
        for (checkpoint, protocol, _, _), entry in self.items.items():
            found[checkpoint, protocol][entry.part] = None
        return {key: list(parts) for key, parts in found.items()}


@dataclass(frozen=True, slots=True)
class MergedRun:
    """The result of a merge.

    Attributes:
        summary: of the whole run, as it was written.
        repeated: a sentence on items that several parts had an outcome of; empty without any.
        missing: sentences on items that no part has an outcome of.
    """

    summary: Summary
    repeated: str
    missing: tuple[str, ...]


def merge(
    folders: Sequence[Path], output: Path, *, run_id: str = "", baseline: Baseline | None = None
) -> MergedRun:
    """Write the run that the parts make together.

    Args:
        output: a new folder, which is written whole or not at all by the caller.
        run_id: of the merged run; the folder's name when it is empty.
        baseline: what to compare with.

    Raises:
        CkptbenchError: a part is no run, or parts contradict: other protocols, datasets, models
            or settings under one name.
    """
    with ExitStack() as stack:
        parts = [open_part(folder, stack) for folder in folders]
        parts.sort(key=lambda part: part.age)
        check(parts)
        merged = _Merged()
        for part in parts:
            merged.add(part)
        store = stack.enter_context(closing(RunStore(output)))
        outcomes = _write_store(store, merged, parts)
        return _conclude(store, outcomes, merged, parts, output, run_id or output.name, baseline)


def _write_store(store: RunStore, merged: _Merged, parts: Sequence[Part]) -> dict[str, Outcome]:
    """Write plan and answers, and give the outcomes by node id."""
    numbers = {key: number for number, key in enumerate(merged.groups)}
    many = len({checkpoint for checkpoint, _ in numbers}) > 1
    planned, served, repeats, outcomes = [], [], [], {}
    # The items of a group together, each group's in the order of the parts.
    ordered = sorted(merged.items.items(), key=lambda each: numbers[each[0][:2]])
    for position, (key, entry) in enumerate(ordered):
        nodeid = with_checkpoint(entry.item.nodeid, key[0]) if many else entry.item.nodeid
        if nodeid in outcomes:
            raise CkptbenchError(
                f"two items are named {nodeid}",
                where=" and ".join(str(part.folder) for part in parts),
                remedy="Run the parts from the same folder, with the same benchmarks.",
            )
        outcomes[nodeid] = entry.recorded
        number = numbers[key[:2]]
        planned.append(entry.item._replace(position=position, nodeid=nodeid, group=number))
        if entry.digest is not None:
            served.append((position, entry.digest))
        if entry.repeat is not None:
            repeats.append((position, number, *entry.repeat[2:]))
    notes = dict.fromkeys(note for part in parts for note in part.store.notes())
    samples = (each for part in parts for each in part.store.samples())
    store.write_plan(uuid4().hex, list(notes), list(merged.groups.values()), planned, samples)
    for part in parts:
        store.add(part.store.answers())
        store.note_damage(part.store.path, part.store.damaged)
        for number, seconds, asked, reused in part.store.work():
            store.add_work(numbers[part.groups[number].key], seconds, asked, reused)
        for group, spent in part.store.spent().items():
            if group in numbers:  # else an earlier session asked something else
                store.add_spent(numbers[group], spent)
    store.add((), served)
    store.add_repeats(repeats)
    for checkpoint, facts in merged.engines.items():
        store.write_engine(checkpoint, facts)
    return outcomes


def _conclude(
    store: RunStore,
    outcomes: Mapping[str, Outcome],
    merged: _Merged,
    parts: Sequence[Part],
    output: Path,
    run_id: str,
    baseline: Baseline | None,
) -> MergedRun:
    summaries = [part.summary for part in parts if part.summary is not None]
    newest = summaries[-1] if summaries else None
    options = _options(newest, run_id)
    started = min((each.started for each in summaries), default="") or _last_written(parts)
    lm_eval = LmEvalMerge(parts, merged.sources(), merged.groups)
    folded = fold_run(
        store,
        outcomes,
        options,
        baseline,
        created=started,
        amend=lm_eval.amend,
    )
    absent = _absent(merged)
    missing = tuple(_missing(merged, absent))
    merged_of = f"merged of {', '.join(part.folder.name for part in parts)}"
    own = [
        f"{part.folder} did not end: its answers are kept and its items count as not run, until "
        "the run is continued"
        for part in parts
        if part.summary is None
    ]
    own += lm_eval.notes(output.parent, run_id)
    own += _unmeasured(merged)
    repeated = [merged.repeated()] if merged.twice else []
    summary = Summary(
        run_id=run_id,
        started=started,
        seconds=round(sum(each.seconds for each in summaries), 3),
        complete=folded.complete,
        exit_status=0,
        gate=options.gate,
        checkpoints=folded.checkpoints,
        environment=_environment(summaries),
        notes=tuple(
            dict.fromkeys([*folded.notes, *store.notes(), *own, merged_of, *repeated, *missing])
        ),
        rerun_options=lm_eval.rerun_options(),
        rerun_paths={path: name for each in summaries for path, name in each.rerun_paths.items()},
        given={name: given for name, given in newest.given.items() if name != "shard"}
        if newest
        else {},
        drawing=newest.drawing if newest else {},
        absent=sum(absent.values()),
    )
    failed = bool(absent) or gate_fails(summary, options.gate)
    summary = replace(summary, exit_status=int(failed))
    write_files(output, store, outcomes, folded, summary, lm_eval.official)
    return MergedRun(summary, merged.repeated(), missing)


def _last_written(parts: Sequence[Part]) -> str:
    """When the newest of parts that did not end was last written to, as ISO 8601 time."""
    written = max(part.store.path.stat().st_mtime for part in parts)
    return datetime.fromtimestamp(written).astimezone().isoformat(timespec="seconds")


def _options(newest: Summary | None, run_id: str) -> Options:
    """The options that a fold reads, as the newest part was run with."""
    values: dict[str, Any] = {"run_id": run_id}
    if newest is not None:
        known = sampling_options()
        values |= {name: value for name, value in newest.drawing.items() if name in known}
        values["gate"] = newest.gate
    return Options(**values)


def _environment(summaries: Sequence[Summary]) -> dict[str, str]:
    """The environments of the parts; where they differ, every value."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for summary in summaries:
        for name, value in summary.environment.items():
            found[name][value] = None
    return {name: " | ".join(values) for name, values in found.items()}


def _absent(merged: _Merged) -> dict[GroupKey, int]:
    """How many items of a group no part has, of those that it has of other checkpoints."""
    planned: dict[str, dict[str, set[tuple[str, int]]]] = defaultdict(lambda: defaultdict(set))
    for checkpoint, protocol, sample, trial in merged.items:
        planned[protocol][checkpoint].add((sample, trial))
    found = {}
    for protocol, of_each in planned.items():
        everything = set().union(*of_each.values())
        for checkpoint, own in of_each.items():
            if len(own) < len(everything):
                found[checkpoint, protocol] = len(everything) - len(own)
    return found


def _missing(merged: _Merged, absent: Mapping[GroupKey, int]) -> Iterator[str]:
    """What no part has: items that were asked of other checkpoints, and outcomes of items."""
    not_run: dict[GroupKey, list[str]] = defaultdict(list)
    errors: Counter[GroupKey] = Counter()
    for (checkpoint, protocol, _, _), entry in merged.items.items():
        if entry.recorded.status == "not_run":
            not_run[checkpoint, protocol].append(entry.item.id)
        errors[checkpoint, protocol] += entry.recorded.status == "error"
    for key in merged.groups:
        checkpoint, protocol = key
        if key in absent:
            items = counted(absent[key], "item")
            yield f"{checkpoint}: no part asked {items} of {protocol} that others were asked"
        if not_run[key]:
            items, names = counted(len(not_run[key]), "item"), listed(sorted(not_run[key]))
            yield f"{checkpoint}: {items} of {protocol} not run: {names}"
        if errors[key]:
            yield f"{checkpoint}: {counted(errors[key], 'error')} in {protocol}"


def _unmeasured(merged: _Merged) -> Iterator[str]:
    """Benchmarks that no part asked of a checkpoint, which may be unable to answer them."""
    asked = {(checkpoint, protocol) for checkpoint, protocol, _, _ in merged.items}
    checkpoints = dict.fromkeys(checkpoint for checkpoint, _ in merged.groups)
    for protocol in dict.fromkeys(protocol for _, protocol in merged.groups):
        without = [name for name in checkpoints if (name, protocol) not in asked]
        if without:
            yield f"{protocol} was not asked of {name_list(without, len(checkpoints))} in any part"
