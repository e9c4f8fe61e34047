"""Pass@K on CodeContests: programs that read standard input and write standard output."""

from __future__ import annotations

from collections.abc import Sequence

from ckptbench import Sample, pass_at_k, samples
from ckptbench.fixtures.datasets import codecontests, codecontests_protocols
from ckptbench.fixtures.sandbox import Verdict
from ckptbench.options import Options


def problems(options: Options) -> Sequence[Sample] | None:
    """The problems of `--codecontests-data`; without it the benchmark is not asked."""
    source = options.codecontests_data
    return codecontests.load(source) if source else None


@samples(
    problems,
    protocol=codecontests_protocols.PROTOCOLS[0],
    on_request=codecontests_protocols.PROTOCOLS[1:],
    score=pass_at_k(1, 5, 10, 20),
)
def test_codecontests(execution: Verdict) -> None:
    """The program passes every test of its problem."""
    assert execution.passed
