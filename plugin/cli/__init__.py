"""The `ckptbench` command: all that needs no model, before and after runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._util.errors import CkptbenchError
from .._util.version import __version__
from . import (
    baseline_import,
    build,
    compare,
    judge,
    merge,
    mlflow,
    plan,
    report,
    runs,
    show,
    store,
    watch,
)

_COMMANDS = (
    runs,
    show,
    compare,
    report,
    merge,
    baseline_import,
    build,
    judge,
    plan,
    mlflow,
    store,
    watch,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: arguments after the program's name; those of the process when None.

    Returns:
        0 or the command's own status; 2 for an argument that cannot be used; 130 when interrupted.
    """
    given = sys.argv[1:] if argv is None else argv
    arguments = _parser().parse_args(watch.fold_pytest_arguments(given))
    try:
        status: int = arguments.run(arguments)
    except CkptbenchError as error:
        print(f"ckptbench: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ckptbench: interrupted, nothing was written", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ckptbench",
        description="Build benchmark data, judge generated programs, and plan, merge, compare and "
        "report runs. Benchmarks themselves are run by pytest: "
        "pytest --pyargs ckptbench.benchmarks --checkpoint=DIR",
    )
    parser.add_argument("--version", action="version", version=f"ckptbench {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.register(commands)
    return parser
