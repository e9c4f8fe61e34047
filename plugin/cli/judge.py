"""`ckptbench judge`: somebody's completions through the sandbox, and their pass@k."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from ..config.parsers import exec_libraries, exec_memory, exec_timeout

_DATASETS = ("humaneval", "mbpp", "codecontests")
# Which protocol takes code out of Markdown, and which puts a body behind its prompt.
_TAKES_OUT = {
    "humaneval": "humaneval/chat",
    "mbpp": "mbpp/alpaca",
    "codecontests": "codecontests/alpaca",
}
_CONTINUES = "humaneval/raw"
_EXAMPLES = """\
examples:
  ckptbench judge samples.jsonl --dataset humaneval --data HumanEval.jsonl.gz
  ckptbench judge samples.jsonl --dataset mbpp --data mbpp.jsonl --k 1,10 -o verdicts.jsonl
  ckptbench judge replies.jsonl --dataset humaneval --data datasets/ --protocol humaneval/chat
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
        "--data",
        type=Path,
        metavar="FILE|DIR",
        help="the problems, or a folder of datasets (default: the human-eval package)",
    )
    judge.add_argument(
        "--protocol",
        default="",
        metavar="NAME",
        help="make programs of the answers as this protocol does, such as humaneval/chat (default: "
        "a completion goes on where the prompt ends, a solution stands as it is)",
    )
    judge.add_argument(
        "--tests",
        type=_tests,
        default="sample:10",
        metavar="public|all|sample:N",
        help="tests of a CodeContests program (default sample:10)",
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
    from ckptbench.fixtures.datasets.code import completions_file
    from ckptbench.fixtures.datasets.code.protocols import IMPORTS, task_of
    from ckptbench.fixtures.sandbox import Sandbox

    from ..reports.lacking import lacking_note

    protocol = _protocol(arguments)
    completions = completions_file.read(arguments.file, _problems(arguments))
    preamble = IMPORTS if arguments.imports else protocol.preamble if protocol else ""
    by_id = {f"{a.sample.id}-t{a.trial:02d}": a for a in completions.answers}
    tasks = [
        task_of(
            a.sample,
            protocol.make_program(a.sample, a.text) if protocol else a.program,
            id=name,
            preamble=preamble,
            compare=protocol.compare if protocol else "tolerant",
        )
        for name, a in by_id.items()
    ]
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
        from .._util.atomic import atomic_write_text

        atomic_write_text(arguments.output, "".join(f"{json.dumps(row)}\n" for row in rows))
    hints = [] if protocol else _hints(completions_file.unfit(completions.answers), arguments, rows)
    _tell(rows, arguments.k, completions.unanswered, hints)
    lack = lacking_note(row["reason"] for row in rows if row["verdict"] != "pass")
    if lack:
        print(f"note: {lack}")
    broken = sum(row["verdict"] == "error" for row in rows)
    if broken:
        print(f"ckptbench: {broken:,} programs could not be judged: no score", file=sys.stderr)
    return int(broken > 0)


def _problems(arguments: argparse.Namespace) -> Any:
    """The problems that the completions answer."""
    from ckptbench.fixtures.datasets.code import codecontests, humaneval, mbpp

    dataset, data = arguments.dataset, arguments.data
    if data is not None and data.is_dir():
        from ..config.data_folder import find_data

        data = find_data(data, [dataset]).files[dataset]
    if dataset == "humaneval":
        return humaneval.load(data)
    if data is None:
        name = {"mbpp": "MBPP", "codecontests": "CodeContests"}[dataset]
        raise CkptbenchError(
            f"{name} comes with no package", where="--data", remedy="give its file"
        )
    return mbpp.load(data) if dataset == "mbpp" else codecontests.load(data, tests=arguments.tests)


def _protocol(arguments: argparse.Namespace) -> Any:
    """The protocol by which answers become programs; None without one."""
    from ckptbench.fixtures.datasets.code import (
        codecontests,
        humaneval,
        mbpp,
    )
    from ckptbench.fixtures.datasets.code.protocols import find

    if not arguments.protocol:
        return None
    protocols = {
        "humaneval": humaneval.CODE_PROTOCOLS,
        "mbpp": mbpp.CODE_PROTOCOLS,
        "codecontests": codecontests.CODE_PROTOCOLS,
    }
    return find(arguments.protocol, protocols[arguments.dataset])


def _hints(unfit: Any, arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> list[str]:
    """What to do about answers that are no programs as they stand."""
    hints = []
    if unfit.markdown:
        hints.append(
            f"{unfit.markdown:,} of {len(rows):,} answers are Markdown with code between fences, "
            f"judged as they stand: --protocol {_TAKES_OUT[arguments.dataset]} takes the code out"
        )
    if unfit.bodies:
        hints.append(
            f"{unfit.bodies:,} of {len(rows):,} solutions are bodies without their function, "
            f"judged as they stand: --protocol {_CONTINUES} puts them behind the prompt"
        )
    return hints


def _tell(
    rows: list[dict[str, Any]],
    ks: tuple[int, ...],
    unanswered: tuple[str, ...],
    hints: list[str],
) -> None:
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
    for hint in hints:
        print(hint)
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


def _tests(text: str) -> str:
    from ..config.parsers import contest_tests

    return contest_tests(text)


def _ks(text: str) -> tuple[int, ...]:
    from ..config.parsers import ks

    return ks(f"k={text}")["k"]
