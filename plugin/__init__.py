"""Benchmarks of language-model checkpoints as ordinary pytest tests.

Everything that the author of a benchmark, a conftest or a plugin needs is here, and nothing else
is public:

    from ckptbench import EvalProtocol, Miss, Sample, samples, top_k

docs/extending.md lists the names by what they are for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._util.errors import CkptbenchError, nearest, one_line, require_packages
from ._util.jsonio import JSON, Scalar
from ._util.names import is_hub_name
from ._util.rounding import rounded, rounding_gap
from ._util.version import __version__
from .api import requests as _requests
from .api.benchmark import Benchmark, Miss, benchmark_family, samples
from .api.protocol import Engine, EvalProtocol, RequestContext, Tokens, every_sample
from .api.requests import *  # noqa: F403 (its `__all__`)
from .api.sample import Sample, content_hash
from .scores import reducers as _reducers
from .scores.metric import Metric, known_metric, wanted_among
from .scores.reducers import *  # noqa: F403 (its `__all__`)
from .scores.reducers import reducer, register_reducer
from .scores.score import Reducer, Score

if TYPE_CHECKING:
    from ._util.atomic import atomic_write_text, atomic_writer
    from .analysis.conclusions import Conclusions
    from .api.benchmark import TaskSource, suite_benchmarks, task_benchmarks, task_names
    from .checkpoints.complete import (
        WEIGHT_FILES,
        missing_parts,
        safetensors_sizes,
        shards_of,
        weights_fault,
    )
    from .checkpoints.expand import CheckpointResolver
    from .checkpoints.found import CheckpointParam
    from .checkpoints.kind import (
        Checkpoint,
        CheckpointKind,
        LoadOptions,
        ModelKind,
        checkpoint_kinds,
        kind_at,
    )
    from .config.effective import OF_LM_EVAL, Effective, effective
    from .config.options import Options
    from .config.parsers import EXEC_MEMORY_MB
    from .fixtures.checkpoints.huggingface import loaded
    from .gate.measurement import BenchmarkMeasurement, Measurement
    from .readers.detect import ResultReader
    from .readers.result import Result, SampleRow
    from .reports.write import ReportFormat
    from .results.outcome import Outcome
    from .results.summary import (
        GROUP_WAY,
        BenchmarkResult,
        CheckpointResult,
        Coverage,
        DatasetInfo,
    )
    from .scores.intervals import normal_interval
    from .session.run import RunContext, SampleAnswer, run_context

# Loaded when they are first used: no import of this package, and nobody's `pytest --help`, waits
# for what only some need.
_LAZY = {
    "._util.atomic": ("atomic_write_text", "atomic_writer"),
    ".analysis.conclusions": ("Conclusions",),
    ".api.benchmark": ("TaskSource", "suite_benchmarks", "task_benchmarks", "task_names"),
    ".checkpoints.complete": (
        "WEIGHT_FILES",
        "missing_parts",
        "safetensors_sizes",
        "shards_of",
        "weights_fault",
    ),
    ".checkpoints.expand": ("CheckpointResolver",),
    ".checkpoints.found": ("CheckpointParam",),
    ".checkpoints.kind": (
        "Checkpoint",
        "CheckpointKind",
        "LoadOptions",
        "ModelKind",
        "checkpoint_kinds",
        "kind_at",
    ),
    ".config.effective": ("Effective", "OF_LM_EVAL", "effective"),
    ".config.options": ("Options",),
    ".config.parsers": ("EXEC_MEMORY_MB",),
    ".fixtures.checkpoints.huggingface": ("loaded",),
    ".gate.measurement": ("BenchmarkMeasurement", "Measurement"),
    ".readers.detect": ("ResultReader",),
    ".readers.result": ("Result", "SampleRow"),
    ".reports.write": ("ReportFormat",),
    ".results.outcome": ("Outcome",),
    ".results.summary": (
        "BenchmarkResult",
        "CheckpointResult",
        "Coverage",
        "DatasetInfo",
        "GROUP_WAY",
    ),
    ".scores.intervals": ("normal_interval",),
    ".session.run": ("RunContext", "SampleAnswer", "run_context"),
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(module, __name__), name)
    return found


__all__ = [
    "EXEC_MEMORY_MB",
    "GROUP_WAY",
    "JSON",
    "OF_LM_EVAL",
    "WEIGHT_FILES",
    "Benchmark",
    "BenchmarkMeasurement",
    "BenchmarkResult",
    "Checkpoint",
    "CheckpointKind",
    "CheckpointParam",
    "CheckpointResolver",
    "CheckpointResult",
    "CkptbenchError",
    "Conclusions",
    "Coverage",
    "DatasetInfo",
    "Effective",
    "Engine",
    "EvalProtocol",
    "LoadOptions",
    "Measurement",
    "Metric",
    "Miss",
    "ModelKind",
    "Options",
    "Outcome",
    "Reducer",
    "ReportFormat",
    "RequestContext",
    "Result",
    "ResultReader",
    "RunContext",
    "Sample",
    "SampleAnswer",
    "SampleRow",
    "Scalar",
    "Score",
    "TaskSource",
    "Tokens",
    "__version__",
    "atomic_write_text",
    "atomic_writer",
    "benchmark_family",
    "checkpoint_kinds",
    "content_hash",
    "effective",
    "every_sample",
    "is_hub_name",
    "kind_at",
    "known_metric",
    "loaded",
    "missing_parts",
    "nearest",
    "normal_interval",
    "one_line",
    "reducer",
    "register_reducer",
    "require_packages",
    "rounded",
    "rounding_gap",
    "run_context",
    "safetensors_sizes",
    "samples",
    "shards_of",
    "suite_benchmarks",
    "task_benchmarks",
    "task_names",
    "wanted_among",
    "weights_fault",
]
# A new kind of request or score is public by the `__all__` beside it.
__all__ += _requests.__all__
__all__ += _reducers.__all__
