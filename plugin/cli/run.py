"""`ckptbench run`: the suite on checkpoints, for people who do not know pytest."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

from ..config.options import OPTIONS
from .arguments import PYTEST_ARGUMENT, SUITE, Commands, add_command, add_option

# What most runs need. All other options are in `pytest --help`.
_COMMON = (
    *("baseline", "update-baseline", "report", "run-id", "limit", "eval-config", "tasks", "data"),
    *("seq-len", "device", "dtype", "num-samples", "temperature", "model", "gate", "dry-run"),
)
# Of pytest, without a value: a word after one of them is a checkpoint.
_SWITCHES = {
    *("collect-only", "co", "exitfirst", "ff", "last-failed", "lf", "nf", "pdb", "quiet"),
    *("setup-show", "stepwise", "sw", "verbose"),
}
_EXAMPLES = """\
  ckptbench run demo-mlm
  ckptbench run runs/x/checkpoint-655 --baseline=best.json --update-baseline
  ckptbench run runs/x/checkpoint-700 --baseline=best.json -k real
  ckptbench run runs/x/checkpoint-* --report=html

It is `pytest --pyargs ckptbench.benchmarks --checkpoint=CKPT ...`: every option of pytest and of
its plugins works (-k, -x, -v, -n, --junitxml), and `pytest --help` lists all of ckptbench's under
headings that begin with "ckptbench". Put checkpoints before the options.

exit status (that of pytest):
  0    nothing that is gated failed
  1    a gated metric regressed or could not be compared, or the run is incomplete
  2    interrupted
  4    an argument or a file cannot be used
"""


def register(commands: Commands) -> None:
    """Add the command; its other options are there for shell completion alone."""
    command = add_command(
        commands,
        "run",
        run,
        "Score checkpoints with the benchmarks that come with ckptbench, and compare them with a "
        "baseline.",
        usage="ckptbench run CKPT [CKPT ...] [options]",
        help="score checkpoints, and compare them with a baseline",
        examples=_EXAMPLES,
    )
    command.add_argument(
        "checkpoints",
        nargs="*",
        metavar="CKPT",
        help="a Hugging Face folder, a .pt or .ckpt file, BASE+adapter=DIR, a server's address, or "
        "demo-mlm and demo-code, which come with ckptbench",
    )
    for name in _COMMON:
        add_option(command, name)
    for option in OPTIONS:
        if option.name not in _COMMON:
            add_option(command, option.name, help=argparse.SUPPRESS)
    command.add_argument(PYTEST_ARGUMENT, action="append", default=[], help=argparse.SUPPRESS)


def fold_pytest_arguments(argv: Sequence[str]) -> list[str]:
    """The command line of `run` with what pytest is given as values of a hidden option.

    argparse knows no option of pytest's other plugins, and would take their values for checkpoints.
    """
    given = list(argv)
    if given[:1] != ["run"] or {"-h", "--help"} & set(given):
        return given
    return ["run", *(f"{PYTEST_ARGUMENT}={argument}" for argument in _arguments(given[1:]))]


def _arguments(words: Sequence[str]) -> Iterator[str]:
    """Every word as it is, but for checkpoints: words that are no option, and no option's value."""
    yield from SUITE
    of_option = False
    for word in words:
        is_option = not of_option and word.startswith("-")
        yield word if is_option or of_option else f"--checkpoint={word}"
        of_option = is_option and _takes_next(word)


def _takes_next(option: str) -> bool:
    """Whether the word after an option may be its value; taken for granted of unknown ones."""
    if not option.startswith("--"):
        return len(option) == 2 and not re.fullmatch("-[hlqsvx]", option)
    ours = {o.name for o in OPTIONS if o.parse is None}
    name = option[2:].removeprefix("ckpt-")
    return "=" not in name and name not in ours | _SWITCHES


def run(arguments: argparse.Namespace) -> int:
    """Do what `pytest` does with these arguments; the exit status is pytest's.

    In a fresh interpreter: pytest rewrites the asserts of plugins that are not imported yet.
    """
    # -P: as with `pytest`, and unlike `python -m pytest`, nothing is imported from the folder.
    command = [sys.executable, "-P", "-m", "pytest", *arguments.pytest_argument]
    if os.name == "posix":  # signals and the exit status are those of one process
        sys.stdout.flush()
        os.execv(sys.executable, command)
    return subprocess.call(command)
