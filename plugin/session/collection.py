"""What a session collected: benchmarks by name, their groups, and the order of their items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from .._util.errors import CkptbenchError, missing_package, nearest, require_packages
from .._util.extensions import hooks
from .._util.names import name_list
from .._util.text import listed
from ..api.benchmark import Benchmark, suite_benchmarks, task_names
from ..api.protocol import EvalProtocol
from ..api.requests import parts_of
from ..api.sample import Sample
from ..checkpoints.found import CheckpointParam
from ..config.command_line import check_collected, check_names
from ..config.effective import OF_LM_EVAL, refuse_of_lm_eval
from ..config.eval_config import NO_PRIORITY, EvalPlan, TaskSettings, check_wanted
from ..config.options import Options
from ..gate.sequential import stage_of
from .blocks import longest_first
from .group import Group
from .item import SampleItem

if TYPE_CHECKING:
    from ..checkpoints.expand import CheckpointResolver

# pytest's own options that order items, by their destination.
_ORDERING = ("failedfirst", "newfirst", "stepwise", "lf")


@dataclass(eq=False)
class Collected:
    """The benchmarks that a session collected.

    Attributes:
        groups: in the order of collection.
        all_unasked: whether no checkpoint can answer anything.
        in_other_shards: whether samples of a benchmark are all in other shards, so that nothing is
            known of whether it could be asked.
        notes: on protocols that replace a benchmark's own, or are left out.
        not_fetched: why checkpoints could not be downloaded.
    """

    config: pytest.Config
    options: Options
    groups: list[Group] = field(default_factory=list)
    all_unasked: bool = False
    in_other_shards: bool = False
    notes: list[str] = field(default_factory=list)
    not_fetched: list[CkptbenchError] = field(default_factory=list)
    _unasked: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _benchmarks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _plain: set[str] = field(default_factory=set)
    _refusals: list[CkptbenchError] = field(default_factory=list)
    _resolved: bool = False

    def give_up(self) -> None:
        """End what the engines and sandboxes of all groups are doing."""
        for group in self.groups:
            group.fixtures.give_up()

    @cached_property
    def resolver(self) -> CheckpointResolver | None:
        """What resolves `--checkpoint`; None where no plugin does, and specs stay as given."""
        found: CheckpointResolver | None = hooks().pytest_ckptbench_resolver(options=self.options)
        return found

    def check_names(self, checkpoints: Sequence[CheckpointParam]) -> None:
        """Refuse what is no checkpoint, once it is known that the suite's own fixture loads it.

        Raises:
            CkptbenchError: naming the first.
        """
        if self._resolved or self.config.option.collectonly:
            return
        if self.not_fetched:
            raise self.not_fetched[0]
        if self.resolver is not None and (checkpoints or not self.options.is_dry):
            self.resolver.check([each.spec for each in checkpoints])
        self._resolved = True

    def check_files(self, checkpoints: Sequence[CheckpointParam]) -> None:
        """Refuse checkpoints that cannot be loaded, as far as their files tell.

        Raises:
            CkptbenchError: naming the first.
        """
        self.check_names(checkpoints)
        if self.resolver is not None:
            self.resolver.check_files([each.spec for each in checkpoints])

    def claim(self, name: str, where: str, *, of_family: bool = False) -> None:
        """Register the function that a benchmark's name belongs to.

        Args:
            of_family: whether the function is several benchmarks, such as lm-eval's tasks, which
                may have settings of their own.

        Raises:
            CkptbenchError: another function of the session has the name.
        """
        if not of_family:
            self._plain.add(name)
        owner = self._owners.setdefault(name, where)
        if owner != where:
            raise CkptbenchError(
                f"the benchmark name {name!r} is taken by {owner}",
                where=where,
                remedy="begin the names of its protocols with another name",
            )

    def protocols_for(self, found: Benchmark, rows: Sequence[Sample]) -> tuple[EvalProtocol, ...]:
        """The protocols these samples are asked by; the first one's scores are gated.

        Samples of a variant may lack what the benchmark's own protocols need (MBPP+ has no solved
        examples). Then the first optional protocol that can ask one is used, with a note. One that
        nobody named, whose scores are not gated, is left out where a package is missing.

        Raises:
            CkptbenchError: a protocol that is named, or all that are not, can ask none of the
                samples; or a package is missing without which there is no gated score.
        """
        known = {protocol.name: protocol for protocol in (*found.protocols, *found.on_request)}
        self._benchmarks[found.name] = tuple(known)
        chosen = self.options.protocol.get(found.name, ())
        protocols = tuple(known[name] for name in chosen if name in known)
        if protocols or not rows:
            for protocol in protocols:
                self._check_named(protocol, rows, known)
            return protocols or found.protocols
        protocols = found.protocols
        if not _can_ask(protocols, rows):
            protocols = tuple(other for other in found.on_request if _can_ask([other], rows))[:1]
            if not protocols:
                raise CkptbenchError(
                    f"no protocol of {found.name} can ask any of these samples",
                    where=f"--data={found.name}",
                    remedy=f"give samples with the fields that one of them needs: {listed(known)}",
                )
            self.notes.append(
                f"{found.name}: {found.protocols[0].name} can ask none of these samples, so they "
                f"are asked by {protocols[0].name} (--protocol)"
            )
        gated = next(each for each in protocols if _can_ask([each], rows))
        return tuple(each for each in protocols if self._has_packages(each, gated=each is gated))

    def _check_named(
        self, protocol: EvalProtocol, rows: Sequence[Sample], known: Mapping[str, EvalProtocol]
    ) -> None:
        """Refuse a protocol that was named, where it could ask nothing."""
        self._has_packages(protocol, gated=True)
        if not _can_ask([protocol], rows):
            others = [name for name, other in known.items() if _can_ask([other], rows)]
            raise CkptbenchError(
                f"{protocol.name} can ask none of the {len(rows):,} samples",
                where="--protocol",
                remedy=f"these can: {listed(others)}" if others else "give other data",
            )

    def _has_packages(self, protocol: EvalProtocol, *, gated: bool) -> bool:
        """Whether all packages that a protocol needs are installed."""
        name, needs, remedy = protocol.name, protocol.needs, protocol.remedy
        if gated:
            require_packages(needs, name, where="--protocol", remedy=remedy)
        elif missing := missing_package(needs):
            self.notes.append(f"{name} is left out, as it needs {missing}: {remedy}")
            return False
        return True

    def unasked(self, group: Group, sample: Sample) -> str:
        """Why a group's checkpoint is not asked at all; empty when it is.

        A masked language model writes no programs. Only checkpoints that our own fixtures load
        are checked: nothing is known of an engine that a conftest brings.
        """
        if not group.checkpoint or not group.loads_checkpoint or self.resolver is None:
            return ""
        try:
            request = group.protocol.ask(sample, group.context(0))
        except Exception:
            return ""  # the sample's own error, reported when it is asked
        # The parts of a request are of one kind of model.
        kind = type(next(iter(parts_of(request)), request))
        why = self.resolver.why_not(group.checkpoint.spec, kind)
        if why:
            names = self._unasked.setdefault((group.benchmark.name, why), [])
            names.append(group.checkpoint_name)
        self.all_unasked = bool(why) and not self.groups
        return why

    def unasked_notes(self, checkpoints: int) -> tuple[str, ...]:
        """Which checkpoints cannot answer what; each is noted once.

        Args:
            checkpoints: how many the session has.
        """
        notes = tuple(
            f"{benchmark} was skipped for {name_list(list(dict.fromkeys(names)), checkpoints)}: "
            f"{why}"
            for (benchmark, why), names in self._unasked.items()
        )
        self._unasked.clear()
        return notes

    def refuse(self, error: CkptbenchError) -> None:
        """Note what cannot be collected or an option that cannot be followed; see `check`."""
        self._refusals.append(error)

    def check(self) -> None:
        """Refuse what cannot be collected, and options that do not fit what was.

        A setting of the ini file may name a benchmark that this session did not collect.

        Raises:
            CkptbenchError: the first of what `refuse` noted, or the option and the nearest known
                name.
        """
        for error in self._refusals:
            raise error
        if (plan := self.options.eval_config) is not None:
            self._check_config_metrics()
            self._check_config_names(plan)
            self._check_config_settings(plan)
        if self._owners:
            check_collected(sorted(self._typed("ckpt_data")), self._owners, "--data")
        if not self._benchmarks:
            return

        def of_this_session(name: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
            typed = self._typed(name)
            return {k: v for k, v in chosen.items() if k in typed or k in self._benchmarks}

        chosen = replace(
            self.options,
            k=of_this_session("ckpt_k", self.options.k),
            protocol=of_this_session("ckpt_protocol", self.options.protocol),
        )
        check_names(chosen, self._benchmarks)

    def _check_config_names(self, plan: EvalPlan) -> None:
        """Refuse a configuration file that names an unknown benchmark or task."""
        checked = self._checked(plan)
        entry_of = {name: settings.entry for settings in checked for name in settings.names}
        unknown = entry_of.keys() - self._owners.keys()
        suite = suite_benchmarks() if unknown else frozenset()
        unknown -= suite
        if not unknown:
            return
        theirs = task_names(self.options)  # which takes seconds
        known = sorted({*self._owners, *suite, *theirs})
        wrong = [
            f"{entry_of[name]} names {name!r}{nearest(name, known)}"
            for name in sorted(unknown.difference(known))
        ]
        if wrong:
            remedy = "`lm_eval ls tasks` lists lm-eval's tasks; --include-path=DIR adds yours"
            without = "lm-eval's tasks need pip install 'ckptbench[lm-eval]'"
            raise CkptbenchError(
                "no benchmark that was collected and no task of lm-eval: " + "; ".join(wrong),
                where=plan.path,
                remedy=remedy if theirs else without,
            )

    def _checked(self, plan: EvalPlan) -> tuple[TaskSettings, ...]:
        """Entries that run; those that do not are checked only where that is all there is to do."""
        return (*plan.settings, *(plan.idle if self.options.validate_config else ()))

    def _check_config_settings(self, plan: EvalPlan) -> None:
        """Refuse settings of lm-eval's tasks for other benchmarks."""
        given = [
            each for each in self._checked(plan) if not each.values.keys().isdisjoint(OF_LM_EVAL)
        ]
        if given:
            refuse_of_lm_eval(given, self._plain | suite_benchmarks(), plan.path)

    def _check_config_metrics(self) -> None:
        """Refuse metrics of a configuration file that none of an entry's benchmarks has."""
        by_entry: dict[str, list[Group]] = {}
        for group in self.groups:
            if group.asked.metrics is not None:
                by_entry.setdefault(group.asked.sources["metrics"], []).append(group)
        for entry, members in by_entry.items():
            metrics = [metric for group in members for metric in group.all_metrics]
            check_wanted(metrics, members[0].asked.metrics or (), f"{entry}.metrics")

    def arrange(self, items: list[pytest.Item], *, several_checkpoints: bool) -> None:
        """Put items in running order: by checkpoint, by priority, the longest of a group first.

        An order that an option asks for, such as `--failed-first`, is kept within a checkpoint. So
        is one that a plugin has shuffled, within a priority.
        """
        if not any(isinstance(item, SampleItem) for item in items):
            return
        if several_checkpoints:
            items.sort(key=_checkpoint_index)
        if any(self.config.getoption(name, None) for name in _ORDERING):
            return
        if _in_collected_order(items):
            groups = [i.group.index if isinstance(i, SampleItem) else None for i in items]
            lengths = [length_of(item) for item in items]
            items[:] = [items[index] for index in longest_first(lengths, groups)]
        if self.options.eval_config is not None:
            items.sort(key=lambda item: (_checkpoint_index(item), _priority(item)))
        if self.options.decide == "early":
            for item in items:
                if isinstance(item, SampleItem):
                    item.stage = stage_of(item.sample.cluster, self.options.seed)
            items.sort(key=lambda item: (_checkpoint_index(item), _stage(item)))

    def _typed(self, name: str) -> set[str]:
        """The benchmarks that an option names on the command line."""
        return {key for given in self.config.getoption(name, None) or [] for key in given}


