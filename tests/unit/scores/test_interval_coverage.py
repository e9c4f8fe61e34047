"""The 95% intervals hold the truth: a small grid of `tests/bench/coverage.py`, same bounds."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "coverage.py"
RUNS = 3_000


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("coverage_of_intervals", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        spec.loader.exec_module(module)
    yield module
    del sys.modules["populations"]


def hold(cells: Iterator[object], count: int) -> None:
    """Each of so many cells is within the bounds, three simulation errors allowed."""
    found = list(cells)
    assert len(found) == count
    wrong = [cell for cell in found if cell.wrong]  # type: ignore[attr-defined]
    assert not wrong, "\n".join(map(str, wrong))


def test_shares_of_independent_samples_by_enumeration(bench: ModuleType) -> None:
    """Wilson's interval holds some shares near 0.02 in 89% of runs at n = 28, 92% at n = 50."""
    hold(bench.independent_shares((28, 50, 100, 164)), 4 * 407)


def test_shares_of_clustered_samples(bench: ModuleType) -> None:
    hold(bench.clustered_shares(RUNS, (28, 164), (0.01, 0.2, 0.5, 0.99)), 16)


def test_pass_at_k_of_weak_middle_and_strong_models(bench: ModuleType) -> None:
    """The t interval held pass@5 of a strong model in half of the runs."""
    hold(bench.pass_at_k(RUNS, (20, 28, 164)), 36)


def test_graded_values(bench: ModuleType) -> None:
    hold(bench.graded(RUNS, (28, 164)), 12)


def test_values_without_bounds(bench: ModuleType) -> None:
    """The t interval holds skewed log likelihoods in 87% of runs, at n = 28."""
    hold(bench.unbounded(RUNS, (28,), ()), 6)


def test_composites_of_few_texts(bench: ModuleType) -> None:
    """The bootstrap of clusters held those of ten texts in 49 to 90% of runs."""
    hold(bench.composites(RUNS, (10, 100), ("none", "weak", "middle", "strong")), 16)


def test_paired_differences_of_0_1_outcomes(bench: ModuleType) -> None:
    """The t interval was [0, 0] in two of five runs at n = 30 where 2% are lost."""
    hold(bench.paired_shares(RUNS, (28, 164)), 18)
    hold(bench.paired_clusters(RUNS, (28, 164)), 24)


def test_paired_differences_of_pass_at_k(bench: ModuleType) -> None:
    hold(bench.paired_pass_at_k(RUNS, (28,), ("middle", "strong")), 18)


def test_paired_differences_without_bounds(bench: ModuleType) -> None:
    hold(bench.paired_unbounded(RUNS, (28,)), 3)


def test_unpaired_differences_by_enumeration(bench: ModuleType) -> None:
    hold(bench.unpaired(((20, 200), (28, 164))), 2 * 169)


def test_differences_of_composites(bench: ModuleType) -> None:
    hold(bench.composite_differences(RUNS, (10, 30)), 24)
