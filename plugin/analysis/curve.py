"""What one run shows in a metric: its best checkpoint and which others are statistically tied with
it, whether the score fell since, whether training can stop, and the noise between checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import fsum, sqrt

from .._util.language import stored, tr
from .._util.text import count, probability
from ..gate.measurement import Measurement
from ..gate.units import points, size, value
from ..gate.verdict import Comparison, holm
from .compare import (
    Settings,
    answer,
    best_by,
    compare,
    corrected,
    could_find,
    gain,
    significantly_different,
    standard_error_of,
    value_of,
)
from .conclusions import Answer, Best, PeakAndLast, Rival, StepNoise, Stopping
from .eligibility import training_position
from .wording import (
    difference,
    evidence,
    figures,
    named,
    samples,
    sensitivity,
    superlative,
    worsened,
)

# The fact with the training loss at a checkpoint's step.
TRAINING_LOSS = "train_loss"
# The training loss has fallen when it fell by at least this share of its value at the peak.
_FALL = 0.01
# Checkpoints without a gain before training can stop.
PATIENCE = 3
# At least two second differences: a single one has one degree of freedom.
FEWEST = 4


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
    adjusted = holm([each.p_value if each is not None else None for each in comparisons])
    rivals = tuple(
        Rival(each.name, comparison, p, significantly_different(comparison, p, settings.alpha))
        for each, comparison, p in zip(others, comparisons, adjusted, strict=True)
    )
    pairs = zip(others, rivals, strict=True)
    tied = {id(m) for m, r in pairs if r.p_adjusted is not None and not r.distinguishable}
    tied.add(id(best))
    earliest = next(each for each in checkpoints if id(each) in tied)
    detail = _claim(metric, best, checkpoints) + _support(metric, best, others, rivals, earliest)
    return Best(metric, best.name, value_of(metric, best), rivals, earliest.name, detail)


def _claim(metric: str, best: Measurement, checkpoints: Sequence[Measurement]) -> str:
    score = best.score(metric)
    shown = value(value_of(metric, best), score.unit if score is not None else "share")
    if len(checkpoints) == 1:
        return tr(
            "{metric} is {value}, measured of {checkpoint} only",
            metric=metric,
            value=shown,
            checkpoint=named(best),
        )
    where = training_position(best)
    at = f"{where} ({best.name}, {shown})" if where else f"{best.name} ({shown})"
    if best is checkpoints[0]:
        at = tr("the first checkpoint, {at}", at=at)
    elif best is checkpoints[-1]:
        at = tr("the last checkpoint, {at}", at=at)
    best_of = superlative(metric, checkpoints)
    return tr("{metric} is {best} at {at}", metric=metric, best=best_of, at=at)


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
        reason = stored(reason) or tr("no standard error is known")
        return tr("; not tested: {reason}", reason=reason)
    tied = [
        index
        for index, rival in enumerate(rivals)
        if not rival.distinguishable and rival.p_adjusted is not None
    ]
    rest = tr("; {n} could not be tested", n=count(untested)) if untested else ""
    choices = tied or [i for i, rival in enumerate(rivals) if rival.p_adjusted is not None]
    shown = max(choices, key=lambda index: gain(metric, others[index], best))
    word = tr("the closest")
    if tied and earliest is not best:
        shown, word = tied[0], tr("the earliest")
    beside = f"{word}: {named(others[shown])}, "
    beside += figures(rivals[shown].comparison, rivals[shown].p_adjusted)
    if not tied:
        which = _all_others(len(rivals) - untested)
        which = tr("{which} that could be tested", which=which) if untested else which
        return tr(", significantly better than {which}", which=which) + f"; {beside}{rest}"
    which = _all_others(len(rivals))
    if len(tied) < len(rivals):
        which = tr("{n} of the {of} others", n=count(len(tied)), of=count(len(rivals)))
    n = samples(metric, rivals[shown].comparison, best, others[shown])
    at = tr(" at {n}", n=n) if n else ""
    return tr(", statistically tied with {which}", which=which) + f"{at}; {beside}{rest}"


def _all_others(number: int) -> str:
    if number == 1:
        return tr("the other")
    return tr("both others") if number == 2 else tr("all {n} others", n=count(number))


def peak_and_last(
    metric: str, checkpoints: Sequence[Measurement], settings: Settings
) -> PeakAndLast:
    """Test whether the last checkpoint is worse than the best one.

    The peak is the best of k values, so without any true change it lies above the last by chance,
    and an uncorrected test finds a fall far too often. Selecting it amounts to k - 1 comparisons,
    each earlier checkpoint with the last, of which the largest is kept. So its two-sided p is
    multiplied by k - 1 (Bonferroni's correction): the probability of finding a fall in a run that
    has not changed is at most alpha, whatever the dependence between checkpoints.

    `yes` needs that corrected p to be at most alpha and the 95% interval of the fall, which is
    that of a single comparison, to exclude zero. `no` needs a comparison that could have found a
    fall (`could_find`) and a fall within the tolerance; without that it is `cannot tell`.

    Args:
        checkpoints: the earliest first, two or more, each with a value of the metric.
    """
    last, peak = checkpoints[-1], best_by(metric, checkpoints)
    choices = len(checkpoints) - 1
    best = superlative(metric, checkpoints)
    if gain(metric, last, peak) >= 0:
        detail = tr(
            "{metric} is {best} at the last checkpoint, {checkpoint}",
            metric=metric,
            best=best,
            checkpoint=named(last),
        )
        if last is not peak:
            detail += tr(", as at {checkpoint}", checkpoint=named(peak))
        return PeakAndLast(metric, peak.name, last.name, None, "no", detail, "no")
    fall = compare(metric, last, peak, settings, choices=choices)
    p = corrected(fall, choices)
    fell = answer(fall, p, settings)
    where = tr("its {best}, {checkpoint}", best=best, checkpoint=named(peak))
    about = {"metric": metric, "last": named(last), "peak": where}
    if fall is None:
        detail = tr(
            "{metric} at the last, {last}, is not compared with {peak}: they have no sample in "
            "common",
            **about,
        )
        return PeakAndLast(metric, peak.name, last.name, None, "cannot tell", detail)
    seen = sensitivity(metric, fall, last, peak)
    if fell == "yes":
        overfitting, reason = _overfitting(peak, last)
        detail = tr(
            "{metric} {worsened} from {peak}, to the last, {last}", worsened=worsened(fall), **about
        )
        detail += f" ({evidence(fall, p)}){reason}"
        return PeakAndLast(metric, peak.name, last.name, fall, fell, detail, overfitting, p)
    detail = _no_fall(fall, fell, about, figures(fall, p)) + seen
    overfits: Answer = "no" if fell == "no" else "cannot tell"
    return PeakAndLast(metric, peak.name, last.name, fall, fell, detail, overfits, p)


def _no_fall(fall: Comparison, fell: Answer, about: Mapping[str, str], shown: str) -> str:
    """A fall that was not found: untested, excluded, or neither."""
    if fall.p_value is None:
        return tr(
            "{metric} at the last, {last}, differs by {difference} from {peak}: not tested, no "
            "standard error",
            difference=difference(fall),
            **about,
        )
    if fell == "no":
        return tr(
            "{metric} has not worsened since {peak}: {difference} at the last, {last}",
            difference=difference(fall),
            **about,
        )
    return tr("{metric} at the last, {last}, is statistically tied with {peak}: ", **about) + shown


def _training_loss(measurement: Measurement) -> float | None:
    value = measurement.facts.get(TRAINING_LOSS)
    return float(value) if isinstance(value, int | float) and type(value) is not bool else None


def _overfitting(peak: Measurement, last: Measurement) -> tuple[Answer, str]:
    """For a score that fell: whether the training loss kept falling, and a clause on it."""
    then, now = _training_loss(peak), _training_loss(last)
    if then is None or now is None:
        return "cannot tell", ""
    route = {"then": f"{then:.4g}", "now": f"{now:.4g}"}
    if now < then * (1 - _FALL):
        return "yes", tr("; overfitting: the training loss kept falling, {then} to {now}", **route)
    return "no", tr(
        "; not overfitting: the training loss did not keep falling, {then} to {now}", **route
    )


def stopping(
    metric: str, checkpoints: Sequence[Measurement], peak: PeakAndLast, settings: Settings
) -> Stopping:
    """Decide whether training can stop, by one metric. The first rule that applies:

    1. `yes`: the run has got worse since its peak, see `peak_and_last`.
    2. `no`: the best of the last three checkpoints is better than the best before them. One-sided
       mid-p, times three: it was chosen among three.
    3. `yes`: it is not, and the comparison could have found a gain (`could_find`).
    4. `cannot tell`: it could not have found one, or there are no three checkpoints after
       the first.

    The checkpoint to keep is the best one by the metric, whatever the rule says.

    Args:
        checkpoints: as in `peak_and_last`, whose result is `peak`.
    """
    best = best_by(metric, checkpoints)
    so_far = _so_far(metric, best, checkpoints)
    if peak.fell == "yes":
        return Stopping(metric, "yes", best.name, _stop(best, peak.detail))
    if len(checkpoints) <= PATIENCE:
        detail = _open(so_far, _too_few(len(checkpoints)))
        return Stopping(metric, "cannot tell", best.name, detail)
    before = best_by(metric, checkpoints[:-PATIENCE])
    recent = best_by(metric, checkpoints[-PATIENCE:])
    # The earlier minus the recent, so that the one-sided p asks whether it gained.
    found = compare(metric, before, recent, settings, choices=PATIENCE, sides=1)
    span = tr("the last {n} checkpoints", n=PATIENCE)
    if found is None or found.p_worse is None:
        untested = tr("a gain of {span} cannot be tested", span=span)
        return Stopping(metric, "cannot tell", best.name, _open(so_far, untested))
    p = min(1.0, found.p_worse * PATIENCE)
    against = _before(before, probability(p))
    if p <= settings.alpha:
        by = size(found.difference, found.unit)
        detail = tr(
            "continue training: {metric} improved by {by} in {span} over {against}; ",
            metric=metric,
            by=by,
            span=span,
            against=against,
        )
        detail += so_far
        return Stopping(metric, "no", best.name, detail)
    change = points(-found.difference, found.unit)
    facts = tr(
        "{span} change {metric} by {change} against {against}",
        span=span,
        metric=metric,
        change=change,
        against=against,
    )
    facts += sensitivity(metric, found, before, recent)
    tolerance = settings.tolerance_of(metric, found.unit, found.baseline)
    if could_find(found, settings) and -found.improvement <= tolerance:
        return Stopping(metric, "yes", best.name, _stop(best, facts))
    return Stopping(metric, "cannot tell", best.name, _open(so_far, facts))


def _so_far(metric: str, best: Measurement, checkpoints: Sequence[Measurement]) -> str:
    return tr(
        "recommended so far: {checkpoint}, {best} {metric}",
        checkpoint=named(best),
        best=superlative(metric, checkpoints),
        metric=metric,
    )


def _too_few(checkpoints: int) -> str:
    return tr(
        "{n} checkpoints are too few to see {patience} without a gain",
        n=checkpoints,
        patience=PATIENCE,
    )


def _before(best: Measurement, p: str) -> str:
    return tr("the best before them, {checkpoint} ({p} corrected)", checkpoint=named(best), p=p)


def _stop(best: Measurement, why: str) -> str:
    return tr("stop and keep {checkpoint}: {why}", checkpoint=named(best), why=why)


def _open(so_far: str, why: str) -> str:
    return tr("{so_far}; whether to stop is open: {why}", so_far=so_far, why=why)


def step_noise_of(metric: str, checkpoints: Sequence[Measurement]) -> StepNoise:
    """The noise of a metric over a run's checkpoints.

    Every training step moves a score slightly up or down around its trend. A metric whose range is
    no larger than that noise, which is no sampling error, cannot rank the checkpoints, however many
    samples it has. The signal-to-noise ratio follows Heineman et al. 2025, arXiv 2508.13144: the
    range of a benchmark's values over the noise between checkpoints, given in training order.
    """
    values = [value_of(metric, each) for each in checkpoints]
    scores = [score for each in checkpoints if (score := each.score(metric)) is not None]
    errors = [standard_error_of(score) for score in scores]
    known = [error for error in errors if error is not None]
    sampling = None
    if len(known) == len(checkpoints):
        sampling = sqrt(fsum(error * error for error in known) / len(known))
    span = max(values) - min(values)
    unit, n = scores[0].unit, len(checkpoints)
    if n < FEWEST:
        reason = f"{n} checkpoints, {FEWEST} are needed"
        return StepNoise(metric, unit, n, None, sampling, span, None, reason)
    step = step_noise(_axis(checkpoints), values)
    if step <= 1e-12:
        return StepNoise(metric, unit, n, 0.0, sampling, span, None, "no step-to-step noise")
    return StepNoise(metric, unit, n, step, sampling, span, span / step)


def step_noise(positions: Sequence[float], values: Sequence[float]) -> float:
    """The standard deviation of values around a smooth curve, from their second differences.

    Each inner value is compared with the straight line through its two neighbours: with
    `a = (x[i+1] - x[i]) / (x[i+1] - x[i-1])` and `b = 1 - a`, the residual
    `a y[i-1] + b y[i+1] - y[i]` has the variance `(a^2 + b^2 + 1) sigma^2` where the curve is
    straight (Gasser, Sroka, Jennen-Steinmetz 1986, Residual variance and residual pattern in
    nonlinear regression). A bend of the curve between neighbours adds to it.

    Args:
        positions: `[n]`, rising, such as steps.
        values: `[n]`, in any unit.

    Returns:
        In the unit of the values.

    Raises:
        ValueError: fewer than three values, or positions that do not increase.
    """
    if len(values) < 3 or len(values) != len(positions):
        raise ValueError("three values and their positions are needed")
    if any(later <= earlier for earlier, later in pairwise(positions)):
        raise ValueError("positions must increase")
    total = 0.0
    for i in range(1, len(values) - 1):
        a = (positions[i + 1] - positions[i]) / (positions[i + 1] - positions[i - 1])
        b = 1.0 - a
        residual = a * values[i - 1] + b * values[i + 1] - values[i]
        total += residual * residual / (a * a + b * b + 1.0)
    return sqrt(total / (len(values) - 2))


def _axis(checkpoints: Sequence[Measurement]) -> list[float]:
    """Steps, else epochs, where each checkpoint has a different one; else indices in the run."""
    for known in ([each.step for each in checkpoints], [each.epoch for each in checkpoints]):
        positions = [float(position) for position in known if position is not None]
        rising = all(x < y for x, y in pairwise(positions))
        if len(positions) == len(checkpoints) and rising:
            return positions
    return [float(position) for position in range(len(checkpoints))]
