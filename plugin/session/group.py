"""A group: the items of one benchmark, under one protocol, for one checkpoint.

What the items of a group have in common is kept here once: the function, its marks, its fixtures'
values and the engine that answers them.
"""

from __future__ import annotations

import inspect
import json
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.fixtures import TopRequest
from _pytest.scope import Scope

from .._util.errors import CkptbenchError, one_line
from .._util.jsonio import Scalar
from ..api.benchmark import Benchmark
from ..api.engine import Engine
from ..api.protocol import EvalProtocol, RequestContext
from ..api.requests import CompoundRequest, Failed, Generate, Response, Sample, Skipped
from ..config.effective import Effective
from ..results.evaluate import Outcome, judge
from ..results.log import LOG
from ..results.summary import DatasetInfo
from ..scores.reducers import Named, observed_by, value_names
from ..scores.registry import spec_of
from ..scores.score import Reducer

if TYPE_CHECKING:
    from ..checkpoints.found import Found
    from .item import SampleItem
    from .session import BenchSession

OWN_ARGUMENTS = frozenset({"sample", "response", "execution", "k"})
# Marks that only pytest's own protocol, or another plugin's, knows how to obey.
OBEYED_MARKS = frozenset({"skip", "skipif", "xfail", "usefixtures", "filterwarnings", "flaky"})
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class CheckpointParam:
    """One `--checkpoint` of the session.

    Attributes:
        index: its place among them, from 0.
        name: short and unique, of `[A-Za-z0-9_.-]`.
        spec: what was given, or one match of a pattern.
        run, step, epoch, facts: its place in its training, as far as that is known before it is
            loaded; see `sweep.found.Found`.
    """

    index: int
    name: str
    spec: str
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict, hash=False)


def named(found: Sequence[Found]) -> tuple[CheckpointParam, ...]:
    """The checkpoints of a session with their names and places; each spec is there once."""
    params = checkpoint_params([each.spec for each in found])
    return tuple(
        replace(param, run=each.run, step=each.step, epoch=each.epoch, facts=each.facts)
        for param, each in zip(params, found, strict=True)
    )


def checkpoint_params(specs: Sequence[str]) -> tuple[CheckpointParam, ...]:
    """Name the session's checkpoints: by the last part of the path, longer where two are alike."""
    unique = list(dict.fromkeys(specs))
    parts = [_parts(spec) for spec in unique]
    for depth in range(1, max((len(p) for p in parts), default=1) + 1):
        names = [_NAME.sub("-", "_".join(p[-depth:])).strip("-.") or "checkpoint" for p in parts]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{name}-{i}" for i, name in enumerate(names)]
    return tuple(CheckpointParam(i, names[i], spec) for i, spec in enumerate(unique))


def _parts(spec: str) -> list[str]:
    """The parts of a path; of the absolute one where the last part says nothing.

    An address is named by its host: every one of them ends alike.
    """
    if "://" in spec:
        return [re.sub(r"(/v1)?(/chat)?(/completions)?/*$", "", spec.partition("://")[2]) or spec]
    path = Path(spec)
    if path.name in ("", "..") and path.exists():
        path = path.resolve()
    return [part for part in re.split(r"[/\\]+", str(path)) if part not in ("", ".")] or [spec]


class FixtureFailed(Exception):
    """A session fixture that a group needs could not be set up; the cause is chained."""


