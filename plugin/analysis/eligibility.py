"""The order of a run's checkpoints, and which of them count in what is concluded of a metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._util.names import natural_key
from ..gate.measurement import Measurement
from ..scores.composite import METRIC
from .compare import AVERAGE, benchmarks_of, protocols_of


@dataclass(frozen=True, slots=True)
class Excluded:
    """A checkpoint that takes no part in what is concluded of a metric.

    Attributes:
        name: of the checkpoint.
        metric: name of the metric.
        reason: such as `3 of 1,600 samples are errors`.
    """

    name: str
    metric: str
    reason: str


def metrics_of(checkpoints: Sequence[Measurement]) -> tuple[str, ...]:
    """The headline metrics that any checkpoint has a value of; the composite or average last.

    Only those of a known direction: of others no value is better than another.
    """
    names = {
        score.metric: None
        for each in checkpoints
        for bench in each.primary_benchmarks()
        for score in bench.scores
        if score.value is not None and score.higher_is_better is not None
    }
    names.pop(METRIC, None)
    if any(each.composite is not None and each.composite.value is not None for each in checkpoints):
        names[METRIC] = None
    if any(each.average is not None for each in checkpoints):
        names[AVERAGE] = None
    return tuple(names)


def without_direction(checkpoints: Sequence[Measurement]) -> tuple[str, ...]:
    """The headline metrics with a value of which it is not known whether more is better."""
    return tuple(
        dict.fromkeys(
            score.metric
            for each in checkpoints
            for bench in each.primary_benchmarks()
            for score in bench.scores
            if score.value is not None and score.higher_is_better is None
        )
    )


def eligible(
    metric: str, checkpoints: Sequence[Measurement], weights: Mapping[str, float]
) -> tuple[tuple[Measurement, ...], tuple[Excluded, ...]]:
    """Divide the checkpoints of a run: those that can be put side by side, and the others.

    Left out are checkpoints without a value, with incomplete samples, and under another protocol
    than most. A source that states no protocol is taken at its word that it is the same.

    Returns:
        Those taking part, in the order given, and those left out.
    """
    reasons = {place: _unusable(metric, each, weights) for place, each in enumerate(checkpoints)}
    usual: dict[str, str] = {}
    counted: dict[str, Counter[str]] = {}
    for place, each in enumerate(checkpoints):
        if not reasons[place]:
            for benchmark, protocol in protocols_of(each, metric, weights).items():
                counted.setdefault(benchmark, Counter())[protocol] += 1
    for benchmark, protocols in counted.items():
        usual[benchmark] = protocols.most_common(1)[0][0]
    for place, each in enumerate(checkpoints):
        if reasons[place]:
            continue
        for benchmark, protocol in protocols_of(each, metric, weights).items():
            if protocol != usual[benchmark]:
                reasons[place] = f"its protocol is {protocol}, the others' {usual[benchmark]}"
    kept = tuple(each for place, each in enumerate(checkpoints) if not reasons[place])
    out = (
        Excluded(each.name, metric, reasons[place])
        for place, each in enumerate(checkpoints)
        if reasons[place]
    )
    return kept, tuple(out)


def _unusable(metric: str, measurement: Measurement, weights: Mapping[str, float]) -> str:
    for bench in benchmarks_of(measurement, metric, weights):
        if bench.incomplete:
            return bench.incomplete
    score = measurement.score(metric)
    if score is None:
        return "not measured"
    return "" if score.value is not None else score.reason or "it has no value"


# Epochs that trainers write as 2.9987 and 3.0 are the same place on a curve.
_EPOCH_DIGITS = 2


def in_order(checkpoints: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """The checkpoints, the earliest first: by step, else by epoch, else by name.

    Steps and epochs only order a run when every checkpoint of it states one; those with the same
    one follow each other by name.
    """
    ordered = tuple(checkpoints)
    if all(each.step is not None for each in ordered):
        return tuple(sorted(ordered, key=lambda m: (m.step or 0, natural_key(m.name))))
    if all(each.epoch is not None for each in ordered):
        return tuple(sorted(ordered, key=lambda m: (m.epoch or 0.0, natural_key(m.name))))
    return tuple(sorted(ordered, key=lambda m: natural_key(m.name)))


def epoch_key(measurement: Measurement) -> float | None:
    """The epoch, rounded to hundredths: equal keys are the same place on a curve."""
    return None if measurement.epoch is None else round(measurement.epoch, _EPOCH_DIGITS)


def training_position(measurement: Measurement) -> str:
    """`epoch 3`, else `step 400`; empty where neither is known."""
    epoch = epoch_key(measurement)
    if epoch is not None:
        return f"epoch {epoch:g}"
    return "" if measurement.step is None else f"step {measurement.step}"
