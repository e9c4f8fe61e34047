"""The contract of everything that answers requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from .requests import Request, Response


class Engine(Protocol):
    """Answers requests with one checkpoint. The value of the `engine` fixture.

    `answer` is called from one background thread, one call at a time.

    Attributes:
        fingerprint: content hash of weights, config and tokenizer. Answers are stored under it,
            so two checkpoints must never share one.
        settings: what else decides an answer (sequence length, dtype), JSON scalars by name.
            They travel with every score and are part of the key an answer is stored under.
        notes: what a reader of the scores must know of the model; may be left out.
        facts: what the checkpoint states of its training, JSON scalars by name, such as `epoch`
            and `val_loss`; may be left out.
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
