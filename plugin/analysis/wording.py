"""Conclusions as sentences and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .._util.language import counted, listed, tr
from .._util.text import count, formula, p_value, probability
from ..gate.measurement import Measurement
from ..gate.units import points, points_interval, size
from ..gate.verdict import Comparison
from ..scores.composite import METRIC
from .compare import AVERAGE, direction
from .composites import BOUND, ROUNDING
from .conclusions import EACH_BEST, Best, CompositeMismatch, RunConclusions, RunsCompared
from .eligibility import training_position

# Of a run with more metrics, only the one that decides has sentences.
_FEW_METRICS = 4


def sentences(
    runs: Sequence[RunConclusions],
    compared: Sequence[RunsCompared],
    wrong: Sequence[CompositeMismatch],
    reported: int,
) -> tuple[str, ...]:
    """Every claim that the numbers suggest, and whether the samples support it.

    For each run whether to stop and which checkpoint to keep; then its best and its fall since
    the peak, by the composite and by the first metric; then one run against another; then reported
    composites that are wrong, of how many `reported`. The sentences on other metrics are in their
    own `detail`.
    """
    return (
        *(_in_run(run.run, run.stopping.detail) for run in runs if run.stopping),
        *_curves(runs),
        *_run_pairs(runs, compared),
        *_composites(wrong, reported),
    )


def _curves(runs: Sequence[RunConclusions]) -> Iterator[str]:
    for run in runs:
        for metric in _headline(run):
            details = [each.detail for each in run.best if each.metric == metric]
            # The sentence on stopping may have said so already.
            stop = run.stopping.detail if run.stopping else ""
            details += [
                each.detail
                for each in run.peaks
                if each.metric == metric and each.comparison is not None and each.detail not in stop
            ]
            yield from (_in_run(run.run, detail) for detail in details)


def _run_pairs(runs: Sequence[RunConclusions], compared: Sequence[RunsCompared]) -> Iterator[str]:
    """Sequence lengths of one training run, and runs that differ; the other pairs are counted."""
    family = {run.run: _family(run.measurements[0]) for run in runs}
    headline = {run.run: set(_headline(run)) for run in runs}
    bests = [
        row
        for row in compared
        if row.at == EACH_BEST and row.metric in headline[row.left] & headline[row.right]
    ]
    bests.sort(key=lambda row: row.metric not in (METRIC, AVERAGE))
    only_pair = len({(row.left, row.right) for row in bests}) == 1
    silent: dict[str, list[str]] = {}
    for row in bests:
        if only_pair or row.differ == "yes" or family[row.left] == family[row.right]:
            yield row.detail
        else:
            silent.setdefault(row.metric, []).append(
                tr("{left} and {right}", left=row.left, right=row.right)
            )
    for metric, names in silent.items():
        yield (
            tr(
                "{pairs} of runs statistically tied in {metric}, each one's best: ",
                pairs=counted(len(names), "other pair"),
                metric=metric,
            )
            + listed(names)
        )


def _composites(wrong: Sequence[CompositeMismatch], reported: int) -> Iterator[str]:
    if wrong:
        yield tr(
            "{n} of {of} reported composites differ from the weighted mean of their parts by more "
            "than rounding ({rounding})",
            n=count(len(wrong)),
            of=count(reported),
            rounding=f"{ROUNDING:g}",
        )


def _family(checkpoint: Measurement) -> str:
    """The run's name without a sequence length: `mlm_v2` of `mlm_v2_1536` at 1536."""
    length = "" if checkpoint.seq_len is None else str(checkpoint.seq_len)
    return checkpoint.run.replace(length, "").strip(" -_/")


def _headline(run: RunConclusions) -> tuple[str, ...]:
    """The metric that decides; of a run that is no benchmark suite also composite and first."""
    metrics = [each.metric for each in run.best]
    few = len(metrics) <= _FEW_METRICS
    others = [*(m for m in metrics if m == METRIC), *metrics[:1]] if few else []
    return tuple(dict.fromkeys([*([run.by] if run.by else []), *others]))


def named(measurement: Measurement) -> str:
    """`checkpoint-390 (epoch 3)`."""
    where = training_position(measurement)
    return f"{measurement.name} ({where})" if where else measurement.name


def superlative(metric: str, checkpoints: Sequence[Measurement]) -> str:
    """What the best value of a metric is: `highest` or `lowest`."""
    return tr("lowest") if direction(metric, checkpoints) < 0 else tr("highest")


def worsened(comparison: Comparison) -> str:
    """`fell by 1.37 pp`; `got worse by 0.02 bits/byte` where less is better."""
    by = size(comparison.difference, comparison.unit)
    return (
        tr("fell by {by}", by=by) if comparison.higher_is_better else tr("got worse by {by}", by=by)
    )


def difference(comparison: Comparison) -> str:
    """`-1.37 pp [-4.05, +1.31]`."""
    return points(comparison.difference, comparison.unit) + _interval(comparison)


def evidence(comparison: Comparison, p_corrected: float | None) -> str:
    """`[-4.05, +1.31], p = 0.3160, 1.0000 corrected`; why nothing was tested otherwise."""
    interval = _interval(comparison).strip()
    if comparison.p_value is None:
        return ", ".join(filter(None, [interval, tr("not tested: no standard error")]))
    parts = [interval, probability(comparison.p_value)]
    if p_corrected is not None and p_corrected != comparison.p_value:
        parts.append(tr("{p} corrected", p=p_value(p_corrected)))
    return ", ".join(filter(None, parts))


def figures(comparison: Comparison | None, p_corrected: float | None) -> str:
    """`-1.37 pp [-4.05, +1.31], p = 0.3160, 1.0000 corrected`."""
    if comparison is None:
        return tr("nothing to compare")
    gap = " " if comparison.interval is not None else ", "
    shown = points(comparison.difference, comparison.unit)
    return f"{shown}{gap}{evidence(comparison, p_corrected)}"


