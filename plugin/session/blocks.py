"""Cuts items into blocks: what one `answer` call gets, and what one worker gets.

A plan depends only on the order of the items, their groups and texts, so every worker of a session
makes the same one. The scheduler reads it from the run store.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Any, Protocol

from ..api.sample import Sample
from .group import Group

BLOCK_SIZE = 2048
CLUSTER_BLOCKS = 16  # so many at once keep the replicas of a cluster busy to their end
_BLOCKS_OF_A_WORKER = 4


class Question(Protocol):
    """What answering needs of an item.

    Attributes:
        position: its index in the session's running order.
        stage: how many looks at the run come before it.
    """

    position: int
    sample: Sample
    trial: int
    group: Group
    stage: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Blocks in the order in which their first items run.

    Attributes:
        blocks: positions of items, ascending; items of one block share a group.
        block_of: the block of each position; -1 for an item that asks no model.
    """

    blocks: tuple[array[int], ...]
    block_of: array[int]


def cut(
    groups: Sequence[Hashable | None],
    lengths: Sequence[int] | None = None,
    n_workers: int = 0,
    size: int = BLOCK_SIZE,
) -> Plan:
    """Cut items into blocks of one group and at most `size` items.

    With workers each gets several blocks, so that none waits for a straggler, and the blocks of a
    group take about as long: where long texts come first, the first blocks have fewer items.

    Items keep their order, whatever it is: a block is the next items of a group, even if items of
    other groups are between them.

    Args:
        groups: the group of each item in running order; None for an item that asks no model.
        lengths: characters of each item's text, 0 where that is not known.
        n_workers: 0 without pytest-xdist.
    """
    works = [_work(length) for length in lengths] if lengths is not None else [1.0] * len(groups)
    totals: dict[Hashable, float] = defaultdict(float)
    for group, work in zip(groups, works, strict=True):
        if group is not None:
            totals[group] += work
    share = sum(totals.values()) / (_BLOCKS_OF_A_WORKER * n_workers) if n_workers else float("inf")
    parts = {group: ceil(round(total / share, 6)) or 1 for group, total in totals.items()}
    blocks: list[array[int]] = []
    block_of = array("q")
    open_blocks: dict[Hashable, tuple[int, int]] = {}
    done: dict[Hashable, float] = defaultdict(float)
    for position, group in enumerate(groups):
        if group is None:
            block_of.append(-1)
            continue
        # The part in which the middle of the item's work lies.
        middle = done[group] + works[position] / 2
        part = int(middle / totals[group] * parts[group])
        done[group] += works[position]
        block, its_part = open_blocks.get(group, (-1, -1))
        if part != its_part or len(blocks[block]) >= size:
            block = len(blocks)
            open_blocks[group] = block, part
            blocks.append(array("q"))
        blocks[block].append(position)
        block_of.append(block)
    return Plan(tuple(blocks), block_of)


def is_last(plan: Plan, question: Question, items: Sequence[Any]) -> bool:
    """Whether no block after that of a question asks the same checkpoint.

    Args:
        items: the session's, of which the plan has positions.
    """
    later = plan.blocks[plan.block_of[question.position] + 1 :]
    return all(items[b[0]].group.checkpoint != question.group.checkpoint for b in later)


def _work(length: int) -> float:
    """How long a text takes, in characters of a short one: attention grows with the square."""
    return 50 + length * (1 + length / 7000)


def home_of(number: int, n_workers: int) -> int:
    """The worker that a block is meant for."""
    return number % max(1, n_workers)


def step_of(worker: int, n_workers: int, number: int) -> int:
    """How many blocks ahead the next one of a worker is; 0 for another worker's block.

    Args:
        n_workers: 0 without pytest-xdist.
        number: the block that the worker is at.
    """
    if not n_workers:
        return 1
    return n_workers if home_of(number, n_workers) == home_of(worker, n_workers) else 0


def longest_first(lengths: Sequence[int], groups: Sequence[Hashable | None]) -> list[int]:
    """An order of positions in which each unbroken stretch of a group runs longest first."""
    order: list[int] = []
    for group, positions in groupby(range(len(groups)), key=groups.__getitem__):
        stretch = list(positions)
        order += stretch if group is None else sorted(stretch, key=lambda i: -lengths[i])
    return order
