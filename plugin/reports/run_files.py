"""The files that a run writes, each of them whole or not at all.

| file | content |
|---|---|
| `summary.json` | the whole `Summary`; its JSON Schema is `docs/schema/summary.schema.json` |
| `<checkpoint>_eval_results.json` | the few numbers of one checkpoint that sweeps plot |
| `<benchmark>_results.json` | one benchmark in the shape of lm-eval's files |
| `samples/<checkpoint>/<benchmark>.jsonl` | one line a sample and protocol |

With several checkpoints the third is `<checkpoint>_<benchmark>_results.json`, one for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .._util.atomic import atomic_write_text, atomic_writer
from .._util.jsonio import JSON, on_one_line, pretty
from ..results.as_json import as_json, one_line, summary_as_json
from ..results.layout import safe_name, samples_path
from ..results.lm_eval_format import of_lm_eval, read_results_file, results_file, task_results
from ..results.stored_run import PlannedItem
from ..results.summary import BenchmarkResult, CheckpointResult, Summary


def write_reports(
    folder: Path, summary: Summary, official: Mapping[str, Mapping[str, JSON]] | None = None
) -> tuple[Path, ...]:
    """Write everything but the sample files; `summary.json`, which contains the rest, first.

    Args:
        official: by checkpoint, lm-eval's results for lm-eval's tasks.

    Raises:
        CkptbenchError: a file cannot be written; those written before it stay.
    """
    reports = {"summary.json": summary_as_json(summary)}
    for checkpoint in summary.checkpoints:
        reports[f"{safe_name(checkpoint.name)}_eval_results.json"] = eval_results(checkpoint)
    official, alone = official or {}, len(summary.checkpoints) == 1
    for checkpoint in summary.checkpoints:
        for benchmark in checkpoint.benchmark_names:
            reports[results_file(checkpoint, benchmark, alone=alone)] = task_results(
                summary, checkpoint, benchmark, official.get(checkpoint.name)
            )
    for path in folder.glob("*_results.json"):
        if path.name not in reports and _is_stale(path, summary, official):
            path.unlink(missing_ok=True)
    for name, value in reports.items():
        atomic_write_text(folder / name, pretty(value))
    return tuple(folder / name for name in reports)


def write_samples(folder: Path, checkpoint: str, benchmark: str, lines: Iterable[str]) -> Path:
    """Write one benchmark's lines (see `sample_line`) with one of them in memory at a time.

    Raises:
        CkptbenchError: the file cannot be written.
    """
    path = samples_path(folder, checkpoint, benchmark)
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
    # The texts are inserted as they are: decoding and encoding them again would cost the most.
    tail = on_one_line(f', "fields": {fields}, "response": {response or "null"}}}')
    return f"{head[:-2]}{tail}"


def eval_results(checkpoint: CheckpointResult) -> dict[str, JSON]:
    """The flat object for sweeps and plots; null for what was not measured completely.

    `coref_samples` is the number of samples of Real@K; scores are fractions.
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
        "run": checkpoint.run,
        "step": checkpoint.step,
        "epoch": as_json(checkpoint.epoch),
    }


def _is_stale(path: Path, summary: Summary, official: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a result file of an earlier session of the run is outdated.

    It has the name of a run with fewer checkpoints, or more; or it is of a group that the run no
    longer has, because a task is incomplete now, with values that are no longer the task's.
    """
    alone = len(summary.checkpoints) == 1
    for checkpoint in summary.checkpoints:
        names = checkpoint.benchmark_names
        if path.name in {results_file(checkpoint, name, alone=not alone) for name in names}:
            return True
    content = read_results_file(path)
    shown = (of_lm_eval(content) or {}).get("results", {})
    owner = content["ckptbench"]["checkpoint"] if shown else ""
    now = official.get(owner, {}).get("results", {})
    measured = {n for c in summary.checkpoints if c.name == owner for n in c.benchmark_names}
    return any(now.get(name) != values for name, values in shown.items() if name in measured)


def _primary(checkpoint: CheckpointResult, benchmark: str) -> BenchmarkResult | None:
    found = (r for r in checkpoint.benchmarks if r.benchmark == benchmark and r.primary)
    return next(found, None)


def _value(result: BenchmarkResult | None, metric: str) -> float | None:
    # A score of some of the samples would look like one of all.
    scores = result.scores if result and result.coverage.complete else ()
    value: float | None = next((as_json(s.value) for s in scores if s.metric == metric), None)
    return value
