"""The tasks of lm-eval that `--tasks` names, asked by our engines and scored by lm-eval's code."""

from __future__ import annotations

from collections.abc import Mapping

from ckptbench import benchmark_family
from ckptbench.fixtures.lm_eval import lm_eval_benchmarks
from ckptbench.fixtures.lm_eval.documents import DocumentScore


@benchmark_family(lm_eval_benchmarks)
def test_lm_eval(response: DocumentScore) -> Mapping[str, float]:
    """Gives the value of each metric; the first one says whether the answer is right."""
    return response.values
