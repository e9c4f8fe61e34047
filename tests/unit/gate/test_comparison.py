"""A score beside the baseline's: paired, unpaired, and as two bare numbers."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ckptbench.gate.comparison import (
    compare_composite,
    compare_paired,
    compare_point,
    compare_score,
    compare_unpaired,
)
from ckptbench.gate.permutation_test import mcnemar
from ckptbench.scores.composite import composite
from ckptbench.scores.fold import fold
from ckptbench.scores.score import SampleValues

N = 164


def columns(
    lost: int, won: int, kept: int, n: int = N
) -> tuple[dict[str, float], dict[str, float]]:
    """This run's and the baseline's 0/1 values: flips first, then `kept` that both pass."""
    now = [0.0] * lost + [1.0] * won + [1.0] * kept
    then = [1.0] * lost + [0.0] * won + [1.0] * kept
    names = [f"s{i:04}" for i in range(n)]
    pad = [0.0] * (n - len(now))
    return dict(zip(names, now + pad, strict=True)), dict(zip(names, then + pad, strict=True))


def alone(column: dict[str, float]) -> dict[str, str]:
    return {sample: sample for sample in column}


def table(metrics: dict[str, dict[str, float]], clusters: dict[str, str]) -> SampleValues:
    samples = tuple(sorted(clusters))
    values = np.array([[column[sample] for column in metrics.values()] for sample in samples])
    return SampleValues(tuple(metrics), samples, tuple(clusters[s] for s in samples), values)


# Paired


def test_38_lost_and_9_won_of_164() -> None:
    now, then = columns(38, 9, 63)
    c = compare_paired("pass@1", now, then, alone(now))
    assert c is not None
    assert (c.kind, c.n, c.lost, c.won) == ("paired", 164, 38, 9)
    assert c.difference == pytest.approx(-0.1768, abs=5e-5)
    assert c.standard_error == pytest.approx(0.0396, abs=5e-5)
    assert c.p_value == pytest.approx(2.49e-5, rel=1e-3)
    assert c.p_worse == mcnemar(38, 9).worse
    # t of 163 degrees of freedom is 1.9746.
    assert c.interval == pytest.approx(
        (-0.1768 - 1.9746 * 0.03958, -0.1768 + 1.9746 * 0.03958), abs=1e-4
    )


def test_the_same_figures_unpaired_are_a_third_wider() -> None:
    now, then = columns(38, 9, 63)
    share_now, share_then = sum(now.values()) / N, sum(then.values()) / N
    assert (share_now, share_then) == (72 / 164, 101 / 164)
    error = sqrt(share_now * (1 - share_now) / (N - 1))
    c = compare_unpaired("pass@1", share_now, error, N, share_then, baseline_n=N)
    assert c.standard_error == pytest.approx(0.0544, abs=5e-5)
    assert c.difference == pytest.approx(-0.1768, abs=5e-5)


def test_only_common_samples_are_compared() -> None:
    now = {"a": 1.0, "b": 0.0, "c": 1.0}
    then = {"b": 1.0, "c": 1.0, "d": 1.0}
    c = compare_paired("m", now, then, alone(now))
    assert c is not None
    assert (c.n, c.lost, c.won, c.current, c.baseline) == (2, 1, 0, 0.5, 1.0)


def test_nothing_in_common_is_no_comparison() -> None:
    assert compare_paired("m", {"a": 1.0}, {"b": 1.0}, {"a": "a"}) is None


def test_the_error_of_clustered_differences_is_the_textbooks() -> None:
    now = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0, "e": 1.0, "f": 0.0}
    then = {"a": 0.0, "b": 0.0, "c": 1.0, "d": 0.0, "e": 1.0, "f": 1.0}
    clusters = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z", "f": "z"}
    c = compare_paired("m", now, then, clusters)
    assert c is not None
    # Differences 1 1 | -1 0 | 0 -1: mean 0, cluster sums 2, -1, -1; 3/2 * (4 + 1 + 1) = 9.
    assert c.difference == 0
    assert c.standard_error == pytest.approx(sqrt(9) / 6)
    # t of 2 degrees of freedom is 4.3027.
    assert c.interval == pytest.approx((-4.3027 / 2, 4.3027 / 2), abs=1e-4)
    assert (c.lost, c.won) == (2, 2)


def test_samples_of_one_text_do_not_count_as_independent() -> None:
    """Each text loses three samples at once: 12 losses are 4 coin flips."""
    now = {f"{text}{i}": 0.0 for text in "wxyz" for i in range(3)}
    then = dict.fromkeys(now, 1.0)
    clustered = compare_paired("m", now, then, {sample: sample[0] for sample in now})
    independent = compare_paired("m", now, then, alone(now))
    assert clustered is not None
    assert independent is not None
    assert clustered.p_value == pytest.approx(2 / 16, abs=0.01)
    assert independent.p_value == 2 / 2**12


def test_one_cluster_has_no_error_and_no_evidence() -> None:
    c = compare_paired("m", {"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"a": "t", "b": "t"})
    assert c is not None
    assert c.standard_error is None
    assert c.interval is None
    assert c.p_value == 1.0
    # Two equally likely signs, and what was seen counts half: 1/4.
    assert c.p_worse == pytest.approx(0.25, abs=0.02)


def test_graded_values_are_permuted() -> None:
    rng = np.random.default_rng(0)
    then = {f"s{i}": float(v) for i, v in enumerate(rng.uniform(0.2, 0.8, 300))}
    now = {sample: value - 0.02 + float(rng.normal(0, 0.05)) for sample, value in then.items()}
    c = compare_paired("f1", now, then, alone(now))
    assert c is not None
    assert c.p_value == 1 / 100_001
    assert c.mde == pytest.approx(0.0075, abs=0.0015)


def test_the_same_answers_are_no_difference_and_the_drop_that_would_show_is_told() -> None:
    now, _ = columns(0, 0, 100)
    c = compare_paired("m", now, now, alone(now))
    assert c is not None
    assert (c.difference, c.standard_error, c.p_value, c.p_worse) == (0.0, 0.0, 1.0, 0.5)
    assert c.mde == pytest.approx(5.515 / N, rel=1e-3)


# Unpaired and point


def test_an_error_that_the_baseline_states_is_taken() -> None:
    c = compare_unpaired("acc", 0.50, 0.03, 400, 0.60, baseline_error=0.04)
    assert c.standard_error == pytest.approx(0.05)
    assert c.interval == pytest.approx((-0.1 - 0.098, -0.1 + 0.098), abs=1e-4)
    assert c.p_worse == pytest.approx(0.02275, abs=1e-5)
    assert c.p_value == pytest.approx(0.0455, abs=1e-4)
    assert c.mde == pytest.approx(2.4865 * 0.05, rel=1e-4)


def test_all_against_none_is_tested_though_neither_side_varies() -> None:
    c = compare_unpaired("m", 0.0, 0.0, 50, 1.0, baseline_n=50)
    assert c.p_worse is not None
    assert 0 < c.p_worse < 1e-20


def test_equal_and_unvarying_is_no_evidence() -> None:
    c = compare_unpaired("m", 1.0, 0.0, 50, 1.0, baseline_n=50)
    assert (c.p_value, c.p_worse, c.mde) == (1.0, 0.5, None)


def test_without_an_error_nothing_is_tested() -> None:
    c = compare_unpaired("m", 1.0, None, 1, 0.9, baseline_n=50)
    assert (c.standard_error, c.p_value, c.p_worse) == (None, None, None)


def test_a_point_comparison_holds_no_statistics() -> None:
    c = compare_point("real@1", 0.66, 0.6778)
    assert c.kind == "point"
    assert c.difference == pytest.approx(-0.0178)
    assert (c.n, c.standard_error, c.interval, c.p_value) == (None, None, None, None)


# The best that the baseline allows


def test_samples_before_numbers_before_a_point() -> None:
    now, then = columns(3, 1, 100)
    measured = table({"m": now}, alone(now))
    (score,) = fold(measured)
    paired = compare_score(score, measured, outcomes=then, value=0.5, n=164)
    unpaired = compare_score(score, measured, outcomes={}, value=0.5, n=164)
    point = compare_score(score, measured, outcomes={}, value=0.5)
    nothing = compare_score(score, measured, outcomes={}, value=None)
    assert [c and c.kind for c in (paired, unpaired, point, nothing)] == [
        "paired",
        "unpaired",
        "point",
        None,
    ]


# The composite


def test_a_composite_of_one_metric_is_that_metric() -> None:
    now, then = columns(38, 9, 63)
    whole = compare_composite("score", {"m": 1.0}, [table({"m": now}, alone(now))], {"m": then})
    assert whole == compare_paired("score", now, then, alone(now))


def test_a_composite_is_the_weighted_difference_with_the_parts_joint_error() -> None:
    rng = np.random.default_rng(5)
    names = [f"s{i}" for i in range(400)]
    then = {
        m: dict(zip(names, (rng.random(400) < 0.6) * 1.0, strict=True)) for m in ("r1", "r5", "l")
    }
    now = {
        m: {s: 1 - v if rng.random() < 0.1 else v for s, v in column.items()}
        for m, column in then.items()
    }
    tables = [
        table({"r1": now["r1"], "r5": now["r5"]}, alone(now["r1"])),
        table({"l": now["l"]}, alone(now["l"])),
    ]
    weights = {"r1": 0.4, "r5": 0.3, "l": 0.3, "unused": 0.0}
    c = compare_composite("score", weights, tables, then)
    assert c is not None
    mean = {m: np.mean(list(now[m].values())) - np.mean(list(then[m].values())) for m in now}
    assert c.difference == pytest.approx(sum(weights[m] * mean[m] for m in mean))
    joint = np.array(
        [0.4 * (now["r1"][s] - then["r1"][s]) + 0.3 * (now["r5"][s] - then["r5"][s]) for s in names]
    )
    single = np.array([0.3 * (now["l"][s] - then["l"][s]) for s in names])
    assert c.standard_error == pytest.approx(
        sqrt(joint.var(ddof=1) / 400 + single.var(ddof=1) / 400)
    )
    assert c.n == 800
    scores = {s.metric: s for t in tables for s in fold(t)}
    assert c.current == pytest.approx(composite(scores, weights, tables).value)


def test_a_composite_with_a_part_missing_is_not_compared() -> None:
    now, then = columns(3, 1, 100)
    assert (
        compare_composite(
            "score", {"m": 0.5, "l": 0.5}, [table({"m": now}, alone(now))], {"m": then}
        )
        is None
    )
