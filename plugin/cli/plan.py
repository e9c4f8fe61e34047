"""`ckptbench plan`: how many samples, and trials of each, a verdict needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError, nearest

if TYPE_CHECKING:
    from ..gate.planning import FlipsRow, Passes, Shares, Target
    from ..readers.result import Result
    from ..results.measurement import BenchmarkMeasurement, Measurement
    from ..scores.score import Score

_ASSUMED = (0.03, 0.06, 0.12)
_EXAMPLES = """\
examples:
  ckptbench plan --drop 2
  ckptbench plan --drop 2 --power 0.9 --flips 4 --metrics 3
  ckptbench plan --drop 2 --baseline baselines/best.json --plot plan.svg
  ckptbench plan --drop 2 --baseline results/monday --against results/tuesday
  ckptbench plan --drop 5 --baseline baselines/code.json --metric pass@1 --trials 50
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    from ..config.parsers import positive_int, probability

    plan = commands.add_parser(
        "plan",
        help="how many samples and trials it takes to find a drop",
        description="Print how many samples a comparison needs to find a true drop, and the "
        "minimum detectable effect (MDE) with the samples of a baseline.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan.add_argument(
        "--drop", type=_points, required=True, metavar="PP", help="true drop in percentage points"
    )
    plan.add_argument(
        "--power",
        type=probability,
        default=0.8,
        metavar="P",
        help="share of comparisons that are to find it (default 0.8)",
    )
    plan.add_argument(
        "--baseline",
        type=Path,
        metavar="PATH",
        help="a baseline or a run: its scores, clusters and trials are used",
    )
    plan.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="a second one over the same samples: the flips between the two are used",
    )
    plan.add_argument(
        "--flips",
        type=_percentages,
        default=None,
        metavar="PERCENT[,...]",
        help="share of samples that flip when nothing has changed (default 3,6,12)",
    )
    plan.add_argument("--metric", metavar="NAME", help="one metric of the baseline (default: all)")
    plan.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help="answers to each problem of a metric pass@k, beside those of the baseline",
    )
    plan.add_argument(
        "--alpha", type=probability, default=0.05, metavar="P", help="significance (default 0.05)"
    )
    plan.add_argument(
        "--metrics",
        type=positive_int,
        metavar="N",
        help="gated metrics times checkpoints of the session, which share alpha (default: the "
        "gated metrics of the baseline, or 1)",
    )
    plan.add_argument(
        "--tolerance",
        type=_points_or_none,
        default=0.01,
        metavar="PP",
        help="fall in percentage points that never fails (default 1)",
    )
    plan.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the MDE by samples (.svg or .png)"
    )
    plan.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class _Planned:
    """What is printed of one metric, and what a plot draws of it."""

    title: str
    lines: tuple[str, ...]
    flips: tuple[FlipsRow, ...] = ()
    held: Shares | None = None


def run(arguments: argparse.Namespace) -> int:
    """Plan.

    Returns:
        0.
    """
    from ..gate.planning import Target

    if arguments.drop <= arguments.tolerance:
        raise CkptbenchError(
            f"a drop of {_pp(arguments.drop)} is within the tolerance of "
            f"{_pp(arguments.tolerance)}: no number of samples makes it fail",
            where="--drop",
            remedy="Give a larger drop, or a smaller --tolerance.",
        )
    if arguments.plot:
        _check_plot(arguments.plot)
    for name in ("against", "metric", "trials"):
        if getattr(arguments, name) is not None and arguments.baseline is None:
            raise CkptbenchError("needs a baseline", where=f"--{name}", remedy="Add --baseline.")
    results = _read(arguments.baseline), _read(arguments.against)
    tests = arguments.metrics or max(1, len(list(_metrics_of(results[0], gated=True))))
    target = Target(arguments.drop, arguments.power, arguments.alpha / tests, arguments.tolerance)
    found = list(_planned(arguments, target, *results))
    print(
        f"to find a true drop of {_pp(target.drop)} in {target.power:.0%} of comparisons: "
        f"tolerance {_pp(target.tolerance)}, alpha {arguments.alpha:g} over {tests:,} "
        f"test{'s' * (tests != 1)}"
    )
    for planned in found:
        print()
        print(planned.title)
        print("\n".join(planned.lines))
    if arguments.plot:
        _plot(arguments.plot, target, found)
    return 0


