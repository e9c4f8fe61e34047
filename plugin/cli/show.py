"""`ckptbench show`: a run's summary again, or one of its samples with the model's answer."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .._util import text as words
from .._util.errors import CkptbenchError, nearest
from .arguments import Commands, add_command, add_options
from .runs import folders_of_runs

if TYPE_CHECKING:
    from ..readers.result import SampleRow
    from ..results.summary import Summary

_EXAMPLES = """\
  ckptbench show last
  ckptbench show nightly -v
  ckptbench show nightly boolq-00017
  ckptbench show results/sweep HumanEval/3 --checkpoint checkpoint-800
"""
_MOST_CHARACTERS = 4_000


def register(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "show",
        run,
        "Show a run's summary as its session did. With a sample, show what was asked, what the "
        "model answered under each protocol, and how that was scored.",
        help="show a run's summary again, or one of its samples",
        examples=_EXAMPLES,
    )
    command.add_argument(
        "run_name",
        metavar="RUN",
        help="a run's folder, its name, or `last` for the one that began last",
    )
    command.add_argument("sample", nargs="?", metavar="SAMPLE", help="a sample's id, or a node id")
    command.add_argument("--checkpoint", metavar="NAME", help="answers of this checkpoint only")
    command.add_argument(
        "--results-dir",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where runs are looked for by name (default: results)",
    )
    command.add_argument("-v", "--verbose", action="store_true", help="all metrics and protocols")
    add_options(command, "lang")


def run(arguments: argparse.Namespace) -> int:
    """Show the summary or the sample."""
    from ..readers.run import read_summary

    folder = _folder(arguments.run_name, arguments.results_dir)
    summary = read_summary(folder)
    if arguments.sample is None:
        from ..reports.terminal import terminal_lines

        columns = shutil.get_terminal_size().columns
        for line in terminal_lines(summary, columns, verbose=arguments.verbose):
            print(line[0])
        return 0
    rows = list(_rows(folder, summary, arguments.sample, arguments.checkpoint))
    parts = [_question(rows[0]), *(_answer(row, summary) for row in rows)]
    print("\n\n".join("\n".join(part) for part in parts))
    return 0


def _folder(name: str, results: Path) -> Path:
    from ..readers.run import finished_runs

    if Path(name).is_dir():
        return Path(name)
    known = {folder.name: folder for folder in folders_of_runs(results)}
    if name == "last" and name not in known and (finished := finished_runs(results)):
        return finished[-1][0]
    if name not in known:
        raise CkptbenchError(
            f"there is no such run{nearest(name, known)}",
            where=str(results / name),
            remedy=f"`ckptbench list {results}` lists them",
        )
    return known[name]


def _rows(folder: Path, summary: Summary, sample: str, wanted: str | None) -> Iterator[SampleRow]:
    from ..readers.run import sample_rows

    names = [checkpoint.name for checkpoint in summary.checkpoints]
    if wanted is not None and wanted not in names:
        raise CkptbenchError(
            f"the run has no checkpoint {wanted!r}{nearest(wanted, names)}", where=str(folder)
        )
    ids: set[str] = set()
    found = False
    for checkpoint in summary.checkpoints:
        if wanted not in (None, checkpoint.name):
            continue
        for benchmark in dict.fromkeys(b.benchmark for b in checkpoint.benchmarks):
            for row in sample_rows(folder, checkpoint.name, benchmark):
                ids.add(row.id)
                if sample in (row.id, row.nodeid):
                    found = True
                    yield row
    if not found:
        raise CkptbenchError(
            f"no sample {sample!r} among {words.counted(len(ids), 'sample')}{nearest(sample, ids)}",
            where=str(folder),
        )


def _question(row: SampleRow) -> Iterator[str]:
    from ..reports.sample_texts import sample_texts

    yield f"{row.benchmark}: {row.id}"
    for field in sample_texts(row.fields, _MOST_CHARACTERS):
        yield from _labelled(field.label, field.text)
        for start, end, label in field.marks:
            yield f"  {label}: {field.text[start:end]!r} at {start}"
        if field.cut:
            yield f"  ({words.counted(field.cut, 'more character')})"


def _answer(row: SampleRow, summary: Summary) -> Iterator[str]:
    from ..api.answer_kinds import answer_text
    from ..reports.phrases import rerun_command

    trial = f", trial {row.trial}" if row.trial else ""
    values = ", ".join(
        f"{name} {words.number(None if value is None else value + 0.0)}"
        for name, value in row.values.items()
    )
    yield f"{row.checkpoint}, {row.protocol}{trial}: {row.status}{f' ({values})' if values else ''}"
    if row.reason:
        yield from _labelled("reason", row.reason)
    yield from _labelled("answer", "none" if row.response is None else answer_text(row.response))
    yield f"  {rerun_command(summary, row.nodeid)}"


def _labelled(label: str, text: str) -> Iterator[str]:
    lines = text.splitlines() or [""]
    if len(lines) == 1:
        yield f"  {label}: {lines[0]}"
        return
    yield f"  {label}:"
    yield from (f"    {line}" for line in lines)
