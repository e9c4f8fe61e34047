"""The pytest item that asks one sample."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from _pytest._code import Traceback, filter_traceback
from _pytest.mark.structures import NodeKeywords

from .._util.errors import CkptbenchError
from ..api.requests import Failed, Response, Skipped
from ..api.sample import Sample
from ..results.evaluate import NoAnswer
from ..results.outcome import Outcome
from .answering import ANSWERING, Answering
from .executions import Execution, execution_of
from .group import Group


class SampleItem(pytest.Item):
    """Asks one sample once.

    Attributes:
        group: the items of its benchmark, protocol and checkpoint.
        sample: what is asked.
        trial: which of the answers to it, from 0.
        order: index among the items of its group as they were collected.
        position: index in the session's running order; -1 before it is known.
        stage: how many looks at the run come before it; see `session.early`.
        outcome: None until it ran, and when it ended in an error.
    """

    group: Group
    sample: Sample
    stage = 0

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
        # `Node.__init__` would make seven containers per item that nearly no item uses: a third of
        # a large session's memory. They are made on first access, see below.
        self.name = name
        self.parent = parent
        self.config = parent.config
        self.session = parent.session
        self.path = parent.path
        # Without a node id in pytest's own form, `--lf` would not find the item again.
        setattr(self, *group.template.node_id(name))
        self.group = group
        self.sample = sample
        self.trial = trial
        self.order = order
        self.own_markers = group.template.markers
        if (parameters := group.fixtures.callspec) is not None:
            self.callspec = parameters
        # Set here, or CPython would give each item a whole dictionary once they are set.
        self.position = -1
        self.outcome: Outcome | None = None

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
        if self.own_markers is self.group.template.markers:
            self.own_markers = list(self.group.template.markers)
        super().add_marker(marker, append)

    @property
    def own_protocol(self) -> bool:
        """Whether a mark needs pytest's own protocol."""
        template = self.group.template
        return template.own_protocol or self.own_markers is not template.markers

    @property
    def location(self) -> tuple[str, int | None, str]:  # type: ignore[override]
        path, line = self.group.template.location
        return (path, line, self.name)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self.group.template.location[1], self.name

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
        return self.group.fixtures.names

    @property
    def _fixtureinfo(self) -> Any:
        return self.group.fixtures.info

    @property
    def funcargs(self) -> dict[str, Any]:
        return self.group.fixtures.values or {}

    # pytest's own protocol

    def setup(self) -> None:
        self.group.set_up(self)

    def runtest(self) -> None:
        self.outcome = None
        answering = self.config.stash.get(ANSWERING, None)
        if answering is None:
            raise CkptbenchError("no plan was made", remedy="is collection finished?")
        self.outcome = self.ask(answering)
        if self.outcome.status in ("skipped", "not_needed"):
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
        """Omit the frames of pytest and the plugin above the user's code."""
        entries = list(excinfo.traceback)
        ours = Path(__file__).parent
        theirs = (
            n for n, e in enumerate(entries) if filter_traceback(e) and Path(e.path).parent != ours
        )
        first, *others = entries[next(theirs, 0) :]
        if len(others) < 2 or self.config.getoption("tbstyle", "auto") != "auto":
            return Traceback([first, *others]).filter(excinfo)
        # As for a test function: the first and the last entry in full, those between in short.
        between = [entry.with_repr_style("short") for entry in others[:-1]]
        return Traceback([first, *between, others[-1]]).filter(excinfo)

    def ask(self, answering: Answering) -> Outcome:
        """Wait for the response and evaluate it.

        Raises:
            NoAnswer: no valid answer was obtained.
        """
        if answering.decided is not None and (reason := answering.decided(self)):
            return Outcome("not_needed", detail=reason)
        response = answering.response(self)
        execution = None
        if not self.group.executes:
            # In the process's main thread: the code of tasks may set alarms.
            response = self.group.read(self.sample, response)
        elif not isinstance(response, Failed | Skipped):
            execution = execution_of(answering.executions.pop(self.position))
        outcome = self.evaluate(response, execution)
        if execution is None:
            return outcome
        detail = f"{execution.status}: {execution.reason}" if outcome.status == "missed" else ""
        return replace(outcome, detail=detail, seconds=round(execution.wall_s, 4))

    def evaluate(self, response: Response, execution: Execution | None) -> Outcome:
        """The outcome of a response that the protocol has read; see `Group.evaluate`."""
        fixtures = self.group.fixtures
        own = {"sample": self.sample, "response": response, "execution": execution}
        values = fixtures.values or {}
        arguments = {n: own[n] if n in own else values[n] for n in fixtures.arguments if n != "k"}
        return self.group.evaluate(self.sample, arguments, response)


class MissedSample(Exception):
    """Raised for pytest's own protocol when the item's answer was wrong."""
