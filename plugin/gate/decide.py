"""From comparisons to verdicts, and from verdicts to the exit status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .holm import holm
from .verdict import Comparison, Verdict, Word

Gate = Literal["regress", "strict", "off"]

DEFAULT_TOLERANCE = 0.01
DEFAULT_ALPHA = 0.05
DEFAULT_SUSPICIOUS_RISE = 0.10

# 0.67 - 0.66 is a hair more than 0.01: a difference of exactly the bound must not depend on it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A metric that awaits its verdict.

    Attributes:
        metric: name, such as `real@1`.
        comparison: the figures; None when nothing could be compared.
        tolerance: allowed drop, as a fraction.
        gated: whether it can fail the run and takes part in Holm's correction.
        incomplete: why the metric cannot be judged, such as `3 of 1,600 samples are errors`;
            empty when every planned sample was scored.
    """

    metric: str
    comparison: Comparison | None
    tolerance: float = DEFAULT_TOLERANCE
    gated: bool = True
    incomplete: str = ""


def decide(
    candidates: Sequence[Candidate],
    *,
    alpha: float = DEFAULT_ALPHA,
    suspicious_rise: float = DEFAULT_SUSPICIOUS_RISE,
) -> tuple[Verdict, ...]:
    """The verdict on each candidate, in their order. The first rule that fits gives the word:

    1. `incomplete`: the coverage is not complete, or there is nothing to compare.
    2. `regressed`: worse by more than the tolerance, and the one-sided mid-p is at most alpha
       after Holm's correction over the gated metrics (an ungated one stands alone).
    3. `inconclusive`: worse by more than the tolerance, and not significant or not testable.
    4. `suspicious`: better by `suspicious_rise` or more, significant or not.
    5. `improved`: better by more than the tolerance, and the two-sided p is at most alpha.
    6. `unchanged`: everything else.
    """
    adjusted = _adjust(candidates)
    return tuple(
        _verdict(candidate, adjusted.get(place), alpha, suspicious_rise)
        for place, candidate in enumerate(candidates)
    )


def fails(verdicts: Iterable[Verdict], gate: Gate, complete: bool) -> bool:
    """Whether the run's exit status is 1.

    An incomplete run fails whatever the gate is: an error is not a score, and `off` silences
    scores only. `regress` fails for a metric that regressed or could not be judged, `strict` for
    an inconclusive one too.

    Args:
        verdicts: those on gated metrics.
        complete: whether every planned sample has an outcome and none is an error.
    """
    failing: dict[Gate, set[Word]] = {
        "off": set(),
        "regress": {"regressed", "incomplete"},
        "strict": {"regressed", "incomplete", "inconclusive"},
    }
    return not complete or any(verdict.word in failing[gate] for verdict in verdicts)


def _adjust(candidates: Sequence[Candidate]) -> dict[int, float]:
    """Holm-adjusted `p_worse` by place, of the gated candidates that have one."""
    tested = {
        place: candidate.comparison.p_worse
        for place, candidate in enumerate(candidates)
        if candidate.gated
        and not candidate.incomplete
        and candidate.comparison is not None
        and candidate.comparison.p_worse is not None
    }
    return dict(zip(tested, holm(list(tested.values())), strict=True))


def _verdict(
    candidate: Candidate, p_adjusted: float | None, alpha: float, suspicious_rise: float
) -> Verdict:
    word, detail = _word(candidate, p_adjusted, alpha, suspicious_rise)
    return Verdict(
        candidate.metric,
        word,
        detail,
        candidate.tolerance,
        alpha,
        p_adjusted,
        candidate.comparison,
    )


def _word(
    candidate: Candidate, p_adjusted: float | None, alpha: float, suspicious_rise: float
) -> tuple[Word, str]:
    comparison, tolerance = candidate.comparison, candidate.tolerance
    if candidate.incomplete:
        return "incomplete", candidate.incomplete
    if comparison is None:
        return "incomplete", "nothing to compare: no sample or value in common with the baseline"
    change = comparison.difference
    p_worse = p_adjusted if p_adjusted is not None else comparison.p_worse
    if change < -tolerance - _ROUNDING:
        fell = f"worse by {_points(-change)}, more than the tolerance of {_points(tolerance)}"
        if p_worse is not None and p_worse <= alpha:
            return "regressed", f"{fell}{_evidence(comparison)}, p = {p_worse:.2g}"
        if p_worse is None:
            return "inconclusive", f"{fell}; {_untested(comparison)}"
        return "inconclusive", f"{fell}, but p = {p_worse:.2g}; {_sensitivity(comparison)}"
    if change >= suspicious_rise - _ROUNDING:
        doubt = "a broken scorer rises too: look at the samples that were won"
        return "suspicious", f"better by {_points(change)}{_evidence(comparison)}; {doubt}"
    p_value = comparison.p_value
    if change > tolerance + _ROUNDING and p_value is not None and p_value <= alpha:
        rose = f"better by {_points(change)}{_evidence(comparison)}, p = {p_value:.2g}"
        return "improved", f"{rose}; {_sensitivity(comparison)}"
    return "unchanged", _unchanged(comparison, tolerance)


def _unchanged(comparison: Comparison, tolerance: float) -> str:
    change = comparison.difference
    if change > tolerance + _ROUNDING:
        said = f"better by {_points(change)}"
        if comparison.p_value is not None:
            said += f", but p = {comparison.p_value:.2g}"
    elif change:
        direction = "worse" if change < 0 else "better"
        said = (
            f"{direction} by {_points(abs(change))}, within the tolerance of {_points(tolerance)}"
        )
    else:
        said = "no difference"
    tested = comparison.p_worse is not None
    return f"{said}; {_sensitivity(comparison) if tested else _untested(comparison)}"


def _points(fraction: float) -> str:
    """`1.31 %p` of 0.0131."""
    return f"{fraction * 100:.2f} %p"


def _evidence(comparison: Comparison) -> str:
    """`: 61 lost, 24 won of 1,600` for a paired comparison, or nothing."""
    if comparison.lost is None or comparison.won is None or comparison.n is None:
        return ""
    return f": {comparison.lost:,} lost, {comparison.won:,} won of {comparison.n:,}"


def _sensitivity(comparison: Comparison) -> str:
    if comparison.detectable_drop is None or comparison.n is None:
        return "how small a drop can be detected is not known"
    basis = "these flips" if comparison.kind == "paired" else "two unpaired scores"
    return (
        f"with {basis}, n = {comparison.n:,} can detect a drop of "
        f"{_points(comparison.detectable_drop)} (80% power)"
    )


def _untested(comparison: Comparison) -> str:
    if comparison.kind == "point":
        return "point comparison only: the baseline states no n, so it cannot be tested"
    return "it cannot be tested: one side has no standard error"
