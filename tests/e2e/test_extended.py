"""Public corpora and a real checkpoint: runs where CKPTBENCH_DATA and CKPTBENCH_MODELS point at them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PROTOCOLS = ("real/whole-word", "real/single-mask", "real/origin")
CHECKPOINT = "ko-small/checkpoint-14800"


@pytest.fixture(scope="module")
def boolq(shared_workspace: Any, corpora: Path) -> Path:
    """Real@K samples of KoBEST BoolQ's passages."""
    output = shared_workspace.path / "boolq.jsonl"
    shared_workspace.run(
        f"ckptbench build real-k --tsv '{corpora}/kobest/BoolQ_test.tsv' --column Text -o {output}"
    ).expect(0)
    return output


def test_the_passages_of_boolq_give_more_than_1500_samples(boolq: Path) -> None:
    header, *rows = boolq.read_text(encoding="utf-8").splitlines()
    assert json.loads(header)["n"] == len(rows) > 1_500
    assert len({json.loads(row)["cluster"] for row in rows}) > 500


def test_all_three_protocols_say_their_coverage(
    shared_workspace: Any, boolq: Path, models: Path
) -> None:
    output = shared_workspace.run(
        f"pytest benchmarks -k real '--checkpoint={models}/{CHECKPOINT}' --real-data={boolq} "
        "--limit=60"
    ).expect(0)
    for protocol in PROTOCOLS:
        _, _, after = output.partition(f"\n{protocol}")
        first, fifth, coverage = after.splitlines()[1:4]
        assert re.match(r"  real@1 +\d+\.\d\d%", first)
        assert re.match(r"  real@5 +\d+\.\d\d%", fifth)
        assert re.match(r"  coverage: \d+ of 60 scored", coverage)


def test_two_workers_give_the_outcomes_of_one_process(
    shared_workspace: Any, boolq: Path, models: Path
) -> None:
    command = (
        f"pytest benchmarks -k real '--checkpoint={models}/{CHECKPOINT}' --real-data={boolq} "
        "--protocol=real=whole-word --limit=48 --no-resume"
    )
    shared_workspace.run(f"{command} --run-id=boolq-one").expect(0)
    shared_workspace.run(f"{command} --run-id=boolq-two -n 2").expect(0)
    results = shared_workspace.path / "results"
    alone, together = (
        {
            row["id"]: (row["status"], row["values"])
            for line in next((results / run).glob("samples/*/real.jsonl")).read_text().splitlines()
            for row in [json.loads(line)]
        }
        for run in ("boolq-one", "boolq-two")
    )
    assert len(alone) == 48
    assert together == alone
