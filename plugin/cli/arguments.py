"""Options that several commands take, and how what was read is told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..origins.result import Result


def add_tolerance_and_alpha(command: argparse.ArgumentParser) -> None:
    """`--tolerance` and `--alpha`, as the plugin has them."""
    from ..option_values import probability, tolerances

    command.add_argument(
        "--tolerance",
        type=tolerances,
        default={},
        metavar="METRIC=POINTS[,...]",
        help="change in %%p that matters, for every metric or by metric (default 1.0)",
    )
    command.add_argument(
        "--alpha", type=probability, default=0.05, metavar="P", help="significance (default 0.05)"
    )


def counts(text: str) -> dict[str, int]:
    """Samples by name: `1536=2400,2048=3200`, or one number for all, kept under `*`."""
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
    """Say something that is not the result itself."""
    print(line, file=sys.stderr, flush=True)


def notes_of(results: Iterable[Result]) -> list[str]:
    """What the reader must know of several results, each once."""
    return list(dict.fromkeys(note for result in results for note in result.notes))
