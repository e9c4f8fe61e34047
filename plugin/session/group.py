"""A group: the items of one benchmark, under one protocol, for one checkpoint."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import pytest

from .._util.jsonio import Scalar
from ..api.benchmark import Benchmark
from ..api.protocol import Engine, EvalProtocol, RequestContext
from ..api.requests import Failed, Generate, Response, Skipped, parts_of
from ..api.sample import Sample
from ..checkpoints.found import CheckpointParam
from ..config.effective import Effective
from ..results.evaluate import evaluate_response
from ..results.outcome import Outcome
from ..results.stored_run import GroupMetadata
from ..results.summary import DatasetInfo
from ..scores.metric import SHARE, Metric
from ..scores.reducers import Mean, Named, observed_by, spec_of, value_names
from ..scores.score import Reducer
from .fixtures import GroupFixtures

# The module whose `checkpoint` fixture loads what `--checkpoint` names.
_OWN_FIXTURES = "ckptbench.fixtures"


@dataclass(slots=True)
class ItemTemplate:
    """What all items of a group have in common for pytest.

    Attributes:
        base_id: node id of the function.
        base_node_id: the same as pytest 9 represents it, shared by the items; None before.
        location: file and line of the function.
        markers: its marks.
        keywords: names in the reports of the items.
        own_protocol: whether a mark needs pytest's own protocol.
        hook: pytest's hooks for the items' folder; found once instead of for each item.
        outside: the hooks of plugins outside pytest's core, a `runner.OutsideHooks`; likewise.
    """

    base_id: str
    base_node_id: Any
    location: tuple[str, int | None]
    markers: list[pytest.Mark]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    own_protocol: bool = False
    hook: Any = None
    outside: Any = None

    def node_id(self, name: str) -> tuple[str, object]:
        """The attribute in which pytest keeps a node's id, and its value for an item's name."""
        if self.base_node_id is None:
            return "_nodeid", f"{self.base_id}[{name.partition('[')[2]}"
        return "_id", self.base_node_id.with_params(name.partition("[")[2][:-1])


@dataclass(frozen=True, eq=False)
class Group:
    """What is measured, and how; equal only to itself.

    Attributes:
        index: among the session's groups, from 0.
        function: the benchmark function.
        primary: whether the protocol is the first of those that the benchmark is asked by.
        default_protocol: whether it is the benchmark's first: others are part of an item's id.
        checkpoint: which one answers; None when a conftest brings its own engine.
        many_checkpoints: whether the session has several, so that item ids name them.
        before_release: called with it before its fixtures are torn down: its engine still answers.
        on_release: called with the engine when it is torn down.
        instead: what stands for its engine where that is not needed; None where it is.
        sampling: how answers are sampled.
        trials: how many answers are sampled per sample.
        asked: settings of the options and the configuration file.
        settings: what decides its outcomes besides the engine, such as a program's time limit.
        left_out: ids of the samples that the dataset itself left out for `--limit`.
        collected: how many samples there are before pytest selects among them.
    """

    index: int
    function: Callable[..., object]
    benchmark: Benchmark
    protocol: EvalProtocol
    reducer: Reducer
    primary: bool
    default_protocol: bool
    checkpoint: CheckpointParam | None
    many_checkpoints: bool
    dataset: DatasetInfo
    seed: int
    template: ItemTemplate
    fixtures: GroupFixtures
    before_release: Callable[[Group], None]
    on_release: Callable[[Engine], None]
    instead: Callable[[Group], Engine | None] = lambda group: None
    sampling: RequestContext = field(default_factory=RequestContext)
    trials: int = 1
    asked: Effective = field(default_factory=Effective)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    collected: int | None = None

    @property
    def executes(self) -> bool:
        """Whether answers are programs that are run."""
        return self.fixtures.executes

    @property
    def checkpoint_name(self) -> str:
        return self.checkpoint.name if self.checkpoint else "engine"

    @property
    def title(self) -> str:
        """Protocol and checkpoint, for messages."""
        return f"{self.protocol.name} of {self.checkpoint_name}"

    @property
    def loads_checkpoint(self) -> bool:
        """Whether our own fixture loads the checkpoint that answers."""
        return self.fixtures.module_of("checkpoint") == _OWN_FIXTURES

    @property
    def has_our_engine(self) -> bool:
        """Whether our own fixtures load the checkpoint and ask it."""
        return self.loads_checkpoint and self.fixtures.module_of("engine") == _OWN_FIXTURES

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the values of an item's outcome."""
        return value_names(self.reducer, self.benchmark.name)

    @cached_property
    def kind(self) -> Metric:
        """Unit and direction of a number that the function returns."""
        return self.reducer.kind if isinstance(self.reducer, Mean) else SHARE

    @property
    def all_metrics(self) -> tuple[str, ...]:
        """Names of all metrics that its outcomes are folded into."""
        name = self.benchmark.name
        corpus = self.reducer.corpus if isinstance(self.reducer, Named) else ()
        return (*self.reducer.metrics(name), *(f"{name} {metric}" for metric in corpus))

    def item_id(self, sample_id: str, trial: int) -> str:
        """The part of an item's node id in brackets."""
        parts = []
        if self.many_checkpoints:
            parts.append(self.checkpoint_name)
        if not self.default_protocol:
            parts.append(self.protocol.variant)
        parts.append(sample_id if self.trials == 1 else f"{sample_id}-t{trial:02d}")
        return "/".join(parts)

    def set_up(self, item: pytest.Item) -> None:
        """Set up the session fixtures once, in the name of the running item.

        Raises:
            FixtureFailed: one cannot be set up.
        """
        self.fixtures.set_up(
            item,
            self.title,
            before_release=partial(self.before_release, self),
            on_release=self.on_release,
            instead=partial(self.instead, self),
        )

    def context(self, trial: int) -> RequestContext:
        """What a request of this group depends on besides the sample."""
        return replace(self.sampling, top=max(self.reducer.ks, default=1), trial=trial)

    def read(self, sample: Sample, response: Response) -> Response:
        """A response as the protocol reads it; a failure where that fails."""
        if isinstance(response, Failed | Skipped):
            return response
        try:
            return self.protocol.read(sample, response)
        except Exception as error:
            reason = f"the response could not be read: {type(error).__name__}: {error}"
            return Failed(reason, traceback.format_exc())

    def evaluate(self, sample: Sample, arguments: Mapping[str, Any], response: Response) -> Outcome:
        """The outcome of a response, by the benchmark function.

        Raises:
            NoAnswer: the response is a failure.
        """
        reducer = self.reducer
        if isinstance(reducer, Named):
            names, decides = reducer.names, reducer.decides
            return evaluate_response(self.function, arguments, response, (), names, decides)
        outcome = evaluate_response(self.function, arguments, response, reducer.ks, kind=self.kind)
        if not outcome.values or not observed_by(reducer):
            return outcome
        answer = self.protocol.answer(sample) if self.protocol.answer is not None else ""
        values = (*outcome.values, *reducer.observe(response, answer))  # type: ignore[attr-defined]
        return replace(outcome, values=values)

    def identity(self, sample: Sample) -> dict[str, Scalar]:
        """The settings that decide what is measured besides the samples; see `gate.identity`.

        Args:
            sample: one of the group's: its request shows how answers are generated.
        """
        found: dict[str, Scalar] = {**self.settings, "revision": self.protocol.revision}
        try:
            request = self.protocol.ask(sample, self.context(0))
        except Exception:
            return found  # the sample's own error, reported when it is asked
        generated = next((part for part in parts_of(request) if isinstance(part, Generate)), None)
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

    def metadata(self, sample: Sample | None = None) -> GroupMetadata:
        """What folding the outcomes needs; `sample` is one of those asked, None where none is."""
        known = self.checkpoint or CheckpointParam(0, self.checkpoint_name, "")
        return GroupMetadata(
            checkpoint=known.name,
            spec=known.spec,
            run=known.run,
            step=known.step,
            epoch=known.epoch,
            facts=dict(known.facts),
            benchmark=self.benchmark.name,
            protocol=self.protocol.name,
            primary=self.primary,
            reducer=spec_of(self.reducer),
            dataset=self.dataset.name,
            source=self.dataset.source,
            licence=self.dataset.licence,
            own_checkpoint=self.loads_checkpoint,
            left_out=self.left_out,
            collected=self.collected,
            settings=dict(self.settings),
            metrics=self.asked.metrics,
            asked={
                name: {"value": _scalar(getattr(self.asked, name)), "source": source}
                for name, source in self.asked.sources.items()
            },
            output_path=self.asked.output_path,
            log_samples=self.asked.log_samples,
            identity=self.identity(sample) if sample is not None else {},
        )


def _scalar(value: Any) -> Scalar:
    """A setting as one value: names of metrics as one text."""
    return ",".join(value) if isinstance(value, tuple) else value
