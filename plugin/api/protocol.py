"""The contracts of a benchmark's protocol and of an engine, which answers its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .requests import Request, Response
from .sample import Sample

if TYPE_CHECKING:
    from .._util.jsonio import Scalar
    from ..scores.score import Reducer


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The session's settings that a request depends on.

    Attributes:
        top: the largest K of the score: at least so many candidates are needed.
        trial: which of the trials of a sample this is, from 0.
        seed: seed of the session.
        temperature: of sampling; 0 is greedy.
        top_p: nucleus-sampling threshold.
        max_tokens: tokens of a generated answer at most.
    """

    top: int = 1
    trial: int = 0
    seed: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512


def every_sample(sample: Sample) -> bool:
    """The scope of most protocols."""
    return True


@dataclass(frozen=True, slots=True)
class EvalProtocol:
    """One way to ask a benchmark's samples.

    Attributes:
        name: `BENCHMARK/VARIANT`, such as `real/whole-word`. Two scores are comparable only when
            their protocols have the same name.
        ask: makes the request of a sample.
        read: turns the engine's stored response into what the benchmark function judges. It is
            pure: reading again needs no model.
        covers: whether the protocol can ask this sample at all (a row may lack a field).
        execute: makes what the `sandbox` fixture judges of a sample, its response and the number
            of the trial; for benchmark functions that take `execution`.
        own_limits: limits of a program that the samples bring along, as settings of the result
            (`exec_timeout_s`, `exec_memory_mb`); None where the session's apply.
        score: how its outcomes become scores, where that is not as the benchmark says.
        answer: the right answer's text as the model is scored on it, where responses hold its
            log probability: its bits per byte are then a metric beside the share.
        revision: raised when the meaning of requests or responses changes under the same name.
            Stored responses of another revision are not reused, and a baseline that
            records another one is not comparable.
        needs: packages without which it cannot be used.
        remedy: how to install them.
    """

    name: str
    ask: Callable[[Sample, RequestContext], Request]
    read: Callable[[Sample, Response], Response] = lambda sample, response: response
    covers: Callable[[Sample], bool] = every_sample
    execute: Callable[[Sample, Any, int], Any] | None = None
    own_limits: Callable[[Sample], Mapping[str, Scalar]] | None = None
    score: Reducer | None = None
    answer: Callable[[Sample], str] | None = None
    revision: int = 1
    needs: tuple[str, ...] = ()
    remedy: str = ""

    def folding(self, usual: Reducer) -> Reducer:
        """What makes scores of its outcomes, where the benchmark's own reducer is `usual`."""
        from ..scores.reducers import with_bits_per_byte

        reducer = self.score or usual
        return reducer if self.answer is None else with_bits_per_byte(reducer)

    @property
    def benchmark(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]

    @property
    def variant(self) -> str:
        """The part of the name after the slash."""
        return self.name.partition("/")[2]


class Tokens(NamedTuple):
    """What an engine has read and written since it was made; no number ever falls.

    Attributes:
        read: tokens of prompts and scored texts that went through the model: of a beginning that
            texts share and that is read once, each token once; of a text that is read again, again.
        written: tokens that were generated.
        uncounted: requests whose tokens are in neither number, as nobody stated them.
    """

    read: int = 0
    written: int = 0
    uncounted: int = 0

    def since(self, before: Tokens) -> Tokens:
        """What was added since then."""
        return Tokens(*(now - then for now, then in zip(self, before, strict=True)))


class Engine(Protocol):
    """Answers requests with one checkpoint. The value of the `engine` fixture.

    `answer` is called from one background thread, one call at a time.

    Attributes:
        fingerprint: content hash of weights, config and tokenizer. Answers are stored under it,
            so two checkpoints must never share one.
        settings: what else decides an answer (sequence length, dtype), JSON scalars by name.
            They travel with every score and are part of the key an answer is stored under.
        revision: of the code that answers, also part of that key; 1 where it is left out.
        notes: what a reader of the scores must know of the model; may be left out.
        facts: what the checkpoint states of its training, JSON scalars by name, such as `epoch`
            and `val_loss`; may be left out.
        known_by: texts by name that the fingerprint of a served model was made of, for a note when
            one of them changes between the sessions of a run; may be left out.
        replicas: how many batches it answers at once; 1 where it is left out.
        accelerator: what it runs on, texts by name, where that is not this process's GPU; may be
            left out.
        tokens: `Tokens` so far. Where it is left out, what answers cost in tokens is not known.
        gpus: how many GPUs are busy while it answers, or which part of one; 0 on a processor.
            Likewise.
        last_block: a method without arguments, called before the last `answer` of the checkpoint
            where that is known; may be left out.
        give_up: a method without arguments, called from another thread when the session is ended
            by a signal: `answer` should raise soon. It may be left out; what then still runs is
            not waited for.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, str | int | float | bool | None]: ...

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        """Yield `(index into requests, response)` as answers arrive, each index once.

        A request that cannot be answered yields `Failed`; raising loses only what was not yet
        yielded, and those samples become errors.
        """
        ...
