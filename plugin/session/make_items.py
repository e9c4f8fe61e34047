"""Makes the groups and items of a benchmark function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import get_unpacked_marks

from .._util.errors import CkptbenchError, nearest
from .._util.names import is_hub_name
from ..api.benchmark import Benchmark, benchmark_of
from ..api.protocol import Engine, EvalProtocol, RequestContext
from ..api.sample import Sample
from ..checkpoints.found import CheckpointParam
from ..config.data_folder import NAMES, find_data
from ..config.effective import Effective, effective
from ..config.options import Options
from ..results.summary import DatasetInfo
from ..scores.score import Reducer
from .collection import Collected
from .fixtures import GroupFixtures
from .group import Group, ItemTemplate
from .item import SampleItem

# Marks that only pytest's own protocol, or another plugin's, implements.
_PYTESTS_MARKS = frozenset({"skip", "skipif", "xfail", "usefixtures", "filterwarnings", "flaky"})
_TYPICAL_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the items of benchmark functions, and keeps their groups in `collected`.

    Attributes:
        checkpoints: those of the session; empty when a conftest brings its own engine.
        notes: of the session; those of datasets are added.
        before_release, on_release, instead: of the groups; see `Group`.
    """

    options: Options
    collected: Collected
    checkpoints: tuple[CheckpointParam, ...]
    notes: list[str]
    before_release: Callable[[Group], None]
    on_release: Callable[[Engine], None]
    instead: Callable[[Group], Engine | None]

    def items(
        self, collector: pytest.Module, name: str, function: Any, benchmark: Benchmark
    ) -> list[pytest.Item]:
        """The items of a benchmark function: checkpoints x protocols x samples x trials.

        Raises:
            CkptbenchError: the dataset or the function cannot be used.
        """
        where = f"{collector.nodeid}::{name}"
        self.collected.claim(
            benchmark.name, where, of_family=benchmark_of(function) is not benchmark
        )
        settings = effective(self.options, benchmark.configured_as or benchmark.name)
        if settings is None:
            return []
        data = self._data_of(benchmark, settings)
        rows = benchmark.load(replace(self.options, limit=settings.limit), data)
        if rows is None:
            return []
        _check_rows(rows, where, data)
        reducer = benchmark.score
        ks = self.options.k.get(benchmark.name)
        if ks and reducer.takes_k:
            reducer = reducer.with_ks(ks)
        arguments = tuple(inspect.signature(function).parameters)
        if ("k" in arguments) != bool(reducer.ks):
            raise CkptbenchError(
                f"the function {'takes' if 'k' in arguments else 'does not take'} `k`, but its "
                f"score has {'k = ' + str(reducer.ks) if reducer.ks else 'none'}",
                where=where,
            )
        source = _Source(collector, name, function, benchmark, rows, reducer, settings, arguments)
        items: list[pytest.Item] = []
        for checkpoint in self.checkpoints or (None,):
            primary = True
            for protocol in self.collected.protocols_for(benchmark, rows):
                made = self._items_of_group(source, protocol, checkpoint, primary=primary)
                items += made or ()
                primary = primary and made is None
        if items:
            self.notes.extend(f"{benchmark.name}: {note}" for note in getattr(rows, "notes", ()))
        return items

    def _data_of(self, benchmark: Benchmark, asked: Effective) -> Path | None:
        """The data file of a benchmark; None where none is given.

        Raises:
            CkptbenchError: it is not there, or the benchmark reads none; names the nearest file.
        """
        options, name, file = self.options, benchmark.name, asked.data
        given = options.data.get(name)
        if f"{name}_data" in options.sources and file == given:
            return file  # an option of this dataset alone: whoever reads the file checks it
        if file is None:
            if options.data_dir is None or name in NAMES or not benchmark.takes_data:
                return None
            return find_data(options.data_dir, [name], any_of_them=False).get(name)
        plan = options.eval_config
        where = f"{plan.path}: tasks.{name}.data" if plan and file != given else f"--data={name}"
        if not benchmark.takes_data:
            raise CkptbenchError(f"{name} reads no data file", where=where)
        on_hub = ":" in file.parts[0] or is_hub_name(str(file))  # `hub:` begins such a name
        if not file.exists() and not on_hub:
            there = sorted(each.name for each in file.parent.glob("*"))
            raise CkptbenchError(
                f"there is no file {file}{nearest(file.name, there)}",
                where=where,
                remedy="Give the path of a readable file.",
            )
        return file

    def _items_of_group(
        self,
        source: _Source,
        protocol: EvalProtocol,
        checkpoint: CheckpointParam | None,
        *,
        primary: bool,
    ) -> list[SampleItem] | None:
        """The items of one checkpoint and protocol; None where it cannot be asked."""
        benchmark = source.benchmark
        covered = [row for row in source.rows if protocol.covers(row)]
        limit = None if benchmark.limits_itself else source.settings.limit
        limited = covered[: math.ceil(len(covered) * limit) if isinstance(limit, float) else limit]
        if not limited:
            return None
        if (shard := self.options.shard) is not None:
            limited = [row for row in limited if shard.holds(row.cluster)]
        if not limited:
            self.collected.in_other_shards = True
            return []
        group = self._group(source, protocol, checkpoint, limited, primary=primary)
        items: list[SampleItem] = [
            SampleItem.from_parent(
                source.collector,
                name=f"{source.name}[{group.item_id(sample.id, trial)}]",
                group=group,
                sample=sample,
                trial=trial,
                order=order,
            )
            for order, (sample, trial) in enumerate(product(limited, range(group.trials)))
        ]
        group.fixtures.examine(items[0])
        if self.collected.unasked(group, limited[0]):
            return None
        if self.options.k.get(benchmark.name) and not group.reducer.takes_k:
            self.collected.refuse(
                CkptbenchError(f"the score of {benchmark.name} takes no k", where="--k")
            )
        self.collected.groups.append(group)
        return items

    def _group(
        self,
        source: _Source,
        protocol: EvalProtocol,
        checkpoint: CheckpointParam | None,
        samples: Sequence[Sample],
        *,
        primary: bool,
    ) -> Group:
        benchmark, template = source.benchmark, _template(source)
        several = len(self.checkpoints) > 1
        fixtures = GroupFixtures(source.arguments, template.base_id, checkpoint, several)
        if fixtures.executes and protocol.execute is None:
            raise CkptbenchError(
                f"the function takes `execution`, but {protocol.name} makes no program",
                where=template.base_id,
                remedy="give the protocol an `execute`",
            )
        own = protocol.own_limits(samples[0]) if protocol.own_limits is not None else {}
        limits = self.options.exec_settings(own) if fixtures.executes else {}
        sampling, trials = self._sampling(source.reducer)
        return Group(
            index=len(self.collected.groups),
            function=source.function,
            benchmark=benchmark,
            protocol=protocol,
            reducer=protocol.folding(source.reducer),
            primary=primary,
            default_protocol=protocol is benchmark.protocols[0],
            checkpoint=checkpoint,
            many_checkpoints=several,
            dataset=_dataset_info(benchmark, source.rows),
            seed=self.options.seed,
            template=template,
            fixtures=fixtures,
            before_release=self.before_release,
            on_release=self.on_release,
            instead=self.instead,
            sampling=sampling,
            trials=trials,
            asked=source.settings,
            settings={**benchmark.settings, **limits},
            left_out=tuple(getattr(source.rows, "left_out", ())),
            collected=len(samples),
        )

    def _sampling(self, reducer: Reducer) -> tuple[RequestContext, int]:
        """How answers are sampled, and how many per sample; several greedy ones are refused."""
        options = self.options
        if not reducer.several_trials:
            return RequestContext(max_tokens=options.max_tokens, seed=options.seed), 1
        if options.num_samples > 1 and not options.temperature:
            self.collected.refuse(
                CkptbenchError(
                    f"{options.num_samples} answers a sample at temperature 0 would all be the "
                    "same",
                    where="--num-samples",
                    remedy="give --temperature=0.8 or so, or ask for one answer",
                )
            )
        sampling = RequestContext(
            seed=options.seed,
            temperature=options.temperature,
            top_p=options.top_p,
            max_tokens=options.max_tokens,
        )
        return sampling, options.num_samples


