"""Everything that a set of measured checkpoints allows to conclude, and what it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..gate.decide import DEFAULT_ALPHA
from ..scores.composite import METRIC, check_weights
from .best import best_of
from .comparing import Settings
from .composites import mismatches, weights_of, with_composite
from .conclusions import Best, Conclusions, PeakAndLast, RunConclusions
from .measurement import Measurement
from .notes import (
    composite_notes,
    epoch_notes,
    left_out_notes,
    number_notes,
    partial_notes,
    repeated_notes,
)
from .peak import peak_and_last
from .runs import at_every_epoch, compare_runs, group_runs
from .sentences import sentences
from .stopping import stopping
from .taking_part import LeftOut, metrics_of, taking_part


def conclude(
    measurements: Sequence[Measurement],
    *,
    alpha: float = DEFAULT_ALPHA,
    tolerance: Mapping[str, float] | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
) -> Conclusions:
    """Draw every conclusion from the checkpoints of one or several training runs.

    Checkpoints are grouped by run and sequence length. Each metric is a question of its own: no
    correction is made over metrics. Incomplete checkpoints, and those under another protocol,
    stand in `measurements` but take no part in what is concluded, and a note names them.

    Args:
        measurements: in any order; of two with one name in one run the later counts.
        alpha: chance of telling apart what is equal, in one question about one metric.
        tolerance: change that matters by metric, as a fraction, and by `*` for all others; 1.0 %p
            where nothing is given.
        seed: of the random sign flips: the same measurements give the same conclusions.
        weights: of the composite. Without them those of the first checkpoint that states some,
            or else the default ones. Every composite made with others is made again.

    Raises:
        CkptbenchError: the weights given are not those of a weighted mean.
    """
    if weights is not None:
        check_weights(weights)
    used = weights_of(measurements, weights)
    settings = Settings(alpha, tolerance or {}, seed, used)
    kept, repeated = _once_each(measurements)
    made = [with_composite(each, used) for each in kept]
    groups = group_runs(made)
    runs: list[RunConclusions] = []
    left_out: list[tuple[str, LeftOut]] = []
    for name, checkpoints in groups.items():
        run, out = conclude_run(name, checkpoints, settings)
        runs.append(run)
        left_out.extend((name, each) for each in out)
    compared = compare_runs(groups, settings)
    wrong = mismatches(made, used)
    stated = sum(each.printed_composite is not None for each in made)
    notes = (
        *repeated_notes(repeated),
        *left_out_notes(left_out),
        *composite_notes(kept, made, used),
        *number_notes(runs, compared),
        *epoch_notes(at_every_epoch(groups)),
        *partial_notes(runs),
    )
    said = sentences(runs, compared, wrong, stated)
    return Conclusions(tuple(runs), compared, wrong, said, notes)


def conclude_run(
    name: str, checkpoints: Sequence[Measurement], settings: Settings
) -> tuple[RunConclusions, tuple[LeftOut, ...]]:
    """Draw the conclusions about one training run.

    Args:
        checkpoints: the earliest first.

    Returns:
        The conclusions, and what took no part in them.
    """
    best: list[Best] = []
    peaks: list[PeakAndLast] = []
    left_out: list[LeftOut] = []
    curves: dict[str, tuple[Measurement, ...]] = {}
    for metric in metrics_of(checkpoints):
        curve, out = taking_part(metric, checkpoints, settings.weights)
        left_out.extend(out)
        if not curve:
            continue
        best.append(best_of(metric, curve, settings))
        if len(curve) > 1:
            curves[metric] = curve
            peaks.append(peak_and_last(metric, curve, settings))
    stop = None
    if peaks:
        by = _deciding(best, curves)
        peak = next(each for each in peaks if each.metric == by)
        stop = stopping(by, curves[by], peak, settings)
    return (
        RunConclusions(name, tuple(checkpoints), tuple(best), tuple(peaks), stop),
        tuple(left_out),
    )


def _deciding(best: Sequence[Best], curves: Mapping[str, object]) -> str:
    """The composite, else the first metric; one that can be tested before one that cannot."""
    usable = [each for each in best if each.metric in curves]
    testable = [
        each.metric for each in usable if any(r.p_adjusted is not None for r in each.rivals)
    ]
    candidates = testable or [each.metric for each in usable]
    return METRIC if METRIC in candidates else candidates[0]


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
