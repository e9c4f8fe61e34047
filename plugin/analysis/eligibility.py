"""The order of a run's checkpoints, and which of them the conclusions on a metric include."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .._util.language import tr
from .._util.names import natural_key
from ..gate.measurement import Measurement
from ..scores.composite import METRIC
from ..scores.score import Score
from .compare import AVERAGE, benchmarks_of, protocols_of


def _scored(checkpoints: Sequence[Measurement]) -> Iterator[Score]:
    """The headline scores with a value, without composites and averages."""
    benches = (bench for each in checkpoints for bench in each.primary_benchmarks())
    return (score for bench in benches for score in bench.scores if score.value is not None)


def metrics_of(checkpoints: Sequence[Measurement]) -> tuple[str, ...]:
    """The headline metrics that any checkpoint has a value of; the composite or average last.

    Only those of a known direction: of others no value is better than another.
    """
    known = [s.metric for s in _scored(checkpoints) if s.higher_is_better is not None]
    names = dict.fromkeys(name for name in known if name != METRIC)
    if any(each.composite is not None and each.composite.value is not None for each in checkpoints):
        names[METRIC] = None
    if any(each.average is not None for each in checkpoints):
        names[AVERAGE] = None
    return tuple(names)


def without_direction(checkpoints: Sequence[Measurement]) -> tuple[str, ...]:
    """The headline metrics with a value of which it is not known whether more is better."""
    scores = _scored(checkpoints)
    return tuple(dict.fromkeys(s.metric for s in scores if s.higher_is_better is None))


def eligible(
    metric: str, checkpoints: Sequence[Measurement], weights: Mapping[str, float]
) -> tuple[tuple[Measurement, ...], tuple[tuple[str, str], ...]]:
    """Divide the checkpoints of a run into those that can be compared and the others.

    Left out are checkpoints without a value, with incomplete samples, and under another protocol
    than most. Where a source reports no protocol, it is assumed to be the same.

    Returns:
        Those that can be compared, in the order given, and `(name, reason)` of those left out, such
        as `3 of 1,600 samples are errors`.
    """
    reasons = [_unusable(metric, each, weights) for each in checkpoints]
    protocols = [protocols_of(each, metric, weights) for each in checkpoints]
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for used in (used for reason, used in zip(reasons, protocols, strict=True) if not reason):
        for benchmark, protocol in used.items():
            counted[benchmark][protocol] += 1
    usual = {benchmark: counter.most_common(1)[0][0] for benchmark, counter in counted.items()}
    for index, used in enumerate(protocols):
        other = [name for name, protocol in used.items() if protocol != usual.get(name)]
        if other and not reasons[index]:
            mine, theirs = used[other[-1]], usual[other[-1]]
            reasons[index] = f"its protocol is {mine}, the others' {theirs}"
    pairs = list(zip(checkpoints, reasons, strict=True))
    kept = tuple(each for each, reason in pairs if not reason)
    return kept, tuple((each.name, reason) for each, reason in pairs if reason)


def _unusable(metric: str, measurement: Measurement, weights: Mapping[str, float]) -> str:
    for bench in benchmarks_of(measurement, metric, weights):
        if bench.incomplete:
            return bench.incomplete
    score = measurement.score(metric)
    if score is None:
        return "not measured"
    return "" if score.value is not None else score.reason or "it has no value"


# Epochs that trainers write as 2.9987 and 3.0 are the same point of a curve.
_EPOCH_DIGITS = 2


def in_order(checkpoints: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """The checkpoints, the earliest first: by step, else by epoch, else by name.

    Steps and epochs order a run only where every checkpoint has one; equal ones are ordered by
    name.
    """
    ordered = tuple(checkpoints)
    if all(each.step is not None for each in ordered):
        return tuple(sorted(ordered, key=lambda m: (m.step or 0, natural_key(m.name))))
    if all(each.epoch is not None for each in ordered):
        return tuple(sorted(ordered, key=lambda m: (m.epoch or 0.0, natural_key(m.name))))
    return tuple(sorted(ordered, key=lambda m: natural_key(m.name)))


def epoch_key(measurement: Measurement) -> float | None:
    """The epoch, rounded to hundredths: equal keys are the same point of a curve."""
    return None if measurement.epoch is None else round(measurement.epoch, _EPOCH_DIGITS)


def training_position(measurement: Measurement) -> str:
    """`epoch 3`, else `step 400`; empty where neither is known."""
    epoch = epoch_key(measurement)
    if epoch is not None:
        return tr("epoch {n}", n=f"{epoch:g}")
    return "" if measurement.step is None else tr("step {n}", n=measurement.step)
