"""`ckptbench report`: a summary of the results of one or several runs."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError
from .._util.overwrite import PLOT, REPORT_HTML, REPORT_MARKDOWN, REPORT_TEXT, check_output
from .arguments import Commands, add_command, add_force, add_options, counts, notes_of, tell

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions
    from ..readers.result import Result

_FILES = {"html": "report.html", "md": "report.md", "text": "report.txt"}
_EXAMPLES = """\
  ckptbench report results/20260101_120000_17
  ckptbench report runs/a/*_eval_results.json runs/b/*_eval_results.json
  ckptbench report curves.csv --n 1536=2400,2048=3200
  ckptbench report results/sweep --format html,md -o report
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    report = add_command(
        commands,
        "report",
        run,
        "Summarise results of any origin: scores by checkpoint, the best checkpoint and those that "
        "are statistically tied with it, drops since the peak, and runs compared with each other.",
        help="summarise runs: scores, best checkpoint, drops, noise, comparisons",
        examples=_EXAMPLES,
    )
    report.add_argument(
        "paths",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="runs, *_eval_results.json, lm-eval results, or CSV; of a folder of runs the newest",
    )
    report.add_argument(
        "--by",
        default=None,
        metavar="METRIC",
        help="recommend a checkpoint by this metric (default: the composite, else the average of "
        "the tasks)",
    )
    report.add_argument("-o", "--output", type=Path, metavar="DIR", help="write files to DIR")
    report.add_argument(
        "--format",
        type=_formats,
        default=None,
        metavar="FORMAT[,...]",
        help="files to write: html, md, plots, text (default html,md)",
    )
    add_force(report)
    report.add_argument(
        "-v", "--verbose", action="store_true", help="show every metric and all conclusions"
    )
    add_options(report, "tolerance", "alpha", "lang")
    report.add_argument(
        "--weights",
        type=_weights,
        default=None,
        metavar="METRIC=W[,...]",
        help="weights of the composite (default: those of the results)",
    )
    report.add_argument(
        "--n",
        type=counts,
        default={},
        metavar="N | NAME=N[,...]",
        help="number of samples, where a CSV file does not state it: by run, by sequence length, "
        "or lambada=N",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print and write the report; the exit status is 0."""
    from ..analysis.conclude import conclude
    from ..readers.detect import read_all
    from ..reports.terminal_sweep import curve_lines

    if arguments.format and arguments.output is None:
        raise CkptbenchError("needs a folder for the files", where="--format", remedy="Add -o DIR.")
    if arguments.output is not None and arguments.output.is_file():
        raise CkptbenchError("is a file", where=str(arguments.output), remedy="Name a folder.")
    formats = arguments.format or ("html", "md")
    if arguments.output is not None:
        _check_files(arguments, formats)
    results = read_all(arguments.paths, n=arguments.n)
    conclusions = conclude(
        [measurement for result in results for measurement in result.measurements],
        alpha=arguments.alpha,
        tolerance=arguments.tolerance,
        weights=arguments.weights,
        by=arguments.by,
    )
    notes = [f"note: {note}" for note in notes_of(results)]
    columns = shutil.get_terminal_size((100, 24)).columns
    shown = curve_lines(conclusions, columns=columns, verbose=arguments.verbose)
    print("\n".join([*shown, *notes]))
    lines = [*curve_lines(conclusions, verbose=True), *notes]
    if arguments.output is not None:
        _write(results, conclusions, lines, arguments.output, formats)
    return 0


def _check_files(arguments: argparse.Namespace, formats: Sequence[str]) -> None:
    """Refuse to replace files that are no earlier report."""
    folder: Path = arguments.output
    kinds = {"html": REPORT_HTML, "md": REPORT_MARKDOWN, "text": REPORT_TEXT}
    files = {folder / _FILES[name]: kinds[name] for name in formats if name in kinds}
    if {"html", "plots"} & set(formats):
        files |= dict.fromkeys((folder / "plots").glob("*.[sp][vn]g"), PLOT)
    for path, kind in files.items():
        check_output(path, kind, arguments.paths, force=arguments.force)


def _write(
    results: Sequence[Result],
    conclusions: Conclusions,
    lines: Sequence[str],
    folder: Path,
    formats: Sequence[str],
) -> None:
    from .._util.atomic import atomic_write_text
    from ..reports.write import write_report

    paths = []
    if "text" in formats:
        paths = [folder / _FILES["text"]]
        atomic_write_text(paths[0], "\n".join(lines) + "\n")
    if others := [name for name in formats if name != "text"]:
        paths += write_report(results, conclusions, folder, others)
    for path in paths:
        tell(f"wrote {path}")


def _formats(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    from ..reports.write import report_formats

    known = [*report_formats(), "text"]
    for name in found:
        if name not in known:
            raise argparse.ArgumentTypeError(f"expected {', '.join(known)}, got {name!r}")
    return found


def _weights(text: str) -> dict[str, float]:
    try:
        pairs = [part.rpartition("=") for part in text.split(",")]
        return {name.strip(): float(weight) for name, _, weight in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected METRIC=WEIGHT[,...] such as real@1=0.5,real@5=0.5, got {text!r}"
        ) from None
