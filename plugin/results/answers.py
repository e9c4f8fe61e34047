"""Stored answers: the key of everything that decides one, and its JSON text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..api.requests import Answer, CompoundResponse, Filled, Generated, Likelihood, Request, Skipped

# `json.dumps` would make an encoder for each call, which costs as much as the encoding.
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


_KINDS: dict[str, type[Any]] = {
    "filled": Filled,
    "generated": Generated,
    "likelihood": Likelihood,
    "several": CompoundResponse,
    "skipped": Skipped,
}


_NAMES = {kind: name for name, kind in _KINDS.items()}


class NoLongerAnAnswer(ValueError):
    """A stored response is of a kind that was an answer once, and is asked again now."""


@dataclass(frozen=True, slots=True)
class Key:
    """Everything that decides an answer.

    Attributes:
        digest: 32 hexadecimal digits over all of it; see `Asker`.
    """

    digest: str
    fingerprint: str
    protocol: str
    sample: str
    trial: int
    seed: int

    def row(self) -> tuple[str, str, str, str, int, int]:
        return (
            self.digest,
            self.fingerprint,
            self.protocol,
            self.sample,
            self.trial,
            self.seed,
        )


@dataclass(frozen=True, slots=True)
class Asker:
    """Makes keys for one checkpoint under one protocol.

    Attributes:
        fingerprint: of the checkpoint.
        settings: of the engine: what else decides an answer.
        protocol: its name.
        seed: of the session.
        revision: of the protocol; the first one leaves no mark in a key.
    """

    fingerprint: str
    settings: Mapping[str, Any]
    protocol: str
    seed: int
    revision: int = 1

    def keys(self) -> Callable[[str, int, Request], Key]:
        """A function from a sample's hash, a trial and the request to their key."""
        protocol = self.protocol if self.revision == 1 else f"{self.protocol}@{self.revision}"
        shared = hashlib.sha256(
            f"{self.fingerprint}|{sorted(self.settings.items())!r}|{protocol}|{self.seed}|".encode()
        )

        def key(sample: str, trial: int, request: Request) -> Key:
            digest = shared.copy()
            digest.update(f"{sample}|{trial}|{request!r}".encode("utf-8", "surrogatepass"))
            return Key(
                digest.hexdigest()[:32], self.fingerprint, self.protocol, sample, trial, self.seed
            )

        return key


def encode(response: Answer) -> str:
    """A response as JSON; failures are not kept, so that they are asked again.

    Raises:
        ValueError: a number in it is not finite; see `accepting`.
    """
    if isinstance(response, CompoundResponse):
        return f'{{"kind": "several", "parts": [{", ".join(map(encode, response.parts))}]}}'
    fields = {name: getattr(response, name) for name in response.__slots__}
    if isinstance(response, Generated) and not response.null:
        del fields["null"]  # it is rare, and was not there in the first stores
    return ENCODER.encode({"kind": _NAMES[type(response)], **fields})


def decode(text: str) -> Answer:
    """The response that `encode` wrote.

    Raises:
        NoLongerAnAnswer: an earlier version wrote it, with a log probability that is not finite.
    """
    return _decoded(json.loads(text))


def _decoded(fields: dict[str, Any]) -> Answer:
    kind: Any = _KINDS[fields.pop("kind")]
    if kind is CompoundResponse:
        return CompoundResponse(tuple(_decoded(part) for part in fields["parts"]))  # type: ignore[misc]
    if fields.get("logprob", 0.0) is None or None in fields.get("logprobs", ()):
        raise NoLongerAnAnswer("a log probability that is not finite")
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in fields.items()}
    response: Answer = kind(**values)
    return response