def samples(metric: str, comparison: Comparison | None, *sides: Measurement) -> str:
    """`n = 2,400`, or `n = 2,400 and 3,200` where two sides cannot be paired; empty if unknown."""
    known = [score.n for side in sides if (score := side.score(metric)) is not None and score.n]
    if comparison is not None and comparison.kind == "paired" and comparison.n is not None:
        known = [comparison.n]
    if not known:
        return ""
    shown = f"n = {tr(' and ').join(map(count, dict.fromkeys(known)))}"
    return tr("{n} over all its parts", n=shown) if metric in (METRIC, AVERAGE) else shown


def sensitivity(metric: str, comparison: Comparison | None, *sides: Measurement) -> str:
    """`; MDE 4.70 pp at n = 2,400`: tolerance and corrected level included."""
    if comparison is None or comparison.p_value is None:
        return ""
    n = samples(metric, comparison, *sides)
    mde = tr("; MDE: no change would be found")
    if comparison.mde is not None:
        mde = f"; MDE {size(comparison.mde, comparison.unit)}"
    return mde + (tr(" at {n}", n=n) if n else "")


def _interval(comparison: Comparison) -> str:
    if comparison.interval is None:
        return ""
    return f" {points_interval(comparison.interval, comparison.unit)}"


_NAMES_SHOWN = 8


def repeated_notes(repeated: Sequence[Measurement]) -> Iterator[str]:
    """Checkpoints that were measured more than once."""
    if repeated:
        names = listed(dict.fromkeys(_in_run(each.run, each.name) for each in repeated))
        yield f"measured more than once, the last result counts: {names}"


def left_out_notes(
    left_out: Mapping[str, Mapping[tuple[str, str], Sequence[str]]],
) -> Iterator[str]:
    """Checkpoints that were left out, by run: one note for each reason."""
    names: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for run, metrics in left_out.items():
        for (name, reason), of in metrics.items():
            names.setdefault((run, tuple(of), reason), []).append(name)
    for (run, excluded_from, reason), those in names.items():
        what = _in_run(run, listed(those, _NAMES_SHOWN))
        yield f"left out of {listed(excluded_from, _NAMES_SHOWN)}: {what}: {reason}"


def composite_notes(
    given: Sequence[Measurement], made: Sequence[Measurement], weights: Mapping[str, float]
) -> Iterator[str]:
    """How the composites were computed, where that limits the conclusions from them."""
    again = sum(
        old.composite is not None
        and old.composite.value is not None
        and new.composite is not old.composite
        for old, new in zip(given, made, strict=True)
    )
    if again:
        used = formula({name: weight for name, weight in weights.items() if weight})
        yield f"{count(again)} composites had other weights and were computed again with {used}"
    scores = [each.composite for each in made if each.composite is not None]
    if any(score.method == BOUND for score in scores):
        yield (
            "the standard error of a composite of numbers is an upper bound: metrics of one "
            "benchmark share its samples, and their correlation is not known without them"
        )
    if scores and all(score.value is None for score in scores):
        yield f"there is no composite: {listed(dict.fromkeys(score.reason for score in scores))}"


def number_notes(runs: Sequence[RunConclusions], compared: Sequence[RunsCompared]) -> Iterator[str]:
    """Comparisons with less power than the samples would give, or without a test."""
    found = [r.comparison for run in runs for best in run.best for r in best.rivals]
    found += [row.comparison for row in compared]
    kinds = {comparison.kind for comparison in found if comparison is not None}
    if "unpaired" in kinds:
        yield (
            "comparisons are unpaired where a source has numbers only: with the samples, smaller "
            "differences between checkpoints would be significant"
        )
    if "point" in kinds:
        yield "differences are not tested where a source reports no n and no standard error"


def limit_notes(unknown: Sequence[str], every_epoch: bool) -> Iterator[str]:
    """Metrics of unknown direction, which are not compared, and runs not compared at all epochs."""
    if unknown:
        shown = listed(unknown, _NAMES_SHOWN)
        yield f"not compared, as it is not known whether more is better: {shown}"
    if not every_epoch:
        yield "with so many runs, only their last common epoch and their best are compared"


def partial_notes(runs: Sequence[RunConclusions]) -> Iterator[str]:
    """Checkpoints of one run without the same samples, one note for several metrics."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for best in run.best:
            for before, after in _partial(run, best):
                metrics.setdefault((before, after), []).append(best.metric)
    for (before, after), names in metrics.items():
        yield f"{before} in {listed(names, _NAMES_SHOWN)}{after}"


def _partial(run: RunConclusions, best: Best) -> Iterator[tuple[str, str]]:
    """The parts of a note before and after the metric's name."""
    if best.metric in (METRIC, AVERAGE):
        return
    scores = {each.name: each.score(best.metric) for each in run.measurements}
    counts = {name: score.n for name, score in scores.items() if score is not None}
    alien = [rival.name for rival in best.rivals if rival.comparison is None]
    against = f"compared with {_in_run(run.run, best.best)}"
    if alien:
        yield f"not {against}", f", as they have no sample in common: {listed(alien, _NAMES_SHOWN)}"
    partly = [
        f"{rival.name} ({count(figures.n)} of {count(most)})"
        for rival in best.rivals
        if (figures := rival.comparison) is not None
        and figures.kind == "paired"
        and figures.n is not None
        and figures.n < (most := max(counts[rival.name], counts[best.best]))
    ]
    if partly:
        yield against, f" over common samples only: {listed(partly, _NAMES_SHOWN)}"


def _in_run(run: str, name: str) -> str:
    return f"{run}: {name}" if run else name
