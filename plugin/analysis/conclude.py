"""Draw every conclusion that a set of measured checkpoints allows, and note what is left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .._util.errors import CkptbenchError, nearest
from ..gate.measurement import Measurement
from ..gate.verdict import DEFAULT_ALPHA
from ..scores.composite import DEFAULT_WEIGHTS, METRIC, check_weights
from .compare import AVERAGE, Settings, benchmarks_of
from .composites import composite_mismatches, with_average, with_composite
from .conclusions import Best, Conclusions, PeakAndLast, RunConclusions, StepNoise
from .curve import best_of, peak_and_last, step_noise_of, stopping
from .eligibility import eligible, metrics_of, without_direction
from .runs import at_every_epoch, compare_runs, group_runs
from .wording import (
    composite_notes,
    left_out_notes,
    limit_notes,
    number_notes,
    partial_notes,
    repeated_notes,
    sentences,
)

Groups = dict[str, tuple[Measurement, ...]]


def conclude(
    measurements: Sequence[Measurement],
    *,
    alpha: float = DEFAULT_ALPHA,
    tolerance: Mapping[str, float] | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
    by: str | None = None,
) -> Conclusions:
    """Draw every conclusion from the checkpoints of one or several training runs.

    Checkpoints are grouped by run and sequence length. Each metric is a question of its own: no
    correction is made over metrics. Incomplete checkpoints, and those under another protocol,
    are in `measurements` but in no conclusion, and a note names them.

    Args:
        measurements: in any order; of two with one name in one run the later counts.
        alpha, tolerance, weights: see `Settings`; without weights those of the first checkpoint
            that has some, else the default ones. Composites with others are computed again.
        seed: of the random sign flips: the same measurements give the same conclusions.
        by: the metric that decides which checkpoint is recommended and whether to stop; without
            it the composite, else the average of several tasks, else the first metric.

    Raises:
        CkptbenchError: the weights given are not those of a weighted mean, or no checkpoint has
            the metric `by`.
    """
    if weights is not None:
        check_weights(weights)
    else:
        weights = next((each.weights for each in measurements if each.weights), DEFAULT_WEIGHTS)
    used = dict(weights)
    settings = Settings(alpha, tolerance or {}, seed, used)
    kept, repeated = _once_each(measurements)
    made = [with_composite(each, used) for each in kept]
    groups, no_average = _with_averages(group_runs(made))
    known = metrics_of([each for checkpoints in groups.values() for each in checkpoints])
    if by is not None and by not in known:
        raise CkptbenchError(
            f"no checkpoint has a metric {by!r} to compare by{nearest(by, known)}",
            where="--by",
            remedy=f"Metrics are {', '.join(known)}." if known else "",
        )
    concluded = {name: conclude_run(name, each, settings, by) for name, each in groups.items()}
    runs = [run for run, _ in concluded.values()]
    left_out = {name: out for name, (_, out) in concluded.items()}
    compared = compare_runs(_comparable(groups), settings)
    wrong = composite_mismatches(made, used)
    notes = (
        *repeated_notes(repeated),
        *left_out_notes(left_out),
        *composite_notes(kept, made, used),
        *number_notes(runs, compared),
        *no_average,
        *limit_notes(without_direction(made), at_every_epoch(groups)),
        *partial_notes(runs),
    )
    reported = sum(each.printed_composite is not None for each in made)
    texts = sentences(runs, compared, wrong, reported)
    return Conclusions(tuple(runs), compared, wrong, texts, notes)


def conclude_run(
    name: str,
    checkpoints: Sequence[Measurement],
    settings: Settings,
    by: str | None = None,
) -> tuple[RunConclusions, dict[tuple[str, str], list[str]]]:
    """The conclusions on a training run's checkpoints, the earliest first, and those left out.

    The latter are metrics by `(checkpoint's name, reason)`.
    """
    best: list[Best] = []
    peaks: list[PeakAndLast] = []
    noise: list[StepNoise] = []
    left_out: dict[tuple[str, str], list[str]] = {}
    curves: dict[str, tuple[Measurement, ...]] = {}
    for metric in metrics_of(checkpoints):
        curve, out = eligible(metric, checkpoints, settings.weights)
        for excluded in out:
            left_out.setdefault(excluded, []).append(metric)
        if not curve:
            continue
        best.append(best_of(metric, curve, settings))
        noise.append(step_noise_of(metric, curve))
        if len(curve) > 1:
            curves[metric] = curve
            peaks.append(peak_and_last(metric, curve, settings))
    stop, recommended, decides = None, "", ""
    if peaks:
        decides = by if by in curves else _deciding(best, curves)
        peak = next(each for each in peaks if each.metric == decides)
        stop = stopping(decides, curves[decides], peak, settings)
        recommended = stop.best
    concluded = tuple(best), tuple(peaks), stop, decides, recommended, tuple(noise)
    return RunConclusions(name, tuple(checkpoints), *concluded), left_out


def _deciding(best: Sequence[Best], curves: Mapping[str, object]) -> str:
    """The average of several tasks; else the composite or the first metric, one that can be tested.

    A single task that happens to have errors must not represent all of them.
    """
    usable = [each for each in best if each.metric in curves]
    if any(each.metric == AVERAGE for each in usable):
        return AVERAGE
    testable = [each for each in usable if any(r.p_adjusted is not None for r in each.rivals)]
    candidates = [each.metric for each in testable or usable]
    return METRIC if METRIC in candidates else candidates[0]


def _with_averages(groups: Groups) -> tuple[Groups, tuple[str, ...]]:
    """The runs with the average of their tasks where they have no composite, and why not."""
    found: Groups = {}
    reasons: dict[str, None] = {}
    for name, checkpoints in groups.items():
        composites = [each.composite for each in checkpoints]
        if any(made is not None and made.value is not None for made in composites):
            found[name] = checkpoints
            continue
        found[name], reason = with_average(checkpoints)
        if reason:
            reasons[f"{name}: {reason}" if name else reason] = None
    return found, tuple(reasons)


def _comparable(groups: Groups) -> Groups:
    """The runs for comparing them: with averages only where all are of the same tasks."""
    tasks = {
        tuple(sorted(bench.benchmark for bench in benchmarks_of(each, AVERAGE, {})))
        for checkpoints in groups.values()
        for each in checkpoints
        if each.average is not None
    }
    if len(tasks) <= 1:
        return groups
    return {
        name: tuple(replace(each, average=None) for each in checkpoints)
        for name, checkpoints in groups.items()
    }


def _once_each(
    measurements: Iterable[Measurement],
) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...]]:
    """The later of those with one name in one run, and the earlier ones."""
    last: dict[tuple[str, int | None, str], Measurement] = {}
    repeated: list[Measurement] = []
    for each in measurements:
        key = each.run, each.seq_len, each.name
        if key in last:
            repeated.append(last[key])
        last[key] = each
    return tuple(last.values()), tuple(repeated)
