"""Pass@K on CodeContests: programs that read standard input and write standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckptbench import Options, Sample, pass_at_k, samples
from ckptbench.fixtures.datasets.code import codecontests
from ckptbench.fixtures.datasets.code.problems import limited
from ckptbench.fixtures.sandbox import ExecutionResult


def problems(options: Options, file: Path | None) -> Sequence[Sample] | None:
    """The problems of the data file; without it the benchmark is not asked.

    They are of very different difficulty and stand in the order of their contests, so a limit
    draws some of them instead of taking the first.
    """
    if file is None:
        return None
    loaded = codecontests.load(file, tests=options.codecontests_tests, seed=options.seed)
    return limited(loaded, options.limit, seed=options.seed)


@samples(
    problems,
    protocol=codecontests.PROTOCOLS[0],
    on_request=codecontests.PROTOCOLS[1:],
    score=pass_at_k(1, 5, 10, 20),
    limits_itself=True,
)
def test_codecontests(execution: ExecutionResult) -> None:
    """The program passes every test of its problem."""
    assert execution.passed
