"""Public corpora and a real checkpoint, where CKPTBENCH_DATA and CKPTBENCH_MODELS name them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

pytestmark = pytest.mark.slow

PROTOCOLS = ("real/whole-word", "real/single-mask", "real/origin")
CHECKPOINT = "ko-small/checkpoint-14800"


def test_the_passages_of_boolq_give_more_than_1500_samples(boolq: Path) -> None:
    header, *rows = boolq.read_text(encoding="utf-8").splitlines()
    assert json.loads(header)["n"] == len(rows) > 1_500
    assert len({json.loads(row)["cluster"] for row in rows}) > 500


@pytest.fixture(scope="module")
def alone(shared_workspace: Any, boolq: Path, models: Path) -> tuple[str, Path]:
    """What a run in one process prints, and its folder."""
    command = command_on(boolq, models)
    output = shared_workspace.run(f"{command} --run-id=boolq-one").expect(0)
    return output, shared_workspace.path / "results/boolq-one"


def command_on(boolq: Path, models: Path) -> str:
    checkpoint = f"{models}/{CHECKPOINT}"
    options = f"'--checkpoint={checkpoint}' --real-data={boolq} --limit=32 --no-resume -v"
    return f"pytest benchmarks -k real {options}"


def test_all_three_protocols_say_their_coverage(alone: tuple[str, Path]) -> None:
    output, _ = alone
    for protocol in PROTOCOLS:
        # Not the line that says how far a slow machine has come.
        _, _, after = re.split(rf"\n({protocol}( \(.*\))?)\n", output, maxsplit=1)[1:]
        at_1, at_5, *rest = after.splitlines()[:4]
        coverage = next(line for line in rest if "coverage" in line)
        assert re.match(r"  real@1 +\d+\.\d\d%", at_1)
        assert re.match(r"  real@5 +\d+\.\d\d%", at_5)
        assert re.match(r"  coverage: \d+ of 32 scored", coverage)


def test_two_workers_give_the_outcomes_of_one_process(
    alone: tuple[str, Path], shared_workspace: Any, boolq: Path, models: Path
) -> None:
    shared_workspace.run(f"{command_on(boolq, models)} --run-id=boolq-two -n 2").expect(0)
    one = RunFolder(alone[1]).outcomes
    assert len(one) == 3 * 32
    assert RunFolder(shared_workspace.path / "results/boolq-two").outcomes == one
