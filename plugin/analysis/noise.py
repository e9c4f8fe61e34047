"""The noise of a metric from checkpoint to checkpoint, besides its sampling error.

Every training step moves a score slightly up or down around its trend. A metric whose range over a
run is no larger than that noise cannot rank the run's checkpoints, however many samples it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import fsum, sqrt

from ..gate.measurement import Measurement
from .compare import standard_error_of, value_of
from .conclusions import StepNoise

# At least two second differences: a single one has one degree of freedom.
FEWEST = 4


def step_noise_of(metric: str, checkpoints: Sequence[Measurement]) -> StepNoise:
    """The noise of a metric over a run's checkpoints.

    The signal-to-noise ratio follows Heineman et al. 2025, arXiv 2508.13144: the range of a
    benchmark's values over the noise between checkpoints, which are given in training order.
    """
    values = [value_of(metric, each) for each in checkpoints]
    scores = [score for each in checkpoints if (score := each.score(metric)) is not None]
    errors = [standard_error_of(score) for score in scores]
    known = [error for error in errors if error is not None]
    sampling = None
    if len(known) == len(checkpoints):
        sampling = sqrt(fsum(error * error for error in known) / len(known))
    span = max(values) - min(values)
    unit, count = scores[0].unit, len(checkpoints)
    if count < FEWEST:
        reason = f"{count} checkpoints, {FEWEST} are needed"
        return StepNoise(metric, unit, count, None, sampling, span, None, reason)
    step = step_noise(_positions(checkpoints), values)
    if step <= 1e-12:
        return StepNoise(metric, unit, count, 0.0, sampling, span, None, "no step-to-step noise")
    return StepNoise(metric, unit, count, step, sampling, span, span / step)


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


def _positions(checkpoints: Sequence[Measurement]) -> list[float]:
    """Steps, else epochs, where each checkpoint has a different one; else indices in the run."""
    for known in ([each.step for each in checkpoints], [each.epoch for each in checkpoints]):
        positions = [float(position) for position in known if position is not None]
        rising = all(x < y for x, y in pairwise(positions))
        if len(positions) == len(checkpoints) and rising:
            return positions
    return [float(position) for position in range(len(checkpoints))]
