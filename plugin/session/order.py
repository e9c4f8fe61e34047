"""The running order of a session's items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from ..checkpoints.found import CheckpointParam
from ..config.eval_config import NO_PRIORITY
from .blocks import longest_first
from .item import SampleItem


def running_order(
    items: Sequence[pytest.Item], *, chosen: bool, several_checkpoints: bool, priorities: bool
) -> list[pytest.Item]:
    """Items by checkpoint, then by priority, the longest of a group first.

    Args:
        chosen: whether an option asks for an order, such as `--failed-first`: it is kept within a
            checkpoint. So is one that a plugin has shuffled, within a priority.
        several_checkpoints: whether the session has more than one.
        priorities: whether a configuration file may set some.
    """
    order = list(items)
    if several_checkpoints:
        order.sort(key=_checkpoint_index)
    if chosen:
        return order
    if _in_collected_order(order):
        groups = [i.group.index if isinstance(i, SampleItem) else None for i in order]
        lengths = [_length(i) if isinstance(i, SampleItem) else 0 for i in order]
        order = [order[index] for index in longest_first(lengths, groups)]
    if priorities:
        order.sort(key=lambda item: (_checkpoint_index(item), _priority(item)))
    return order


def _checkpoint_index(item: pytest.Item) -> int:
    """Ordinary tests of a checkpoint have its index too, so that it is loaded once."""
    if isinstance(item, SampleItem):
        given = item.group.checkpoint
    else:
        callspec = getattr(item, "callspec", None)
        given = callspec.params.get("checkpoint") if callspec is not None else None
    return given.index if isinstance(given, CheckpointParam) else -1


def _priority(item: pytest.Item) -> int:
    """Small numbers run first; ordinary tests have none."""
    return item.group.asked.priority if isinstance(item, SampleItem) else NO_PRIORITY


def _in_collected_order(items: Sequence[pytest.Item]) -> bool:
    order = [(item.group.index, item.order) for item in items if isinstance(item, SampleItem)]
    return all(a <= b for a, b in pairwise(order))


def _length(item: SampleItem) -> int:
    text = item.sample.fields.get("text")
    return len(text) if isinstance(text, str) else 0
