"""The peak of a run against its last checkpoint: overfitting."""

from __future__ import annotations

from collections.abc import Sequence

from ..reports.words import size
from .comparing import Settings, answer, compare, corrected, highest, value_of
from .conclusions import PeakAndLast
from .measurement import Measurement
from .phrases import can_see, cannot_tell, figures, named, samples


def peak_and_last(
    metric: str, checkpoints: Sequence[Measurement], settings: Settings
) -> PeakAndLast:
    """Test whether the last checkpoint is worse than the best one.

    The peak is the maximum of k values, so without any true change it lies above the last by
    luck alone, and a plain test cries overfitting far too often. The choice made k - 1
    comparisons, each earlier checkpoint with the last, and kept the largest. So its two-sided p
    is multiplied by k - 1 (Bonferroni's correction): the chance of calling a run overfitted that
    has not changed is at most alpha, whatever the checkpoints share.

    `yes` needs that corrected p to be at most alpha and the 95% interval of the fall, which is
    that of a single comparison, to exclude zero. `no` needs the sample size to be able to see a
    fall of the tolerance at the corrected level; without that it is `cannot tell`.

    Args:
        checkpoints: the earliest first, two or more, each with a value of the metric.
    """
    last, peak = checkpoints[-1], highest(metric, checkpoints)
    choices = len(checkpoints) - 1
    if value_of(metric, last) >= value_of(metric, peak):
        said = f"{metric} has not fallen: the last, {named(last)}, is as high as any"
        return PeakAndLast(metric, peak.name, last.name, None, "no", said)
    fall = compare(metric, last, peak, settings, choices=choices)
    p = corrected(fall, choices)
    overfitted = answer(fall, p, settings.alpha, settings.tolerance_of(metric))
    route = f"from its peak, {named(peak)}, to the last, {named(last)}"
    if fall is None:
        said = f"{metric} {route}: cannot tell, they have no sample in common"
        return PeakAndLast(metric, peak.name, last.name, None, "cannot tell", said)
    claim = f"{metric} overfits by {size(fall.difference)} {route}"
    n = samples(metric, fall, last, peak)
    word = {
        "yes": "supported",
        "no": f"not supported, {n} could have seen it",
        "cannot tell": cannot_tell(metric, fall, last, peak),
    }[overfitted]
    seen = "" if overfitted == "yes" else can_see(fall, "fall")
    said = f"{claim}: {word} ({figures(fall, p)}{seen})"
    return PeakAndLast(metric, peak.name, last.name, fall, overfitted, said, p)
