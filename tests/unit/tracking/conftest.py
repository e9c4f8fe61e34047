"""A session of two checkpoints, as its run folder holds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench.gate.verdict import Verdict
from ckptbench.reports.run_files import write_reports, write_samples
from ckptbench.results.summary import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    Coverage,
    DatasetInfo,
    Summary,
)
from ckptbench.scores.score import Score


def checkpoint(step: int, real_at_1: float, **others: Any) -> CheckpointResult:
    def result(protocol: str, value: float, word: str = "") -> BenchmarkResult:
        score = Score("real@1", value, 40, 12, 0.05, (value - 0.1, value + 0.1), "cluster-t")
        verdicts = (Verdict("real@1", word, "told", 0.01, 0.05),) if word else ()  # type: ignore[arg-type]
        return BenchmarkResult(
            "real",
            protocol,
            protocol == "real/whole-word",
            DatasetInfo("demo", "5f0c2a9be1d44c01"),
            Coverage(40, 40),
            (score, Score("real@5", None, 0, 0, reason="no sample was scored")),
            verdicts,
        )

    composite = Score("score", None, 40, 12, reason="real@5 has no value")
    known: dict[str, Any] = {
        "name": f"checkpoint-{step}",
        "spec": f"runs/x/checkpoint-{step}",
        "fingerprint": f"{step:016x}",
        "settings": {"seq_len": 512, "dtype": "fp32"},
        "benchmarks": (
            result("real/whole-word", real_at_1, "improved"),
            result("real/single-mask", real_at_1 / 2),
        ),
        "composite": CompositeResult({"real@1": 0.4, "real@5": 0.6}, composite),
        "baseline": "best.json",
        "run": "x",
        "step": step,
        "epoch": step / 200,
        "facts": {"val_loss": 2.5},
    }
    return CheckpointResult(**known | others)


def session(*checkpoints: CheckpointResult, **others: Any) -> Summary:
    known: dict[str, Any] = {
        "run_id": "nightly",
        "started": "2026-07-28T09:15:00+09:00",
        "seconds": 12.5,
        "complete": True,
        "exit_status": 0,
        "gate": "regress",
        "checkpoints": checkpoints,
        "environment": {"python": "3.12.1"},
        "drawing": {"seed": 3, "num_samples": 1, "temperature": 0.0},
    }
    return Summary(**known | others)


def write(folder: Path, summary: Summary) -> Path:
    write_reports(folder, summary)
    for held in summary.checkpoints:
        lines = [f'{{"id": "s{number}"}}\n' for number in range(30)]
        write_samples(folder, held.name, "real", lines)
    return folder


@pytest.fixture
def make_checkpoint() -> Callable[..., CheckpointResult]:
    return checkpoint


@pytest.fixture
def make_session() -> Callable[..., Summary]:
    return session


@pytest.fixture
def write_run() -> Callable[[Path, Summary], Path]:
    return write
