"""The composite: weights, value, and the interval from those of its parts."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.scores.aggregate import fold
from ckptbench.scores.composite import DEFAULT_WEIGHTS, check_weights, composite, weighted_mean
from ckptbench.scores.score import SampleValues, Score

ONLY = {"m": 1.0}
ONLY_METRIC = ("m",)


def table(metrics: tuple[str, ...], values: np.ndarray) -> SampleValues:
    names = tuple(f"s{i}" for i in range(len(values)))
    return SampleValues(metrics, names, names, values.astype(np.float64))


def scores(*tables: SampleValues) -> dict[str, Score]:
    return {score.metric: score for each in tables for score in fold(each)}


@pytest.mark.parametrize(
    ("real_1", "real_5", "lambada", "score"),
    [
        (0.6778, 0.8244, 0.3767, 0.6314),
        (0.6675, 0.8142, 0.3700, 0.6223),
        (0.6558, 0.8167, 0.3567, 0.6143),
    ],
)
def test_check_figures(real_1: float, real_5: float, lambada: float, score: float) -> None:
    values = {"real@1": real_1, "real@5": real_5, "lambada@1": lambada}
    assert weighted_mean(values, DEFAULT_WEIGHTS) == pytest.approx(score, abs=5.1e-5)


def test_a_composite_of_one_metric_has_that_metrics_error_and_interval() -> None:
    """72 of 164: 0.0389. A bootstrap's deviation divided again would give 0.00124 or so."""
    one = table(("m",), np.array([[1.0]] * 72 + [[0.0]] * 92))
    score = composite(scores(one), ONLY, [one])
    assert score.value == pytest.approx(72 / 164)
    assert score.standard_error == pytest.approx(0.0389, abs=5e-5)
    assert score.interval == pytest.approx(scores(one)["m"].interval)
    assert (score.metric, score.n, score.clusters) == ("score", 164, 164)
    assert score.method == "mover"


def test_metrics_of_one_table_move_together_and_tables_independently() -> None:
    rng = np.random.default_rng(0)
    column = (rng.random((2_000, 1)) < 0.5).astype(float)
    halves = {"a": 0.5, "b": 0.5}
    together = table(("a", "b"), np.hstack([column, column]))
    apart = [table(("a",), column), table(("b",), column)]
    single = fold(together)[0]
    same = composite(scores(together), halves, [together])
    two = composite(scores(*apart), halves, apart)
    assert same.standard_error == pytest.approx(single.standard_error)
    assert same.interval == pytest.approx(single.interval)
    assert two.standard_error == pytest.approx((single.standard_error or 0.0) / sqrt(2))
    assert width(two) == pytest.approx(width(single) / sqrt(2))
    assert (same.n, two.n) == (2_000, 4_000)


def width(score: Score) -> float:
    assert score.interval is not None
    return score.interval[1] - score.interval[0]


@pytest.mark.parametrize("hit", [0.0, 1.0])
def test_all_missed_and_all_hit_are_no_certainty(hit: float) -> None:
    tables = [
        table(("real@1", "real@5"), np.full((10, 2), hit)),
        table(("lambada@1",), np.full((10, 1), hit)),
    ]
    score = composite(scores(*tables), DEFAULT_WEIGHTS, tables)
    assert (score.value, score.standard_error) == pytest.approx((hit, 0.0))
    # Ten samples each: a share of up to 0.37; 0.7 of one and 0.3 of the other add in squares.
    reach = width(fold(tables[1])[0])
    assert width(score) == pytest.approx(reach * sqrt(0.7**2 + 0.3**2))


def test_a_part_that_never_varies_is_taken_to_move_with_its_table() -> None:
    varied = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    both = table(("a", "b"), varied)
    score = composite(scores(both), {"a": 0.5, "b": 0.5}, [both])
    parts = scores(both)
    assert width(score) == pytest.approx((width(parts["a"]) + width(parts["b"])) / 2)


