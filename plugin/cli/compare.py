"""`ckptbench compare`: two results from any tool, task by task."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError, nearest
from .._util.overwrite import COMPARISON, COMPARISON_MARKDOWN, check_output
from .._util.text import counted
from ..gate.verdict import WORDS
from .arguments import Commands, add_command, add_force, add_options, notes_of

if TYPE_CHECKING:
    from ..analysis.side_by_side import SideBySide
    from ..gate.measurement import Measurement
    from ..readers.result import Result

_EXAMPLES = """\
  ckptbench compare results/20260101_120000_17 results/20260102_120000_18
  ckptbench compare baselines/best.json results
  ckptbench compare results results --checkpoint-a checkpoint-400 --checkpoint-b checkpoint-800
  ckptbench compare lm-eval/base lm-eval/tuned --markdown comparison.md
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    compare = add_command(
        commands,
        "compare",
        run,
        "Compare B with A; differences are B minus A. The comparison is paired if both include "
        "samples. From a folder with several results the newest is taken.",
        help="compare two results: runs, baselines, lm-eval results, bare numbers",
        examples=_EXAMPLES,
    )
    compare.add_argument("a", type=Path, metavar="A", help="the result to compare with")
    compare.add_argument("b", type=Path, metavar="B", help="the result to judge")
    compare.add_argument("--checkpoint-a", metavar="NAME", help="which checkpoint of A")
    compare.add_argument("--checkpoint-b", metavar="NAME", help="which checkpoint of B")
    add_options(compare, "gate", "tolerance", "gate-on", "alpha", "must-see", "allow-mismatch")
    compare.add_argument(
        "--common",
        action="store_true",
        help="compare only what both have; otherwise a gated metric that only A has is missing",
    )
    compare.add_argument("--json", type=Path, metavar="FILE", help="write the comparison as JSON")
    compare.add_argument("--markdown", type=Path, metavar="FILE", help="write it as Markdown")
    add_force(compare)


def run(arguments: argparse.Namespace) -> int:
    """Compare; the exit status is 1 when the gate fails, else 0."""
    from ..analysis.side_by_side import side_by_side
    from ..gate.identity import check_allowed
    from ..gate.scope import Scope
    from ..gate.verdict import Rules
    from ..readers.detect import read
    from ..reports.comparison import compared_lines

    for path, kind in ((arguments.json, COMPARISON), (arguments.markdown, COMPARISON_MARKDOWN)):
        if path:
            check_output(path, kind, (arguments.a, arguments.b), force=arguments.force)
    left, right = read(arguments.a), read(arguments.b)
    pairs = _pairs(left, right, arguments.checkpoint_a, arguments.checkpoint_b)
    _check_metrics("--tolerance", arguments.tolerance, pairs)
    _check_metrics("--gate-on", arguments.gate_on, pairs)
    check_allowed(arguments.allow_mismatch)
    common = ("--common",) if arguments.common else ()
    given = right.summary.given if right.summary is not None else {}
    scope = Scope(
        remedy="--common compares what both have",
        selection=common,
        limited=common or (("--limit",) if "limit" in given else ()),
        allowed=frozenset(arguments.allow_mismatch),
        gate_on=frozenset(arguments.gate_on),
        tolerance=arguments.tolerance,
    )
    rules = Rules(arguments.alpha, arguments.must_see)
    made = [side_by_side(before, after, rules=rules, scope=scope) for before, after in pairs]
    for compared in made:
        print("\n".join(compared_lines(compared)), end="\n\n")
    notes = [*notes_of((left, right)), *(note for each in made for note in each.notes)]
    for note in notes:
        print(f"note: {note}")
    status = int(any(_fails(compared, arguments.gate) for compared in made))
    gate = "" if arguments.gate == "regress" else f" (--gate={arguments.gate})"
    sentence = f"{_conclusion(made)}: exit {status}{gate}"
    print(sentence)
    _write(arguments, made, notes, sentence, status)
    return status


