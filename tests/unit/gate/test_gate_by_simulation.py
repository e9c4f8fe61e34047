"""The gate neither cries wolf nor sleeps: a small grid of `tests/bench/gate_power.py`.

The runs are judged by the product's own tests and correction. Seeds are fixed; a rate outside its
bounds by more than three standard errors of the simulation fails.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def grid() -> ModuleType:
    """The simulation that prints the tables of docs/simulations.md."""
    name = "ckptbench_gate_power"
    if name not in sys.modules:
        file = Path(__file__).parents[2] / "bench/gate_power.py"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.mark.parametrize(
    ("n", "share", "flips"),
    [
        (28, 0.5, 0.12),
        (164, 0.9, 0.06),
        (1_600, 0.5, 0.12),
        (1_600, 0.99, 0.01),
        (14_000, 0.1, 0.06),
    ],
)
def test_single_samples_keep_every_bound(
    grid: ModuleType, n: int, share: float, flips: float
) -> None:
    row = grid.single_shares(n, share, flips, runs=1_000, seed=1)
    assert row.caught is not None
    assert [str(rate) for rate in row.rates if not rate.within] == []


@pytest.mark.parametrize("flips", [0.03, 0.06, 0.12, 0.20])
def test_any_of_three_metrics_fires_in_at_most_one_unchanged_run_of_eighteen(
    grid: ModuleType, flips: float
) -> None:
    row = grid.single_shares(1_600, 0.5, flips, runs=1_000, seed=2)
    assert 0.015 < row.three.value <= 0.055


def test_nor_when_two_of_the_metrics_flip_together(grid: ModuleType) -> None:
    """Half of their flips are the same samples', as those of Real@1 and Real@5 are."""
    rng = np.random.default_rng(3)
    n, flips, runs = 1_600, 0.06, 4_000

    def draw(share: float) -> np.ndarray:
        return rng.multinomial(n, [share / 2, share / 2, 1 - share], size=runs)[:, :2]

    shared = draw(flips / 2)
    metrics = [shared + draw(flips / 2), shared + draw(flips / 2), draw(flips)]
    differences = np.stack([(m[:, 1] - m[:, 0]) / n for m in metrics], axis=1)
    p = np.array([[grid.single_p(*pair) for pair in m.tolist()] for m in metrics]).T
    assert 0.015 < grid.regressed(differences, p).any(axis=1).mean() <= 0.055


@pytest.mark.parametrize(("flips", "caught"), [(0.03, 0.99), (0.06, 0.86), (0.12, 0.56)])
def test_a_true_drop_of_two_points_is_caught_as_often_as_is_promised(
    grid: ModuleType, flips: float, caught: float
) -> None:
    row = grid.single_shares(1_600, 0.5, flips, runs=2_000, seed=4)
    assert row.two_points.value == pytest.approx(caught, abs=0.04)


@pytest.mark.parametrize(
    ("n", "correlation", "share", "flips"),
    [(28, 0.2, 0.5, 0.12), (164, 0.0, 0.9, 0.06), (164, 0.3, 0.1, 0.06), (600, 0.3, 0.5, 0.12)],
)
def test_clusters_of_three_keep_every_bound(
    grid: ModuleType, n: int, correlation: float, share: float, flips: float
) -> None:
    row = grid.clustered_shares(n, share, flips, correlation, runs=250, seed=1)
    assert [str(rate) for rate in row.rates if not rate.within] == []


@pytest.mark.parametrize("name", ["weak", "middle", "strong"])
@pytest.mark.parametrize(("problems", "k"), [(28, 5), (164, 1)])
def test_pass_at_k_keeps_every_bound(grid: ModuleType, problems: int, k: int, name: str) -> None:
    row = grid.sampled(problems, k, name, runs=400, seed=1)
    assert row.caught is not None
    assert [str(rate) for rate in row.rates if not rate.within] == []


@pytest.mark.parametrize("pair", [(20, 1), (1, 20), (20, 5)])
@pytest.mark.parametrize("null", [0, 1, 2])
def test_unequal_trials_keep_alpha(grid: ModuleType, pair: tuple[int, int], null: int) -> None:
    row = grid.unequal(20, *pair, "weak", grid.NULLS[null], runs=300, seed=1)
    assert row.one.within


def test_sign_flips_alone_would_not(grid: ModuleType) -> None:
    """What the label permutation is for: a weak model, 20 trials against 1."""
    from ckptbench.gate.permutation_test import sign_flip_test

    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(600):
        strengths, _ = grid.strengths(rng, 20, "weak")
        alarms += (
            sign_flip_test(rng.binomial(20, strengths) / 20 - rng.binomial(1, strengths)).better
            <= 0.05
        ) or (
            sign_flip_test(rng.binomial(1, strengths) - rng.binomial(20, strengths) / 20).worse
            <= 0.05
        )
    assert alarms / 600 > 0.08


def test_unpaired_shares_keep_every_bound(grid: ModuleType) -> None:
    rows = grid.unpaired(164, 28, shares=(0.9,))
    assert len(rows) == 2
    assert [str(rate) for row in rows for rate in row.rates if not rate.within] == []


def test_a_rate_outside_its_bounds_is_marked(grid: ModuleType) -> None:
    """The bench's exit status hangs on it."""
    assert not grid.Rate(0.056, 0, grid.FALSE_ALARMS).within
    assert "outside" in str(grid.Rate(0.6, 500, grid.CAUGHT))
    assert grid.Rate(0.06, 400, grid.FALSE_ALARMS).within
