"""Benchmarks of language-model checkpoints as ordinary pytest tests.

Everything the author of a benchmark needs is here:

    from ckptbench import Miss, Protocol, Sample, samples, top_k
"""

from __future__ import annotations

__version__ = "0.1.0"

from .benchmark import Miss, samples
from .engine import Engine
from .errors import CkptbenchError
from .protocol import Asking, Protocol
from .samples import (
    Failed,
    Filled,
    FillMask,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    Sample,
    Skipped,
)
from .scores import mean, pass_at_k, top_k
from .scores.registry import register_reducer

__all__ = [
    "Asking",
    "CkptbenchError",
    "Engine",
    "Failed",
    "FillMask",
    "Filled",
    "Generate",
    "Generated",
    "Likelihood",
    "LogLikelihood",
    "Miss",
    "Protocol",
    "Sample",
    "Skipped",
    "__version__",
    "mean",
    "pass_at_k",
    "register_reducer",
    "samples",
    "top_k",
]
