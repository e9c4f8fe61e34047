"""Checkpoints in the order of training."""

from __future__ import annotations

from collections.abc import Iterable

from .._util.names import natural_key
from ..results.measurement import Measurement

# Epochs that trainers write as 2.9987 and 3.0 are the same place on a curve.
_EPOCH_DIGITS = 2


def in_order(checkpoints: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """The checkpoints, the earliest first: by step, else by epoch, else by name.

    Steps and epochs only order a run when every checkpoint of it states one; those with the same
    one follow each other by name.
    """
    held = tuple(checkpoints)
    if all(each.step is not None for each in held):
        return tuple(sorted(held, key=lambda m: (m.step or 0, natural_key(m.name))))
    if all(each.epoch is not None for each in held):
        return tuple(sorted(held, key=lambda m: (m.epoch or 0.0, natural_key(m.name))))
    return tuple(sorted(held, key=lambda m: natural_key(m.name)))


def epoch_key(measurement: Measurement) -> float | None:
    """The epoch, rounded to hundredths: equal keys are the same place on a curve."""
    return None if measurement.epoch is None else round(measurement.epoch, _EPOCH_DIGITS)


def place(measurement: Measurement) -> str:
    """`epoch 3`, else `step 400`; empty where neither is known."""
    epoch = epoch_key(measurement)
    if epoch is not None:
        return f"epoch {epoch:g}"
    return "" if measurement.step is None else f"step {measurement.step}"
