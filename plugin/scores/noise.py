"""What is known of a score's noise; `noise_parts` and `noise_floor` compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Remedy = Literal["more problems", "more trials"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Where the standard error of one metric comes from.

    Attributes:
        metric: name, such as `pass@1`.
        share_of_draw: of the squared standard error, the fraction that comes from which answers
            were drawn.
        share_of_problems: the rest: from which problems, and clusters of them, were chosen.
        se_now: standard error of the score, in its unit.
        se_twice_trials: expected with twice the trials of the same problems.
        se_twice_problems: expected with twice the problems of as many trials each.
        remedy: what shrinks the error most for the same number of answers. Twice the problems
            never leave more error than twice the trials; `more trials` is said where they leave
            hardly more (5%), as problems have to be found.
    """

    metric: str
    share_of_draw: float
    share_of_problems: float
    se_now: float
    se_twice_trials: float
    se_twice_problems: float
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What asking some samples once more came to.

    Attributes:
        samples: how many have both outcomes.
        flipped: those that passed once and were missed once.
        interval: 95% interval of the share that flips, Wilson's.
        unanswered: samples whose second answer was none.
        other_batch_size: whether the engine got them in batches of another size; not where every
            batch is one request.
    """

    samples: int
    flipped: int
    interval: tuple[float, float] | None
    unanswered: int
    other_batch_size: bool
