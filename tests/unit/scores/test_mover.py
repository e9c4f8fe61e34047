"""The interval of a weighted sum, from the intervals of its parts."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ckptbench.scores.intervals import partition
from ckptbench.scores.mover import block_diagonal, correlations_of_means, mover


def test_independent_parts_add_in_squares_on_each_side() -> None:
    low, high = mover([0.5, 0.2], [(0.4, 0.7), (0.1, 0.4)], [1.0, 1.0])
    assert low == pytest.approx(0.7 - sqrt(0.1**2 + 0.1**2))
    assert high == pytest.approx(0.7 + sqrt(0.2**2 + 0.2**2))


def test_a_difference_takes_the_other_side_of_what_it_subtracts() -> None:
    """Newcombe 1998, method 10: `d - sqrt((p1 - l1)^2 + (u2 - p2)^2)`."""
    low, high = mover([0.5, 0.2], [(0.4, 0.7), (0.1, 0.4)], [1.0, -1.0])
    assert low == pytest.approx(0.3 - sqrt(0.1**2 + 0.2**2))
    assert high == pytest.approx(0.3 + sqrt(0.2**2 + 0.1**2))


def test_newcombes_own_example() -> None:
    """56/70 against 48/80 from Wilson's intervals: 0.0524 to 0.3339 (Newcombe 1998, table II)."""
    wilson = [(0.691835, 0.876904), (0.490466, 0.700292)]
    low, high = mover([56 / 70, 48 / 80], wilson, [1.0, -1.0])
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=2e-4)


def test_parts_that_move_together_add_plainly() -> None:
    together = np.ones((2, 2))
    assert mover([0.5, 0.5], [(0.3, 0.6), (0.4, 0.9)], [0.5, 0.5], together) == pytest.approx(
        (0.5 - 0.15, 0.5 + 0.25)
    )


def test_of_one_part_it_is_that_parts_interval() -> None:
    assert mover([0.5], [(0.3, 0.6)], [1.0]) == pytest.approx((0.3, 0.6))


def test_parts_that_cancel_keep_a_width() -> None:
    opposite = np.array([[1.0, -1.0], [-1.0, 1.0]])
    low, high = mover([0.5, 0.5], [(0.4, 0.6), (0.4, 0.6)], [0.5, 0.5], opposite)
    assert high - low == pytest.approx(2 * 0.1 * sqrt(0.5))


def test_correlations_are_those_of_the_clusters_sums() -> None:
    """Within clusters the columns are opposite, between them they agree."""
    groups = partition(["a", "a", "b", "b", "c", "c"])
    first = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    second = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    found = correlations_of_means(np.stack([first, second], axis=1), groups)
    assert found == pytest.approx(np.ones((2, 2)))
    alone = partition(list("abcdef"))
    assert correlations_of_means(np.stack([first, second], axis=1), alone)[0, 1] == pytest.approx(
        np.corrcoef(first, second)[0, 1]
    )


def test_what_does_not_vary_counts_as_moving_with_the_rest() -> None:
    values = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    assert correlations_of_means(values, partition(list("abc"))).tolist() == [[1, 1], [1, 1]]


def test_tables_are_independent() -> None:
    whole = block_diagonal([np.ones((2, 2)), np.ones((1, 1))])
    assert whole.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
