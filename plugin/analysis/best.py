"""The best checkpoint by a metric, and those that are statistically tied with it."""

from __future__ import annotations

from collections.abc import Sequence

from .._util.text import count
from ..gate.measurement import Measurement
from ..gate.units import value
from ..gate.verdict import holm
from .compare import Settings, best_by, compare, gain, significantly_different, value_of
from .conclusions import Best, Rival
from .eligibility import training_position
from .wording import figures, named, samples, superlative


def best_of(metric: str, checkpoints: Sequence[Measurement], settings: Settings) -> Best:
    """Find the checkpoint with the best value and test every other one against it.

    Two-sided tests, paired by sample where both have samples, with Holm's correction over the
    rivals. The best was selected by the same values that it is tested with, so differences from it
    are overestimated; but the correction ensures that the checkpoint that is truly the best is the
    observed best, or tied with it, in at least 1 - alpha of runs: to be wrongly excluded it must
    lose significantly against one of the k - 1 others (the argument of Hsu's multiple comparisons
    with the best, 1984).

    A rival without a standard error cannot be tested and is neither different nor tied. The
    checkpoints are in the order of training, and each has a value of the metric.
    """
    best = best_by(metric, checkpoints)
    others = [each for each in checkpoints if each is not best]
    comparisons = [compare(metric, each, best, settings, choices=len(others)) for each in others]
    tested = {
        index: comparison.p_value
        for index, comparison in enumerate(comparisons)
        if comparison is not None and comparison.p_value is not None
    }
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    rivals = tuple(
        Rival(
            each.name,
            comparisons[index],
            adjusted.get(index),
            significantly_different(comparisons[index], adjusted.get(index), settings.alpha),
        )
        for index, each in enumerate(others)
    )
    tied = {id(best)} | {id(others[index]) for index in tested if not rivals[index].distinguishable}
    earliest = next(each for each in checkpoints if id(each) in tied)
    detail = _claim(metric, best, checkpoints) + _support(metric, best, others, rivals, earliest)
    return Best(metric, best.name, value_of(metric, best), rivals, earliest.name, detail)


def _claim(metric: str, best: Measurement, checkpoints: Sequence[Measurement]) -> str:
    score = best.score(metric)
    shown = value(value_of(metric, best), score.unit if score is not None else "share")
    if len(checkpoints) == 1:
        return f"{metric} is {shown}, measured of {named(best)} only"
    where = training_position(best)
    at = f"{where} ({best.name}, {shown})" if where else f"{best.name} ({shown})"
    if best is checkpoints[0] or best is checkpoints[-1]:
        at = f"the {'first' if best is checkpoints[0] else 'last'} checkpoint, {at}"
    return f"{metric} is {superlative(metric, checkpoints)} at {at}"


def _support(
    metric: str,
    best: Measurement,
    others: Sequence[Measurement],
    rivals: Sequence[Rival],
    earliest: Measurement,
) -> str:
    if not others:
        return ""
    untested = sum(rival.p_adjusted is None for rival in rivals)
    if untested == len(rivals):
        score = best.score(metric)
        reason = score.reason if score is not None else ""
        return f"; not tested: {reason or 'no standard error is known'}"
    tied = [
        index
        for index, rival in enumerate(rivals)
        if not rival.distinguishable and rival.p_adjusted is not None
    ]
    rest = f"; {count(untested)} could not be tested" if untested else ""
    choices = tied or [i for i, rival in enumerate(rivals) if rival.p_adjusted is not None]
    shown = max(choices, key=lambda index: gain(metric, others[index], best))
    word = "the closest"
    if tied and earliest is not best:
        shown, word = tied[0], "the earliest"
    beside = f"{word}: {named(others[shown])}, "
    beside += figures(rivals[shown].comparison, rivals[shown].p_adjusted)
    if not tied:
        number = count(len(rivals) - untested)
        which = {"1": "the other", "2": "both others"}.get(number, f"all {number} others")
        which += " that could be tested" if untested else ""
        return f", significantly better than {which}; {beside}{rest}"
    if len(rivals) == 1:
        which = "the other"
    elif len(tied) == len(rivals):
        which = "both others" if len(tied) == 2 else f"all {count(len(rivals))} others"
    else:
        which = f"{count(len(tied))} of the {count(len(rivals))} others"
    n = samples(metric, rivals[shown].comparison, best, others[shown])
    at = f" at {n}" if n else ""
    return f", statistically tied with {which}{at}; {beside}{rest}"
