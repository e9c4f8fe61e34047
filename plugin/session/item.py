"""The pytest items that ask samples, and how a benchmark function becomes them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code import Traceback, TracebackEntry, filter_traceback
from _pytest.mark.structures import NodeKeywords, get_unpacked_marks

from .._util.errors import CkptbenchError
from ..api.benchmark import Benchmark
from ..api.protocol import RequestContext
from ..api.requests import Failed, Response, Sample, Skipped
from ..config.effective import effective
from ..results.evaluate import NoAnswer, Outcome
from ..results.summary import DatasetInfo
from ..scores.score import Reducer
from .executions import Execution, limits_of
from .group import OBEYED_MARKS, Group

if TYPE_CHECKING:
    from .session import BenchSession

_TYPICAL_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")


class SampleItem(pytest.Item):
    """Asks one sample once.

    Attributes:
        group: what it has in common with the other items of its benchmark and protocol.
        sample: the question.
        trial: which of the answers to it, from 0.
        order: place among the items of its group as they were collected.
        position: place in the session's running order; -1 before it is known.
        outcome: what it came to; None until it ran, and when it ended in an error.
    """

    group: Group
    sample: Sample
    outcome: Outcome | None = None
    position = -1

    def __init__(
        self,
        name: str,
        parent: pytest.Module,
        *,
        group: Group,
        sample: Sample,
        trial: int,
        order: int,
    ) -> None:
        # `Node.__init__` would make seven containers an item that nearly no item uses: a third of
        # a large session's memory. They are made when somebody asks, see below.
        self.name = name
        self.parent = parent
        self.config = parent.config
        self.session = parent.session
        self.path = parent.path
        # Without a node id in pytest's own form, `--lf` would not find the item again.
        setattr(self, *group.node_id(name))
        self.group = group
        self.sample = sample
        self.trial = trial
        self.order = order
        self.own_markers = group.markers

    @cached_property
    def keywords(self) -> Any:  # type: ignore[override]
        return NodeKeywords(self)

    @cached_property
    def extra_keyword_matches(self) -> set[str]:  # type: ignore[override]
        return set()

    @cached_property
    def stash(self) -> pytest.Stash:  # type: ignore[override]
        return pytest.Stash()

    @property
    def _store(self) -> pytest.Stash:  # type: ignore[override]
        return self.stash

    @cached_property
    def user_properties(self) -> list[tuple[str, object]]:  # type: ignore[override]
        return []

    @cached_property
    def _report_sections(self) -> list[tuple[str, str, str]]:  # type: ignore[override]
        return []

    def add_marker(self, marker: Any, append: bool = True) -> None:
        # The list of marks is shared by the group until an item gets one of its own.
        if self.own_markers is self.group.markers:
            self.own_markers = list(self.group.markers)
        super().add_marker(marker, append)

    @property
    def obeyed(self) -> bool:
        """Whether a mark asks for pytest's own protocol."""
        return self.group.obeyed or self.own_markers is not self.group.markers

    @property
    def location(self) -> tuple[str, int | None, str]:  # type: ignore[override]
        path, line = self.group.location
        return (path, line, self.name)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self.group.location[1], self.name

    # What pytest and its plugins look for on a test made from a function

    @property
    def obj(self) -> Any:
        return self.group.function

    function = obj
    cls = None

    @property
    def module(self) -> Any:
        parent = self.getparent(pytest.Module)
        return parent.obj if parent is not None else None

    @property
    def originalname(self) -> str:
        return self.group.function.__name__

    @property
    def fixturenames(self) -> tuple[str, ...]:
        return self.group.fixturenames

    @property
    def _fixtureinfo(self) -> Any:
        return self.group.fixtureinfo

    @property
    def callspec(self) -> Any:
        return self.group.callspec

    @property
    def funcargs(self) -> dict[str, Any]:
        return self.group.values or {}

    # pytest's own protocol

    def setup(self) -> None:
        self.group.set_up(self)

    def runtest(self) -> None:
        from .session import session_of

        self.outcome = None
        self.outcome = self.ask(session_of(self.config))
        if self.outcome.status == "skipped":
            pytest.skip(self.outcome.detail)
        if self.outcome.status == "missed":
            raise MissedSample(self.outcome.detail)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, MissedSample):
            return f"missed: {excinfo.value}"
        if isinstance(excinfo.value, NoAnswer):
            failed = excinfo.value.failed
            return f"no answer: {failed.reason}" + (f"\n{failed.detail}" if failed.detail else "")
        return super().repr_failure(excinfo, style)

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Traceback:
        """Leave out how pytest and the plugin came to the user's code."""
        entries = list(excinfo.traceback)
        theirs = next((n for n, entry in enumerate(entries) if not _is_machinery(entry)), 0)
        first, *others = entries[theirs:]
        if len(others) < 2 or self.config.getoption("tbstyle", "auto") != "auto":
            return Traceback([first, *others]).filter(excinfo)
        # As for a test function: the first and the last place in full, what is between in short.
        between = [entry.with_repr_style("short") for entry in others[:-1]]
        return Traceback([first, *between, others[-1]]).filter(excinfo)

    # The sample's way

    def ask(self, session: BenchSession) -> Outcome:
        """Wait for the response and judge it.

        Raises:
            NoAnswer: no valid answer was obtained.
        """
        answering = session.answering
        response = answering.response(self)
        execution = None
        if not self.group.executes:
            # In the process's main thread: the code of tasks may set alarms.
            response = self.group.read(self.sample, response)
        elif not isinstance(response, Failed | Skipped):
            execution = answering.executions.result(self)
        arguments = self.arguments(response, execution)
        outcome = self.group.judge(self.sample, arguments, response)
        if execution is None:
            return outcome
        detail = f"{execution.status}: {execution.reason}" if outcome.status == "missed" else ""
        return replace(outcome, detail=detail, seconds=round(execution.wall_s, 4))

    def arguments(self, response: Response, execution: Execution | None) -> dict[str, Any]:
        """What the benchmark function is called with, but for k."""
        values = self.group.values or {}
        arguments: dict[str, Any] = {}
        for name in self.group.arguments:
            if name == "sample":
                arguments[name] = self.sample
            elif name == "response":
                arguments[name] = response
            elif name == "execution":
                arguments[name] = execution
            elif name != "k":
                arguments[name] = values[name]
        return arguments