def _plot(path: Path, target: Target, found: list[_Planned]) -> None:
    """Draw the MDE by samples of the first metric of 0/1 outcomes."""
    from ..reports.plots.planning import write_plan

    planned = next((each for each in found if each.flips), None)
    if planned is None:
        raise CkptbenchError(
            "only 0/1 outcomes are drawn, and the baseline has none", where="--plot"
        )
    title = planned.title.partition(":")[0]
    write_plan(path, title, target, planned.flips, planned.held)
    print(f"\nwrote {path}")


def _planned(
    arguments: argparse.Namespace, target: Target, held: Result | None, other: Result | None
) -> Iterator[_Planned]:
    if held is None:
        yield _of_flips(target, "0/1 outcomes of single samples", _flips(arguments.flips), None)
        return
    measurement, second = _only(held, "--baseline"), _only(other, "--against")
    assert measurement is not None
    metrics = list(_metrics_of(held, gated=False))
    if arguments.metric is not None:
        names = [score.metric for _, score in metrics]
        if arguments.metric not in names:
            raise CkptbenchError(
                f"no metric named {arguments.metric!r}{nearest(arguments.metric, names)}",
                where="--metric",
                remedy=f"Metrics are {', '.join(names)}.",
            )
        metrics = [(b, score) for b, score in metrics if score.metric == arguments.metric]
    else:
        metrics = [(b, score) for b, score in metrics if score.gated]
    for benchmark, score in metrics:
        yield _of_metric(arguments, target, held, benchmark, score, second)


def _of_metric(
    arguments: argparse.Namespace,
    target: Target,
    result: Result,
    benchmark: BenchmarkMeasurement,
    score: Score,
    second: Measurement | None,
) -> _Planned:
    from ..gate.planning import Shares, design_effect
    from ..readers.plannable import column_of, noise_floor, passes_of, seen_flips

    title = f"{score.metric} ({benchmark.protocol or 'no protocol stated'})"
    why = ""
    if not score.share or not score.higher_is_better:
        why = "it is no share of which more is better"
    elif score.value is None or not score.n:
        why = "the baseline states no value with its n"
    if why:
        return _Planned(title, (f"  not planned: {why}",))
    assert score.value is not None
    passes = passes_of(result, benchmark, score.metric)
    if passes is not None:
        return _of_trials(arguments, target, title, score, passes, benchmark, second)
    column = column_of(benchmark, score.metric)
    if any(value not in (0.0, 1.0) for value in column.values()):
        return _Planned(title, (f"  not planned: its values are graded, {_WHY_GRADED}",))
    effect = design_effect(score.value, score.n, score.standard_error)
    held = Shares(score.value, score.n, effect)
    flips = _flips(
        arguments.flips, [*noise_floor(result, benchmark), *seen_flips(column, score, second)]
    )
    about = f"{title}: {score.value:.2%} of {score.n:,} samples"
    about += f", design effect {effect:.2f}" if effect > 1 else ""
    planned = _of_flips(target, about, flips, held)
    if arguments.trials is not None:
        told = "  --trials: one trial a problem does not tell how much of its error is the draw"
        return replace(planned, lines=(*planned.lines, told))
    return planned


_WHY_GRADED = "and only pass@k with the trials of pass@1 beside it is planned"


def _of_flips(
    target: Target, title: str, flips: list[tuple[float, str]], held: Shares | None
) -> _Planned:
    from .._util.tables import aligned
    from ..gate.planning import by_flips

    rows = by_flips(target, flips, held)
    header = ["flips", "samples needed"] + ([f"MDE at n = {held.n:,}"] if held else [])
    cells = [
        [
            f"{100 * row.flips:.3g}%" + (f" ({row.source})" if row.source else ""),
            _count(row.needed),
            *([_effect(row.mde)] if held else []),
        ]
        for row in rows
    ]
    return _Planned(title, tuple(aligned([header, *cells])), rows, held)


