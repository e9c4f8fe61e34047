"""The files a run leaves behind. Each is written whole or not at all.

| file | content |
|---|---|
| `summary.json` | the whole `Summary`; its JSON Schema is `docs/schema/summary.schema.json` |
| `<checkpoint>_eval_results.json` | the few numbers of one checkpoint that sweeps plot |
| `<benchmark>_results.json` | one benchmark in the shape of lm-eval's files |
| `samples/<checkpoint>/<benchmark>.jsonl` | one line a sample and protocol |

With several checkpoints the third is `<checkpoint>_<benchmark>_results.json`, one for each.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from .._util.atomic import atomic_write_text, atomic_writer
from .._util.jsonio import JSON, on_one_line, pretty
from ..results.as_json import as_json, one_line, summary_as_json
from ..results.layout import safe_name
from ..results.stored_run import PlannedItem
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from .lm_eval_format import of_lm_eval, task_results


def write_reports(
    folder: Path, summary: Summary, official: Mapping[str, Mapping[str, JSON]] | None = None
) -> tuple[Path, ...]:
    """Write everything but the sample files; `summary.json` first, as it holds the rest.

    Args:
        official: by checkpoint, what lm-eval made of its answers to lm-eval's tasks.

    Raises:
        CkptbenchError: a file cannot be written; those written before it stay.
    """
    reports = [("summary.json", summary_as_json(summary))]
    reports += [
        (f"{safe_name(checkpoint.name)}_eval_results.json", eval_results(checkpoint))
        for checkpoint in summary.checkpoints
    ]
    reports += [
        (
            _results_name(summary, checkpoint, benchmark),
            task_results(summary, checkpoint, benchmark, (official or {}).get(checkpoint.name)),
        )
        for checkpoint in summary.checkpoints
        for benchmark in dict.fromkeys(result.benchmark for result in checkpoint.benchmarks)
    ]
    _remove_other_results(folder, summary)
    _remove_left_groups(folder, summary, official or {}, {name for name, _ in reports})
    paths = []
    for name, value in reports:
        atomic_write_text(folder / name, pretty(value))
        paths.append(folder / name)
    return tuple(paths)


def read_official(folder: Path, summary: Summary) -> dict[str, dict[str, dict[str, Any]]]:
    """What lm-eval made of a run, by checkpoint and name of the task or group.

    It is read from the run's result files. One that is missing or damaged, or that does not hold
    the very results of the summary, says nothing: it may be of an earlier session of the run.

    Args:
        summary: of the run, as `summary.json` has it.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for checkpoint in summary.checkpoints:
        for benchmark in dict.fromkeys(result.benchmark for result in checkpoint.benchmarks):
            content = _content(folder / _results_name(summary, checkpoint, benchmark))
            official = of_lm_eval(content)
            if official is None:
                continue
            expected = task_results(summary, checkpoint, benchmark, official)
            if content["ckptbench"] == expected["ckptbench"]:
                found.setdefault(checkpoint.name, {})[benchmark] = official
    return found


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
    """The flat object that sweeps and plots read; null for what was not measured completely.

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
        "run": checkpoint.run,
        "step": checkpoint.step,
        "epoch": as_json(checkpoint.epoch),
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


def _remove_other_results(folder: Path, summary: Summary) -> None:
    """Take away what this run left when it had fewer checkpoints, or more."""
    benchmarks = {result.benchmark for c in summary.checkpoints for result in c.benchmarks}
    for benchmark in benchmarks:
        alone = f"{safe_name(benchmark)}_results.json"
        if len(summary.checkpoints) > 1:
            (folder / alone).unlink(missing_ok=True)
        else:
            for checkpoint in summary.checkpoints:
                (folder / f"{safe_name(checkpoint.name)}_{alone}").unlink(missing_ok=True)


def _remove_left_groups(
    folder: Path,
    summary: Summary,
    official: Mapping[str, Mapping[str, Any]],
    written: Collection[str],
) -> None:
    """Take away what this run left of a group that it no longer has, as a task is incomplete now.

    Such a file shows a task's values; it goes where they are no longer the task's.
    """
    measured = {c.name: {b.benchmark for b in c.benchmarks} for c in summary.checkpoints}
    for path in folder.glob("*_results.json"):
        if path.name in written:
            continue
        content = _content(path)
        held = of_lm_eval(content)
        checkpoint = content["ckptbench"]["checkpoint"] if held else ""
        now = official.get(checkpoint, {}).get("results", {})
        shown = (held or {}).get("results", {}).items()
        of_tasks = ((n, values) for n, values in shown if n in measured.get(checkpoint, ()))
        if any(now.get(name) != values for name, values in of_tasks):
            path.unlink(missing_ok=True)


def _content(path: Path) -> dict[str, Any]:
    """The object that a result file holds; an empty one when it is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(content, dict) and isinstance(content.get("ckptbench"), dict)
    return content if whole else {}


def _results_name(summary: Summary, checkpoint: CheckpointResult, benchmark: str) -> str:
    several = len(summary.checkpoints) > 1
    whose = f"{safe_name(checkpoint.name)}_" if several else ""
    return f"{whose}{safe_name(benchmark)}_results.json"


def _primary(checkpoint: CheckpointResult, benchmark: str) -> BenchmarkResult | None:
    found = (r for r in checkpoint.benchmarks if r.benchmark == benchmark and r.primary)
    return next(found, None)


def _value(result: BenchmarkResult | None, metric: str) -> float | None:
    # A score of some of the samples would look like one of all.
    scores = result.scores if result and result.coverage.complete else ()
    value: float | None = next((as_json(s.value) for s in scores if s.metric == metric), None)
    return value
