"""What a session collected: whose a name is, who is asked what, and which options do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pytest

from .._util.errors import CkptbenchError
from .._util.extensions import hooks
from .._util.names import name_list
from ..api.benchmark import Benchmark
from ..api.protocol import EvalProtocol
from ..api.requests import parts_of
from ..api.sample import Sample
from ..api.tasks import task_names
from ..config.command_line import check_collected, check_names
from ..config.options import Options
from .group import Group

if TYPE_CHECKING:
    from ..checkpoints.expand import CheckpointResolver


@dataclass(eq=False)
class Collected:
    """See the module.

    Attributes:
        groups: in the order of collection.
        all_unasked: whether no checkpoint can answer anything.
        stand_ins: which protocols stand in for a benchmark's own, as notes.
    """

    config: pytest.Config
    options: Options
    groups: list[Group] = field(default_factory=list)
    all_unasked: bool = False
    stand_ins: list[str] = field(default_factory=list)
    _unasked: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _benchmarks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _refusals: list[CkptbenchError] = field(default_factory=list)

    @cached_property
    def resolver(self) -> CheckpointResolver | None:
        """What knows the meaning of `--checkpoint`; None where no plugin does.

        Without one, what was given stands as it is.
        """
        found: CheckpointResolver | None = hooks().pytest_ckptbench_resolver(options=self.options)
        return found

    def claim(self, name: str, where: str) -> None:
        """Give a benchmark's name to the function that has it.

        Raises:
            CkptbenchError: another function of the session has it: their scores would be one.
        """
        owner = self._owners.setdefault(name, where)
        if owner != where:
            raise CkptbenchError(
                f"the benchmark name {name!r} is taken by {owner}",
                where=where,
                remedy="begin the names of its protocols with another word",
            )

    def protocols_of(self, found: Benchmark) -> tuple[EvalProtocol, ...]:
        """The protocols a benchmark is asked by; the first one's scores are gated."""
        known = {protocol.name: protocol for protocol in (*found.protocols, *found.on_request)}
        self._benchmarks[found.name] = tuple(known)
        chosen = self.options.protocol.get(found.name, ())
        return tuple(known[name] for name in chosen if name in known) or found.protocols

    def protocols_for(self, found: Benchmark, rows: Sequence[Sample]) -> tuple[EvalProtocol, ...]:
        """The protocols these samples are asked by.

        Samples of another make may lack what the benchmark's own protocols need (MBPP+ has no
        solved examples): then it is the first on request that can ask one, and a note says so.
        """
        protocols = self.protocols_of(found)
        if found.name in self.options.protocol or _can_ask(protocols, rows) or not rows:
            return protocols
        others = [other for other in found.on_request if _can_ask([other], rows)][:1]
        if others:
            self.stand_ins.append(
                f"{found.name}: {protocols[0].name} can ask none of these samples, so they are "
                f"asked by {others[0].name} (--protocol)"
            )
        return tuple(others) or protocols

    def unasked(self, group: Group, sample: Sample) -> str:
        """Why a group's checkpoint is not asked at all; empty when it is.

        A masked language model writes no programs. Only checkpoints that are loaded by our own
        fixtures are judged: what a conftest plugs in answers what it likes.
        """
        if not group.checkpoint or not group.loads_checkpoint or self.resolver is None:
            return ""
        try:
            request = group.protocol.ask(sample, group.context(0))
        except Exception:
            return ""  # the sample's own error, told when it is asked
        # The parts of a request are of one kind of model.
        kind = type(next(iter(parts_of(request)), request))
        why = self.resolver.why_not(group.checkpoint.spec, kind)
        if why:
            told = self._unasked.setdefault((group.benchmark.name, why), [])
            told.append(group.checkpoint_name)
            self.all_unasked = not self.groups
        else:
            self.all_unasked = False
        return why

    def unasked_notes(self, checkpoints: int) -> tuple[str, ...]:
        """Which checkpoints cannot answer what, each told once.

        Args:
            checkpoints: how many the session has.
        """
        told = []
        for (benchmark, why), names in self._unasked.items():
            asked_not = name_list(list(dict.fromkeys(names)), checkpoints)
            told.append(f"{benchmark} was not asked of {asked_not}: {why}")
        self._unasked.clear()
        return tuple(told)

    def refuse(self, error: CkptbenchError) -> None:
        """Note an option that cannot be followed; `check` raises the first."""
        self._refusals.append(error)

    def check(self) -> None:
        """Refuse a configuration file and options that do not fit what was collected.

        A setting of the ini file may name a benchmark that this session did not collect.

        Raises:
            CkptbenchError: naming the option and the nearest known name; see `validate`.
        """
        self._check_config()
        self._check_data()
        if not self._benchmarks:
            return
        for error in self._refusals:
            raise error

        def of_this_session(name: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
            typed = self._typed(name)
            return {k: v for k, v in chosen.items() if k in typed or k in self._benchmarks}

        chosen = replace(
            self.options,
            k=of_this_session("ckpt_k", self.options.k),
            protocol=of_this_session("ckpt_protocol", self.options.protocol),
        )
        check_names(chosen, self._benchmarks)

    def _typed(self, name: str) -> set[str]:
        """The benchmarks that an option names on the command line."""
        return {key for given in self.config.getoption(name, None) or [] for key in given}

    def _check_data(self) -> None:
        if self._owners:
            check_collected(sorted(self._typed("ckpt_data")), self._owners, "--data")

    def _check_config(self) -> None:
        plan = self.options.eval_config
        if plan is None:
            return
        from . import validate as checks

        checks.check_metrics(self.groups)
        tasks = partial(task_names, self.options)
        checks.check_names(plan, self._owners, tasks, idle_too=self.options.validate_config)


def _can_ask(protocols: Iterable[EvalProtocol], rows: Sequence[Sample]) -> bool:
    """Whether one of the protocols can ask one of the samples."""
    return any(protocol.covers(row) for protocol in protocols for row in rows)
