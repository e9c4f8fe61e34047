"""Conclusions from a set of measured checkpoints, as data. `conclude` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..gate.measurement import Measurement
from ..gate.verdict import Comparison

Answer = Literal["yes", "no", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Rival:
    """A checkpoint beside the best one of its run.

    Attributes:
        name: of the checkpoint.
        comparison: this checkpoint minus the best; None when nothing could be compared.
        p_adjusted: two-sided p after Holm's correction over all rivals; None when not tested.
        distinguishable: whether it differs significantly from the best.
    """

    name: str
    comparison: Comparison | None
    p_adjusted: float | None
    distinguishable: bool


@dataclass(frozen=True, slots=True)
class Best:
    """Which checkpoint of a run is best by one metric, and which are statistically tied with it.

    Attributes:
        metric: name, such as `real@1`, or `score` of the composite.
        best: name of the checkpoint with the best value: the highest, or the lowest where less is
            better; of equal ones the earliest.
        value: its value, in the metric's unit.
        rivals: every other checkpoint, in the run's order.
        earliest: the earliest checkpoint that is statistically tied with the best, or the best.
        detail: one sentence.
    """

    metric: str
    best: str
    value: float
    rivals: tuple[Rival, ...]
    earliest: str
    detail: str


@dataclass(frozen=True, slots=True)
class PeakAndLast:
    """Whether a run has got worse since its peak.

    Attributes:
        metric: name of the metric.
        peak: name of the checkpoint with the best value.
        last: name of the last checkpoint.
        comparison: last minus peak; None when the last is as good, or nothing can be compared.
        fell: `yes` when it got worse significantly and the interval excludes zero; `no` when a
            fall would have been found and is not there.
        detail: one sentence with the fall and its interval.
        overfitting: `yes` when it fell while the training loss kept falling; `no` when it did
            not fall, or the loss did not; `cannot tell` without a training loss.
        p_adjusted: two-sided p, corrected for the choice of the peak; None when not tested.
    """

    metric: str
    peak: str
    last: str
    comparison: Comparison | None
    fell: Answer
    detail: str
    overfitting: Answer = "cannot tell"
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Stopping:
    """Whether training can stop.

    Attributes:
        metric: name of the metric it is judged by.
        stop: `yes`, `no`, or `cannot tell`.
        best: name of the checkpoint to keep: the run's recommended one.
        detail: one sentence that says why.
    """

    metric: str
    stop: Answer
    best: str
    detail: str


@dataclass(frozen=True, slots=True)
class StepNoise:
    """The noise of one metric over one run, in the metric's unit.

    Attributes:
        metric: name, such as `real@1`.
        unit: see `scores.metric.Unit`.
        checkpoints: how many have a value.
        step: standard deviation of the values around a smooth curve; None with a reason.
        sampling: root mean square of the values' standard errors; None where one has none.
        span: largest value minus the smallest.
        signal_to_noise: `span / step`; None where there is no step noise.
        reason: why `step` or `signal_to_noise` is None; empty otherwise.
    """

    metric: str
    unit: str
    checkpoints: int
    step: float | None
    sampling: float | None
    span: float
    signal_to_noise: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunConclusions:
    """The conclusions on one training run.

    Attributes:
        run: its name; empty where it is not known.
        measurements: its checkpoints, the earliest first.
        best: one for each metric, the composite last.
        peaks: likewise, of metrics that two checkpoints or more have.
        stopping: by `by`; None for a single checkpoint.
        by: the metric that decides: the requested one; else the composite, the average of the
            tasks or the first metric, the first of these that can be tested; empty where nothing
            was measured.
        recommended: name of the best checkpoint by `by`, which every report recommends; empty for
            a single checkpoint.
        noise: of each metric, in the order of `best`.
    """

    run: str
    measurements: tuple[Measurement, ...]
    best: tuple[Best, ...]
    peaks: tuple[PeakAndLast, ...]
    stopping: Stopping | None = None
    by: str = ""
    recommended: str = ""
    noise: tuple[StepNoise, ...] = ()


@dataclass(frozen=True, slots=True)
class RunsCompared:
    """Two runs compared in one metric, such as two sequence lengths.

    Attributes:
        metric: name of the metric.
        left: name of the one run.
        right: name of the other.
        at: what was compared: `epoch 3`, `each one's best`.
        left_checkpoint: of the left run.
        right_checkpoint: of the right run.
        comparison: left minus right; None when nothing can be compared.
        differ: `yes` for a significant difference, `no` when one would have been found and is
            not there.
        detail: one sentence.
        p_adjusted: two-sided p, corrected for the choices made; None when not tested.
    """

    metric: str
    left: str
    right: str
    at: str
    left_checkpoint: str
    right_checkpoint: str
    comparison: Comparison | None
    differ: Answer
    detail: str
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class CompositeMismatch:
    """A reported composite that differs from the weighted mean of its own parts.

    Attributes:
        run: name of the training run.
        name: of the checkpoint.
        printed: the reported value.
        computed: the weighted mean of its parts.
    """

    run: str
    name: str
    printed: float
    computed: float


@dataclass(frozen=True, slots=True)
class Conclusions:
    """All conclusions from a set of measured checkpoints.

    Attributes:
        runs: one for each training run, in the order given.
        compared: pairs of runs, at equal epochs and best against best.
        mismatches: reported composites that are wrong.
        sentences: the conclusions as text, most important first.
        notes: what could not be concluded, and why.
    """

    runs: tuple[RunConclusions, ...]
    compared: tuple[RunsCompared, ...] = ()
    mismatches: tuple[CompositeMismatch, ...] = ()
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


EACH_BEST = "each one's best"
