"""`ckptbench judge`: somebody's completions through the sandbox, and their pass@k."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from ..errors import CkptbenchError
from ..option_values import exec_libraries, exec_memory, exec_timeout

_DATASETS = ("humaneval", "mbpp")
_EXAMPLES = """\
examples:
  ckptbench judge samples.jsonl --dataset humaneval --data HumanEval.jsonl.gz
  ckptbench judge samples.jsonl --dataset mbpp --data mbpp.jsonl --k 1,10 -o verdicts.jsonl
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    judge = commands.add_parser(
        "judge",
        help="judge generated programs and print pass@k",
        description="Judge the programs of a file (the forms of human-eval, EvalPlus and bigcode) "
        "in the sandbox, and print pass@k.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    judge.add_argument("file", type=Path, metavar="FILE", help="the completions")
    judge.add_argument("--dataset", required=True, choices=_DATASETS, help="what they answer")
    judge.add_argument(
        "--data", type=Path, metavar="FILE", help="the problems (default: the human-eval package)"
    )
    judge.add_argument("--imports", action="store_true", help="judge after the usual imports")
    judge.add_argument("--k", type=_ks, default=(1, 10, 100), metavar="K[,K...]", help="1,10,100")
    judge.add_argument(
        *("--exec-timeout", "--timeout"),
        type=exec_timeout,
        default=3.0,
        metavar="SECONDS",
        help="time a program has (default 3; HumanEval+ and MBPP+ have limits of their own)",
    )
    judge.add_argument(
        "--exec-memory",
        type=exec_memory,
        metavar="SIZE",
        help="memory a program has, such as 2G (default 512M; 4G for HumanEval+ and MBPP+)",
    )
    judge.add_argument(
        "--exec-libraries",
        type=exec_libraries,
        default=(),
        metavar="NAME[,NAME...]",
        help="installed packages that programs may import, such as numpy (default none)",
    )
    judge.add_argument("--workers", type=int, default=None, metavar="N", help="default: the cores")
    judge.add_argument(
        "--unsafe-exec", action="store_true", help="even where nothing protects this machine"
    )
    judge.add_argument("-o", "--output", type=Path, metavar="FILE", help="a verdict a line")
    judge.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Judge a file.

    Returns:
        0; 1 when the sandbox was at fault for a program, which then has no verdict.
    """
    from ckptbench.fixtures.datasets import completions_file, humaneval, mbpp
    from ckptbench.fixtures.datasets.code_protocols import IMPORTS
    from ckptbench.fixtures.datasets.code_tasks import task_of
    from ckptbench.fixtures.sandbox import Sandbox

    from ..lacking import lacking_note

    if arguments.dataset == "mbpp" and arguments.data is None:
        raise CkptbenchError("MBPP comes with no package", where="--data", remedy="give its file")
    load: Any = humaneval.load if arguments.dataset == "humaneval" else mbpp.load
    completions = completions_file.read(arguments.file, load(arguments.data))
    preamble = IMPORTS if arguments.imports else ""
    by_id = {f"{a.sample.id}-t{a.trial:02d}": a for a in completions.answers}
    tasks = [task_of(a.sample, a.program, id=name, preamble=preamble) for name, a in by_id.items()]
    rows: list[dict[str, Any]] = []
    with Sandbox(
        workers=arguments.workers,
        timeout_s=arguments.exec_timeout,
        memory_mb=arguments.exec_memory,
        libraries=arguments.exec_libraries,
        unsafe_exec=arguments.unsafe_exec,
    ) as box:
        print(box.describe())
        for name, verdict in box.judge(tasks):
            answer = by_id[name]
            rows.append(
                {
                    "task_id": answer.sample.id,
                    "trial": answer.trial,
                    "verdict": verdict.word,
                    "reason": verdict.reason,
                    "seconds": round(verdict.wall_s, 4),
                }
            )
    rows.sort(key=lambda row: (row["task_id"], row["trial"]))
    if arguments.output:
        from ..atomic import atomic_write_text

        atomic_write_text(arguments.output, "".join(f"{json.dumps(row)}\n" for row in rows))
    _tell(rows, arguments.k, completions.unanswered)
    lack = lacking_note(row["reason"] for row in rows if row["verdict"] != "pass")
    if lack:
        print(f"note: {lack}")
    broken = sum(row["verdict"] == "error" for row in rows)
    if broken:
        print(f"ckptbench: {broken:,} programs could not be judged: no score", file=sys.stderr)
    return int(broken > 0)


def _tell(rows: list[dict[str, Any]], ks: tuple[int, ...], unanswered: tuple[str, ...]) -> None:
    from ..scores.reducers import estimate_pass_at_k

    trials: dict[str, list[bool]] = defaultdict(list)
    words: dict[str, int] = defaultdict(int)
    for row in rows:
        trials[row["task_id"]].append(row["verdict"] == "pass")
        words[row["verdict"]] += 1
    sizes = [len(passed) for passed in trials.values()]
    print(f"{len(rows):,} programs for {len(trials):,} problems: {_counted(words)}")
    print(f"trials a problem: {min(sizes)}" + (f" to {max(sizes)}" * (min(sizes) < max(sizes))))
    if unanswered:
        print(f"{len(unanswered):,} problems have no answer and are left out: {unanswered[0]} ...")
    if words["error"]:
        return
    for k in ks:
        values = [estimate_pass_at_k(len(p), sum(p), k) for p in trials.values()]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            print(f"pass@{k}  left out: it needs {k} trials of every problem")
        else:
            print(f"pass@{k}  {100 * sum(known) / len(known):.2f}%")


def _counted(words: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {word}" for word, n in sorted(words.items(), key=lambda w: -w[1]))


def _ks(text: str) -> tuple[int, ...]:
    from ..option_values import ks

    return ks(f"k={text}")["k"]