def _is_machinery(entry: TracebackEntry) -> bool:
    return not filter_traceback(entry) or Path(entry.path).parent == Path(__file__).parent


class MissedSample(Exception):
    """Tells pytest's own protocol that the item's answer was wrong."""


def make_items(
    session: BenchSession, collector: pytest.Collector, name: str, function: Any, found: Benchmark
) -> list[pytest.Item]:
    """The items of a benchmark function: checkpoints x protocols x samples x trials.

    Raises:
        CkptbenchError: the dataset or the function cannot be used.
    """
    where = f"{collector.nodeid}::{name}"
    session.collected.claim(found.name, where)
    asked = effective(session.options, found.configured_as or found.name)
    if asked is None:
        return []
    rows = found.load(replace(session.options, limit=asked.limit))
    if rows is None:
        return []
    _check_rows(rows, where)
    reducer = found.score
    chosen = session.options.k.get(found.name)
    if chosen and reducer.takes_k:
        reducer = reducer.with_ks(chosen)
    arguments = tuple(inspect.signature(function).parameters)
    if ("k" in arguments) != bool(reducer.ks):
        raise CkptbenchError(
            f"the function {'takes' if 'k' in arguments else 'does not take'} `k`, but its score "
            f"has {'k = ' + str(reducer.ks) if reducer.ks else 'none'}",
            where=where,
        )
    sampling, trials = _sampling(session, reducer)
    items: list[pytest.Item] = []
    left_out = tuple(getattr(rows, "left_out", ()))
    for checkpoint in session.checkpoints or (None,):
        primary = True
        for protocol in session.collected.asked_by(found, rows):
            covered = [row for row in rows if protocol.covers(row)]
            limit = None if found.limits_itself else asked.limit
            limited = covered[: _limited(len(covered), limit)]
            if not limited:
                continue
            group = Group(
                index=len(session.groups),
                function=function,
                benchmark=found,
                protocol=protocol,
                primary=primary,
                default_protocol=protocol is found.protocols[0],
                reducer=protocol.folding(reducer),
                checkpoint=checkpoint,
                many_checkpoints=len(session.checkpoints) > 1,
                dataset=_dataset_info(found, rows),
                seed=session.options.seed,
                base_id=where,
                base_node_id=collector.id.child(name) if hasattr(collector, "id") else None,
                location=_location(session, collector, function),
                markers=list(get_unpacked_marks(function)),
                arguments=arguments,
                sampling=sampling,
                trials=trials,
                left_out=left_out,
                asked=asked,
                settings=dict(found.settings),
            )
            if group.executes:
                limits = limits_of(session.options, protocol, limited[0])
                group.settings = {**group.settings, **limits}
            _describe(group, collector, name)
            made = list(_items_of(group, collector, name, limited))
            group.examine(made[0])
            if session.collected.unasked(group, limited[0]):
                continue
            if chosen and not group.reducer.takes_k:
                session.collected.refuse(
                    CkptbenchError(f"the score of {found.name} takes no k", where="--k")
                )
            primary = False
            session.groups.append(group)
            items.extend(made)
    if items:
        session.notes += tuple(f"{found.name}: {note}" for note in getattr(rows, "notes", ()))
    return items


