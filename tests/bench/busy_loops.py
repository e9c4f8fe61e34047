"""Whether a loaded machine changes verdicts: programs judged beside endless loops.

    CKPTBENCH_DATA=... python tests/bench/busy_loops.py

The canonical solutions of HumanEval, and programs that need 1.2 s of processor time in several
ways, at a limit of 3 s with four busy loops beside them: every one should pass. A program that
loops and one that sleeps should still be late.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ckptbench.fixtures.sandbox import FunctionTask, Sandbox, StdioTask, Task

NEEDED_CPU_S = 1.2
_CALLED = f"""
import threading, time
def work(clock):
    end = clock() + {NEEDED_CPU_S}
    while clock() < end: pass
def called(x):
    work(time.process_time)
    return x
def threaded(x):
    thread = threading.Thread(target=work, args=(time.thread_time,))
    thread.start()
    thread.join()
    return x
"""
_SCRIPT = _CALLED + "print(called(input()))\n"
_LATE = {
    "loops": "def called(x):\n    while True: pass\n",
    "sleeps": "import time\ndef called(x): time.sleep(100)\n",
}


def _canonical(data: Path) -> list[Task]:
    with gzip.open(data / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        FunctionTask(
            row["task_id"],
            row["prompt"] + row["canonical_solution"],
            row["test"],
            row["entry_point"],
            row["prompt"],
        )
        for row in rows
    ]


def _slow(times: int) -> list[Task]:
    tasks: list[Task] = []
    for number in range(times):
        for name in ("called", "threaded"):
            test = f"assert {name}(1) == 1"
            tasks.append(FunctionTask(f"{name}-{number}", _CALLED, test, name))
        tasks.append(StdioTask(f"script-{number}", _SCRIPT, [("a", "a")]))
    return tasks


def main() -> None:
    """Judge them all and print what flipped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loops", type=int, default=4)
    parser.add_argument("--times", type=int, default=8, help="slow programs of each kind")
    parser.add_argument("--timeout", type=float, default=3.0, metavar="SECONDS")
    parser.add_argument("--level", default="auto")
    arguments = parser.parse_args()
    right = [*_canonical(Path(os.environ["CKPTBENCH_DATA"])), *_slow(arguments.times)]
    late = [FunctionTask(name, code, "called(1)", "called") for name, code in _LATE.items()]
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.loops)
    ]
    began = time.monotonic()
    try:
        with Sandbox(level=arguments.level, timeout_s=arguments.timeout) as sandbox:
            verdicts = dict(sandbox.judge([*right, *late]))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    flipped = {task.id: verdicts[task.id] for task in right if not verdicts[task.id].passed}
    longest = max(verdicts[task.id].wall_s for task in right)
    print(
        f"{arguments.loops} loops beside {len(right)} right programs, limit {arguments.timeout:g} "
        f"s: {len(flipped)} flipped, the longest took {longest:.1f} s of wall clock, "
        f"{time.monotonic() - began:.0f} s in all"
    )
    for name, verdict in flipped.items():
        print(f"  {name}: {verdict.status} {verdict.reason}")
    print(", ".join(f"one that {task.id}: {verdicts[task.id].status}" for task in late))


if __name__ == "__main__":
    main()
