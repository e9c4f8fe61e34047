import random

import pytest

from ckptbench.fixtures.engines.batching import Budget, batch_end, longest_first

WIDE = Budget(tokens=10**9, squares=10**12)


def cut(lengths: list[int], budget: Budget) -> list[list[int]]:
    """The batches of rows of these lengths."""
    rows = sorted(lengths, reverse=True)
    made, start = [], 0
    while start < len(rows):
        end = batch_end(rows, start, budget)
        made.append(rows[start:end])
        start = end
    return made


def test_the_longest_rows_come_first_and_equal_ones_stay_in_order() -> None:
    assert longest_first([3, 9, 3, 12]) == [3, 1, 0, 2]


def test_a_batch_costs_its_rows_times_its_longest_row() -> None:
    assert cut([5, 10, 10, 5, 5], Budget(20, 10**9)) == [[10, 10], [5, 5, 5]]


def test_a_row_over_the_budget_is_a_batch_of_its_own() -> None:
    assert cut([30, 4, 4], Budget(8, 10**9)) == [[30], [4, 4]]


def test_long_rows_are_bound_by_the_square_of_their_length() -> None:
    assert cut([100, 100, 100, 10, 10], Budget(10**6, 20_000)) == [[100, 100], [100, 10], [10]]


def test_rows_of_one_length_only_where_padding_changes_the_answer() -> None:
    assert cut([7, 7, 6, 5, 5], Budget(10**6, 10**9, equal_lengths=True)) == [[7, 7], [6], [5, 5]]


@pytest.mark.parametrize("seed", range(20))
def test_every_row_is_in_one_batch_and_no_batch_can_take_the_next_row(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [chance.randint(1, 400) for _ in range(chance.randint(1, 60))]
    budget = Budget(chance.randint(1, 3000), chance.randint(1, 400_000))
    made = cut(lengths, budget)
    assert [length for batch in made for length in batch] == sorted(lengths, reverse=True)
    for batch in made:
        assert len(batch) == 1 or budget.holds(len(batch), batch[0])
    for batch in made[:-1]:
        assert not budget.holds(len(batch) + 1, batch[0])


@pytest.mark.parametrize(("rows", "left"), [(8, 4), (7, 3), (2, 1), (1, 1)])
def test_after_a_batch_that_did_not_fit_half_of_it_is_tried(rows: int, left: int) -> None:
    assert len(cut([50] * rows, WIDE.halved(rows, 50))[0]) == left
