"""Benchmarks of language-model checkpoints as ordinary pytest tests.

Everything that the author of a benchmark, a conftest or a plugin needs is here, and nothing else
is public:

    from ckptbench import EvalProtocol, Miss, Sample, samples, top_k

docs/extending.md lists the names by what they are for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._util.errors import CkptbenchError
from ._util.version import __version__
from .api.benchmark import Benchmark, Miss, benchmark_family, samples
from .api.engine import Engine
from .api.protocol import EvalProtocol, RequestContext
from .api.requests import (
    Answer,
    CompoundRequest,
    CompoundResponse,
    Conversation,
    Failed,
    Filled,
    FillMask,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    LogLikelihoodRolling,
    Request,
    Response,
    Sample,
    Skipped,
    content_hash,
)
from .scores import Reducer, Score, first_choice, mean, pass_at_k, top_k
from .scores.metric import Metric
from .scores.registry import reducer, register_reducer

if TYPE_CHECKING:
    from ._util.atomic import atomic_write_text, atomic_writer
    from ._util.errors import nearest, one_line
    from ._util.jsonio import JSON, Scalar
    from ._util.rounding import rounded, rounding_gap
    from .analysis.conclusions import Conclusions
    from .api.protocol import every_sample
    from .api.tasks import TaskSource, task_benchmarks, task_names
    from .checkpoints.complete import (
        WEIGHT_FILES,
        missing_parts,
        safetensors_sizes,
        shards_of,
        weights_fault,
    )
    from .checkpoints.expand import CheckpointResolver
    from .checkpoints.kind import (
        Checkpoint,
        CheckpointKind,
        LoadOptions,
        ModelKind,
        checkpoint_kinds,
        kind_at,
    )
    from .checkpoints.param import CheckpointParam
    from .config.effective import OF_LM_EVAL, Effective, effective
    from .config.eval_config import SHIPPED
    from .config.options import Options
    from .config.parsers import EXEC_MEMORY_MB
    from .fixtures.checkpoints.huggingface import loaded
    from .gate.measurement import BenchmarkMeasurement, Measurement
    from .readers.detect import ResultReader
    from .readers.result import Result, SampleRow
    from .reports.write import ReportFormat
    from .results.evaluate import Outcome
    from .results.summary import (
        GROUP_WAY,
        BenchmarkResult,
        CheckpointResult,
        Coverage,
        DatasetInfo,
    )
    from .scores.intervals import normal_interval
    from .scores.metric import known_metric, wanted_among
    from .scores.reducers import Named, bits_per_byte
    from .session.context import RunContext, SampleAnswer, run_context

# Loaded when they are first used: no import of this package, and nobody's `pytest --help`, waits
# for what only some need.
_LAZY = {
    "._util.atomic": ("atomic_write_text", "atomic_writer"),
    "._util.errors": ("nearest", "one_line"),
    "._util.jsonio": ("JSON", "Scalar"),
    "._util.rounding": ("rounded", "rounding_gap"),
    ".analysis.conclusions": ("Conclusions",),
    ".api.protocol": ("every_sample",),
    ".api.tasks": ("TaskSource", "task_benchmarks", "task_names"),
    ".checkpoints.complete": (
        "WEIGHT_FILES",
        "missing_parts",
        "safetensors_sizes",
        "shards_of",
        "weights_fault",
    ),
    ".checkpoints.expand": ("CheckpointResolver",),
    ".checkpoints.param": ("CheckpointParam",),
    ".checkpoints.kind": (
        "Checkpoint",
        "CheckpointKind",
        "LoadOptions",
        "ModelKind",
        "checkpoint_kinds",
        "kind_at",
    ),
    ".config.effective": ("Effective", "OF_LM_EVAL", "effective"),
    ".config.eval_config": ("SHIPPED",),
    ".config.options": ("Options",),
    ".config.parsers": ("EXEC_MEMORY_MB",),
    ".fixtures.checkpoints.huggingface": ("loaded",),
    ".gate.measurement": ("BenchmarkMeasurement", "Measurement"),
    ".readers.detect": ("ResultReader",),
    ".readers.result": ("Result", "SampleRow"),
    ".reports.write": ("ReportFormat",),
    ".results.evaluate": ("Outcome",),
    ".results.summary": (
        "BenchmarkResult",
        "CheckpointResult",
        "Coverage",
        "DatasetInfo",
        "GROUP_WAY",
    ),
    ".scores.intervals": ("normal_interval",),
    ".scores.metric": ("known_metric", "wanted_among"),
    ".scores.reducers": ("Named", "bits_per_byte"),
    ".session.context": ("RunContext", "SampleAnswer", "run_context"),
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
    "SHIPPED",
    "WEIGHT_FILES",
    "Answer",
    "Benchmark",
    "BenchmarkMeasurement",
    "BenchmarkResult",
    "Checkpoint",
    "CheckpointKind",
    "CheckpointParam",
    "CheckpointResolver",
    "CheckpointResult",
    "CkptbenchError",
    "CompoundRequest",
    "CompoundResponse",
    "Conclusions",
    "Conversation",
    "Coverage",
    "DatasetInfo",
    "Effective",
    "Engine",
    "EvalProtocol",
    "Failed",
    "FillMask",
    "Filled",
    "Generate",
    "Generated",
    "Likelihood",
    "LoadOptions",
    "LogLikelihood",
    "LogLikelihoodRolling",
    "Measurement",
    "Metric",
    "Miss",
    "ModelKind",
    "Named",
    "Options",
    "Outcome",
    "Reducer",
    "ReportFormat",
    "Request",
    "RequestContext",
    "Response",
    "Result",
    "ResultReader",
    "RunContext",
    "Sample",
    "SampleAnswer",
    "SampleRow",
    "Scalar",
    "Score",
    "Skipped",
    "TaskSource",
    "__version__",
    "atomic_write_text",
    "atomic_writer",
    "benchmark_family",
    "bits_per_byte",
    "checkpoint_kinds",
    "content_hash",
    "effective",
    "every_sample",
    "first_choice",
    "kind_at",
    "known_metric",
    "loaded",
    "mean",
    "missing_parts",
    "nearest",
    "normal_interval",
    "one_line",
    "pass_at_k",
    "reducer",
    "register_reducer",
    "rounded",
    "rounding_gap",
    "run_context",
    "safetensors_sizes",
    "samples",
    "shards_of",
    "task_benchmarks",
    "task_names",
    "top_k",
    "wanted_among",
    "weights_fault",
]
