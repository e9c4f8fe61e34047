"""`ckptbench merge`: partial runs from several machines as one run's folder."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
from pathlib import Path

from .._util.errors import CkptbenchError
from ..config.parsers import run_id
from .arguments import Commands, add_command, add_option

_EXAMPLES = """\
  ckptbench merge machine-a/results/sweep machine-b/results/sweep -o results/sweep
  ckptbench merge parts/* -o results/sweep --baseline baselines/best.json

then:
  ckptbench report results/sweep
  pytest benchmarks --checkpoint 'runs/x/checkpoint-*' --run-id=sweep   # runs what is missing
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    merge = add_command(
        commands,
        "merge",
        run,
        "Merge partial runs, made on several machines, into one run's folder. Where several have "
        "an outcome of the same item, the newest is kept.",
        help="merge partial runs into one",
        examples=_EXAMPLES,
    )
    merge.add_argument("parts", type=Path, nargs="+", metavar="DIR", help="folders of runs")
    merge.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder to create"
    )
    add_option(merge, "baseline")
    add_option(merge, "lang")


def run(arguments: argparse.Namespace) -> int:
    """Merge; the exit status is 1 when items are missing or the merged run fails its gate."""
    from .._util.text import counted
    from ..readers.baseline import load
    from ..reports.terminal import terminal_lines
    from ..runs.merge import merge

    output: Path = arguments.output
    _check(arguments.parts, output)
    baseline = load(arguments.baseline) if arguments.baseline else None
    output.parent.mkdir(parents=True, exist_ok=True)
    # Written under another name and renamed: a merge that fails leaves nothing behind.
    unfinished = output.parent / f".merging-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        merged = merge(arguments.parts, unfinished, run_id=output.name, baseline=baseline)
        if output.is_dir():
            output.rmdir()
        unfinished.rename(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    for line in terminal_lines(merged.summary):
        print(line.text)
    print(f"{counted(len(arguments.parts), 'part')} merged into {output}", end="")
    print(f": {merged.repeated}" if merged.repeated else "")
    for sentence in merged.missing:
        print(f"missing: {sentence}")
    return merged.summary.exit_status


def _check(parts: list[Path], output: Path) -> None:
    seen: set[Path] = set()
    for part in parts:
        if not part.is_dir():
            raise CkptbenchError(
                "is not a folder",
                where=str(part),
                remedy="Give the folders of runs, results/RUN-ID.",
            )
        if part.resolve() in seen:
            raise CkptbenchError("is given twice", where=str(part))
        seen.add(part.resolve())
    try:
        run_id(output.absolute().name)
    except argparse.ArgumentTypeError as error:
        raise CkptbenchError(str(error), where="-o", remedy="It becomes the run's id.") from None
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CkptbenchError(
            "exists already", where=str(output), remedy="Name a new folder with -o."
        )
