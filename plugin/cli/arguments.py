"""Options that several commands take, and how what was read is told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..readers.result import Result


def add_tolerance_and_alpha(command: argparse.ArgumentParser) -> None:
    """`--tolerance` and `--alpha`, as the plugin has them."""
    from ..config.parsers import probability, tolerances

    command.add_argument(
        "--tolerance",
        type=tolerances,
        default={},
        metavar="METRIC=POINTS[,...]",
        help="worsening allowed, in percentage points, for every metric or by metric (default 1)",
    )
    command.add_argument(
        "--alpha", type=probability, default=0.05, metavar="P", help="significance (default 0.05)"
    )


def add_gate(command: argparse.ArgumentParser) -> None:
    """`--gate-on`, `--must-see` and `--allow-mismatch`, as the plugin has them."""
    from ..config.parsers import names, percentage_points, settings_names

    command.add_argument(
        "--gate-on",
        type=names,
        default=(),
        metavar="METRIC[,...]",
        help="gate these metrics too, such as real_bits_per_byte or humaneval/pass@5",
    )
    command.add_argument(
        "--must-see",
        type=percentage_points,
        default=0.05,
        metavar="POINTS",
        help="`unchanged` needs an MDE of at most this, in percentage points (default 5)",
    )
    command.add_argument(
        "--allow-mismatch",
        type=settings_names,
        default=(),
        metavar="SETTING[,...]",
        help="compare although these settings differ, such as temperature,max_tokens",
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
