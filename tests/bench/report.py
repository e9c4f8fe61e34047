"""What a report costs: twenty checkpoints of one run, 3,200 samples each, read, concluded, written.

    python tests/bench/report.py [--checkpoints 20] [--samples 3200] [--keep FOLDER]

An artificial run's folder is made first, by the code that writes real ones: Korean texts of 500 to
1,000 characters, answers of ten candidates, scores that rise and fall again. Then a process of its
own reads it and writes every report; its seconds and its peak memory are what is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ckptbench.api.requests import Filled
from ckptbench.api.sample import Sample
from ckptbench.reports.run_files import sample_line, write_reports, write_samples
from ckptbench.results.answers import encode
from ckptbench.results.stored_run import PlannedItem
from ckptbench.results.summary import (
    BenchmarkResult,
    CheckpointResult,
    Coverage,
    DatasetInfo,
    Summary,
)
from ckptbench.scores.aggregate import TrialValue, fold, tabulate
from ckptbench.scores.reducers import TopK, spec_of

PROTOCOL = "real/whole-word"
SECONDS, MEGABYTES, PAGE_MEGABYTES = 20, 1000, 15


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the run, report it, print what that took; 1 when it is over a bound."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkpoints", type=int, default=20)
    parser.add_argument("--samples", type=int, default=3200)
    parser.add_argument("--keep", type=Path, help="leave the run's folder and the reports here")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.report is not None:
        print(json.dumps(report(given.report)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        make_run(folder, given.checkpoints, given.samples)
        command = [sys.executable, __file__, "--report", str(folder)]
        took = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for name, value in took.items():
        print(f"{name:>16}  {value:10.2f}")
    good = took["seconds"] < SECONDS and took["peak MB"] < MEGABYTES
    good = good and took["report.html MB"] < PAGE_MEGABYTES
    print(
        f"bounds: {SECONDS} s, {MEGABYTES} MB, page {PAGE_MEGABYTES} MB:",
        "kept" if good else "MISSED",
    )
    return 0 if good else 1


def report(folder: Path) -> dict[str, float]:
    """Seconds, peak memory and sizes of reporting the run in a folder."""
    start = time.perf_counter()
    from ckptbench.analysis.conclude import conclude
    from ckptbench.readers.detect import read_all
    from ckptbench.reports.write import write_report

    results = read_all([folder])
    read = time.perf_counter()
    conclusions = conclude([m for result in results for m in result.measurements])
    concluded = time.perf_counter()
    write_report(results, conclusions, folder, ["html", "md"])
    end = time.perf_counter()
    return {
        "read": read - start,
        "conclude": concluded - read,
        "write": end - concluded,
        "seconds": end - start,
        "CPU seconds": time.process_time(),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "report.html MB": (folder / "report.html").stat().st_size / 1e6,
        "report.md KB": (folder / "report.md").stat().st_size / 1e3,
    }


def make_run(folder: Path, checkpoints: int, samples: int) -> None:
    """An artificial run as a session leaves it, without its store."""
    rng = random.Random(4)
    asked = [_sample(rng, place) for place in range(samples)]
    hardness = [rng.random() for _ in asked]
    results = [_checkpoint(folder, n, checkpoints, asked, hardness) for n in range(checkpoints)]
    summary = Summary(
        run_id=folder.name,
        started="2026-01-02T03:04:05+09:00",
        seconds=1.0,
        complete=True,
        exit_status=0,
        gate="regress",
        checkpoints=tuple(results),
    )
    write_reports(folder, summary)


def _sample(rng: random.Random, place: int) -> Sample:
    words = ["".join(chr(rng.randrange(0xAC00, 0xD7A4)) for _ in range(3)) for _ in range(200)]
    text = " ".join(words)[: rng.randrange(500, 1000)]
    fields = {"text": text, "answer": words[60], "first": [240, 243], "second": [480, 483]}
    return Sample(f"passages-{place:05}", fields, cluster=f"p{place // 3}")


def _checkpoint(
    folder: Path, place: int, of: int, asked: Sequence[Sample], hardness: Sequence[float]
) -> CheckpointResult:
    rng = random.Random(place)
    name = f"checkpoint-{(place + 1) * 100}"
    skill = 0.3 + 0.5 * min(1.0, (place + 1) / (0.7 * of)) - 0.05 * max(0.0, place / of - 0.7)
    trials, lines = [], []
    for position, (sample, hard) in enumerate(zip(asked, hardness, strict=True)):
        sure = skill - hard + rng.gauss(0.0, 0.1)
        rank = 1 if sure > 0 else 2 + int(-20 * sure)
        right = {"real@1": float(rank <= 1), "real@5": float(rank <= 5)}
        trials.append(TrialValue(sample.hash, sample.cluster, 0, tuple(right.values())))
        words = ["".join(chr(rng.randrange(0xAC00, 0xD7A4)) for _ in range(3)) for _ in range(10)]
        logprobs = tuple(round(-0.5 - i * rng.random(), 6) for i in range(10))
        nodeid = f"benchmarks/test_real_k.py::test_real_k[{name}/{sample.id}]"
        item = PlannedItem(position, nodeid, 0, sample.id, sample.hash, sample.cluster, 0)
        lines.append(
            sample_line(
                protocol=PROTOCOL,
                item=item,
                status="passed" if rank == 1 else "missed",
                values=right,
                fields=json.dumps(dict(sample.fields), ensure_ascii=False),
                response=encode(Filled(tuple(words), logprobs, rank if rank <= 10 else None, 2)),
            )
        )
    write_samples(folder, name, "real", lines)
    scores = fold(tabulate(trials, TopK((1, 5)), "real"))
    benchmark = BenchmarkResult(
        "real",
        PROTOCOL,
        primary=True,
        dataset=DatasetInfo("artificial", "0123456789abcdef"),
        coverage=Coverage(len(asked), len(asked)),
        scores=scores,
        reducer=spec_of(TopK((1, 5))),
    )
    spec = f"runs/artificial/{name}"
    return CheckpointResult(name, spec, f"{place:016x}", {"seq_len": 2048}, (benchmark,))


if __name__ == "__main__":
    sys.exit(main())
