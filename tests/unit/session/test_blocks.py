"""Items are cut into blocks the same way by whoever knows their order and groups."""

from __future__ import annotations

import random

import pytest

from ckptbench.session.blocks import BLOCK_SIZE, cut, home_of, longest_first


def blocks(groups: list[str | None], size: int) -> list[list[int]]:
    return [list(block) for block in cut(groups, size=size).blocks]


def test_a_block_holds_at_most_its_size_in_order() -> None:
    assert blocks(["a"] * 5, 2) == [[0, 1], [2, 3], [4]]


def test_a_block_holds_one_group_whatever_stands_between() -> None:
    assert blocks(["a", "b", "a", "b", "a"], 2) == [[0, 2], [1, 3], [4]]


def test_items_that_ask_no_model_are_in_no_block() -> None:
    plan = cut([None, "a", None, "a"])
    assert [list(block) for block in plan.blocks] == [[1, 3]]
    assert list(plan.block_of) == [-1, 0, -1, 0]


def test_no_items_no_blocks() -> None:
    assert cut([]).blocks == ()


@pytest.mark.parametrize("seed", range(5))
def test_every_item_is_in_exactly_one_block_of_its_group(seed: int) -> None:
    draw = random.Random(seed)
    groups = [draw.choice(["a", "b", None]) for _ in range(300)]
    plan = cut(groups, size=7)
    seen = [position for block in plan.blocks for position in block]
    assert sorted(seen) == [i for i, group in enumerate(groups) if group is not None]
    for number, block in enumerate(plan.blocks):
        assert list(block) == sorted(block)
        assert len({groups[position] for position in block}) == 1
        assert {plan.block_of[position] for position in block} == {number}
    for group in ("a", "b"):
        sizes = [len(block) for block in plan.blocks if groups[block[0]] == group]
        assert all(size == 7 for size in sizes[:-1])


def test_interleaving_groups_changes_no_groups_own_blocks() -> None:
    def texts(order: list[tuple[str, int]]) -> set[tuple[tuple[str, int], ...]]:
        plan = cut([group for group, _ in order], size=3)
        return {tuple(order[position] for position in block) for block in plan.blocks}

    a, b = [("a", i) for i in range(8)], [("b", i) for i in range(5)]
    merged = sorted(a + b, key=lambda item: item[1])
    assert texts(a + b) == texts(b + a) == texts(merged)


def test_blocks_start_in_the_order_in_which_they_are_needed() -> None:
    draw = random.Random(3)
    plan = cut([draw.choice("abc") for _ in range(100)], size=4)
    first = [block[0] for block in plan.blocks]
    assert first == sorted(first)


@pytest.mark.parametrize(
    ("items", "workers", "sizes"),
    [
        (40, 2, {5}),
        (41, 2, {5, 6}),
        (1, 8, {1}),
        (3, 2, {1}),
        (40_000, 2, {BLOCK_SIZE, 904}),
    ],
)
def test_every_worker_gets_about_four_blocks_none_too_large(
    items: int, workers: int, sizes: set[int]
) -> None:
    assert {len(block) for block in cut(["a"] * items, n_workers=workers).blocks} == sizes


def test_a_large_and_a_small_group_are_cut_each_for_itself() -> None:
    plan = cut(["a"] * 70 + ["b"] * 10, n_workers=2)
    assert [len(block) for block in plan.blocks] == [10] * 8


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_blocks_of_texts_of_any_length_take_about_as_long(workers: int) -> None:
    draw = random.Random(1)
    drawn = (min(7000, round(draw.lognormvariate(7, 0.8))) for _ in range(6400))
    lengths = sorted(drawn, reverse=True)
    blocks = cut(["a"] * 6400, lengths, workers, size=6400).blocks
    costs = [sum(lengths[position] for position in block) for block in blocks]
    assert len(blocks) == 4 * workers
    assert max(costs) < 2 * min(costs)
    assert len(blocks[0]) < len(blocks[-1]) / 4


def test_blocks_go_round_the_workers() -> None:
    assert [home_of(number, 3) for number in range(5)] == [0, 1, 2, 0, 1]
    assert home_of(5, 0) == 0


def test_a_stretch_of_a_group_runs_longest_first_and_equals_in_order() -> None:
    assert longest_first([1, 5, 3, 5], ["a"] * 4) == [1, 3, 2, 0]


def test_other_tests_and_other_groups_keep_their_places() -> None:
    groups = ["a", "a", None, None, "b", "b", "a", "a"]
    assert longest_first([1, 2, 9, 8, 1, 2, 3, 4], groups) == [1, 0, 2, 3, 5, 4, 7, 6]
