# PYTHON_ARGCOMPLETE_OK
"""The `ckptbench` command: runs, and all that needs no model before and after them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from .._util import language
from .._util.errors import CkptbenchError, denied_is_refused
from .._util.version import __version__
from ..reports.languages import catalogue
from . import (
    baseline_import,
    build,
    compare,
    judge,
    merge,
    mlflow,
    plan,
    report,
    run,
    runs,
    show,
    store,
    view,
    watch,
)
from .arguments import PYTEST_ARGUMENT, Parser

_COMMANDS = {
    "run the benchmarks": (run, watch),
    "look at results": (runs, show, view),
    "compare": (compare, report, baseline_import, plan),
    "prepare data, judge programs": (build, judge),
    "keep and send runs": (merge, store, mlflow),
}
_EXIT_STATUS = """\
`ckptbench COMMAND --help` has the options of a command, with examples.

exit status:
  0    done
  1    the gate failed or something is missing (`run`, `watch`, `compare`, `merge`), a store is
       damaged (`store verify`), or a program could not be judged (`judge`)
  2    an argument or a file cannot be used; of `run`, interrupted
  3    of `watch`: training can stop
  4    of `run`: an argument or a file cannot be used
  130  interrupted
  141  the output was closed, as by `| head`"""
_PIPE_CLOSED = 141  # as of a program that the signal SIGPIPE ends


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: arguments after the program's name; those of the process when None.

    Returns:
        0 or the command's own status; 2 for an argument that cannot be used, or none at all; 130
        when interrupted, 141 when nobody reads the output any more.
    """
    given = sys.argv[1:] if argv is None else argv
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks, and there is no command to run
        _complete(parser)
    if not given:
        parser.print_help()
        return 2
    folded = run.fold_pytest_arguments(watch.fold_pytest_arguments(given))
    arguments = parser.parse_args(folded)
    try:
        with denied_is_refused(), language.spoken(catalogue(getattr(arguments, "lang", "en"))):
            status: int = arguments.run(arguments)
            sys.stdout.flush()
    except CkptbenchError as error:
        print(f"ckptbench: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ckptbench: interrupted, nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who read the output has seen enough, such as `| head`
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # for the flush of the interpreter
        return _PIPE_CLOSED
    return status


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell's question for words that go on, where argcomplete is installed."""
    with suppress(ImportError):
        import argcomplete

        # What the help of `run` leaves out, a shell may well offer.
        argcomplete.autocomplete(parser, exclude=[PYTEST_ARGUMENT], print_suppressed=True)


def _parser() -> argparse.ArgumentParser:
    """The parser of all commands, whose help lists them by task."""
    parser = Parser(
        prog="ckptbench",
        usage="ckptbench COMMAND ...",
        description="Score checkpoints of language models, and compare the results.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ckptbench {__version__}")
    commands = parser.add_subparsers(
        metavar="COMMAND", help=argparse.SUPPRESS, required=True, prog="ckptbench"
    )
    listed: list[str] = []
    for task, modules in _COMMANDS.items():
        listed.append(f"{task}:")
        for module in modules:
            module.register(commands)
            name, command = list(commands.choices.items())[-1]
            listed.append(f"  {name:<10}{command.get_default('summary')}")
        listed.append("")
    parser.epilog = "\n".join([*listed, _EXIT_STATUS])
    return parser
