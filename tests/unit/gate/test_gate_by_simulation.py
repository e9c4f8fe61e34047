"""The gate neither cries wolf nor sleeps: its known behaviour, by simulation.

Each run compares 1,600 samples on three metrics, tolerance 1 %p, alpha 0.05, and is judged by the
product's own test, correction and verdict.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from ckptbench.gate.decide import Candidate, decide
from ckptbench.gate.sign_flips import detectable_drop, mcnemar, permute_signs
from ckptbench.gate.verdict import Comparison

N = 1_600
RUNS = 10_000
Flips = NDArray[np.int64]

exact_p = cache(mcnemar)


def draw(rng: np.random.Generator, flips: float, drop: float = 0.0) -> Flips:
    """`[RUNS, 2]` lost and won samples, `flips` of all samples together, the drop included."""
    shares = [(flips + drop) / 2, (flips - drop) / 2, 1 - flips]
    return rng.multinomial(N, shares, size=RUNS)[:, :2]


def draw_two_that_share(rng: np.random.Generator, flips: float) -> list[Flips]:
    """Two metrics half of whose flips are the same samples', as Real@1's and Real@5's are."""
    shared = draw(rng, flips / 2)
    return [shared + draw(rng, flips / 2), shared + draw(rng, flips / 2)]


def candidate(metric: str, lost: int, won: int) -> Candidate:
    p = exact_p(lost, won)
    change = (won - lost) / N
    return Candidate(
        metric,
        Comparison(
            metric,
            "paired",
            0.5 + change,
            0.5,
            N,
            change,
            lost=lost,
            won=won,
            p_value=p.two_sided,
            p_worse=p.worse,
        ),
    )


def shares_that_regress(metrics: list[Flips]) -> tuple[float, float]:
    """The share of runs in which any metric is `regressed`, and in which the first one is."""
    fired = first = 0
    for run in np.stack(metrics, axis=1).tolist():
        verdicts = decide([candidate(f"m{i}", *counts) for i, counts in enumerate(run)])
        regressed = [verdict.word == "regressed" for verdict in verdicts]
        fired += any(regressed)
        first += regressed[0]
    return fired / RUNS, first / RUNS


@pytest.mark.parametrize("flips", [0.03, 0.06, 0.12, 0.20])
def test_without_a_change_it_fires_in_at_most_one_run_of_eighteen(flips: float) -> None:
    rng = np.random.default_rng(1)
    fired, _ = shares_that_regress([draw(rng, flips) for _ in range(3)])
    assert 0.015 < fired <= 0.055


@pytest.mark.parametrize("flips", [0.03, 0.06, 0.12, 0.20])
def test_nor_when_two_of_the_metrics_flip_together(flips: float) -> None:
    rng = np.random.default_rng(2)
    fired, _ = shares_that_regress([*draw_two_that_share(rng, flips), draw(rng, flips)])
    assert 0.015 < fired <= 0.055


@pytest.mark.parametrize(
    ("drop", "flips", "caught"),
    [(0.02, 0.03, 0.99), (0.02, 0.06, 0.87), (0.02, 0.12, 0.54), (0.03, 0.12, 0.91)],
)
def test_a_true_drop_of_one_metric_is_caught(drop: float, flips: float, caught: float) -> None:
    rng = np.random.default_rng(3)
    metrics = [draw(rng, flips, drop), draw(rng, flips), draw(rng, flips)]
    _, first = shares_that_regress(metrics)
    assert first == pytest.approx(caught, abs=0.05)


# The drop that a verdict says it can detect


def share_caught(flips: Flips, alpha: float) -> float:
    return float(np.mean([exact_p(lost, won).worse <= alpha for lost, won in flips.tolist()]))


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
@pytest.mark.parametrize("flips", [0.02, 0.06, 0.12, 0.3])
def test_the_detectable_drop_is_caught_in_four_runs_of_five(flips: float, alpha: float) -> None:
    half = int(flips * N / 2)
    seen = np.array([1.0] * half + [-1.0] * half + [0.0] * (N - 2 * half)) / N
    drop = detectable_drop(seen, n=N, alpha=alpha)
    runs = draw(np.random.default_rng(4), flips, drop)
    assert share_caught(runs, alpha) == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
def test_without_any_flip_the_losses_of_the_drop_itself_are_the_flips(alpha: float) -> None:
    drop = detectable_drop(np.zeros(N), n=N, alpha=alpha)
    assert 0 < drop < 0.005
    runs = draw(np.random.default_rng(5), drop, drop)
    assert share_caught(runs, alpha) == pytest.approx(0.8, abs=0.025)


def test_the_detectable_drop_of_clusters_is_caught_in_four_runs_of_five() -> None:
    """400 texts of 3 samples; a text moves as a whole, so its contribution is -3, 0 or 3."""
    rng = np.random.default_rng(6)
    texts, size, flips = 400, 3, 0.15
    n = texts * size
    half = int(texts * flips / 2)
    seen = np.array([size] * half + [-size] * half + [0] * (texts - 2 * half)) / n
    drop = detectable_drop(seen, n=n, alpha=0.05)
    shares = [(flips + drop) / 2, (flips - drop) / 2, 1 - flips]
    caught: list[bool] = []
    for lost, won, still in rng.multinomial(texts, shares, size=200).tolist():
        contributions = np.array([-size] * lost + [size] * won + [0] * still) / n
        caught.append(permute_signs(contributions, draws=2_000).worse <= 0.05)
    assert np.mean(caught) == pytest.approx(0.8, abs=0.08)
