"""The best checkpoint by a metric, and those that cannot be told from it."""

from __future__ import annotations

from collections.abc import Sequence

from ..gate.holm import holm
from ..reports.words import count, percent
from .comparing import Settings, compare, highest, told_apart, value_of
from .conclusions import Best, Rival
from .measurement import Measurement
from .order import place
from .phrases import figures, named, samples


def best_of(metric: str, checkpoints: Sequence[Measurement], settings: Settings) -> Best:
    """Find the checkpoint with the highest value and test every other one against it.

    Two-sided tests, paired by sample where both hold samples, with Holm's correction over the
    rivals. The best was chosen by the very values it is tested with, so a rival that is told
    apart looks worse than it is; what the correction does assure is that the checkpoint that is
    truly the best is the best seen, or among those not told from it, in at least 1 - alpha of
    runs: to be wrongly excluded it must lose significantly against one of the k - 1 others
    (the argument of Hsu's multiple comparisons with the best, 1984).

    The earliest of those not told apart is recommended. A rival that cannot be tested, for want
    of a standard error, is neither told apart nor recommended.

    Args:
        checkpoints: the earliest first, at least one, each with a value of the metric.
    """
    best = highest(metric, checkpoints)
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
            told_apart(comparisons[index], adjusted.get(index), settings.alpha),
        )
        for index, each in enumerate(others)
    )
    alike = {id(best)} | {
        id(others[index]) for index in tested if not rivals[index].distinguishable
    }
    recommended = next(each for each in checkpoints if id(each) in alike)
    value = value_of(metric, best)
    said = _claim(metric, best, checkpoints, value) + _support(
        metric, best, others, rivals, recommended
    )
    return Best(metric, best.name, value, rivals, recommended.name, said)


def _claim(metric: str, best: Measurement, checkpoints: Sequence[Measurement], value: float) -> str:
    facts = f"({best.name}, {percent(value)})"
    where = place(best)
    at = f"at {where} {facts}" if where else f"at {best.name} ({percent(value)})"
    if len(checkpoints) == 1:
        return f"{metric} is {percent(value)}, measured of {named(best)} only"
    if best is checkpoints[0]:
        return f"{metric} is already best {at}"
    if best is checkpoints[-1]:
        return f"{metric} is best at the last checkpoint, {at.removeprefix('at ')}"
    return f"{metric} peaks {at}"


def _support(
    metric: str,
    best: Measurement,
    others: Sequence[Measurement],
    rivals: Sequence[Rival],
    recommended: Measurement,
) -> str:
    if not others:
        return ""
    untested = sum(rival.p_adjusted is None for rival in rivals)
    if untested == len(rivals):
        score = best.score(metric)
        reason = score.reason if score is not None else ""
        return f": not tested: {reason or 'no standard error is known'}"
    alike = [
        index
        for index, rival in enumerate(rivals)
        if not rival.distinguishable and rival.p_adjusted is not None
    ]
    if not alike:
        close = max(
            (index for index, rival in enumerate(rivals) if rival.p_adjusted is not None),
            key=lambda index: value_of(metric, others[index]),
        )
        said = f": supported, all {count(len(rivals) - untested)} others tested are told apart"
        return f"{said}; the closest, {_beside(others[close], rivals[close])}"
    shown = alike[0]
    word = "the earliest" if recommended is not best else "the closest"
    if recommended is best:
        shown = max(alike, key=lambda index: value_of(metric, others[index]))
    n = samples(metric, rivals[shown].comparison, best, others[shown])
    said = f": {n} cannot tell it from {count(len(alike))} of the {count(len(rivals))} others"
    said += f"; {word}, {_beside(others[shown], rivals[shown])}"
    return f"{said}; {count(untested)} could not be tested" if untested else said


def _beside(other: Measurement, rival: Rival) -> str:
    return f"{named(other)}, differs by {figures(rival.comparison, rival.p_adjusted)}"
