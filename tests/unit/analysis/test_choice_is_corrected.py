"""Choosing the highest of many is luck in part: by simulation, the conclusions allow for it.

Each run has checkpoints that are equally good, on the same 300 samples, of which three in ten are
answered anew by each; alpha is 0.05.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ckptbench.analysis.compare import Settings
from ckptbench.analysis.curve import best_of, peak_and_last
from ckptbench.analysis.runs import compare_runs
from ckptbench.gate.measurement import Measurement

pytestmark = pytest.mark.slow

Make = Callable[..., Measurement]
RUNS, CHECKPOINTS, N, FLIPS = 600, 8, 300, 0.3
SETTINGS = Settings()


def run_without_change(
    asked: Make, rng: np.random.Generator, checkpoints: int = CHECKPOINTS
) -> list[Measurement]:
    base = rng.random(N) < 0.65
    return [
        asked(f"checkpoint-{i}", np.where(rng.random(N) < FLIPS, rng.random(N) < 0.65, base))
        for i in range(checkpoints)
    ]


def test_without_any_change_a_fall_is_found_in_at_most_one_run_of_eighteen(
    asked: Make,
) -> None:
    rng = np.random.default_rng(1)
    called = naive = 0
    for _ in range(RUNS):
        peak = peak_and_last("real@1", run_without_change(asked, rng, 16), SETTINGS)
        called += peak.fell == "yes"
        fall = peak.comparison
        naive += fall is not None and (fall.p_value or 0) <= SETTINGS.alpha
    assert called / RUNS <= 0.055
    # The same falls, tested as if the peak had not been chosen.
    assert naive / RUNS > 0.08


def test_a_true_fall_is_called(asked: Make) -> None:
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(100):
        *before, last = run_without_change(asked, rng)
        table = last.benchmarks[0].table
        assert table is not None
        worse = table.values[:, 0] * (rng.random(N) >= 0.25)
        run = [*before, asked("checkpoint-9", worse)]
        called += peak_and_last("real@1", run, SETTINGS).fell == "yes"
    assert called > 90


def test_the_truly_best_is_among_those_alike_in_nineteen_runs_of_twenty(asked: Make) -> None:
    """All are equally good, so any one of them is truly the best: the first is looked at."""
    rng = np.random.default_rng(3)
    excluded = 0
    for _ in range(RUNS):
        best = best_of("real@1", run_without_change(asked, rng), SETTINGS)
        tied = {rival.name for rival in best.rivals if not rival.distinguishable}
        excluded += "checkpoint-0" not in {best.best, *tied}
    assert excluded / RUNS <= 0.05


@pytest.mark.parametrize("others", [1, CHECKPOINTS])
def test_runs_whose_best_are_equally_good_are_rarely_told_apart(asked: Make, others: int) -> None:
    """The one with more checkpoints has the luckier best."""
    rng = np.random.default_rng(4)
    told = 0
    for _ in range(RUNS // 2):
        everyone = run_without_change(asked, rng, CHECKPOINTS + others)
        runs = {"a": tuple(everyone[:CHECKPOINTS]), "b": tuple(everyone[CHECKPOINTS:])}
        (row,) = compare_runs(runs, SETTINGS)
        told += row.differ == "yes"
    assert told / (RUNS // 2) <= 0.055
