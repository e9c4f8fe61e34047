"""Kinds of answers: under which name each is stored, and what a person reads of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .._util.jsonio import JSON

StoredFields = Mapping[str, JSON]
"""An answer as JSON: its fields, and the name of its kind as `kind`."""
Kind = TypeVar("Kind", bound=type[Any])


def as_json_text(stored: StoredFields) -> str:
    """An answer that has no text of its own, as one line of JSON."""
    return json.dumps(stored, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class AnswerKind:
    """A kind of answers.

    Attributes:
        name: what it is stored under.
        type: its class, a frozen dataclass with slots, whose fields are JSON values, tuples of
            them, or tuples of answers.
        text: what a person reads of a stored one.
        rare: fields that are stored only where they are true.
    """

    name: str
    type: type[Any]
    text: Callable[[StoredFields], str]
    rare: frozenset[str]


KINDS: dict[str, AnswerKind] = {}
"""By the name that they are stored under."""
KIND_OF: dict[type[Any], AnswerKind] = {}
"""By class."""


def answer(
    name: str, *, text: Callable[[StoredFields], str] = as_json_text, rare: tuple[str, ...] = ()
) -> Callable[[Kind], Kind]:
    """Decorate the class of an answer; see `AnswerKind`."""

    def register(kind: Kind) -> Kind:
        KINDS[name] = KIND_OF[kind] = AnswerKind(name, kind, text, frozenset(rare))
        return kind

    return register


def answer_text(stored: StoredFields) -> str:
    """What a person reads of a stored answer; one of an unknown kind is shown as JSON."""
    kind = KINDS.get(str(stored.get("kind")))
    return (kind.text if kind else as_json_text)(stored)
