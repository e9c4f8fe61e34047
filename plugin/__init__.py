"""Benchmarks of language-model checkpoints as ordinary pytest tests.

Everything the author of a benchmark needs is here:

    from ckptbench import Miss, Protocol, Sample, samples, top_k
"""

from __future__ import annotations

from ._util.errors import CkptbenchError
from ._util.version import __version__
from .api.benchmark import Benchmark, Miss, benchmark_family, samples
from .api.engine import Engine
from .api.protocol import Asking, Protocol
from .api.requests import (
    Failed,
    Filled,
    FillMask,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    LogLikelihoodRolling,
    Sample,
    Several,
    SeveralAnswers,
    Skipped,
)
from .scores import mean, pass_at_k, top_k
from .scores.registry import register_reducer

__all__ = [
    "Asking",
    "Benchmark",
    "CkptbenchError",
    "Engine",
    "Failed",
    "FillMask",
    "Filled",
    "Generate",
    "Generated",
    "Likelihood",
    "LogLikelihood",
    "LogLikelihoodRolling",
    "Miss",
    "Protocol",
    "Sample",
    "Several",
    "SeveralAnswers",
    "Skipped",
    "__version__",
    "benchmark_family",
    "mean",
    "pass_at_k",
    "register_reducer",
    "samples",
    "top_k",
]
