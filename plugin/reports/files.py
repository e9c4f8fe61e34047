"""The files a run leaves behind. Each is written whole or not at all.

| file | content |
|---|---|
| `summary.json` | the whole `Summary`; its JSON Schema is `docs/schema/summary.schema.json` |
| `<checkpoint>_eval_results.json` | the few numbers of one checkpoint that sweeps plot |
| `<benchmark>_results.json` | one benchmark: every checkpoint, every protocol |
| `samples/<checkpoint>/<benchmark>.jsonl` | one line a sample and protocol |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..atomic import atomic_write_text, atomic_writer
from ..results import BenchmarkResult, CheckpointResult, Summary
from ..samples import JSON
from ..store import PlannedItem
from .plain import as_json, on_one_line, one_line, pretty, summary_as_json


def write_reports(folder: Path, summary: Summary) -> tuple[Path, ...]:
    """Write everything but the sample files; `summary.json` first, as it holds the rest.

    Raises:
        CkptbenchError: a file cannot be written; those written before it stay.
    """
    reports = [("summary.json", summary_as_json(summary))]
    reports += [
        (f"{safe_name(checkpoint.name)}_eval_results.json", eval_results(checkpoint))
        for checkpoint in summary.checkpoints
    ]
    reports += [
        (f"{safe_name(benchmark)}_results.json", benchmark_results(summary, benchmark))
        for benchmark in benchmark_names(summary)
    ]
    paths = []
    for name, value in reports:
        atomic_write_text(folder / name, pretty(value))
        paths.append(folder / name)
    return tuple(paths)


def write_samples(folder: Path, checkpoint: str, benchmark: str, lines: Iterable[str]) -> Path:
    """Write one benchmark's lines (see `sample_line`) as they come, holding one at a time.

    Raises:
        CkptbenchError: the file cannot be written.
    """
    path = folder / "samples" / safe_name(checkpoint) / f"{safe_name(benchmark)}.jsonl"
    with atomic_writer(path) as file:
        file.writelines(lines)
    return path


def sample_line(
    *,
    protocol: str,
    item: PlannedItem,
    status: str,
    values: Mapping[str, float | None],
    fields: str,
    response: str | None,
    reason: str = "",
    seconds: float = 0.0,
) -> str:
    """One line of a sample file.

    Args:
        status: `passed`, `missed`, `error`, `skipped` or `not_run`.
        values: the sample's value of each metric; empty when it was not scored.
        fields: the sample's fields, as JSON text.
        response: what the engine answered, as JSON text; None without an answer.
        reason: why it was skipped, what the error was, or how its program failed.
        seconds: how long its program ran; left out where none was run.
    """
    head = one_line(
        {
            "protocol": protocol,
            "id": item.id,
            "hash": item.sample,
            "cluster": item.cluster,
            "trial": item.trial,
            "nodeid": item.nodeid,
            "status": status,
            "reason": reason,
            "values": values,
            **({"seconds": seconds} if seconds else {}),
        }
    )
    # The texts are spliced in as they are: reading and writing them again would cost the most.
    tail = on_one_line(f', "fields": {fields}, "response": {response or "null"}}}')
    return f"{head[:-2]}{tail}"


def eval_results(checkpoint: CheckpointResult) -> dict[str, JSON]:
    """The flat object that sweeps and plots read; null for what was not measured.

    `coref_samples` counts the samples Real@K is computed over; scores are fractions.
    """
    real = _primary(checkpoint, "real")
    composite = checkpoint.composite
    return {
        "checkpoint": checkpoint.name,
        "seq_len": as_json(checkpoint.settings.get("seq_len")),
        "coref_samples": real.coverage.scored if real else None,
        "real1": _value(real, "real@1"),
        "real5": _value(real, "real@5"),
        "lambada_top1": _value(_primary(checkpoint, "lambada"), "lambada@1"),
        "score": as_json(composite.score.value) if composite else None,
        "eval_seconds": as_json(checkpoint.seconds),
    }


def benchmark_results(summary: Summary, benchmark: str) -> dict[str, JSON]:
    """One benchmark over all checkpoints: its protocols, scores, coverage and verdicts."""
    return {
        "format": "ckptbench.benchmark/1",
        "run_id": summary.run_id,
        "benchmark": benchmark,
        "checkpoints": [
            {
                "checkpoint": checkpoint.name,
                "spec": checkpoint.spec,
                "fingerprint": checkpoint.fingerprint,
                "settings": as_json(dict(sorted(checkpoint.settings.items()))),
                "baseline": checkpoint.baseline,
                "protocols": [
                    as_json(result)
                    for result in checkpoint.benchmarks
                    if result.benchmark == benchmark
                ],
            }
            for checkpoint in summary.checkpoints
            if any(result.benchmark == benchmark for result in checkpoint.benchmarks)
        ],
    }


def benchmark_names(summary: Summary) -> tuple[str, ...]:
    """Every benchmark of the run once, in the order it was asked."""
    return tuple(
        dict.fromkeys(
            result.benchmark
            for checkpoint in summary.checkpoints
            for result in checkpoint.benchmarks
        )
    )


_LONGEST_BYTES = 120  # leaves room for our endings in the 255 bytes of common file systems


def safe_name(name: str) -> str:
    """A name as one component of a path, in any script; different names stay different.

    A name that has to be changed or cut gets the first 8 digits of its SHA-256 at the end.
    """
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    if safe == name and name and len(name.encode()) <= _LONGEST_BYTES:
        return name
    digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:8]
    short = safe.encode(errors="ignore")[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{short}-{digest}" if short else digest


def _primary(checkpoint: CheckpointResult, benchmark: str) -> BenchmarkResult | None:
    found = (r for r in checkpoint.benchmarks if r.benchmark == benchmark and r.primary)
    return next(found, None)


def _value(result: BenchmarkResult | None, metric: str) -> float | None:
    scores = result.scores if result else ()
    value: float | None = next((as_json(s.value) for s in scores if s.metric == metric), None)
    return value
