"""Stored answers: the key of everything that decides one, and its JSON text."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..api.answer_kinds import KIND_OF, KINDS
from ..api.requests import Answer, Request


def _stored(answer: Any) -> dict[str, Any]:
    """An answer as the encoder takes it; the answers in it are left to the encoder."""
    kind = KIND_OF[type(answer)]
    fields: dict[str, Any] = {"kind": kind.name}
    for name in answer.__slots__:
        value = getattr(answer, name)
        if name not in kind.rare or value:
            fields[name] = value
    return fields


# `json.dumps` would make an encoder for each call, which costs as much as the encoding.
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_stored)


def escaped(text: str) -> str:
    """A text with every half of a surrogate pair, which UTF-8 has not, as its escape.

    A path that is not UTF-8 has such halves. In JSON the escape reads back as what it was.
    """
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


class NoLongerAnAnswer(ValueError):
    """A stored response is of a kind that was an answer once, and is asked again now."""


class Key(NamedTuple):
    """Everything that decides an answer.

    Attributes:
        digest: of all of it, 96 bits as 16 characters; see `keys_of`. A quarter of a store of short
            answers is digests.
    """

    digest: str
    fingerprint: str
    protocol: str
    sample: str
    trial: int
    seed: int


def keys_of(
    fingerprint: str,
    settings: Mapping[str, Any],
    protocol: str,
    seed: int,
    revision: int = 1,
    engine: int = 1,
) -> Callable[[str, int, Request], Key]:
    """A function from a sample's hash, a trial and the request to their key.

    Args:
        fingerprint: of the checkpoint.
        settings: of the engine: what else decides an answer.
        protocol: its name.
        seed: of the session.
        revision: of the protocol; the first one leaves no mark in a key.
        engine: revision of the code that answers; neither does its first one.
    """
    revised = protocol if revision == 1 else f"{protocol}@{revision}"
    revised += "" if engine == 1 else f"|engine@{engine}"
    shared = hashlib.sha256(
        f"{fingerprint}|{sorted(settings.items())!r}|{revised}|{seed}|".encode()
    )

    def key(sample: str, trial: int, request: Request) -> Key:
        digest = shared.copy()
        digest.update(f"{sample}|{trial}|{request!r}".encode())
        short = urlsafe_b64encode(digest.digest()[:12]).decode()
        return Key(short, fingerprint, protocol, sample, trial, seed)

    return key


def encode(response: Answer) -> str:
    """A response as JSON; failures are not kept, so that they are asked again.

    Raises:
        ValueError: it holds what cannot be stored; see `session.compound.accepted`.
        KeyError: it is no answer.
    """
    text = ENCODER.encode(_stored(response))
    if not text.isascii():
        text.encode()  # half of a surrogate pair would be refused by the store, with its neighbours
    return text


def decode(text: str) -> Answer:
    """The response that `encode` wrote.

    Raises:
        NoLongerAnAnswer: an earlier version wrote it, with a log probability that is not finite.
    """
    answer: Answer = json.loads(text, object_hook=_decoded)
    return answer


def _decoded(fields: dict[str, Any]) -> Any:
    """A JSON object of a stored answer, whose own answers have been decoded."""
    kind = KINDS[fields.pop("kind")]
    if fields.get("logprob", 0.0) is None or None in fields.get("logprobs", ()):
        raise NoLongerAnAnswer("a log probability that is not finite")
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in fields.items()}
    return kind.type(**values)