def _items_of(
    group: Group, collector: pytest.Collector, name: str, rows: Sequence[Sample]
) -> Iterator[SampleItem]:
    asked = ((sample, trial) for sample in rows for trial in range(group.trials))
    for order, (sample, trial) in enumerate(asked):
        item: SampleItem = SampleItem.from_parent(
            collector,
            name=f"{name}[{group.item_id(sample.id, trial)}]",
            group=group,
            sample=sample,
            trial=trial,
            order=order,
        )
        yield item


def _sampling(session: BenchSession, reducer: Reducer) -> tuple[RequestContext, int]:
    """How answers are drawn, and how many for a sample; several without chance are refused."""
    options = session.options
    if not reducer.several_trials:
        return RequestContext(max_tokens=options.max_tokens, seed=options.seed), 1
    if options.num_samples > 1 and not options.temperature:
        session.collected.refuse(
            CkptbenchError(
                f"{options.num_samples} answers a sample at temperature 0 would all be the same",
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


def _check_rows(rows: Sequence[Sample], where: str) -> None:
    if not rows:
        raise CkptbenchError("the dataset has no samples", where=where)
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


def _limited(n: int, limit: int | float | None) -> int:
    if limit is None:
        return n
    return math.ceil(n * limit) if isinstance(limit, float) else limit


def _dataset_info(found: Benchmark, rows: Any) -> DatasetInfo:
    """What a sample file's header says, or the benchmark's name."""
    header = getattr(rows, "header", None)
    if header is None:
        return DatasetInfo(name=found.name, hash="")
    return DatasetInfo(header.name, header.hash, header.source, header.licence)


def _location(
    session: BenchSession, collector: pytest.Collector, function: Any
) -> tuple[str, int | None]:
    line = getattr(getattr(function, "__code__", None), "co_firstlineno", 1) - 1
    return session.pytest_session._node_location_to_relpath(collector.path), line


def _describe(group: Group, collector: pytest.Collector, name: str) -> None:
    """Note the marks and keywords that all items of a group carry."""
    marks = [*group.markers, *collector.iter_markers()]
    group.keywords = dict.fromkeys([collector.name, name, *(mark.name for mark in marks)], 1)
    group.obeyed = any(mark.name in OBEYED_MARKS for mark in marks)