def _pairs(
    left: Result, right: Result, name_a: str | None, name_b: str | None
) -> list[tuple[Measurement, Measurement]]:
    """The pairs of checkpoints to compare."""
    before = _chosen(left, name_a, "--checkpoint-a")
    after = _chosen(right, name_b, "--checkpoint-b")
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    known = {measurement.name: measurement for measurement in before}
    same = [(known[each.name], each) for each in after if each.name in known]
    unique = len(known) == len(before) and len({m.name for m in after}) == len(after)
    if len(before) > 1 and len(after) > 1 and same and unique and left.path != right.path:
        return same
    names = [
        f"{side.path} holds {', '.join(m.name for m in found)}"
        for side, found in ((left, before), (right, after))
        if len(found) > 1
    ]
    raise CkptbenchError(
        f"which checkpoints to compare is not clear: {'; '.join(dict.fromkeys(names))}",
        remedy="Name them with --checkpoint-a NAME and --checkpoint-b NAME.",
    )


def _chosen(result: Result, name: str | None, option: str) -> list[Measurement]:
    if name is None:
        return list(result.measurements)
    found = [m for m in result.measurements if name in (m.name, f"{m.run}/{m.name}")]
    if len(found) == 1:
        return found
    names = [f"{m.run}/{m.name}" for m in found] or [m.name for m in result.measurements]
    raise CkptbenchError(
        f"{result.path} holds {'several' if found else 'no'} {name}"
        f"{'' if found else nearest(name, names)}",
        where=option,
        remedy=f"Give one of {', '.join(names)}.",
    )


def _check_metrics(
    option: str, names: Iterable[str], pairs: list[tuple[Measurement, Measurement]]
) -> None:
    benches = [bench for _, after in pairs for bench in after.benchmarks]
    known = {score.metric for bench in benches for score in bench.scores}
    known |= {f"{bench.benchmark}/{score.metric}" for bench in benches for score in bench.scores}
    for metric in names:
        if metric not in ("*", "score") and metric not in known:
            raise CkptbenchError(
                f"no metric named {metric!r}{nearest(metric, known)}",
                where=option,
                remedy=f"Metrics are {', '.join(sorted(known))}.",
            )


def _fails(compared: SideBySide, gate: str) -> bool:
    from ..gate.verdict import fails

    verdicts = compared.gated_verdicts
    complete = all(verdict.word != "incomplete" for verdict in verdicts)
    nothing = gate != "off" and not compared.compared
    return nothing or fails(verdicts, gate, complete)  # type: ignore[arg-type]


def _conclusion(made: list[SideBySide]) -> str:
    clauses = []
    for word in (word for word, facts in WORDS.items() if facts.level != "plain"):
        metrics = [
            f"{each.after.name} {verdict.metric}" if len(made) > 1 else verdict.metric
            for each in made
            for verdict in each.gated_verdicts
            if verdict.word == word
        ]
        if metrics:
            clauses.append(f"{word}: {', '.join(metrics)}")
    count = sum(each.compared for each in made)
    total = sum(each.in_baseline for each in made)
    if not count:
        return "; ".join(["nothing was compared", *clauses])
    if not clauses:
        found = {verdict.word for each in made for verdict in each.gated_verdicts}
        word = "identical" if found == {"identical"} else "unchanged"
        clauses = [f"{word}: {counted(count, 'metric')} compared"]
    if count < total:
        clauses.append(f"{count:,} of {total:,} metrics of the baseline compared")
    return "; ".join(clauses)


def _write(
    arguments: argparse.Namespace,
    made: list[SideBySide],
    notes: list[str],
    sentence: str,
    status: int,
) -> None:
    from .._util.atomic import atomic_write_text
    from .._util.jsonio import pretty
    from .._util.markdown import inline
    from ..reports.comparison import FORMAT, compared_json, compared_markdown

    if arguments.json:
        content = {
            "format": FORMAT,
            "gate": arguments.gate,
            "alpha": arguments.alpha,
            "exit_status": status,
            "comparisons": [compared_json(compared) for compared in made],
            "notes": notes,
        }
        atomic_write_text(arguments.json, pretty(content))
    if arguments.markdown:
        lines = [line for each in made for line in (*compared_markdown(each, sentence), "")]
        lines += [f"- {inline(note)}" for note in notes]
        atomic_write_text(arguments.markdown, "\n".join(lines).rstrip() + "\n")
