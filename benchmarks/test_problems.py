"""Pass@K on the small problems shipped with the suite, asked as HumanEval is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ckptbench import Options, Sample, pass_at_k, samples
from ckptbench.fixtures.datasets.code import humaneval
from ckptbench.fixtures.sandbox import ExecutionResult

ASKED = replace(humaneval.PROTOCOLS[0], name="problems/strip-newline")


def problems(_: Options) -> Sequence[Sample]:
    """The problems in `samples/problems.jsonl`."""
    return humaneval.demo()


@samples(problems, protocol=ASKED, score=pass_at_k(1, 5, 10, 20))
def test_problems(execution: ExecutionResult) -> None:
    """The program passes every test of its problem."""
    assert execution.passed
