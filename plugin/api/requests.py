"""What is asked and what is answered: requests and responses.

All of these are frozen values without torch or any tokenizer in them. A protocol turns a sample
into a request; an engine answers the request with a response.

A new kind is two classes: a `SingleRequest`, and its answer, which `@answer` has stored and shown;
and their names, in `__all__` and in `SingleAnswer`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from .._util.language import tr
from .._util.rounding import rounded
from .._util.text import percent
from .answer_kinds import StoredFields, answer, answer_text

__all__ = [
    "MTP_HEADS",
    "Answer",
    "CompoundRequest",
    "CompoundResponse",
    "Conversation",
    "Failed",
    "FillMask",
    "Filled",
    "Generate",
    "Generated",
    "Likelihood",
    "LogLikelihood",
    "LogLikelihoodRolling",
    "Request",
    "Response",
    "Skipped",
]

CANDIDATES = 5
"""Candidates of a filled mask that are shown."""

MTP_HEADS = "mtp_heads"
"""Setting of an engine: how many heads of multi-token prediction it counts the agreement of."""


class SingleRequest:
    """One thing that a model is asked.

    Attributes:
        model_kind: kind of the models that answer it.
        work: what a model does for it, in words that follow `cannot`.
    """

    __slots__ = ()
    model_kind: ClassVar[str] = "causal"
    work: ClassVar[str] = "answer such requests"

    @property
    def characters(self) -> int:
        """Characters that the model reads."""
        raise NotImplementedError

    @property
    def most_tokens(self) -> int:
        """Tokens that it generates at most."""
        return 0


@dataclass(frozen=True, slots=True)
class FillMask(SingleRequest):
    """Ask a masked language model for the word that stands at a place in a text.

    Attributes:
        text: the whole text, unmasked; the engine cuts its window from it.
        span: characters `[start, end)` of `text` that are masked.
        word: the answer. It decides the number of masks and is looked up among the candidates.
        masks: "word": one mask for each subword token that `word` has in `text`; "single": one
            mask always.
        keep: characters `[start, end)` that the window must hold too, or None. When no window
            of the model's sequence length holds both, the response is `Skipped`.
        window_chars: None: the longest token window that fits the sequence length. A number:
            this many characters on each side for each 512 tokens of sequence length.
        top: how many candidates the response holds, best first.
        beam: width of the left-to-right search over the masks; 1 is greedy.
        options: when given, these words are scored at the place instead of searching, each with
            as many masks as it has tokens; the candidates are the options, best first.
        likelihood: whether the response holds the log probability of `word` too: forced through
            its own tokens from left to right, in as many masks. Not with one mask for any word.
    """

    text: str
    span: tuple[int, int]
    word: str
    masks: Literal["word", "single"] = "word"
    keep: tuple[int, int] | None = None
    window_chars: int | None = None
    top: int = 5
    beam: int = 10
    options: tuple[str, ...] = ()
    likelihood: bool = False

    model_kind: ClassVar[str] = "masked"
    work: ClassVar[str] = "fill masks"

    @property
    def characters(self) -> int:
        return len(self.text)


def _filled_text(stored: StoredFields) -> str:
    """The first candidates, each with its probability."""
    candidates = list(stored.get("candidates") or ())
    logprobs = list(stored.get("logprobs") or ())
    shown = []
    for index, candidate in enumerate(candidates[:CANDIDATES]):
        likely = f" {percent(math.exp(logprobs[index]))}" if index < len(logprobs) else ""
        shown.append(f"{index + 1}. {candidate}{likely}")
    rank = stored.get("rank")
    if rank is not None and rank > CANDIDATES:
        shown.append(tr("(correct answer: rank {n})", n=rank))
    return "   ".join(shown) or "no candidates"


@answer("filled", text=_filled_text)
@dataclass(frozen=True, slots=True)
class Filled:
    """The answer to a `FillMask`.

    Attributes:
        candidates: the words found, best first, without subword markers. What spells one word in
            several ways is one of them; with one mask for any word each entry is its own.
        logprobs: natural-log probability of each candidate, summed over its masks.
        rank: place of the asked word among the candidates, from 1, compared by spelling, of which
            it is a part whether it continues the word before; None when it is not there.
        masks: how many masks the word was given.
        answer_logprob: natural-log probability of the asked word, of an option with what follows
            it, summed over its masks and rounded (see `rounding`); None when it was not asked for
            or is no finite number.
    """

    candidates: tuple[str, ...]
    logprobs: tuple[float, ...]
    rank: int | None
    masks: int
    answer_logprob: float | None = None

    def within(self, k: int) -> bool:
        """Whether the asked word is among the first k candidates."""
        return self.rank is not None and self.rank <= k


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns that a checkpoint's own chat template makes one text of.

    Attributes:
        turns: role (`system`, `user` or `assistant`) and content of each, in order.
        opens_answer: whether the text ends where the assistant's next turn begins. Otherwise the
            last turn is the beginning of an answer, which is left open.
        template: which of several templates of a tokenizer; empty for its only or default one.
    """

    turns: tuple[tuple[str, str], ...]
    opens_answer: bool = True
    template: str = ""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The turns as chat templates and servers take them."""
        return [{"role": role, "content": content} for role, content in self.turns]


@dataclass(frozen=True, slots=True)
class Generate(SingleRequest):
    """Ask a causal language model to continue a text.

    Attributes:
        prompt: what the model continues; with `chat`, what the user says to it.
        stop: the text ends before the first of these that appears in it.
        max_tokens: tokens generated at most.
        temperature: 0 is greedy.
        top_p: share of the probability that is sampled from, 1.0 for all of it.
        seed: of this answer alone: it does not depend on what it is batched with.
        chat: whether the prompt goes through the tokenizer's chat template.
        cut_prompt: whether the beginning of a prompt that leaves no room for `max_tokens` is cut
            off; otherwise it gets as many tokens as there is room for.
        alone: whether the new tokens are decoded by themselves, which with some tokenizers drops
            a space at their beginning; otherwise they are decoded behind the prompt.
        conversation: what stands before the prompt, as the chat template writes it; not with
            `chat`, which is the conversation of a single turn.
    """

    prompt: str
    stop: tuple[str, ...] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    chat: bool = False
    cut_prompt: bool = False
    alone: bool = False
    conversation: Conversation | None = None

    work: ClassVar[str] = "generate text"

    @property
    def chats(self) -> bool:
        """Whether it goes through a chat template."""
        return self.chat or self.conversation is not None

    @property
    def characters(self) -> int:
        return len(self.prompt) + _characters(self.conversation)

    @property
    def most_tokens(self) -> int:
        return self.max_tokens


@answer(
    "generated", text=lambda stored: str(stored.get("text", "")), rare=("null", "agreed", "passes")
)
@dataclass(frozen=True, slots=True)
class Generated:
    """The answer to a `Generate`.

    Attributes:
        text: without the prompt, special tokens and the stop string.
        tokens: how many were generated.
        finish: `stop` at a stop string, `eos` by the model's own end, `length` at `max_tokens`.
        null: whether a server gave `null` instead of a text; the text is empty then.
        agreed: of a model with multi-token prediction, for each head behind the first: at how
            many places of the text its first choice is that of the first head there; see
            `scores.multi_token`. Empty where that was not counted.
        passes: forward passes that self-speculative greedy decoding takes for these tokens.
    """

    text: str
    tokens: int
    finish: Literal["stop", "eos", "length"]
    null: bool = False
    agreed: tuple[int, ...] = ()
    passes: int = 0


@dataclass(frozen=True, slots=True)
class LogLikelihood(SingleRequest):
    """Ask a causal language model how likely a continuation is.

    Attributes:
        context: what stands before; it may be empty.
        continuation: what is scored. Both are tokenized together and split after the context.
        conversation: what stands before the context, as the chat template writes it.
    """

    context: str
    continuation: str
    conversation: Conversation | None = None

    work: ClassVar[str] = "score continuations"

    @property
    def characters(self) -> int:
        return len(self.context) + len(self.continuation) + _characters(self.conversation)


@dataclass(frozen=True, slots=True)
class LogLikelihoodRolling(SingleRequest):
    """Ask a causal language model how likely a whole text is, however long.

    Attributes:
        text: what is scored, from its first token on. A text longer than the model reads is cut
            into windows in which each token is scored once, with as much before it as fits.
    """

    text: str

    work: ClassVar[str] = "score texts"

    @property
    def characters(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class CompoundRequest:
    """Ask several things of one sample, such as how likely each of its choices is.

    Attributes:
        parts: what is asked; all of it is answered, or the sample has no answer.
    """

    parts: tuple[SingleRequest, ...]


def _likelihood_text(stored: StoredFields) -> str:
    sure = "its first choice" if stored.get("greedy") else "not its first choice"
    return f"log-probability {stored.get('logprob')} ({sure})"


@answer("likelihood", text=_likelihood_text)
@dataclass(frozen=True, slots=True)
class Likelihood:
    """The answer to a `LogLikelihood` or a `LogLikelihoodRolling`.

    Attributes:
        logprob: natural-log probability of the continuation, summed over its tokens.
        greedy: whether each of its tokens is the model's first choice; always False for a
            rolling one, where it is not looked at.
        tokens: how many tokens it has.
    """

    logprob: float
    greedy: bool
    tokens: int

    @property
    def answer_logprob(self) -> float | None:
        """`logprob` as metrics of single answers take it, rounded; None when it is not finite."""
        return rounded(self.logprob, self.tokens)

    def within(self, k: int) -> bool:
        """Whether the continuation is the model's first choice; further places are not known.

        Raises:
            ValueError: k is not 1.
        """
        if k != 1:
            raise ValueError(f"a likelihood tells of the first choice only, not of the first {k}")
        return self.greedy


@answer("skipped")
@dataclass(frozen=True, slots=True)
class Skipped:
    """The sample cannot be asked by the protocol's own rule; it is counted apart.

    Attributes:
        reason: a short name such as `first_mention_out_of_window`.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """No valid answer was obtained. Never a miss: it makes the run incomplete.

    Attributes:
        reason: one line a person can act on.
        detail: the traceback or the server's words, for the log.
    """

    reason: str
    detail: str = ""


def _compound_text(stored: StoredFields) -> str:
    parts = enumerate(stored.get("parts") or (), 1)
    return "\n".join(f"{number}: {answer_text(part)}" for number, part in parts)


@answer("several", text=_compound_text)
@dataclass(frozen=True, slots=True)
class CompoundResponse:
    """The answers to a `CompoundRequest`, in the order of its parts."""

    parts: tuple[SingleAnswer, ...]


def parts_of(request: Request) -> tuple[SingleRequest, ...]:
    """The parts of a compound request; another one is its own only part."""
    return request.parts if isinstance(request, CompoundRequest) else (request,)


def _characters(conversation: Conversation | None) -> int:
    return sum(len(content) for _, content in conversation.turns) if conversation else 0


SingleAnswer = Filled | Generated | Likelihood

Request = SingleRequest | CompoundRequest
"""What an engine is asked."""
Answer = SingleAnswer | CompoundResponse | Skipped
"""What is stored of a request that was answered."""
Response = Answer | Failed
"""What an engine gives for a request: an answer, or why there is none."""
