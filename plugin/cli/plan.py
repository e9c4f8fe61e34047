"""`ckptbench plan`: how many samples, and trials of each, a verdict needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError, nearest
from .._util.overwrite import PLOT, check_output
from .._util.text import counted
from ..config.parsers import percentage, percentage_points, positive_int, probability
from .arguments import Commands, add_command, add_force, add_options

if TYPE_CHECKING:
    from ..gate.measurement import BenchmarkMeasurement, Measurement
    from ..gate.planning import Target
    from ..readers.result import Result
    from ..reports.planned import Planned
    from ..scores.score import Score

_EXAMPLES = """\
  ckptbench plan --drop 2
  ckptbench plan --drop 2 --power 0.9 --flips 4 --metrics 3
  ckptbench plan --drop 2 --baseline baselines/best.json --plot plan.svg
  ckptbench plan --drop 2 --baseline results/monday --against results/tuesday
  ckptbench plan --drop 5 --baseline baselines/code.json --metric pass@1 --trials 50
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    plan = add_command(
        commands,
        "plan",
        run,
        "Print how many samples a comparison needs to find a true drop, and the minimum detectable "
        "effect (MDE) with the samples of a baseline.",
        help="sample sizes, trials and power for finding a drop",
        examples=_EXAMPLES,
    )
    plan.add_argument(
        "--drop",
        type=percentage_points,
        required=True,
        metavar="PP",
        help="true drop to find, in percentage points",
    )
    plan.add_argument(
        "--baseline",
        type=Path,
        metavar="PATH",
        help="baseline file or run that gives the scores, clusters and trials",
    )
    plan.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="second result over the same samples, that gives the flips between the two",
    )
    plan.add_argument("--metric", metavar="NAME", help="metric of the baseline (default: all)")
    plan.add_argument(
        "--power",
        type=probability,
        default=0.8,
        metavar="P",
        help="share of comparisons that find the drop (default 0.8)",
    )
    add_options(plan, "alpha")
    plan.add_argument(
        "--tolerance",
        type=percentage("percentage points from 0 to 100"),
        default=0.01,
        metavar="PP",
        help="largest drop, in percentage points, that does not fail the gate (default 1)",
    )
    _add_assumptions(plan)
    plan.add_argument(
        "--plot", type=Path, metavar="FILE", help="plot the MDE by sample size (.svg or .png)"
    )
    add_force(plan)


def _add_assumptions(plan: argparse.ArgumentParser) -> None:
    """What is assumed where the baseline does not give it."""
    plan.add_argument(
        "--flips",
        type=_percentages,
        default=(),
        metavar="PERCENT[,...]",
        help="share of samples that flip when nothing has changed (default 3,6,12)",
    )
    plan.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help="generations per problem of a pass@k metric to plan for, besides the baseline's",
    )
    plan.add_argument(
        "--metrics",
        type=positive_int,
        metavar="N",
        help="number of tests that share alpha: gated metrics times checkpoints (default: the "
        "gated metrics of the baseline, or 1)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the plan; the exit status is 0."""
    from ..gate.planning import Target
    from ..readers.detect import read
    from ..reports.planned import points

    if arguments.drop <= arguments.tolerance:
        raise CkptbenchError(
            f"a drop of {points(arguments.drop)} is within the tolerance of "
            f"{points(arguments.tolerance)}: no number of samples makes it fail",
            where="--drop",
            remedy="Give a larger drop, or a smaller --tolerance.",
        )
    if arguments.plot:
        _check_plot(arguments)
    for name in ("against", "metric", "trials"):
        if getattr(arguments, name) is not None and arguments.baseline is None:
            raise CkptbenchError("needs a baseline", where=f"--{name}", remedy="Add --baseline.")
    baseline, other = (path and read(path) for path in (arguments.baseline, arguments.against))
    tests = arguments.metrics or max(1, len(list(_metrics_of(baseline, gated=True))))
    alpha = arguments.alpha / tests
    target = Target(alpha, arguments.tolerance, arguments.power, drop=arguments.drop)
    found = list(_planned(arguments, target, baseline, other))
    print(
        f"to find a true drop of {points(target.drop)} in {target.power:.0%} of comparisons: "
        f"tolerance {points(target.tolerance)}, alpha {arguments.alpha:g} over "
        f"{counted(tests, 'test')}"
    )
    for planned in found:
        print()
        print(planned.title)
        print("\n".join(planned.lines))
    if arguments.plot:
        _plot(arguments.plot, target, found)
    return 0


def _plot(path: Path, target: Target, found: list[Planned]) -> None:
    """Draw the MDE by samples of the first metric of 0/1 outcomes."""
    from ..reports.plots.figures import write_plan

    planned = next((each for each in found if each.flips), None)
    if planned is None:
        raise CkptbenchError(
            "only 0/1 outcomes are drawn, and the baseline has none", where="--plot"
        )
    title = planned.title.partition(":")[0]
    write_plan(path, title, target, planned.flips, planned.baseline)
    print(f"\nwrote {path}")


def _planned(
    arguments: argparse.Namespace, target: Target, baseline: Result | None, other: Result | None
) -> Iterator[Planned]:
    from ..reports.planned import Assumptions, plan_metric, plan_without_baseline

    assumed = Assumptions(arguments.flips, arguments.trials, _only(other, "--against"))
    if baseline is None:
        yield plan_without_baseline(target, assumed)
        return
    metrics = list(_metrics_of(baseline, gated=False))
    if arguments.metric is not None:
        names = [score.metric for _, score in metrics]
        if arguments.metric not in names:
            raise CkptbenchError(
                f"no metric named {arguments.metric!r}{nearest(arguments.metric, names)}",
                where="--metric",
                remedy=f"Metrics are {', '.join(names)}.",
            )
    for benchmark, score in metrics:
        if score.metric == arguments.metric if arguments.metric is not None else score.gated:
            yield plan_metric(target, baseline, benchmark, score, assumed)


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


def _check_plot(arguments: argparse.Namespace) -> None:
    from ..reports.plots.figures import check_matplotlib

    path: Path = arguments.plot
    if path.suffix not in (".svg", ".png"):
        raise CkptbenchError(
            f"cannot write {path.name}", where="--plot", remedy="Name an .svg or .png."
        )
    check_matplotlib("--plot")
    inputs = filter(None, [arguments.baseline])
    check_output(path, PLOT, inputs, force=arguments.force)


def _percentages(text: str) -> tuple[float, ...]:
    """`3,6,12` as fractions."""
    return tuple(map(percentage("percentages such as 3,6,12"), text.split(",")))
