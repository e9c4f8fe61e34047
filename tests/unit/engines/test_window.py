import itertools

import pytest

from ckptbench.fixtures.engines.masked.requests import choose_window


def test_a_text_that_fits_is_kept_whole() -> None:
    assert choose_window(left=3, masks=2, right=5, capacity=10) == (0, 5)


def test_the_masks_stand_in_the_middle_of_a_longer_text() -> None:
    assert choose_window(left=50, masks=2, right=50, capacity=10) == (46, 4)


def test_with_an_odd_number_of_tokens_to_share_one_more_stands_before_the_masks() -> None:
    assert choose_window(left=50, masks=1, right=50, capacity=10) == (45, 4)


def test_at_an_end_of_the_text_the_window_stays_full() -> None:
    assert choose_window(left=1, masks=1, right=50, capacity=10) == (0, 8)
    assert choose_window(left=50, masks=1, right=0, capacity=10) == (41, 0)


def test_the_window_moves_as_little_as_it_must_to_hold_what_is_kept() -> None:
    assert choose_window(50, 1, 50, capacity=10, keep=(43, 44)) == (43, 2)
    assert choose_window(50, 1, 50, capacity=10, keep=(53, 55)) == (45, 4)
    assert choose_window(50, 1, 50, capacity=10, keep=(56, 58)) == (48, 7)


def test_no_window_holds_a_first_mention_too_far_away() -> None:
    assert choose_window(50, 1, 50, capacity=10, keep=(41, 42)) == (41, 0)
    assert choose_window(50, 1, 50, capacity=10, keep=(40, 41)) == "first_mention_out_of_window"


def test_masks_that_do_not_fit_are_over_length() -> None:
    assert choose_window(0, 11, 0, capacity=10) == "over_length"
    assert choose_window(5, 10, 5, capacity=10) == (5, 0)


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 8])
def test_it_is_always_the_longest_window_that_holds_everything(capacity: int) -> None:
    for left, masks, right in itertools.product(range(6), range(1, 4), range(6)):
        total = left + masks + right
        for keep in [None, *((at, at + 1) for at in range(total))]:
            must = {*range(left, left + masks)} | ({*range(*keep)} if keep else set())
            length = min(capacity, total)
            possible = [s for s in range(total - length + 1) if must <= {*range(s, s + length)}]
            chosen = choose_window(left, masks, right, capacity, keep)
            assert isinstance(chosen, tuple) == bool(possible)
            if isinstance(chosen, tuple):
                left_from, right_to = chosen
                assert left_from in possible
                assert left - left_from + masks + right_to == length
