"""Small summaries that the reports are written from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench.gate.verdict import Comparison, Verdict, Word
from ckptbench.results import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    Coverage,
    DatasetInfo,
    Flip,
    Summary,
)
from ckptbench.scores.score import Score

ITEM = "benchmarks/test_real_k.py::test_real_k"


def score(metric: str, value: float | None, *, n: int = 200, **others: Any) -> Score:
    interval = None if value is None else (value - 0.07, value + 0.06)
    return Score(metric, value, n, 80, **{"interval": interval, "method": "cluster-t", **others})


def paired(metric: str, current: float, baseline: float, **others: Any) -> Comparison:
    difference = current - baseline
    known = {
        "n": 200,
        "standard_error": 0.009,
        "interval": (difference - 0.02, difference + 0.02),
        "lost": 12,
        "won": 3,
        "p_value": 0.0352,
        "p_worse": 0.0106,
        "detectable_drop": 0.0241,
    }
    return Comparison(metric, "paired", current, baseline, difference=difference, **known | others)


def point(metric: str, current: float, baseline: float) -> Comparison:
    return Comparison(metric, "point", current, baseline, None, current - baseline)


def verdict(
    word: Word, compared: Comparison | str, detail: str = "", p_adjusted: float | None = None
) -> Verdict:
    if isinstance(compared, str):  # the metric alone: nothing could be compared
        return Verdict(compared, word, detail, 0.01, 0.05)
    return Verdict(compared.metric, word, detail, 0.01, 0.05, p_adjusted, compared)


def result(protocol: str, *scores: Score, **others: Any) -> BenchmarkResult:
    known = {
        "primary": True,
        "dataset": DatasetInfo("demo", "5f0c2a9be1d44c01"),
        "coverage": Coverage(planned=200, scored=200),
    }
    benchmark = protocol.partition("/")[0]
    return BenchmarkResult(benchmark, protocol, scores=scores, **known | others)


def checkpoint(*benchmarks: BenchmarkResult, **others: Any) -> CheckpointResult:
    known = {
        "name": "checkpoint-655",
        "spec": "runs/x/checkpoint-655",
        "fingerprint": "0123456789abcdef",
        "settings": {"seq_len": 512, "dtype": "fp32"},
        "seconds": 12.34,
        "asked": 400,
    }
    return CheckpointResult(benchmarks=benchmarks, **known | others)


def summary(*checkpoints: CheckpointResult, **others: Any) -> Summary:
    known = {
        "run_id": "20250102_030405_67",
        "started": "2025-01-02T03:04:05+09:00",
        "seconds": 20.5,
        "complete": True,
        "exit_status": 0,
        "gate": "regress",
    }
    return Summary(checkpoints=checkpoints, **known | others)


@pytest.fixture
def make() -> SimpleNamespace:
    """The builders above; what a test does not say is a complete run of 200 samples."""
    return SimpleNamespace(
        score=score,
        paired=paired,
        point=point,
        verdict=verdict,
        result=result,
        checkpoint=checkpoint,
        summary=summary,
    )


@pytest.fixture
def no_baseline() -> Summary:
    """Two metrics, no baseline, and a composite without LAMBADA."""
    missing = score("score", None, n=0, reason="lambada@1 was not measured")
    weights = {"real@1": 0.4, "real@5": 0.3, "lambada@1": 0.3}
    return summary(
        checkpoint(
            result("real/whole-word", score("real@1", 0.6778), score("real@5", 0.8244)),
            composite=CompositeResult(weights, missing),
        )
    )


@pytest.fixture
def regressed() -> Summary:
    """Real@1 fell; a protocol is shown beside the gated one."""
    fell = paired("real@1", 0.6355, 0.6775, p_value=0.0004)
    stayed = paired("real@5", 0.8244, 0.8244, lost=2, won=2, p_value=1.0)
    gated = result(
        "real/whole-word",
        score("real@1", 0.6355),
        score("real@5", 0.8244),
        coverage=Coverage(201, 200, {"first_mention_out_of_window": 1}),
        verdicts=(
            verdict("regressed", fell, "worse by 4.20 %p", p_adjusted=0.0003),
            verdict("unchanged", stayed, "no difference"),
        ),
        flips=(
            *(Flip(f"{ITEM}[passages-{i:03}-2]", "lost") for i in range(6)),
            Flip(f"{ITEM}[passages-090-1]", "won"),
        ),
    )
    beside = result(
        "real/single-mask",
        score("real@1", 0.5),
        primary=False,
        coverage=Coverage(200, 200, reachable=150),
    )
    return summary(
        checkpoint(gated, beside, baseline="baselines/best.json"),
        exit_status=1,
        environment={"python": "3.11.7"},
        notes=("real@500 was left out: no answer has so many candidates",),
    )


@pytest.fixture
def incomplete() -> Summary:
    """Three errors and seventeen samples that were never asked."""
    cut = result(
        "lambada/mlm-whole-word",
        score("lambada@1", 0.38, n=180),
        coverage=Coverage(200, 180, errors=3, not_run=17),
        errors=("benchmarks/test_lambada.py::test_lambada[row-7]: the logits are NaN\ntraceback",),
    )
    return summary(checkpoint(cut), complete=False, exit_status=1)
