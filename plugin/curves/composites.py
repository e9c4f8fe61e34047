"""Composites made again from their parts, and stated ones that their parts do not give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt

from ..scores.composite import DEFAULT_WEIGHTS, METRIC, composite, weighted_mean
from ..scores.intervals import normal_interval
from ..scores.score import Score
from .comparing import benchmarks_of, standard_error_of
from .conclusions import CompositeMismatch
from .measurement import Measurement

# Four decimals: half a unit from the weighted mean of rounded parts, half from the composite's own.
ROUNDING = 0.0001
BOUND = "upper-bound"
_LAST_DIGIT = 1e-9


def weights_of(
    measurements: Sequence[Measurement], given: Mapping[str, float] | None
) -> Mapping[str, float]:
    """The weights to make every composite with: those given, the first stated, the default."""
    if given is not None:
        return dict(given)
    stated = next((each.weights for each in measurements if each.weights), None)
    return dict(stated or DEFAULT_WEIGHTS)


def with_composite(measurement: Measurement, weights: Mapping[str, float]) -> Measurement:
    """The measurement with its composite made with the weights; as it is when it already was."""
    held = measurement.composite
    if held is not None and held.value is not None and dict(measurement.weights) == dict(weights):
        return measurement
    return replace(measurement, composite=composite_of(measurement, weights), weights=weights)


def composite_of(measurement: Measurement, weights: Mapping[str, float]) -> Score | None:
    """The weighted mean of a checkpoint's headline metrics.

    With every part's samples it is `scores.composite.composite`. Of numbers alone the standard
    error is an upper bound: how far the metrics of one benchmark share their errors is not
    known, so they are taken to share them wholly and their weighted errors add; benchmarks have
    different samples and are independent, so their squares add:

        SE <= sqrt(sum over benchmarks (sum over its metrics  w SE)^2)

    It is the method `upper-bound`, and its n the sum over benchmarks.

    Returns:
        A score named `score`, its value None with a reason when some parts have a value and
        others do not; None when no part has one.
    """
    names = [name for name, weight in weights.items() if weight]
    parts = {name: score for name in names if (score := measurement.score(name)) is not None}
    if not any(score.value is not None for score in parts.values()):
        return None
    benches = benchmarks_of(measurement, METRIC, weights)
    tables = [bench.table for bench in benches if bench.table is not None]
    known = {name: score.value for name, score in parts.items() if score.value is not None}
    if len(tables) == len(benches) or len(known) < len(names):
        # Also what says which part is missing: then no table is looked at.
        return composite(parts, weights, tables)
    value = weighted_mean(known, weights)
    n = sum(max(s.n for s in bench.scores if s.metric in parts) for bench in benches)
    shares: list[float] = []
    for bench in benches:
        weighted = [
            (weights[score.metric], standard_error_of(score))
            for score in bench.scores
            if score.metric in parts
        ]
        if any(error is None for _, error in weighted):
            return Score(METRIC, value, n, 0, reason=f"{bench.benchmark} has no standard error")
        shares.append(fsum(weight * (error or 0.0) for weight, error in weighted))
    error = sqrt(fsum(share * share for share in shares))
    return Score(METRIC, value, n, n, error, normal_interval(value, error), BOUND)


def mismatches(
    measurements: Sequence[Measurement], weights: Mapping[str, float]
) -> tuple[CompositeMismatch, ...]:
    """The stated composites that differ from their parts' weighted mean by more than 0.0001.

    That much is rounding: parts given to four decimals move the mean by up to half a unit of the
    fourth, and the stated composite was rounded itself. A composite without its parts cannot be
    checked.

    Returns:
        In the order given.
    """
    names = [name for name, weight in weights.items() if weight]
    found = []
    for each in measurements:
        parts = {name: s.value for name in names if (s := each.score(name)) is not None}
        values = {name: value for name, value in parts.items() if value is not None}
        if each.printed_composite is None or len(values) < len(names):
            continue
        computed = weighted_mean(values, weights)
        if abs(each.printed_composite - computed) > ROUNDING + _LAST_DIGIT:
            found.append(CompositeMismatch(each.run, each.name, each.printed_composite, computed))
    return tuple(found)
