"""Benchmarks of language-model checkpoints as ordinary pytest tests.

Everything the author of a benchmark needs is here:

    from ckptbench import Miss, EvalProtocol, Sample, samples, top_k
"""

from __future__ import annotations

from ._util.errors import CkptbenchError
from ._util.version import __version__
from .api.benchmark import Benchmark, Miss, benchmark_family, samples
from .api.engine import Engine
from .api.protocol import EvalProtocol, RequestContext
from .api.requests import (
    CompoundRequest,
    CompoundResponse,
    Failed,
    Filled,
    FillMask,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    LogLikelihoodRolling,
    Sample,
    Skipped,
)
from .scores import mean, pass_at_k, top_k
from .scores.registry import register_reducer

__all__ = [
    "Benchmark",
    "CkptbenchError",
    "CompoundRequest",
    "CompoundResponse",
    "Engine",
    "EvalProtocol",
    "Failed",
    "FillMask",
    "Filled",
    "Generate",
    "Generated",
    "Likelihood",
    "LogLikelihood",
    "LogLikelihoodRolling",
    "Miss",
    "RequestContext",
    "Sample",
    "Skipped",
    "__version__",
    "benchmark_family",
    "mean",
    "pass_at_k",
    "register_reducer",
    "samples",
    "top_k",
]
