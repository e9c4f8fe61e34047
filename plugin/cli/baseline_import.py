"""`ckptbench baseline import`: results of any origin as a baseline file."""

from __future__ import annotations

import argparse
from pathlib import Path

from .._util.errors import CkptbenchError, nearest
from .arguments import tell

_EXAMPLES = """\
examples:
  ckptbench baseline import results/20260101_120000_17 -o baselines/best.json
  ckptbench baseline import lm-eval/results_2026-01-01.json -o baselines/tasks.json
  ckptbench baseline import results/sweep --checkpoint checkpoint-655 -o baselines/best.json

then:
  pytest --pyargs ckptbench.benchmarks --checkpoint=DIR --baseline=baselines/best.json
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    baseline = commands.add_parser("baseline", help="make a baseline of results")
    actions = baseline.add_subparsers(title="what to do", metavar="ACTION", required=True)
    importing = actions.add_parser(
        "import",
        help="from a run, lm-eval's results, *_eval_results.json or numbers",
        description="Write a baseline file from results of any origin. Where they hold samples, "
        "so does the baseline, and later comparisons are paired.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    importing.add_argument("file", type=Path, metavar="FILE", help="a file or folder of results")
    importing.add_argument("--checkpoint", metavar="NAME", help="which one, when it holds several")
    importing.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="baseline file to write"
    )
    importing.add_argument(
        "--protocol",
        type=_protocols,
        default={},
        metavar="BENCH=NAME[,...]",
        help="how a benchmark was asked whose source does not say, such as real=whole-word",
    )
    importing.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Import.

    Returns:
        0.
    """
    from .._util.atomic import atomic_write_text
    from ..readers.baseline import load
    from ..readers.baseline_measurement import baseline_text
    from ..readers.detect import read

    if arguments.output.is_dir():
        raise CkptbenchError("is a folder", where=str(arguments.output), remedy="Name a file.")
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
    protocols = {
        benchmark: way if "/" in way else f"{benchmark}/{way}"
        for benchmark, way in arguments.protocol.items()
    }
    atomic_write_text(arguments.output, baseline_text(known[name], result, protocols))
    baseline = load(arguments.output)
    if baseline.bare:
        tell("note: the source states no protocol: bare numbers are written (see --protocol)")
    for note in result.notes:
        tell(f"note: {note}")
    held = ", ".join(
        f"{metric} ({len(bench.outcomes):,} samples)" if bench.outcomes else f"{metric} (a number)"
        for bench in baseline.benchmarks.values()
        for metric in bench.scores
    )
    print(f"wrote {arguments.output}: {held}")
    return 0


def _protocols(text: str) -> dict[str, str]:
    found = dict(part.strip().partition("=")[::2] for part in text.split(","))
    if not all(name and way for name, way in found.items()):
        raise argparse.ArgumentTypeError(f"expected BENCH=NAME[,...], got {text!r}")
    return found
