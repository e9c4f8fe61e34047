"""Compare two checkpoints in one metric: paired where both have samples, unpaired otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..gate.baseline import BaselineBenchmark, baseline_benchmark
from ..gate.comparison import compare_numbers, compare_score
from ..gate.composite_comparison import compare_composite
from ..gate.mde import Rule
from ..gate.measurement import BenchmarkMeasurement, Measurement
from ..gate.verdict import DEFAULT_ALPHA, Comparison
from ..scores.composite import DEFAULT_WEIGHTS, METRIC
from ..scores.intervals import proportion_standard_error
from ..scores.metric import default_tolerance
from ..scores.score import Score
from .conclusions import Answer

# A difference of exactly the tolerance is within it, however its last digit was rounded.
_ROUNDING = 1e-9
# A change of so many tolerances must be found before a comparison says that nothing changed.
_TOLERANCES = 2.0
# Clusters of which the t distribution is the normal one.
_MANY = 10**9
# The mean over tasks of each one's first metric, as a metric's name.
AVERAGE = "average"


@dataclass(frozen=True, slots=True)
class Settings:
    """What conclusions are drawn with.

    Attributes:
        alpha: probability of a false difference, in one question about one metric.
        tolerance: change that matters by metric, in its unit and of points as a fraction, and by
            `*` for all other shares and points.
        seed: of the random sign flips.
        weights: of the composite, by metric.
    """

    alpha: float = DEFAULT_ALPHA
    tolerance: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))

    def tolerance_of(self, metric: str, unit: str = "share", value: float = 1.0) -> float:
        """The change that matters in a metric, in its unit.

        The one given for the metric; for shares and points the one given for `*`; else the
        default of the unit, which for some units is a hundredth of the value before the change.
        """
        scale = 100 if unit == "points" else 1
        if metric in self.tolerance:
            return self.tolerance[metric] * scale
        if "*" in self.tolerance and unit in ("share", "points"):
            return self.tolerance["*"] * scale
        return default_tolerance(unit, value)


def benchmarks_of(
    measurement: Measurement, metric: str, weights: Mapping[str, float]
) -> tuple[BenchmarkMeasurement, ...]:
    """The headline benchmarks that a metric, or each part of the composite, was measured in."""
    if metric == AVERAGE:
        return tuple(bench for bench in measurement.primary_benchmarks() if first_of(bench))
    wanted = {name for name, weight in weights.items() if weight} if metric == METRIC else {metric}
    return tuple(
        bench
        for bench in measurement.primary_benchmarks()
        if any(score.metric in wanted for score in bench.scores)
    )


def first_of(bench: BenchmarkMeasurement) -> Score | None:
    """A task's first metric that is a share of which more is better; None when it has none."""
    return next((s for s in bench.scores if s.share and s.higher_is_better), None)


def protocols_of(
    measurement: Measurement, metric: str, weights: Mapping[str, float]
) -> Mapping[str, str]:
    """Protocol by benchmark of a metric, where one is reported."""
    used = benchmarks_of(measurement, metric, weights)
    return {bench.benchmark: bench.protocol for bench in used if bench.protocol}


def compare(
    metric: str,
    current: Measurement,
    baseline: Measurement,
    settings: Settings,
    *,
    choices: int = 1,
    sides: int = 2,
) -> Comparison | None:
    """Compare two checkpoints in a metric or, by its name, the composite or the average.

    The average is compared unpaired, by its two standard errors.

    Args:
        choices: number of comparisons that this is one of; `mde` is that of a test at alpha
            divided by it, and by `sides`.
        sides: 2 when the test is two-sided, 1 when only "worse?" is asked.

    Returns:
        `current - baseline`: paired when both have samples, and then None when they have none in
        common, for those are two different benchmarks. Otherwise unpaired, or a point comparison
        when either side has no standard error. None when a side has no value or when the two
        protocols differ.
    """
    now, then = current.score(metric), baseline.score(metric)
    if now is None or then is None or now.value is None or then.value is None:
        return None
    if clash(metric, current, baseline, settings.weights):
        return None
    level = settings.alpha / max(1, choices) / sides
    tolerance = settings.tolerance_of(metric, then.unit, then.value)
    rule = Rule(level, tolerance, seed=settings.seed)
    if metric == AVERAGE:
        # By the standard errors alone: n is that of all tasks, of which the mean is no share.
        error = then.standard_error
        return compare_numbers(
            replace(_with_error(now), n=0), then.value, n=None, standard_error=error, rule=rule
        )
    if metric == METRIC:
        return compare_composite(
            now, settings.weights, _parts(current, baseline, settings.weights), rule
        )
    ours, theirs = current.owner_of(metric), baseline.owner_of(metric)
    if ours is None or theirs is None:
        return None
    reference = baseline_benchmark(theirs)
    if ours.table is None or theirs.table is None:
        # Without samples on both sides the reported numbers are compared.
        return compare_score(_with_error(now), ours.table, replace(reference, outcomes={}), rule)
    return compare_score(now, ours.table, reference, rule)


