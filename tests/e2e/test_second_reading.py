"""`real/whole-word` beside a second reading of its definition, on a real checkpoint and corpus."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "extended/real_whole_word.py"
CHECKPOINT = "ko-small/checkpoint-14800"
# All 300 take ten minutes: CKPTBENCH_READING=300.
ITEMS = int(os.environ.get("CKPTBENCH_READING", "60"))


def rows(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines) if "id" in row}


@pytest.fixture(scope="module")
def samples(shared_workspace: Any, boolq: Path) -> Path:
    """The first samples that the product builds from BoolQ's passages."""
    from ckptbench.fixtures.datasets import real_k
    from ckptbench.fixtures.datasets.io import sample_file

    whole, path = real_k.load(boolq), shared_workspace.path / "first_of_boolq.jsonl"
    header = whole.header
    first = sample_file.SampleFile.of(
        whole[:ITEMS], dataset=header.dataset, name=header.name, source=header.source,
        licence=header.licence, builder=header.builder,
    )  # fmt: skip
    sample_file.write(path, first)
    return path


def test_the_reading_shares_no_code_with_the_product() -> None:
    assert "import ckptbench" not in SCRIPT.read_text(encoding="utf-8")
    assert "from ckptbench" not in SCRIPT.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("seq_len", [None, 64], ids=["whole texts", "windows"])
def test_product_and_second_reading_agree(
    seq_len: int | None, shared_workspace: Any, samples: Path, models: Path
) -> None:
    folder, name = shared_workspace.path, f"reading-{seq_len}"
    limit = f"--seq-len={seq_len}" if seq_len else ""
    shared_workspace.run(
        f"pytest benchmarks -k real '--checkpoint={models}/{CHECKPOINT}' --real-data={samples} "
        f"--protocol=real=whole-word --no-resume --run-id={name} {limit}"
    ).expect(0)
    outcomes = folder / f"{name}.jsonl"
    shared_workspace.run(
        f"python '{SCRIPT}' '{models}/{CHECKPOINT}' {samples} {outcomes} {limit}"
    ).expect(0)
    (file,) = (folder / f"results/{name}/samples").glob("*/real.jsonl")
    ours, theirs = rows(file), rows(outcomes)
    assert len(ours) == len(theirs) == ITEMS
    skipped = {key for key, row in theirs.items() if "skipped" in row}
    assert {key for key, row in ours.items() if row["status"] == "skipped"} == skipped
    asked = len(theirs) - len(skipped)
    assert asked > ITEMS / 2
    for k in (1, 5):
        mine = {key for key, row in ours.items() if row["values"].get(f"real@{k}")}
        other = {key for key, row in theirs.items() if row.get("hits", {}).get(str(k))}
        print(f"real@{k}: product {len(mine) / asked:.2%}, reading {len(other) / asked:.2%}")
        for key in sorted(mine ^ other):
            print(key, key in mine, json.dumps(theirs[key], ensure_ascii=False))
        assert abs(len(mine) - len(other)) / asked <= 0.007
        assert len(mine ^ other) / asked <= 0.007
        assert 0.05 < len(other) / asked < 0.5
