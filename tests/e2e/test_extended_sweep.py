"""A sweep over real checkpoints, where CKPTBENCH_DATA and CKPTBENCH_MODELS name corpora and them.

The four were trained one after the other on Korean text; the last one 400 steps too long, on a
tiny subset. CKPTBENCH_SWEEP_LIMIT=0 asks every sample instead of the first so many.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.conclusions import RunConclusions
from ckptbench.readers.detect import read

pytestmark = pytest.mark.slow

LIMIT = int(os.environ.get("CKPTBENCH_SWEEP_LIMIT", "128"))
BEST, OVERTRAINED, EARLY = "checkpoint-14800", "checkpoint-15200", "checkpoint-400"


@pytest.fixture(scope="module")
def swept(shared_workspace: Any, boolq: Path, models: Path) -> tuple[str, Path]:
    """What the session prints, and its folder."""
    limit = f"--limit={LIMIT}" if LIMIT else ""
    output = shared_workspace.run(
        f"pytest benchmarks -k real_k --checkpoint '{models}/ko-small/checkpoint-*' "
        f"--real-data={boolq} --protocol real=whole-word {limit} --run-id=sweep"
    ).expect(0)
    return output, shared_workspace.path / "results/sweep"


SHARES = ("real@1", "real@5")


@pytest.fixture(scope="module")
def run(swept: tuple[str, Path]) -> RunConclusions:
    """What is concluded of the four."""
    (found,) = conclude(read(swept[1]).measurements).runs
    return found


def test_they_come_in_the_order_of_their_training(swept: tuple[str, Path]) -> None:
    checkpoints = RunFolder(swept[1]).checkpoints
    assert list(checkpoints) == [
        EARLY,
        "checkpoint-5000",
        BEST,
        OVERTRAINED,
    ]
    assert {each["run"] for each in checkpoints.values()} == {"ko-small"}
    assert all(each["epoch"] is not None for each in checkpoints.values())


def test_the_best_is_the_one_before_the_training_went_too_far(run: RunConclusions) -> None:
    assert [best.metric for best in run.best] == [*SHARES, "real_bits_per_byte"]
    for best in (each for each in run.best if each.metric in SHARES):
        assert best.best == BEST
        tied = {rival.name for rival in best.rivals if not rival.distinguishable}
        assert not {EARLY, OVERTRAINED} & {best.earliest, *tied}


def test_the_last_has_fallen_with_an_interval_without_zero(run: RunConclusions) -> None:
    assert all(fall.fell == "yes" for fall in run.peaks)
    # The surest checkpoint comes before the one that names most: bits per byte ask another thing.
    for fall in (each for each in run.peaks if each.metric in SHARES):
        assert (fall.peak, fall.last, fall.fell) == (BEST, OVERTRAINED, "yes"), fall.metric
        assert fall.comparison is not None
        assert fall.comparison.kind == "paired"
        assert fall.comparison.interval is not None
        assert fall.comparison.interval[1] < 0


def test_the_earliest_is_far_below(run: RunConclusions) -> None:
    for best in (each for each in run.best if each.metric in SHARES):
        early = next(rival for rival in best.rivals if rival.name == EARLY)
        assert early.comparison is not None
        assert early.comparison.interval is not None
        assert early.comparison.interval[1] < -0.09


def test_the_terminal_says_so(swept: tuple[str, Path]) -> None:
    assert BEST in swept[0]
    assert "fell by" in swept[0]
