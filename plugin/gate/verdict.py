"""The shape of a comparison and of the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Word = Literal["unchanged", "improved", "suspicious", "regressed", "inconclusive", "incomplete"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A score beside the baseline's, over the samples both have.

    Differences are this run minus the baseline, as fractions (-0.0131 is -1.31 %p).

    Attributes:
        metric: name, such as `real@1`.
        kind: `paired` (the same samples), `unpaired` (numbers with an n), `point` (bare numbers).
        current: this run's value over the compared samples.
        baseline: the baseline's value over the compared samples.
        n: samples compared; None for a point comparison.
        difference: `current - baseline`.
        standard_error: of the difference; None for a point comparison.
        interval: 95% interval of the difference, or None.
        lost: samples that were better in the baseline; None unless paired.
        won: samples that are better now; None unless paired.
        p_value: two-sided, or None.
        p_worse: one-sided mid-p of the question "is it worse?", or None.
        detectable_drop: smallest drop that 80% power can see with this n and these flips, a
            positive fraction, or None.
    """

    metric: str
    kind: Literal["paired", "unpaired", "point"]
    current: float
    baseline: float
    n: int | None
    difference: float
    standard_error: float | None = None
    interval: tuple[float, float] | None = None
    lost: int | None = None
    won: int | None = None
    p_value: float | None = None
    p_worse: float | None = None
    detectable_drop: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one metric.

    Attributes:
        metric: name, such as `real@1`.
        word: the verdict.
        detail: one sentence a person can act on.
        tolerance: allowed drop, as a fraction.
        alpha: significance level of the whole gate, before Holm's correction.
        p_adjusted: Holm-adjusted `p_worse`, or None.
        comparison: the figures, or None when nothing could be compared.
    """

    metric: str
    word: Word
    detail: str
    tolerance: float
    alpha: float
    p_adjusted: float | None = None
    comparison: Comparison | None = None