def test_opposite_metrics_of_one_table_cancel_in_the_error_but_leave_a_width() -> None:
    column = (np.random.default_rng(1).random((500, 1)) < 0.5).astype(float)
    both = table(("a", "b"), np.hstack([column, 1 - column]))
    score = composite(scores(both), {"a": 0.5, "b": 0.5}, [both])
    assert score.value == 0.5
    assert score.standard_error == pytest.approx(0.0, abs=1e-12)
    assert width(score) == pytest.approx(width(scores(both)["a"]) / sqrt(2), rel=0.01)


def test_the_error_is_that_of_clusters() -> None:
    values = np.repeat((np.random.default_rng(2).random((300, 1)) < 0.5).astype(float), 3, axis=0)
    clusters = tuple(f"c{i // 3}" for i in range(900))
    whole = SampleValues(ONLY_METRIC, tuple(f"s{i}" for i in range(900)), clusters, values)
    score = composite(scores(whole), ONLY, [whole])
    assert score.standard_error == pytest.approx(fold(whole)[0].standard_error)
    assert score.clusters == 300


def test_a_part_without_an_interval_leaves_the_composite_without_and_is_named() -> None:
    one, other = table(ONLY_METRIC, np.array([[1.0], [0.0]])), table(("t",), np.full((3, 1), 7.0))
    score = composite(scores(one, other), {"m": 0.5, "t": 0.5}, [one, other])
    assert (score.value, score.interval, score.method) == (3.75, None, "")
    assert score.reason == "t has no interval"


def test_the_order_of_samples_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    values = (rng.random((100, 2)) < 0.4).astype(float)
    halves = {"a": 0.5, "b": 0.5}
    once, again = table(("a", "b"), values), table(("a", "b"), values[rng.permutation(100)])
    assert composite(scores(once), halves, [once]).interval == pytest.approx(
        composite(scores(again), halves, [again]).interval
    )


def test_missing_parts_are_named() -> None:
    real = table(("real@1", "real@5"), np.ones((4, 2)))
    empty = table(("lambada@1",), np.ones((0, 1)))
    score = composite(scores(real), DEFAULT_WEIGHTS, [real])
    assert (score.value, score.reason) == (None, "lambada@1 was not measured")
    assert (score.n, score.clusters) == (0, 0)
    score = composite(scores(real, empty), DEFAULT_WEIGHTS, [real, empty])
    assert score.reason == "lambada@1 has no value (no sample was scored)"


def test_a_weight_of_0_needs_no_part() -> None:
    one = table(ONLY_METRIC, np.array([[1.0], [0.0]]))
    assert composite(scores(one), {"m": 1.0, "gone": 0.0}, [one]).value == 0.5


def test_one_cluster_has_no_error() -> None:
    one = table(ONLY_METRIC, np.array([[1.0]]))
    score = composite(scores(one), ONLY, [one])
    assert (score.value, score.standard_error) == (1.0, None)
    assert score.reason == "no standard error (only one cluster)"


def test_a_metric_that_stands_in_two_tables_is_a_mistake() -> None:
    one = table(ONLY_METRIC, np.ones((3, 1)))
    with pytest.raises(ValueError, match="must be in one table"):
        composite(scores(one), ONLY, [one, one])


# Weights


def test_the_default_weights_are_weights() -> None:
    check_weights(DEFAULT_WEIGHTS)
    check_weights({"a": 0.7, "b": 0.2, "c": 0.1})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 0.5, "b": 0.6}, "sum to 1.1, not 1"),
        ({"a": 2.0, "b": 2.0}, r"In the same proportions: a=0.5, b=0.5\."),
        ({}, "sum to 0, not 1"),
        ({"a": 1.5, "b": -0.5}, "the weight of b is -0.5"),
        ({"a": float("nan")}, "the weight of a is nan"),
        ({"a": float("inf")}, "the weight of a is inf"),
    ],
)
def test_weights_that_make_no_mean_are_refused(weights: dict[str, float], message: str) -> None:
    with pytest.raises(CkptbenchError, match=message):
        check_weights(weights)
