"""Pass@K on MBPP: functions written from a sentence and a few asserts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckptbench import Options, Sample, pass_at_k, samples
from ckptbench.fixtures.datasets.code import mbpp
from ckptbench.fixtures.sandbox import ExecutionResult


def problems(_: Options, file: Path | None) -> Sequence[Sample] | None:
    """The problems of the data file; without one the benchmark is not asked."""
    return mbpp.load(file) if file else None


@samples(
    problems,
    protocol=mbpp.PROTOCOLS[0],
    on_request=mbpp.PROTOCOLS[1:],
    score=pass_at_k(1, 5, 10, 20),
)
def test_mbpp(execution: ExecutionResult) -> None:
    """The program passes every test of its problem."""
    assert execution.passed
