"""The session fixtures that a group's items share: found at collection, set up once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.fixtures import TopRequest
from _pytest.scope import Scope

from .._util.errors import CkptbenchError, denied_is_refused, one_line
from ..api.protocol import Engine
from ..checkpoints.found import CheckpointParam
from ..results.log import LOG

OWN_ARGUMENTS = frozenset({"sample", "response", "execution", "k"})


NO_ENGINE = "no engine for "


class FixtureFailed(Exception):
    """A session fixture that a group needs could not be set up; the cause is chained."""


def kind_of_error(reason: str) -> str:
    """What errors of one kind have in common: all but numbers and, without an engine, the group."""
    return re.sub(r"\d+", "0", re.sub(rf"^{NO_ENGINE}\S+ of ", "", reason))


@dataclass(eq=False)
class GroupFixtures:
    """Values of the fixtures that a benchmark function and its engine need.

    Attributes:
        arguments: of the function, in order.
        where: node id of the function.
        checkpoint: the value of the `checkpoint` fixture.
        parametrized: whether that fixture has a parameter.
        names: the fixtures set up for it; found by `examine`.
        info: pytest's record of them and of their dependencies.
        values: by name, while they are set up.
        failure: why they could not be set up.
        failure_shown: whether an item's report has shown that in full.
        engine_key: equal for groups that the same engine answers.
        takes_model: whether the function takes the checkpoint, or a fixture that does.
    """

    arguments: tuple[str, ...]
    where: str
    checkpoint: CheckpointParam | None
    parametrized: bool
    names: tuple[str, ...] = ()
    info: Any = None
    values: dict[str, Any] | None = None
    failure: BaseException | None = None
    failure_shown: bool = False
    engine_key: object = None
    takes_model: bool = False

    @property
    def executes(self) -> bool:
        """Whether the function takes the execution of a program."""
        return "execution" in self.arguments

    @property
    def engine(self) -> Engine:
        """The value of the `engine` fixture, once set up."""
        assert self.values is not None
        engine: Engine = self.values["engine"]
        return engine

    def examine(self, item: pytest.Item) -> None:
        """Find the fixtures, through the group's first item.

        Raises:
            CkptbenchError: one does not exist, is parametrized, or does not last for the session.
        """
        named = tuple(name for name in self.arguments if name not in OWN_ARGUMENTS)
        self.names = (*named, *(["sandbox"] if self.executes else []), "engine")
        self.info = _fixtureinfo(item, self.names)
        for name in named:
            definitions = self.info.name2fixturedefs.get(name)
            if not definitions:
                raise CkptbenchError(
                    f"no fixture named {name!r}",
                    where=self.where,
                    remedy="a benchmark function takes sample, response, k and session fixtures",
                )
            if definitions[-1].scope != "session":
                raise CkptbenchError(
                    f"fixture {name!r} has scope {definitions[-1].scope!r}; a benchmark function "
                    "takes session fixtures only, set up once for all its samples",
                    where=self.where,
                    remedy="declare it with @pytest.fixture(scope='session')",
                )
        for name, definitions in self.info.name2fixturedefs.items():
            if definitions[-1].scope != "function" and definitions[-1].params is not None:
                raise CkptbenchError(
                    f"fixture {name!r} is parametrized; a benchmark asks its samples once a "
                    "checkpoint",
                    where=self.where,
                    remedy="give several models as several --checkpoint",
                )
        self.takes_model = "checkpoint" in _fixtureinfo(item, named).name2fixturedefs
        definitions_of_engine = _fixtureinfo(item, ("engine",)).name2fixturedefs
        self.engine_key = (
            self.checkpoint,
            tuple((name, found[-1]) for name, found in sorted(definitions_of_engine.items())),
        )

    def module_of(self, fixture: str) -> str:
        """The module that defines a fixture the group needs, or an empty string."""
        definitions = self.info.name2fixturedefs.get(fixture)
        return str(definitions[-1].func.__module__) if definitions else ""

    @cached_property
    def callspec(self) -> Any:
        """The parameter of the `checkpoint` fixture, as a parametrized test has it; None without.

        An item without parameters has no such attribute: pytest and plugins look it up by
        `getattr(item, "callspec", None)`.
        """
        if not self.parametrized:
            return None
        assert self.checkpoint is not None
        return SimpleNamespace(
            params={"checkpoint": self.checkpoint},
            indices={"checkpoint": self.checkpoint.index},
            _arg2scope={"checkpoint": Scope.Session},
            id=self.checkpoint.name,
        )

    def set_up(
        self,
        item: pytest.Item,
        title: str,
        *,
        before_release: Callable[[], None],
        on_release: Callable[[Engine], None],
        instead: Callable[[], Engine | None] = lambda: None,
    ) -> None:
        """Set the fixtures up once, through the running item.

        Args:
            title: of the group, for the log and messages.
            instead: what stands for the engine where that is not needed.
            before_release: called before the first of the fixtures is torn down.
            on_release: called when the engine is torn down.

        Raises:
            FixtureFailed: now, or on an earlier call: a fixture is not tried again.
        """
        if self.values is not None:
            return
        if self.failure is None:
            try:
                engine = instead()
                with denied_is_refused():
                    self.values = self._request_values(item, before_release, on_release, engine)
                LOG.info("%s: set up%s", title, "" if engine is None else " without its model")
                return
            except (Exception, pytest.fail.Exception) as error:
                self.failure = error
                LOG.error("%s: %s: %s", title, type(error).__name__, error)
        if isinstance(self.failure, CkptbenchError):
            cause = str(self.failure).partition("\n")[0]  # the remedy is shown once, in full
        else:
            cause = f"{type(self.failure).__name__}: {one_line(self.failure)}"
        raise FixtureFailed(f"{NO_ENGINE}{title}: {cause}") from self.failure

    def _request_values(
        self,
        item: pytest.Item,
        before_release: Callable[[], None],
        on_release: Callable[[Engine], None],
        engine: Engine | None,
    ) -> dict[str, Any]:
        request = TopRequest(item, _ispytest=True)  # type: ignore[arg-type]
        values: dict[str, Any] = {} if engine is None else {"engine": engine}
        for name in self.info.names_closure:
            definitions = self.info.name2fixturedefs.get(name)
            lasting = definitions and definitions[-1].scope != "function"
            wanted = name in self.names or (lasting and name in self.info.initialnames)
            if wanted and name not in values:
                values[name] = request.getfixturevalue(name)
        if engine is not None:
            return values
        definition = request._get_active_fixturedef
        definition("engine").addfinalizer(partial(self._release, on_release))
        # Finalizers run last in, first out: whichever fixture ends first, all are still there.
        for name in self.names:
            definition(name).addfinalizer(before_release)
        return values

    def give_up(self) -> None:
        """End what the engine and the sandbox are doing, where they can."""
        for name in ("engine", "sandbox"):
            give_up = getattr((self.values or {}).get(name), "give_up", None)
            with suppress(Exception):  # of somebody else: the run is written all the same
                if give_up is not None:
                    give_up()

    def _release(self, on_release: Callable[[Engine], None]) -> None:
        """Drop the references to a model that is torn down: the next one needs its memory."""
        if self.values is not None:
            on_release(self.values["engine"])
            self.values = None


def _fixtureinfo(item: pytest.Item, names: tuple[str, ...]) -> Any:
    def stand_in() -> None:
        """Has the signature whose fixtures are looked up."""

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    stand_in.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in dict.fromkeys(names)]
    )
    return item.session._fixturemanager.getfixtureinfo(node=item, func=stand_in, cls=None)
