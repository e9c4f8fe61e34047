"""Whether training can stop, or whether that is open with so few samples."""

from __future__ import annotations

from collections.abc import Sequence

from .._util.text import probability
from ..gate.units import points, size
from ..results.measurement import Measurement
from .compare import Settings, best_by, compare, could_find
from .conclusions import PeakAndLast, Stopping
from .phrases import named, sensitivity, superlative

# Checkpoints without a gain before training can stop.
PATIENCE = 3


def stopping(
    metric: str, checkpoints: Sequence[Measurement], peak: PeakAndLast, settings: Settings
) -> Stopping:
    """Judge whether more training is worth it, by one metric. The first rule that fits:

    1. `yes`: the run has got worse since its peak, see `peak_and_last`.
    2. `no`: the best of the last three checkpoints is better than the best before them. One-sided
       mid-p, times three: it was chosen among three.
    3. `yes`: it is not, and the comparison could have found a gain (`could_find`).
    4. `cannot tell`: it could not have found one, or there are no three checkpoints after
       the first.

    The checkpoint to keep is the best one by the metric, whatever the rule says.

    Args:
        checkpoints: the earliest first, two or more, each with a value of the metric.
        peak: what `peak_and_last` says of them.
    """
    best = best_by(metric, checkpoints)
    so_far = f"recommended so far: {named(best)}, {superlative(metric, checkpoints)} {metric}"
    if peak.fell == "yes":
        return Stopping(metric, "yes", best.name, f"stop and keep {named(best)}: {peak.detail}")
    if len(checkpoints) <= PATIENCE:
        said = f"{so_far}; whether to stop is open: {len(checkpoints)} checkpoints are too few "
        said += f"to see {PATIENCE} without a gain"
        return Stopping(metric, "cannot tell", best.name, said)
    before = best_by(metric, checkpoints[:-PATIENCE])
    recent = best_by(metric, checkpoints[-PATIENCE:])
    # The earlier minus the recent, so that the one-sided p asks whether it gained.
    found = compare(metric, before, recent, settings, choices=PATIENCE, sides=1)
    span = f"the last {PATIENCE} checkpoints"
    if found is None or found.p_worse is None:
        said = f"{so_far}; whether to stop is open: a gain of {span} cannot be tested"
        return Stopping(metric, "cannot tell", best.name, said)
    p = min(1.0, found.p_worse * PATIENCE)
    against = f"the best before them, {named(before)} ({probability(p)} corrected)"
    if p <= settings.alpha:
        by = size(found.difference, found.unit)
        said = f"continue training: {metric} improved by {by} in {span} over {against}; {so_far}"
        return Stopping(metric, "no", best.name, said)
    change = points(-found.difference, found.unit)
    facts = f"{span} change {metric} by {change} against {against}"
    facts += sensitivity(metric, found, before, recent)
    tolerance = settings.tolerance_of(metric, found.unit, found.baseline)
    if could_find(found, settings) and -found.improvement <= tolerance:
        said = f"stop and keep {named(best)}: {facts}"
        return Stopping(metric, "yes", best.name, said)
    said = f"{so_far}; whether to stop is open: {facts}"
    return Stopping(metric, "cannot tell", best.name, said)
