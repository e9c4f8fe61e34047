"""A run's folder, read by tests: its summary and its sample files."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunFolder:
    """One run; properties in the singular are of the only checkpoint or benchmark there is."""

    path: Path

    @classmethod
    def latest(cls, project: Path) -> RunFolder:
        """The run in `project/results` whose summary was written last."""
        summaries = project.glob("results/*/summary.json")
        return cls(max(summaries, key=lambda path: path.stat().st_mtime_ns).parent)

    @property
    def summary(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.path / "summary.json").read_text("utf-8"))
        return content

    @property
    def checkpoints(self) -> dict[str, dict[str, Any]]:
        """By name, in the order of the run."""
        return {checkpoint["name"]: checkpoint for checkpoint in self.summary["checkpoints"]}

    @property
    def checkpoint(self) -> dict[str, Any]:
        (found,) = self.checkpoints.values()
        return found

    @property
    def benchmarks(self) -> dict[str, dict[str, Any]]:
        """The checkpoint's results by protocol."""
        return {benchmark["protocol"]: benchmark for benchmark in self.checkpoint["benchmarks"]}

    @property
    def benchmark(self) -> dict[str, Any]:
        (found,) = self.benchmarks.values()
        return found

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """The checkpoint's scores by metric."""
        return scores_in(self.checkpoint)

    @property
    def values(self) -> dict[str, float | None]:
        """The values of `scores`."""
        return {metric: score["value"] for metric, score in self.scores.items()}

    def samples(self, checkpoint: str = "*", benchmark: str = "*") -> list[dict[str, Any]]:
        """The rows of the sample files."""
        files = sorted(self.path.glob(f"samples/{checkpoint}/{benchmark}.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]

    @property
    def outcomes(self) -> dict[tuple[str, str, int], tuple[str, dict[str, float]]]:
        """`(status, values)` by protocol, sample and trial."""
        return {
            (row["protocol"], row["id"], row.get("trial", 0)): (row["status"], row["values"])
            for row in self.samples()
        }


def scores_in(checkpoint: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The scores of a checkpoint of a summary by metric."""
    return {
        score["metric"]: score
        for benchmark in checkpoint["benchmarks"]
        for score in benchmark["scores"]
    }


def stored(store: Path) -> int:
    """Answers that a run has on disk."""
    if not store.exists():
        return 0
    connection = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)
    try:
        (count,) = connection.execute("SELECT COUNT(*) FROM responses").fetchone()
    except sqlite3.OperationalError:  # its tables are being made
        return 0
    finally:
        connection.close()
    return int(count)