@dataclass(eq=False)
class Group:
    """See the module.

    Attributes:
        index: place among the session's groups.
        checkpoint: which checkpoint answers; None when a conftest brings its own engine.
        many_checkpoints: whether the session has several, so that items are named by theirs.
        primary: whether the protocol is the first of those asked.
        arguments: what the function takes, in order.
        sampling: how answers are drawn.
        trials: how many answers are drawn for a sample.
        asked: what options and the configuration file say of how it is asked.
        left_out: ids of the samples that the dataset itself left out for `--limit`.
        keywords: names that reports of the items carry.
        obeyed: whether a mark asks for pytest's own protocol.
        settings: what decides its outcomes beside the engine, such as the time a program has.
        base_node_id: the function's id as a value of pytest 9, which its items share parts of.
        hook: pytest's hooks as the items' folder has them; found once instead of for each item.
        others: what plugins outside pytest's core want of the items; likewise.
    """

    index: int
    function: Callable[..., object]
    benchmark: Benchmark
    protocol: EvalProtocol
    primary: bool
    default_protocol: bool
    reducer: Reducer
    checkpoint: CheckpointParam | None
    many_checkpoints: bool
    dataset: DatasetInfo
    seed: int
    base_id: str
    location: tuple[str, int | None]
    markers: list[pytest.Mark]
    arguments: tuple[str, ...]
    sampling: RequestContext = field(default_factory=RequestContext)
    trials: int = 1
    left_out: tuple[str, ...] = ()
    asked: Effective = field(default_factory=Effective)
    keywords: Mapping[str, Any] = field(default_factory=dict)
    obeyed: bool = False
    engine_key: object = None
    hook: Any = None
    others: Any = None
    values: dict[str, Any] | None = None
    failure: BaseException | None = None
    failure_shown: bool = False
    base_node_id: Any = None
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    _fixtureinfo: Any = None
    _initial: tuple[str, ...] = ()

    @property
    def executes(self) -> bool:
        """Whether answers are programs that are run."""
        return "execution" in self.arguments

    @property
    def checkpoint_name(self) -> str:
        return self.checkpoint.name if self.checkpoint else "engine"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of what the items' outcomes are values of."""
        return value_names(self.reducer, self.benchmark.name)

    @property
    def all_metrics(self) -> tuple[str, ...]:
        """Names of all that its outcomes are folded into."""
        name = self.benchmark.name
        corpus = self.reducer.corpus if isinstance(self.reducer, Named) else ()
        return (*self.reducer.metrics(name), *(f"{name} {metric}" for metric in corpus))

    def read(self, sample: Sample, response: Response) -> Response:
        """A response as the protocol reads it; a failure where it cannot."""
        if isinstance(response, Failed | Skipped):
            return response
        try:
            return self.protocol.read(sample, response)
        except Exception as error:
            reason = f"the response could not be read: {type(error).__name__}: {error}"
            return Failed(reason, traceback.format_exc())

    def judge(self, sample: Sample, arguments: Mapping[str, Any], response: Response) -> Outcome:
        """What an item's response came to, by the function's word."""
        reducer = self.reducer
        if isinstance(reducer, Named):
            names, decides = reducer.names, reducer.decides
            return judge(self.function, arguments, response, (), names, decides)
        outcome = judge(self.function, arguments, response, reducer.ks)
        if not outcome.values or not observed_by(reducer):
            return outcome
        answer = self.protocol.answer(sample) if self.protocol.answer is not None else ""
        values = (*outcome.values, *reducer.observe(response, answer))  # type: ignore[attr-defined]
        return replace(outcome, values=values)

    @property
    def title(self) -> str:
        """How a person is told which group this is."""
        return f"{self.protocol.name} of {self.checkpoint_name}"

    def node_id(self, name: str) -> tuple[str, object]:
        """The attribute in which pytest keeps a node's id, and its value for an item's name."""
        if self.base_node_id is None:
            return "_nodeid", f"{self.base_id}[{name.partition('[')[2]}"
        return "_id", self.base_node_id.with_params(name.partition("[")[2][:-1])

    def item_id(self, sample_id: str, trial: int) -> str:
        """What stands in the brackets of an item's node id."""
        parts = []
        if self.many_checkpoints:
            parts.append(self.checkpoint_name)
        if not self.default_protocol:
            parts.append(self.protocol.variant)
        parts.append(sample_id if self.trials == 1 else f"{sample_id}-t{trial:02d}")
        return "/".join(parts)

    def asking(self, trial: int) -> RequestContext:
        """What a request of this group depends on beside the sample."""
        return replace(self.sampling, top=max(self.reducer.ks, default=1), trial=trial)

    def identity(self, sample: Sample) -> dict[str, Scalar]:
        """The settings that decide what is measured beside the samples; see `gate.identity`.

        Args:
            sample: one of the group's: its request shows how answers are generated.
        """
        found: dict[str, Scalar] = dict(self.settings)
        if self.protocol.revision != 1:
            found["revision"] = self.protocol.revision
        if self.asked.num_fewshot is not None:
            found["num_fewshot"] = self.asked.num_fewshot
        try:
            request = self.protocol.ask(sample, self.asking(0))
        except Exception:
            return found  # the sample's own error, reported when it is asked
        parts = request.parts if isinstance(request, CompoundRequest) else (request,)
        generated = next((part for part in parts if isinstance(part, Generate)), None)
        if generated is None:
            return found
        found |= {
            "temperature": generated.temperature,
            "max_tokens": generated.max_tokens,
            "stop": json.dumps(sorted(generated.stop), ensure_ascii=False),
        }
        found.setdefault("chat", generated.chats)
        # Greedy answers do not depend on it.
        if generated.temperature:
            found["top_p"] = generated.top_p
        return found

    def facts(self, sample: Sample | None = None) -> dict[str, Any]:
        """What whoever folds the outcomes must know, as JSON values.

        Args:
            sample: one of those that are asked; None where none is.
        """
        return {
            "identity": self.identity(sample) if sample is not None else {},
            "checkpoint": self.checkpoint_name,
            "spec": self.checkpoint.spec if self.checkpoint else "",
            "run": self.checkpoint.run if self.checkpoint else "",
            "step": self.checkpoint.step if self.checkpoint else None,
            "epoch": self.checkpoint.epoch if self.checkpoint else None,
            "facts": dict(self.checkpoint.facts) if self.checkpoint else {},
            "benchmark": self.benchmark.name,
            "protocol": self.protocol.name,
            "primary": self.primary,
            "reducer": spec_of(self.reducer),
            "dataset": self.dataset.name,
            "source": self.dataset.source,
            "licence": self.dataset.licence,
            "own_checkpoint": self.loads_checkpoint,
            "left_out": list(self.left_out),
            "settings": dict(self.settings),
            "metrics": self.asked.metrics,
            "asked": {
                name: {"value": _scalar(getattr(self.asked, name)), "source": source}
                for name, source in self.asked.sources.items()
            },
            "output_path": self.asked.output_path,
            "log_samples": self.asked.log_samples,
        }

    # Fixtures

    def examine(self, item: SampleItem) -> None:
        """Find the fixtures the function names, through the group's first item.

        Raises:
            CkptbenchError: one does not exist, is parametrized, or does not last for the session.
        """
        named = tuple(name for name in self.arguments if name not in OWN_ARGUMENTS)
        if self.executes and self.protocol.execute is None:
            raise CkptbenchError(
                f"the function takes `execution`, but {self.protocol.name} makes no program",
                where=self.base_id,
                remedy="give the protocol an `execute`",
            )
        self._initial = (*named, *(["sandbox"] if self.executes else []), "engine")
        self._fixtureinfo = _fixtureinfo(item, self._initial)
        for name in named:
            definitions = self._fixtureinfo.name2fixturedefs.get(name)
            if not definitions:
                raise CkptbenchError(
                    f"no fixture named {name!r}",
                    where=self.base_id,
                    remedy="a benchmark function takes sample, response, k and session fixtures",
                )
            if definitions[-1].scope != "session":
                raise CkptbenchError(
                    f"fixture {name!r} has scope {definitions[-1].scope!r}; a benchmark function "
                    "takes session fixtures only, set up once for all its samples",
                    where=self.base_id,
                    remedy="declare it with @pytest.fixture(scope='session')",
                )
        for name, definitions in self._fixtureinfo.name2fixturedefs.items():
            if definitions[-1].scope != "function" and definitions[-1].params is not None:
                raise CkptbenchError(
                    f"fixture {name!r} is parametrized; a benchmark asks its samples once a "
                    "checkpoint",
                    where=self.base_id,
                    remedy="give several models as several --checkpoint",
                )
        definitions_of_engine = _fixtureinfo(item, ("engine",)).name2fixturedefs
        self.engine_key = (
            self.checkpoint,
            tuple((name, found[-1]) for name, found in sorted(definitions_of_engine.items())),
        )

    def module_of(self, fixture: str) -> str:
        """The module that defines a fixture the group needs, or an empty string."""
        definitions = self._fixtureinfo.name2fixturedefs.get(fixture)
        return str(definitions[-1].func.__module__) if definitions else ""

    @property
    def loads_checkpoint(self) -> bool:
        """Whether our own fixture loads the checkpoint that answers."""
        return self.module_of("checkpoint") == "ckptbench.fixtures"

    @property
    def fixturenames(self) -> tuple[str, ...]:
        return self._initial

    @property
    def fixtureinfo(self) -> Any:
        return self._fixtureinfo

    @property
    def callspec(self) -> Any:
        """Gives the `checkpoint` fixture its parameter, as a parametrized test would."""
        if not self.many_checkpoints:
            raise AttributeError("callspec")
        assert self.checkpoint is not None
        return SimpleNamespace(
            params={"checkpoint": self.checkpoint},
            indices={"checkpoint": self.checkpoint.index},
            _arg2scope={"checkpoint": Scope.Session},
            id=self.checkpoint.name,
        )

    def set_up(self, item: SampleItem) -> None:
        """Set up the group's session fixtures once, in the name of its running item.

        Raises:
            FixtureFailed: now, or on an earlier call: a fixture is not tried again.
        """
        from .session import session_of

        if self.values is not None:
            return
        if self.failure is None:
            try:
                request = TopRequest(item, _ispytest=True)  # type: ignore[arg-type]
                values = {}
                for name in self._fixtureinfo.names_closure:
                    definitions = self._fixtureinfo.name2fixturedefs.get(name)
                    lasting = definitions and definitions[-1].scope != "function"
                    if name in self._initial or (
                        lasting and name in self._fixtureinfo.initialnames
                    ):
                        values[name] = request.getfixturevalue(name)
                self.values = values
                session = session_of(item.config)
                ends = request._get_active_fixturedef
                ends("engine").addfinalizer(partial(self._let_go, session))
                for name in self._initial:  # whichever ends first: all are needed to ask again
                    ends(name).addfinalizer(partial(session.ask_again, self))
                LOG.info("%s: set up", self.title)
                return
            except (Exception, pytest.fail.Exception) as error:
                self.failure = error
                LOG.error("%s: %s: %s", self.title, type(error).__name__, error)
        if isinstance(self.failure, CkptbenchError):
            cause = str(self.failure).partition("\n")[0]  # what to do is said once, in full
        else:
            cause = f"{type(self.failure).__name__}: {one_line(self.failure)}"
        raise FixtureFailed(f"no engine for {self.title}: {cause}") from self.failure

    def _let_go(self, session: BenchSession) -> None:
        """Hold nothing of a model that is being torn down: the next one needs its memory."""
        if self.values is not None:
            session.unload(self.values["engine"])
            self.values = None

    @property
    def engine(self) -> Engine:
        """The value of the `engine` fixture, once set up."""
        assert self.values is not None
        engine: Engine = self.values["engine"]
        return engine


def _scalar(value: Any) -> Scalar:
    """A setting as one value: names of metrics as one text."""
    return ",".join(value) if isinstance(value, tuple) else value


def _fixtureinfo(item: SampleItem, names: tuple[str, ...]) -> Any:
    def stand_in() -> None:
        """Has the signature whose fixtures are looked up."""

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    stand_in.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in dict.fromkeys(names)]
    )
    return item.session._fixturemanager.getfixtureinfo(node=item, func=stand_in, cls=None)