def _with_error(score: Score) -> Score:
    """With the error of a proportion, where the source reports none and n is known.

    A reported error without n has unknown degrees of freedom and is taken as exact.
    """
    clusters = score.clusters or _MANY
    return replace(score, standard_error=standard_error_of(score), clusters=clusters)


def _parts(
    current: Measurement, baseline: Measurement, weights: Mapping[str, float]
) -> list[tuple[BenchmarkMeasurement, BaselineBenchmark]]:
    theirs = benchmarks_of(baseline, METRIC, weights)
    found = []
    for ours in benchmarks_of(current, METRIC, weights):
        metrics = {score.metric for score in ours.scores}
        for other in theirs:
            if metrics & {score.metric for score in other.scores}:
                found.append((ours, baseline_benchmark(other)))
                break
    return found


def clash(
    metric: str, left: Measurement, right: Measurement, weights: Mapping[str, float]
) -> tuple[str, str] | None:
    """The two protocols that forbid a comparison; None when nothing does."""
    ours, theirs = (protocols_of(side, metric, weights) for side in (left, right))
    for benchmark in sorted(ours.keys() & theirs.keys()):
        if ours[benchmark] != theirs[benchmark]:
            return ours[benchmark], theirs[benchmark]
    return None


def standard_error_of(score: Score) -> float | None:
    """The reported standard error, else that of a proportion over n independent samples.

    None without an n, for a composite and any value that is no share, and where samples are known
    to be clustered, whose error is larger by an unknown factor.
    """
    if score.standard_error is not None or score.value is None or score.metric in (METRIC, AVERAGE):
        return score.standard_error
    if not score.share or not 0 <= score.value <= 1 or 0 < score.clusters < score.n:
        return None
    return proportion_standard_error(score.value, score.n)


def significantly_different(
    comparison: Comparison | None, p_value: float | None, alpha: float
) -> bool:
    """Whether the corrected p is at most alpha and the 95% interval excludes zero."""
    if comparison is None or p_value is None or p_value > alpha:
        return False
    low, high = comparison.interval or (comparison.difference, comparison.difference)
    return low > 0 or high < 0


def answer(comparison: Comparison | None, p_value: float | None, settings: Settings) -> Answer:
    """`yes` for a significant difference; `no` only when one would have been found.

    `no` also needs the observed difference to be within the tolerance.
    """
    if significantly_different(comparison, p_value, settings.alpha):
        return "yes"
    if comparison is None or not could_find(comparison, settings):
        return "cannot tell"
    within = abs(comparison.difference) <= _tolerance(comparison, settings) + _ROUNDING
    return "no" if within else "cannot tell"


def could_find(comparison: Comparison, settings: Settings) -> bool:
    """Whether the MDE, tolerance and corrected level included, is at most twice the tolerance.

    The tolerance itself cannot be the bound, as an MDE that includes it is always larger. The
    gate's own bound, 5 pp, is too large here, as gains between checkpoints are small.
    """
    drop, bound = comparison.mde, _TOLERANCES * _tolerance(comparison, settings)
    return drop is not None and drop <= bound + _ROUNDING


def _tolerance(comparison: Comparison, settings: Settings) -> float:
    return settings.tolerance_of(comparison.metric, comparison.unit, comparison.baseline)


def corrected(comparison: Comparison | None, choices: int) -> float | None:
    """Bonferroni's correction: the two-sided p times the number of choices, at most 1."""
    if comparison is None or comparison.p_value is None:
        return None
    return min(1.0, comparison.p_value * choices)


def direction(metric: str, checkpoints: Sequence[Measurement]) -> int:
    """1 where more of a metric is better, -1 where less is, 0 where that is not known."""
    scores = [score for each in checkpoints if (score := each.score(metric)) is not None]
    directions = {score.higher_is_better for score in scores if score.value is not None}
    if directions == {True}:
        return 1
    return -1 if directions == {False} else 0


def gain(metric: str, now: Measurement, then: Measurement) -> float:
    """The difference of two values, positive when `now` is the better one."""
    difference = value_of(metric, now) - value_of(metric, then)
    return difference * (direction(metric, (now, then)) or 1)


def best_by(metric: str, checkpoints: Sequence[Measurement]) -> Measurement:
    """The checkpoint with the best value, the highest or the lowest; of equal ones the earliest."""
    sign = direction(metric, checkpoints) or 1
    # Composites of equal parts may differ in their last digit, which is no difference.
    return max(checkpoints, key=lambda each: round(sign * value_of(metric, each), 12))


def value_of(metric: str, measurement: Measurement) -> float:
    """The value of a metric that is known to have one.

    Raises:
        ValueError: it has none.
    """
    score = measurement.score(metric)
    if score is None or score.value is None:
        raise ValueError(f"{measurement.name} has no value of {metric}")
    return score.value