def _of_trials(
    arguments: argparse.Namespace,
    target: Target,
    title: str,
    score: Score,
    passes: Passes,
    benchmark: BenchmarkMeasurement,
    second: Measurement | None,
) -> _Planned:
    from .._util.tables import aligned
    from ..gate.planning import by_trials
    from ..readers.plannable import changed_of

    now = max(n for n, _ in passes.counts)
    told = "two sides that differ by the draw alone"
    changed = changed_of(passes, benchmark, score.metric, second)
    if changed is not None:
        passes = replace(passes, changed=changed)
        told = "two sides that differ as these two do, beside the draw"
    wanted = sorted({now, 2 * now, 4 * now, *([arguments.trials] if arguments.trials else [])})
    rows = by_trials(target, passes, wanted)
    n = len(passes.counts)
    title += f": {score.value:.2%} of {n:,} problems, {now:,} trials each"
    if not rows:
        why = f"an estimate needs {2 * passes.k} trials a problem, and a problem that was passed"
        return _Planned(title, (f"  not planned: {why}",))
    header = ["trials", "standard error", "problems needed", f"MDE at n = {n:,}"]
    cells = [
        [f"{row.trials:,}", _effect(row.standard_error), _count(row.needed), _effect(row.mde)]
        for row in rows
    ]
    lines = [*aligned([header, *cells], left=0), f"  of {told}"]
    noise = passes.noise
    if noise is not None:
        lines.append(
            f"  {noise.share_of_draw:.0%} of the score's variance is the draw of answers, "
            f"{noise.share_of_problems:.0%} the choice of problems"
        )
    return _Planned(title, tuple(lines))


# What the results hold


def _read(path: Path | None) -> Result | None:
    from ..readers.detect import read

    return None if path is None else read(path)


def _only(result: Result | None, option: str) -> Measurement | None:
    if result is None:
        return None
    if len(result.measurements) != 1:
        raise CkptbenchError(
            f"{result.path} holds {len(result.measurements):,} checkpoints; a plan takes one",
            where=option,
            remedy="`ckptbench baseline import PATH --checkpoint NAME -o FILE` writes one of them.",
        )
    return result.measurements[0]


def _metrics_of(
    result: Result | None, *, gated: bool
) -> Iterator[tuple[BenchmarkMeasurement, Score]]:
    measurement = _only(result, "--baseline")
    for benchmark in measurement.primary_benchmarks() if measurement else ():
        for score in benchmark.scores:
            known = score.value is not None and score.higher_is_better is not None
            if not gated or (score.gated and known):
                yield benchmark, score


def _flips(
    given: tuple[float, ...] | None, known: list[tuple[float, str]] | None = None
) -> list[tuple[float, str]]:
    """The shares of flips of the rows: those given, or those assumed; and those that are known."""
    assumed = [(share, "") for share in given or _ASSUMED]
    return [*assumed, *(known or [])]


def _check_plot(path: Path) -> None:
    from ..reports.plots.figures import check_matplotlib

    if path.suffix not in (".svg", ".png"):
        raise CkptbenchError(
            f"cannot write {path.name}", where="--plot", remedy="Name an .svg or .png."
        )
    check_matplotlib("--plot")


# Words


def _pp(share: float) -> str:
    return f"{100 * share:g} pp"


def _effect(share: float | None) -> str:
    return "no drop" if share is None else f"{100 * share:.2f} pp"


def _count(number: int | None) -> str:
    return "no number" if number is None else f"{number:,}"


def _number(text: str, what: str, lowest: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not lowest <= number <= 100:
        raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}")
    return number / 100


def _points(text: str) -> float:
    """Percentage points above 0, as a share."""
    found = _number(text, "percentage points above 0 and at most 100", 0)
    if not found:
        raise argparse.ArgumentTypeError(f"expected percentage points above 0, got {text!r}")
    return found


def _points_or_none(text: str) -> float:
    """Percentage points from 0, as a share."""
    return _number(text, "percentage points from 0 to 100", 0)


def _percentages(text: str) -> tuple[float, ...]:
    """`3,6,12` as shares."""
    return tuple(_number(part, "percentages such as 3,6,12", 0) for part in text.split(","))
