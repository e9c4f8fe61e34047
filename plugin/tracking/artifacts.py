"""The files of a run that are sent along: few, small, and readable without us."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..results.layout import safe_name
from ..results.summary import CheckpointResult, Summary

FIRST_SAMPLES = 20
_REPORTS = ("report.*", "*.svg", "*.png")


def gather_session(folder: Path, summary: Summary, steps: dict[str, int], into: Path) -> None:
    """Copy what belongs to the whole session: summary, reports, plots; make a CSV a benchmark."""
    for pattern in ("summary.json", *_REPORTS):
        for path in filter(Path.is_file, folder.glob(pattern)):
            shutil.copy2(path, into)
    if (folder / "plots").is_dir():
        shutil.copytree(folder / "plots", into / "plots", dirs_exist_ok=True)
    for benchmark in dict.fromkeys(n for c in summary.checkpoints for n in c.benchmark_names):
        path = into / f"{safe_name(benchmark)}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(_scores(summary, benchmark, steps))


def gather_checkpoint(folder: Path, checkpoint: CheckpointResult, into: Path) -> None:
    """Copy what belongs to one checkpoint: its few numbers, and its first samples."""
    numbers = folder / f"{safe_name(checkpoint.name)}_eval_results.json"
    if numbers.exists():
        shutil.copy2(numbers, into)
    for path in sorted((folder / "samples" / safe_name(checkpoint.name)).glob("*.jsonl")):
        (into / "samples").mkdir(exist_ok=True)
        with path.open("rb") as whole, (into / "samples" / path.name).open("wb") as part:
            part.writelines(islice(whole, FIRST_SAMPLES))


def _scores(summary: Summary, benchmark: str, steps: dict[str, int]) -> Iterator[list[Any]]:
    """The rows of a benchmark's CSV, the header first."""
    yield [
        *("checkpoint", "step", "protocol", "metric"),
        *("value", "standard_error", "low", "high", "n", "verdict"),
    ]
    for checkpoint in summary.checkpoints:
        for result in checkpoint.benchmarks:
            if result.benchmark != benchmark:
                continue
            verdicts = {verdict.metric: verdict.word for verdict in result.verdicts}
            for score in result.scores:
                low, high = score.interval or (None, None)
                about = [checkpoint.name, steps[checkpoint.name], result.protocol, score.metric]
                figures = [score.value, score.standard_error, low, high, score.n]
                yield [*about, *figures, verdicts.get(score.metric, "")]