def _can_ask(protocols: Iterable[EvalProtocol], rows: Sequence[Sample]) -> bool:
    """Whether one of the protocols can ask one of the samples."""
    return any(protocol.covers(row) for protocol in protocols for row in rows)


def _checkpoint_index(item: pytest.Item) -> int:
    """Ordinary tests of a checkpoint have its index too, so that it is loaded once."""
    if isinstance(item, SampleItem):
        given = item.group.checkpoint
    else:
        callspec = getattr(item, "callspec", None)
        given = callspec.params.get("checkpoint") if callspec is not None else None
    return given.index if isinstance(given, CheckpointParam) else -1


def _priority(item: pytest.Item) -> int:
    """Small numbers run first; ordinary tests have none."""
    return item.group.asked.priority if isinstance(item, SampleItem) else NO_PRIORITY


def _stage(item: pytest.Item) -> int:
    return item.stage if isinstance(item, SampleItem) else -1


def _in_collected_order(items: Sequence[pytest.Item]) -> bool:
    order = [(item.group.index, item.order) for item in items if isinstance(item, SampleItem)]
    return all(a <= b for a, b in pairwise(order))


def length_of(item: object) -> int:
    """Characters of an item's text; 0 for one that has none."""
    text = item.sample.fields.get("text") if isinstance(item, SampleItem) else None
    return len(text) if isinstance(text, str) else 0
