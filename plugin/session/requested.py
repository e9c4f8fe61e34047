"""What the items of a group ask of an engine, and the keys of the answers in the store."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ..api.requests import Failed, Request
from ..results.answers import Key, keys_of
from .blocks import Question
from .compound import fault_of
from .group import Group


@dataclass(frozen=True, slots=True)
class Described:
    """What an engine said of itself, as far as it decides its answers."""

    fingerprint: str
    settings: Mapping[str, Any]
    revision: int


class Asked(NamedTuple):
    """An item's request, and the key of its answer."""

    item: Question
    request: Request
    key: Key


def requests_of(
    items: Sequence[Question], group: Group, engine: Described
) -> Iterator[Asked | tuple[Question, Failed]]:
    """What each item asks, or why it cannot."""
    protocol, context = group.protocol, cache(group.context)
    revisions = protocol.revision, engine.revision
    key_of = keys_of(engine.fingerprint, engine.settings, protocol.name, group.seed, *revisions)
    for item in items:
        try:
            request = protocol.ask(item.sample, context(item.trial))
            if fault := fault_of(request):
                raise ValueError(f"its request holds {fault}")
            key = key_of(item.sample.hash, item.trial, request)
        except Exception as error:
            reason = f"the sample could not be asked: {type(error).__name__}: {error}"
            yield item, Failed(reason, traceback.format_exc())
        else:
            yield Asked(item, request, key)
