"""`ckptbench baseline import`: a baseline file from results of any tool."""

from __future__ import annotations

import argparse
from pathlib import Path

from .._util.errors import CkptbenchError, nearest
from .._util.overwrite import BASELINE, check_output
from .arguments import Commands, add_command, add_force, add_group, tell

_EXAMPLES = """\
  ckptbench baseline import results/20260101_120000_17 -o baselines/best.json
  ckptbench baseline import lm-eval/results_2026-01-01.json -o baselines/tasks.json
  ckptbench baseline import results/sweep --checkpoint checkpoint-655 -o baselines/best.json

then:
  pytest --pyargs ckptbench.benchmarks --checkpoint=DIR --baseline=baselines/best.json
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    baseline = add_group(commands, "baseline", "make a baseline file from results")
    actions = baseline.add_subparsers(title="actions", metavar="ACTION", required=True)
    importing = add_command(
        actions,
        "import",
        run,
        "Write a baseline file from results of any origin. If they include samples, so does the "
        "baseline, and later comparisons with it are paired.",
        help="from a run, lm-eval results, *_eval_results.json or bare numbers",
        examples=_EXAMPLES,
    )
    importing.add_argument("file", type=Path, metavar="FILE", help="a file or folder of results")
    importing.add_argument("--checkpoint", metavar="NAME", help="which of several checkpoints")
    importing.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="baseline file to write"
    )
    add_force(importing)
    importing.add_argument(
        "--protocol",
        type=_protocols,
        default={},
        metavar="BENCH=NAME[,...]",
        help="protocol of a benchmark whose source does not state it, such as real=whole-word",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the baseline file; the exit status is 0."""
    from .._util.atomic import atomic_write_text
    from ..readers.baseline import load
    from ..readers.baseline_answers import write_answers
    from ..readers.baseline_measurement import baseline_text
    from ..readers.detect import read

    check_output(arguments.output, BASELINE, [arguments.file], force=arguments.force)
    result = read(arguments.file)
    known = {measurement.name: measurement for measurement in result.measurements}
    name = arguments.checkpoint
    if name is None and len(result.measurements) == 1:
        (name,) = known
    if name not in known or len(known) < len(result.measurements):
        hint = nearest(name, known) if name else ""
        raise CkptbenchError(
            f"holds {'no ' + name + hint if name else 'several checkpoints'}",
            where=str(result.path),
            remedy=f"Name one with --checkpoint: {', '.join(known)}.",
        )
    atomic_write_text(arguments.output, baseline_text(known[name], result, arguments.protocol))
    baseline = load(arguments.output)
    if baseline.bare:
        tell("note: the source states no protocol: bare numbers are written (see --protocol)")
    for note in result.notes:
        tell(f"note: {note}")
    written = ", ".join(
        f"{metric} ({len(bench.outcomes):,} samples)" if bench.outcomes else f"{metric} (a number)"
        for bench in baseline.benchmarks.values()
        for metric in bench.scores
    )
    print(f"wrote {arguments.output}: {written}")
    measured = result.summary.checkpoints if result.summary is not None else ()
    for checkpoint in (each for each in measured if each.name == name):
        try:
            answers = write_answers(arguments.output, result.path, checkpoint)
            print(f"wrote {answers}: the answers of its samples, which reports show")
        except CkptbenchError as error:
            tell(f"note: no answers are kept beside it: {error.where}: {error.what}")
    return 0


def _protocols(text: str) -> dict[str, str]:
    found = dict(part.strip().partition("=")[::2] for part in text.split(","))
    if not all(bench and name for bench, name in found.items()):
        raise argparse.ArgumentTypeError(f"expected BENCH=NAME[,...], got {text!r}")
    return {bench: name if "/" in name else f"{bench}/{name}" for bench, name in found.items()}
