"""The tasks that `--tasks` names: lm-eval's, scored by its code, and those of other sources."""

from __future__ import annotations

from collections.abc import Mapping

from ckptbench import benchmark_family, task_benchmarks
from ckptbench.fixtures.lm_eval.documents import DocumentScore


@benchmark_family(task_benchmarks)
def test_lm_eval(response: DocumentScore) -> Mapping[str, float]:
    """Gives the value of each metric; the first one says whether the answer is right."""
    return response.values
