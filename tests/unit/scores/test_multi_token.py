"""Agreement of the heads of multi-token prediction, and the accepted length, over texts."""

from __future__ import annotations

import numpy as np
import pytest

from ckptbench.scores.intervals import (
    cluster_standard_error,
    interval_of_mean,
    partition,
)
from ckptbench.scores.multi_token import HeadCounts, multi_token_scores

# Three heads; trials of problems a, b and c; b and c share a cluster.
TEXTS = [
    HeadCounts("a", "a", 10, (6, 1), 5),
    HeadCounts("a", "a", 4, (3, 2), 2),
    HeadCounts("b", "bc", 30, (20, 14), 15),
    HeadCounts("c", "bc", 1, (0, 0), 1),
]


def test_places_of_all_texts_are_pooled() -> None:
    second, third, length = multi_token_scores(TEXTS, 3)
    assert [s.metric for s in (second, third, length)] == [
        "mtp_agreement@2",
        "mtp_agreement@3",
        "mtp_accepted_length",
    ]
    assert second.value == pytest.approx((6 + 3 + 20) / (9 + 3 + 29))
    assert third.value == pytest.approx((1 + 2 + 14) / (8 + 2 + 28))
    assert length.value == pytest.approx((10 + 4 + 30 + 1) / (5 + 2 + 15 + 1))
    assert (second.unit, length.unit) == ("share", "")
    assert not any(score.gated for score in (second, third, length))
    # The text of one token has no place that a further head predicts, but takes a pass.
    assert [(s.n, s.clusters) for s in (second, third, length)] == [(2, 2), (2, 2), (3, 2)]


def test_the_order_of_texts_does_not_matter() -> None:
    texts = [HeadCounts(str(n), str(n % 7), 9 + n % 5, (n % 3, n % 2, 1), 3 + n) for n in range(50)]
    assert multi_token_scores(texts, 4) == multi_token_scores(texts[::-1], 4)


def test_errors_and_intervals_are_those_of_places_in_clusters() -> None:
    """As if each place were a sample of 0 or 1, in the cluster of its text."""
    second, _, length = multi_token_scores(TEXTS, 3)
    places = np.array([1.0] * 9 + [0.0] * 3 + [1.0] * 20 + [0.0] * 9)
    groups = partition(["a"] * 12 + ["bc"] * 29)
    assert second.standard_error == pytest.approx(cluster_standard_error(places, groups))
    wanted = interval_of_mean(places, groups, "share")
    assert second.interval == pytest.approx(wanted.interval)
    assert second.method == wanted.method
    # Of passes: how many of the two tokens that each could gain it gained; 14 of 14, 30 of 32.
    gained = np.array([0.5] * 7 + [15 / 16 / 2] * 16)
    passes = partition(["a"] * 7 + ["bc"] * 16)
    error = cluster_standard_error(gained, passes)
    assert error is not None
    assert length.standard_error == pytest.approx(2 * error)
    within = interval_of_mean(gained, passes, "bounded").interval
    assert within is not None
    assert length.interval == pytest.approx(tuple(1 + 2 * end for end in within))


def test_heads_that_are_always_right_have_an_interval_below_all() -> None:
    texts = [HeadCounts(name, name, 12, (11, 10, 9), 3) for name in "abcdef"]
    *agreements, length = multi_token_scores(texts, 4)
    assert [score.value for score in agreements] == [1, 1, 1]
    assert length.value == 4
    for score in (*agreements, length):
        assert score.interval is not None
        assert score.interval[0] < score.value == score.interval[1]  # type: ignore[operator]


def test_a_text_without_counts_makes_them_incomplete() -> None:
    scores = multi_token_scores([*TEXTS, HeadCounts("d", "d", 9, (), 0)], 3)
    assert [(score.value, score.n, score.clusters) for score in scores] == [(None, 0, 0)] * 3
    assert {score.reason for score in scores} == {"it was not counted in 1 of 5 texts"}


@pytest.mark.parametrize(("texts", "heads"), [(TEXTS, 0), ([], 3)])
def test_other_checkpoints_and_benchmarks_have_none(texts: list[HeadCounts], heads: int) -> None:
    assert multi_token_scores(texts, heads) == ()


def test_one_cluster_has_a_value_alone() -> None:
    scores = multi_token_scores(TEXTS[:2], 3)
    assert all(score.value is not None and score.interval is None for score in scores)
    assert {score.reason for score in scores} == {"no standard error (only one cluster)"}


def test_texts_that_are_too_short_for_a_head_say_so() -> None:
    second, third, length = multi_token_scores([HeadCounts(n, n, 2, (1, 0), 1) for n in "ab"], 3)
    assert (second.value, third.value, length.value) == (1.0, None, 2.0)
    assert third.reason == "no text is long enough"


def test_texts_too_short_for_a_head_have_no_value_of_it() -> None:
    second, third, length = multi_token_scores([HeadCounts("a", "a", 2, (1, 0), 2)] * 2, 3)
    assert (second.value, second.n) == (1.0, 1)
    assert (third.value, third.n, third.clusters) == (None, 0, 0)
    assert third.reason == "no text is long enough"
    assert length.value == 1.0


def test_two_heads_are_enough() -> None:
    texts = [HeadCounts("a", "a", 10, (3,), 6), HeadCounts("b", "b", 10, (6,), 6)]
    agreement, length = multi_token_scores(texts, 2)
    assert (agreement.metric, agreement.value) == ("mtp_agreement@2", pytest.approx(9 / 18))
    assert length.value == pytest.approx(20 / 12)
    assert multi_token_scores(texts, 1) == ()