@dataclass(frozen=True, slots=True)
class _Source:
    """A benchmark function with what all its groups have in common."""

    collector: pytest.Module
    name: str
    function: Any
    benchmark: Benchmark
    rows: Sequence[Sample]
    reducer: Reducer
    settings: Effective
    arguments: tuple[str, ...]


def _check_rows(rows: Sequence[Sample], where: str, data: Path | None) -> None:
    if not rows:
        raise CkptbenchError("the dataset has no samples", where=str(data or where))
    ids: set[str] = set()
    hashes: dict[str, str] = {}
    for row in rows:
        if not isinstance(row, Sample):
            raise CkptbenchError(
                f"the dataset gave {type(row).__name__} {str(row)[:80]!r}",
                where=where,
                remedy="expected ckptbench.Sample",
            )
        if row.id in ids or not row.id or not _TYPICAL_ID.issuperset(row.id):
            fault = "is used twice" if row.id in ids else "has characters beyond A-Za-z0-9_./-"
            raise CkptbenchError(f"sample id {row.id!r} {fault}", where=where)
        if row.hash in hashes:
            raise CkptbenchError(
                f"samples {hashes[row.hash]!r} and {row.id!r} have the same content", where=where
            )
        ids.add(row.id)
        hashes[row.hash] = row.id


def _dataset_info(found: Benchmark, rows: Any) -> DatasetInfo:
    """What a sample file's header states, or the benchmark's name."""
    header = getattr(rows, "header", None)
    if header is None:
        return DatasetInfo(name=found.name, hash="")
    return DatasetInfo(header.name, header.hash, header.source, header.licence)


def _template(source: _Source) -> ItemTemplate:
    collector, name = source.collector, source.name
    line = getattr(getattr(source.function, "__code__", None), "co_firstlineno", 1) - 1
    own = list(get_unpacked_marks(source.function))
    marks = [*own, *collector.iter_markers()]
    return ItemTemplate(
        base_id=f"{collector.nodeid}::{name}",
        base_node_id=collector.id.child(name) if hasattr(collector, "id") else None,
        location=(collector.session._node_location_to_relpath(collector.path), line),
        markers=own,
        keywords=dict.fromkeys([collector.name, name, *(mark.name for mark in marks)], 1),
        own_protocol=any(mark.name in _PYTESTS_MARKS for mark in marks),
    )
