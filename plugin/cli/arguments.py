"""Declares commands and their options, and prints notes."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from .._util.errors import nearest

if TYPE_CHECKING:
    from ..readers.result import Result

SUITE = ("--pyargs", "ckptbench.benchmarks")
"""What pytest is given for the benchmarks that come with ckptbench."""
PYTEST_ARGUMENT = "--pytest-argument"
"""The hidden option of commands that hand arguments over to pytest."""
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest word for a mistyped command, action, choice or option.

    Words of a command may also follow its options: by itself, argparse assigns words to all
    arguments at the first of them, and knows no place for later ones.
    """

    _halfway = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but for words after options."""
        words = sys.argv[1:] if args is None else args
        # Behind `--` all are words, which argparse forgets halfway; a shell's question is not
        # about arguments that are whole.
        asked = self._subparsers is not None or "_ARGCOMPLETE" in os.environ
        if asked or self._halfway:
            return super().parse_known_args(args, namespace)
        if "--" in words:
            found, unknown = super().parse_known_args(args, namespace)
        else:
            self._halfway = True  # argparse comes back here for the options, then for the words
            try:
                found, unknown = self.parse_known_intermixed_args(args, namespace)
            finally:
                self._halfway = False
        if unknown:  # told here, where the command's options are known
            hint = nearest(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            known = [name.strip("' ") for name in found[2].split(",")]
            if hint := nearest(found[1], known):
                message = f"{message[: found.start()]}there is no {found[1]!r}{hint}"
        super().error(message)


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    description: str,
    *,
    help: str,
    examples: str,
    usage: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command.

    Args:
        run: given the arguments, returns the exit status.
        help: in the list of commands.
        examples: shown below the options as they are.
    """
    command = commands.add_parser(
        name,
        usage=usage,
        help=help,
        description=textwrap.fill(description, 79),
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run, summary=help)
    return command


def add_runs_folder(
    command: argparse.ArgumentParser, what: str = "folder of runs, or of one"
) -> None:
    """Add the argument that names a results folder."""
    command.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path("results"),
        metavar="DIR",
        help=f"{what} (default: results)",
    )


def add_group(commands: Commands, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command that has commands of its own; `summary` is shown in the list of commands."""
    group = commands.add_parser(name, help=summary, description=f"{summary.capitalize()}.")
    group.set_defaults(summary=summary)
    return group


def add_options(command: argparse.ArgumentParser, *names: str) -> None:
    """Add options of the plugin, as it declares them."""
    for name in names:
        add_option(command, name)


def add_option(
    command: argparse.ArgumentParser, name: str, *, help: str = "", **attributes: Any
) -> None:
    """Add an option of the plugin; `help` and `attributes` replace those it declares."""
    from ..config.options import OPTIONS

    option = next(each for each in OPTIONS if each.name == name)
    text = help or option.help_text
    if option.parse is None:
        command.add_argument(f"--{name}", action="store_true", help=text)
        return
    # argparse would parse an empty default, which is no value.
    default = None if option.default == "" else option.default
    of_plugin = {"type": option.parse, "default": default, "metavar": option.metavar}
    command.add_argument(f"--{name}", **{**of_plugin, "help": text, **attributes})


def add_force(command: argparse.ArgumentParser) -> None:
    """Add `--force`, for `check_output`."""
    command.add_argument(
        "--force",
        action="store_true",
        help="replace a file that ckptbench did not write; never one that is read",
    )


def counts(text: str) -> dict[str, int]:
    """Samples by name: `1536=2400,2048=3200`, or one number for all, under `*`."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        if not number.strip().isdecimal() or int(number) < 1 or (equals and not name):
            raise argparse.ArgumentTypeError(
                f"expected a number of samples, or NAME=NUMBER[,...], got {text!r}"
            )
        found[name.strip() or "*"] = int(number)
    return found


def tell(line: str) -> None:
    """Print a line beside the result: on stderr."""
    print(line, file=sys.stderr, flush=True)


def notes_of(results: Iterable[Result]) -> list[str]:
    """The notes of several results, each once."""
    return list(dict.fromkeys(note for result in results for note in result.notes))
