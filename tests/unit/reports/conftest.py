"""Small summaries that the reports are written from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.conclusions import Conclusions
from ckptbench.api.sample import Sample
from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
from ckptbench.gate.verdict import Comparison, Verdict, Word
from ckptbench.readers.result import Result, SampleRow, Samples
from ckptbench.results.summary import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    Coverage,
    DatasetInfo,
    Flip,
    Summary,
)
from ckptbench.scores.aggregate import TrialValue, fold, tabulate
from ckptbench.scores.reducers import TopK
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
        "mde": 0.0241,
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
            verdict("regressed", fell, "worse by 4.20 pp", p_adjusted=0.0003),
            verdict("unchanged", stayed, "no difference", p_adjusted=0.5),
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


@dataclass(frozen=True)
class Swept:
    """One training run, as read and concluded: the two things a report is written from."""

    result: Result
    conclusions: Conclusions

    @property
    def both(self) -> tuple[tuple[Result], Conclusions]:
        return (self.result,), self.conclusions


ANSWER = "궁궐"
BASELINE = "baselines/best.json"


def swept(
    ranks: Mapping[str, Sequence[int]],
    *,
    text: str = "경복궁은 조선의 궁궐이다. 관광객이 궁궐을 찾는다.",
    against: Sequence[int] | None = None,
    rows: Samples | None = None,
) -> Swept:
    """A run from the rank of the answer of each sample at each checkpoint (1 is passed).

    Args:
        text: of every sample, with its number put before it.
        against: ranks in a baseline; the summary then holds the flips against it.
        rows: what reads the samples, instead of those that the ranks give.
    """
    fields = [
        {"text": f"{place:04}: {text}", "answer": ANSWER, "second": [6, 9]}
        for place in range(max(map(len, ranks.values())))
    ]
    samples = [Sample(f"s-{place}", each) for place, each in enumerate(fields)]
    measurements, measured = [], []
    for name, given in ranks.items():
        trials = [
            TrialValue(sample.hash, sample.cluster, 0, (float(rank <= 1), float(rank <= 5)))
            for sample, rank in zip(samples, given, strict=True)
        ]
        table = tabulate(trials, TopK((1, 5)), "real")
        scores = fold(table)
        benchmark = BenchmarkMeasurement("real", "real/whole-word", True, scores, table, "data")
        step = int("".join(filter(str.isdigit, name)) or 0)
        source = "results/sweep"
        measurements.append(
            Measurement(name, "run", step, benchmarks=(benchmark,), source=source, spec=name)
        )
        others: dict[str, Any] = {}
        if against is not None:
            changed = [(i, a > b) for i, (a, b) in enumerate(zip(given, against, strict=True))]
            flips = tuple(
                Flip(f"{ITEM}[{name}/s-{i}]", "lost" if worse else "won")
                for i, worse in changed
                if (given[i] <= 1) != (against[i] <= 1)
            )
            value = scores[0].value or 0.0
            word: Word = "regressed" if sum(f.change == "lost" for f in flips) > 3 else "unchanged"
            others = {"verdicts": (verdict(word, paired("real@1", value, 0.7)),), "flips": flips}
        checked = result("real/whole-word", *scores, **others)
        baseline = BASELINE if against is not None else ""
        measured.append(checkpoint(checked, name=name, spec=name, baseline=baseline))

    def own(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        for sample, rank in zip(samples, ranks[checkpoint], strict=True):
            candidates = ["틀림"] * (rank - 1) + [ANSWER]
            response = {"kind": "filled", "candidates": candidates, "rank": rank, "logprobs": []}
            yield SampleRow(
                checkpoint,
                benchmark,
                "real/whole-word",
                sample.id,
                sample.hash,
                f"{ITEM}[{checkpoint}/{sample.id}]",
                0,
                "passed" if rank == 1 else "missed",
                "",
                {"real@1": float(rank == 1)},
                dict(sample.fields),
                response,
            )

    failed = any(v.word == "regressed" for c in measured for b in c.benchmarks for v in b.verdicts)
    whole = summary(*measured, exit_status=int(failed))
    run = Result(Path("results/sweep"), "ckptbench", tuple(measurements), whole, rows or own)
    return Swept(run, conclude(measurements))


@pytest.fixture
def sweep() -> Callable[..., Swept]:
    """`swept`: a run from ranks, through the real folding and concluding."""
    return swept


@pytest.fixture
def rising() -> Swept:
    """Three checkpoints that get better, without a baseline."""
    return swept(
        {
            "checkpoint-100": [2] * 30 + [1] * 10,
            "checkpoint-200": [2] * 10 + [1] * 30,
            "checkpoint-300": [1] * 38 + [7] * 2,
        }
    )


@pytest.fixture
def fallen() -> Swept:
    """One checkpoint that lost eight samples of its baseline's and won two."""
    return swept(
        {"checkpoint-655": [3] * 8 + [1] * 24 + [2] * 8},
        against=[1] * 30 + [2] * 10,
    )
