"""The files of a run that are sent along: few, small, and readable without us."""

from __future__ import annotations

import csv
import shutil
from itertools import islice
from pathlib import Path

from ..reports.run_files import benchmark_names
from ..results.layout import safe_name
from ..results.summary import CheckpointResult, Summary

FIRST_SAMPLES = 20
_REPORTS = ("report.*", "*.svg", "*.png")
_COLUMNS = (
    "checkpoint",
    "step",
    "protocol",
    "metric",
    "value",
    "standard_error",
    "low",
    "high",
    "n",
    "verdict",
)


def gather_session(folder: Path, summary: Summary, steps: dict[str, int], into: Path) -> None:
    """Copy what belongs to the whole session: summary, reports, plots; make a CSV a benchmark."""
    shutil.copy2(folder / "summary.json", into)
    for pattern in _REPORTS:
        for path in sorted(folder.glob(pattern)):
            if path.is_file():
                shutil.copy2(path, into)
    if (folder / "plots").is_dir():
        shutil.copytree(folder / "plots", into / "plots", dirs_exist_ok=True)
    for benchmark in benchmark_names(summary):
        _write_scores(summary, benchmark, steps, into / f"{safe_name(benchmark)}.csv")


def gather_checkpoint(folder: Path, checkpoint: CheckpointResult, into: Path) -> None:
    """Copy what belongs to one checkpoint: its few numbers, and its first samples."""
    numbers = folder / f"{safe_name(checkpoint.name)}_eval_results.json"
    if numbers.exists():
        shutil.copy2(numbers, into)
    for path in sorted((folder / "samples" / safe_name(checkpoint.name)).glob("*.jsonl")):
        (into / "samples").mkdir(exist_ok=True)
        with path.open("rb") as whole, (into / "samples" / path.name).open("wb") as part:
            part.writelines(islice(whole, FIRST_SAMPLES))


def _write_scores(summary: Summary, benchmark: str, steps: dict[str, int], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(_COLUMNS)
        for checkpoint in summary.checkpoints:
            for bench in checkpoint.benchmarks:
                if bench.benchmark != benchmark:
                    continue
                verdicts = {verdict.metric: verdict.word for verdict in bench.verdicts}
                for score in bench.scores:
                    rows.writerow(
                        [
                            checkpoint.name,
                            steps[checkpoint.name],
                            bench.protocol,
                            score.metric,
                            score.value,
                            score.standard_error,
                            *(score.interval or (None, None)),
                            score.n,
                            verdicts.get(score.metric, ""),
                        ]
                    )
