"""Cuts items into blocks: what one `answer` call gets, and what one worker gets.

A plan depends only on the order of the items and their groups, so every worker of a session and
the scheduler make the same one.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from ..api.sample import Sample
from .group import Group

BLOCK_SIZE = 2048


class Question(Protocol):
    """What answering needs of an item; `position` is its index in the session's running order."""

    position: int
    sample: Sample
    trial: int
    group: Group


@dataclass(frozen=True, slots=True)
class Plan:
    """Blocks in the order in which their first items run.

    Attributes:
        blocks: positions of items, ascending; items of one block share a group.
        block_of: the block of each position; -1 for an item that asks no model.
    """

    blocks: tuple[array[int], ...]
    block_of: array[int]


def cut(groups: Iterable[Hashable | None], size: int = BLOCK_SIZE) -> Plan:
    """Cut items into blocks of one group and at most `size` items.

    Items keep their order, whatever it is: a block is the next `size` items of a group, even if
    items of other groups are between them.

    Args:
        groups: the group of each item in running order; None for an item that asks no model.
    """
    blocks: list[array[int]] = []
    block_of = array("q")
    open_blocks: dict[Hashable, int] = {}
    for position, group in enumerate(groups):
        if group is None:
            block_of.append(-1)
            continue
        block = open_blocks.get(group)
        if block is None or len(blocks[block]) >= size:
            block = open_blocks[group] = len(blocks)
            blocks.append(array("q"))
        blocks[block].append(position)
        block_of.append(block)
    return Plan(tuple(blocks), block_of)


def fair_size(n_items: int, n_workers: int, size: int = BLOCK_SIZE) -> int:
    """A block size that gives every worker several blocks, so that none waits for a straggler."""
    return max(1, min(size, -(-n_items // max(1, 4 * n_workers))))


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
