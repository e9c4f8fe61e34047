"""Whether training can stop, or whether nobody can tell from so few samples."""

from __future__ import annotations

from collections.abc import Sequence

from ..reports.words import probability, size
from .comparing import Settings, compare, could_see, highest
from .conclusions import PeakAndLast, Stopping
from .measurement import Measurement
from .phrases import can_see, named, samples

# Checkpoints without a gain before training can stop.
PATIENCE = 3


def stopping(
    metric: str, checkpoints: Sequence[Measurement], peak: PeakAndLast, settings: Settings
) -> Stopping:
    """Judge whether more training is worth it, by one metric. The first rule that fits:

    1. `yes`: the run is overfitted, see `peak_and_last`.
    2. `no`: the best of the last three checkpoints is better than the best before them. One-sided
       mid-p, times three: it was chosen among three.
    3. `yes`: it is not, and n could have seen a gain of the tolerance.
    4. `cannot tell`: n could not have seen such a gain, or there are no three checkpoints after
       the first.

    Args:
        checkpoints: the earliest first, two or more, each with a value of the metric.
        peak: what `peak_and_last` says of them.
    """
    best = highest(metric, checkpoints)
    if peak.overfitted == "yes":
        return Stopping(metric, "yes", best.name, f"stop and keep {named(best)}: {peak.detail}")
    if len(checkpoints) <= PATIENCE:
        said = (
            f"cannot tell whether to stop: {len(checkpoints)} checkpoints are too few to see "
            f"{PATIENCE} without a gain; the best so far is {named(best)}"
        )
        return Stopping(metric, "cannot tell", best.name, said)
    before = highest(metric, checkpoints[:-PATIENCE])
    recent = highest(metric, checkpoints[-PATIENCE:])
    # The earlier minus the recent, so that the one-sided p asks whether it gained.
    gain = compare(metric, before, recent, settings, choices=PATIENCE, sides=1)
    tolerance = settings.tolerance_of(metric)
    span = f"the last {PATIENCE} checkpoints"
    if gain is None or gain.p_worse is None:
        said = f"cannot tell whether to stop: a gain of {span} in {metric} cannot be tested"
        return Stopping(metric, "cannot tell", best.name, f"{said}; the best is {named(best)}")
    p = min(1.0, gain.p_worse * PATIENCE)
    change = -gain.difference
    moved = f"{'gained' if change >= 0 else 'lost'} {size(change)}"
    facts = f"{span} {moved} in {metric} against the best before them, {named(before)}"
    n = samples(metric, gain, before, recent)
    if p <= settings.alpha:
        said = f"go on: {facts}, {probability(p)} corrected; the best so far is {named(best)}"
        return Stopping(metric, "no", best.name, said)
    if could_see(gain, tolerance) and change <= tolerance:
        said = f"stop and keep {named(best)}: {facts}, {probability(p)} corrected"
        return Stopping(metric, "yes", best.name, f"{said}; {n} could have seen {size(tolerance)}")
    said = (
        f"cannot tell whether to stop: {facts}, {probability(p)} corrected{can_see(gain, 'gain')} "
        f"with {n}, and {size(tolerance)} is what matters; the best so far is {named(best)}"
    )
    return Stopping(metric, "cannot tell", best.name, said)
