"""Whether the sandbox leaks: it judges the 16,400 programs that CodeGen wrote for HumanEval.

    CKPTBENCH_DATA=... python tests/bench/sandbox_load.py

At five marks it prints what it holds: memory, descriptors, processes, and files in the scratch
folders. All should be the same at each mark but the first; afterwards nothing should be left.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ckptbench.fixtures.sandbox import FunctionTask, Sandbox

STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
COMPLETIONS = "codet/HumanEval_codegen16B_temp0.8_topp0.95_num100_max300_code_solution.jsonl.gz"
MARKS = 5


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _name(prompt: str) -> str:
    """The function a prompt ends with."""
    return re.findall(r"def (\w+)\(", prompt)[-1]


def _cut(completion: str) -> str:
    return completion[: min((completion.find(s) for s in STOPS if s in completion), default=None)]


def _tasks(data: Path) -> Iterator[FunctionTask]:
    rows = _rows(data / "humaneval" / "HumanEval.jsonl.gz")
    # Some prompts were changed a little for these completions; two functions share a name.
    named = {_name(row["prompt"]): row for row in rows}
    exact = {row["prompt"].strip(): row for row in rows}
    for place, row in enumerate(_rows(data / COMPLETIONS)):
        problem = exact.get(row["prompt"].strip()) or named[_name(row["prompt"])]
        for number, completion in enumerate(row["samples"]):
            yield FunctionTask(
                f"{place}-{number}",
                problem["prompt"] + _cut(completion),
                problem["test"],
                problem["entry_point"],
                problem["prompt"],
            )


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in os.listdir(f"/proc/{process}/task"):
        listed = Path(f"/proc/{process}/task/{task}/children").read_text(encoding="ascii")
        found += map(int, listed.split())
    return found


def _held() -> str:
    """What this process and its descendants hold, and the scratch folders."""
    processes, waiting = [], [os.getpid()]
    while waiting:
        processes.append(waiting.pop())
        waiting += _children(processes[-1])
    page = os.sysconf("SC_PAGE_SIZE")
    memory = [int(Path(f"/proc/{p}/statm").read_text().split()[1]) * page for p in processes]
    descriptors = sum(len(os.listdir(f"/proc/{p}/fd")) for p in processes)
    folders = list(Path(tempfile.gettempdir()).glob(f"ckptbench-sandbox-{os.getpid()}-*"))
    files = sum(1 for folder in folders for _ in (folder / "scratch").rglob("*"))
    return (
        f"{memory[0] / 2**20:6.1f} MiB here, {sum(memory[1:]) / 2**20:6.1f} MiB below, "
        f"{descriptors} descriptors, {len(processes) - 1} processes, {len(folders)} folders, "
        f"{files} files in them"
    )


def main() -> None:
    """Judge all of them and print what is held at the marks and afterwards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--level", default="auto")
    parser.add_argument("--limit", type=int, help="judge only the first N")
    arguments = parser.parse_args()
    tasks = list(_tasks(Path(os.environ["CKPTBENCH_DATA"])))[: arguments.limit]
    words: Counter[str] = Counter()
    began = time.monotonic()
    with Sandbox(workers=arguments.workers, level=arguments.level) as sandbox:
        print(f"{sandbox.describe()}; {len(tasks):,} programs, {arguments.workers} workers")
        every = max(1, len(tasks) // MARKS)
        for done, (_, verdict) in enumerate(sandbox.judge(tasks), start=1):
            words[verdict.status] += 1
            if done % every == 0:
                print(f"{done:6,} after {time.monotonic() - began:6.1f} s: {_held()}", flush=True)
    print(f"afterwards: {_held()}")
    print(", ".join(f"{count:,} {word}" for word, count in sorted(words.items())))


if __name__ == "__main__":
    main()
