"""A `.pt` file of a Llama with multi-token prediction: how good its further heads are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm
from meta_llama_weights import CIRCLE_PARAMS, circle, save_run
from run_folder import RunFolder

from ckptbench.readers.detect import read

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's"),
]
MTP = ["mtp_agreement@2", "mtp_agreement@3", "mtp_agreement@4", "mtp_accepted_length"]


def save(folder: Path, weights: dict[str, Any]) -> None:
    save_run(folder / "run" / "best.pt", weights, CIRCLE_PARAMS | {"max_seq_len": 512})


def run(folder: Path, run_id: str, *options: str) -> tuple[RunFolder, str]:
    command = [
        str(warm.commands() / "pytest"),
        str(ROOT / "benchmarks"),
        "-v",
        f"--run-id={run_id}",
    ]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", "--checkpoint=run/best.pt"]
    command += ["--device=cpu", "--dtype=fp32", "--max-tokens=12", "--limit=5", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return RunFolder(folder / "results" / run_id), done.stdout


@pytest.mark.slow
def test_heads_are_measured_beside_pass_at_k(tmp_path: Path) -> None:
    save(tmp_path, circle())
    first, shown = run(tmp_path, "first")
    assert list(first.values) == ["pass@1", *MTP]
    assert [first.values[name] for name in MTP] == [1.0, 1.0, 1.0, 4.0]
    assert not any(first.scores[name]["gated"] for name in MTP)
    assert first.checkpoint["settings"]["mtp_heads"] == 4
    assert re.search(r"mtp_agreement@4 +100\.00%", shown)
    assert re.search(r"mtp_accepted_length +4\.000", shown)
    # Pass@1 keeps its samples for paired comparisons, and the baseline holds no other metric.
    (measured,) = read(first.path).measurements
    table = measured.benchmarks[0].table
    assert table is not None
    assert table.metrics == ("pass@1",)
    (baseline,) = first.path.glob("*_baseline.json")
    (kept,) = json.loads(baseline.read_text("utf-8"))["benchmarks"].values()
    assert list(kept["scores"]) == ["pass@1"]
    second, shown = run(tmp_path, "second", f"--baseline={baseline}")
    assert second.checkpoint["asked"] == 0
    assert second.scores == first.scores
    assert "identical" in shown


@pytest.mark.slow
def test_figures_of_sampled_texts_are_the_same_with_workers(tmp_path: Path) -> None:
    save(tmp_path, circle(0.0014))
    sampled = ("--temperature=0.7", "--num-samples=3", "--no-resume")
    alone, _ = run(tmp_path, "alone", *sampled)
    spread, _ = run(tmp_path, "spread", *sampled, "-n2")
    assert list(alone.values) == ["pass@1", *MTP]
    assert 0.1 < alone.values["mtp_agreement@2"] < 0.9  # type: ignore[operator]
    assert spread.scores == alone.scores
    texts = [row["response"] for row in alone.samples()]
    tokens = sum(text["tokens"] for text in texts)
    agreed = sum(text["agreed"][0] for text in texts)
    assert alone.values["mtp_agreement@2"] == pytest.approx(agreed / (tokens - len(texts)))
    passes = sum(text["passes"] for text in texts)
    assert alone.values["mtp_accepted_length"] == pytest.approx(tokens / passes)
