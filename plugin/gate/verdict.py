"""Comparisons and verdicts: their shape, the list of verdicts, and the rules that decide one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..scores.metric import default_tolerance
from .units import size

Word = Literal[
    "incomparable",
    "missing",
    "incomplete",
    "regressed",
    "inconclusive",
    "improved",
    "unchanged",
    "identical",
]
Gate = Literal["regress", "strict", "off"]
Level = Literal["bad", "warning", "good", "plain"]


class WordFacts(NamedTuple):
    """How a verdict is shown, and whether it fails the run.

    Attributes:
        level: its colour: `bad` red, `warning` yellow, `good` green.
        fails: the settings of `--gate` under which it fails the run.
    """

    level: Level
    fails: frozenset[Gate] = frozenset()


_ANY_GATE: frozenset[Gate] = frozenset({"regress", "strict"})

# Every verdict, the most severe first.
WORDS: dict[Word, WordFacts] = {
    "incomparable": WordFacts("bad", _ANY_GATE),
    "missing": WordFacts("bad", _ANY_GATE),
    "incomplete": WordFacts("bad", _ANY_GATE),
    "regressed": WordFacts("bad", _ANY_GATE),
    "inconclusive": WordFacts("warning", frozenset({"strict"})),
    "improved": WordFacts("good"),
    "unchanged": WordFacts("plain"),
    "identical": WordFacts("plain"),
}
SEVERITY: tuple[Word, ...] = tuple(WORDS)
# Verdicts that need a reader's attention.
DOUBTFUL: tuple[Word, ...] = tuple(w for w in WORDS if WORDS[w].level in ("bad", "warning"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A score beside the baseline's, over the samples both have.

    Values, differences, standard errors and intervals are in the metric's own unit; a share is a
    fraction (-0.0131 is -1.31 pp). Differences are this run minus the baseline.

    Attributes:
        metric: name, such as `real@1`.
        kind: `paired` (the same samples), `unpaired` (numbers with an n or a standard error),
            `point` (bare numbers).
        current: this run's value over the compared samples.
        baseline: the baseline's value over the compared samples.
        n: samples of this run that are compared; None where it is not known.
        difference: `current - baseline`.
        standard_error: of the difference; None for a point comparison.
        interval: 95% interval of the difference, or None.
        lost: samples that were better in the baseline; None unless paired.
        won: samples that are better now; None unless paired.
        p_value: two-sided, or None.
        p_worse: one-sided mid-p of the question "is it worse?", or None.
        mde: minimum detectable effect: the smallest true worsening that the gate finds in four
            runs of five, in the metric's unit; None where no possible one would be found, or
            nothing is tested.
        p_better: one-sided mid-p of the question "is it better?", or None.
        simulation_error: standard error of the p values that are simulated; 0 for exact ones.
        unit: see `scores.metric.Unit`.
        higher_is_better: whether a positive difference is an improvement.
        identical: whether every compared outcome is the same.
        baseline_n: samples behind the baseline's number; None unless unpaired and known.
        p_excluded: one-sided p of a drop smaller than `Rules.must_see`, where it was tested whether
            the verdict needs more samples; None otherwise. It and the other one-sided p values then
            hold over all looks; the interval is that of a fixed n.
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
    mde: float | None = None
    p_better: float | None = None
    simulation_error: float = 0.0
    unit: str = "share"
    higher_is_better: bool = True
    identical: bool = False
    baseline_n: int | None = None
    p_excluded: float | None = None

    @property
    def improvement(self) -> float:
        """The difference, positive when this run is better."""
        return self.difference if self.higher_is_better else -self.difference


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's judgement of one metric.

    Attributes:
        metric: name, such as `real@1`.
        word: the verdict.
        detail: one sentence that says why.
        tolerance: allowed change for the worse, in the metric's unit.
        alpha: significance level of the whole gate, before Holm's correction.
        p_adjusted: the p that the verdict used, after Holm's correction: of "worse", or of
            "better" for `improved`; None when nothing was tested.
        comparison: the figures, or None when nothing could be compared.
        gated: whether it can fail the run.
        remark: what to check although the verdict is valid, such as an unusually large rise.
    """

    metric: str
    word: Word
    detail: str
    tolerance: float
    alpha: float
    p_adjusted: float | None = None
    comparison: Comparison | None = None
    remark: str = ""
    gated: bool = True


DEFAULT_TOLERANCE = default_tolerance("share")
DEFAULT_ALPHA = 0.05
DEFAULT_MUST_SEE = 0.05
# A significant rise of a share by so much gets a remark: a broken scorer can cause one too.
LARGE_RISE = 0.10
# 0.67 - 0.66 is slightly more than 0.01: a difference of exactly the bound must not depend on it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rules:
    """What verdicts are made with.

    Attributes:
        alpha: significance level of everything that is gated together.
        must_see: a comparison with a larger MDE is not `unchanged`; of a share, as a fraction.
            For other units it is as many default tolerances as it is for shares.
        looks: whether verdicts may be decided before all samples are asked.
        family: tests that Holm's correction is for at least: some may be made later.
    """

    alpha: float = DEFAULT_ALPHA
    must_see: float = DEFAULT_MUST_SEE
    looks: bool = False
    family: int = 0

    def must_see_of(self, comparison: Comparison) -> float:
        """The bound on the MDE in the unit of the metric."""
        return drop_to_see(self.must_see, comparison.unit, comparison.baseline)


def drop_to_see(must_see: float, unit: str, baseline: float) -> float:
    """`Rules.must_see` in the unit of a metric."""
    return must_see * default_tolerance(unit, baseline) / DEFAULT_TOLERANCE


@dataclass(frozen=True, slots=True)
class Candidate:
    """A metric that awaits its verdict.

    Attributes:
        metric: name, such as `real@1`.
        comparison: the figures; None when nothing could be compared.
        tolerance: allowed change for the worse, in the metric's unit.
        gated: whether it can fail the run and takes part in Holm's correction.
        not_judged: the verdict where the figures are not evaluated: `incomparable`, `missing` or
            `incomplete`; None otherwise.
        reason: why, in a sentence.
    """

    metric: str
    comparison: Comparison | None
    tolerance: float = DEFAULT_TOLERANCE
    gated: bool = True
    not_judged: Word | None = None
    reason: str = ""


def decide(candidates: Sequence[Candidate], rules: Rules | None = None) -> tuple[Verdict, ...]:
    """The verdict on each candidate, in their order.

    Give all candidates of a session at once: Holm's correction is over every gated metric of
    every checkpoint, for "worse" and for "better" alike. Metrics that are not gated are not
    corrected. The first rule that applies gives the verdict:

    1. `incomparable`, `missing`, `incomplete`: see `Candidate.not_judged`.
    2. `identical`: every compared outcome is the same.
    3. `regressed`: worse by more than the tolerance, and the corrected one-sided p of "worse" is
       at most alpha.
    4. `improved`: better by more than the tolerance, and the corrected one-sided p of "better"
       is at most alpha.
    5. `inconclusive`: worse by more than the tolerance and not significant, or the comparison
       could not have found a worsening of `must_see`, unless its test excludes one.
    6. `unchanged`: everything else.
    """
    rules = rules or Rules()
    figures = [candidate.comparison for candidate in candidates]
    worse = _adjusted(candidates, [each.p_worse if each else None for each in figures], rules)
    better = _adjusted(candidates, [each.p_better if each else None for each in figures], rules)
    return tuple(
        _verdict(candidate, worse[i], better[i], rules) for i, candidate in enumerate(candidates)
    )


def fails(verdicts: Iterable[Verdict], gate: Gate, complete: bool) -> bool:
    """Whether the run's exit status is 1.

    A run that is not complete, without an outcome of a planned sample or with an error, fails
    whatever the gate is: an error is not a score, and `off` turns off verdicts only.
    """
    return not complete or any(gate in WORDS[verdict.word].fails for verdict in verdicts)


def holm(p_values: Sequence[float | None], family: int = 0) -> tuple[float | None, ...]:
    """P-values after Holm's step-down correction (1979), in the order given; None was not tested.

    Reject where one is at most alpha: the chance of any false rejection stays at most alpha,
    whatever the dependence. The i-th smallest of m (from 0) is multiplied by m - i, at most 1, and
    never below a smaller one's. m is at least the `family`: some tests may be made later.
    """
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted = list(p_values)
    m, running = max(len(tested), family), 0.0
    for rank, (p, index) in enumerate(tested):
        running = max(running, min(1.0, (m - rank) * p))
        adjusted[index] = running
    return tuple(adjusted)


def _adjusted(
    candidates: Sequence[Candidate], p_values: Sequence[float | None], rules: Rules
) -> list[float | None]:
    """Holm-adjusted p of the gated candidates that are evaluated; the others are unchanged."""
    pairs = list(zip(candidates, p_values, strict=True))
    tested = [p if c.gated and c.not_judged is None else None for c, p in pairs]
    adjusted = holm(tested, rules.family)
    return [p if now is None else now for (_, p), now in zip(pairs, adjusted, strict=True)]


def _verdict(
    candidate: Candidate, p_worse: float | None, p_better: float | None, rules: Rules
) -> Verdict:
    word, detail = _word(candidate, p_worse, p_better, rules)
    figures = candidate.comparison
    large = (
        word == "improved"
        and figures is not None
        and figures.unit in ("share", "points")
        and figures.improvement >= LARGE_RISE * (100 if figures.unit == "points" else 1) - _ROUNDING
    )
    return Verdict(
        metric=candidate.metric,
        word=word,
        detail=detail,
        tolerance=candidate.tolerance,
        alpha=rules.alpha,
        p_adjusted=p_better if word == "improved" else p_worse,
        comparison=figures,
        remark="unusually large: read some answers" if large else "",
        gated=candidate.gated,
    )


def _word(
    candidate: Candidate, p_worse: float | None, p_better: float | None, rules: Rules
) -> tuple[Word, str]:
    figures, tolerance = candidate.comparison, candidate.tolerance
    if candidate.not_judged is not None:
        return candidate.not_judged, candidate.reason
    if figures is None:
        return "incomplete", "nothing to compare: no sample or value in common with the baseline"
    if figures.identical:
        return "identical", "every outcome is the same"
    change, unit = figures.improvement, figures.unit
    fell = change < -tolerance - _ROUNDING
    rose = change > tolerance + _ROUNDING
    moved = f"{'worse' if change < 0 else 'better'} by {size(change, unit)}"
    moved = moved if change else "no difference"
    allowed, flips = f"tolerance {size(tolerance, unit)}", _flips(figures)
    if fell and p_worse is not None and p_worse <= rules.alpha:
        return "regressed", f"{moved}, {allowed}{flips}, p worse, Holm = {p_worse:.2g}"
    if rose and p_better is not None and p_better <= rules.alpha:
        return "improved", f"{moved}{flips}, p better, Holm = {p_better:.2g}"
    if p_worse is None:
        missing = "one side has no standard error"
        if figures.kind == "point":
            missing = "the baseline gives neither n nor standard error"
        return "inconclusive", f"{moved}; not tested: {missing}"
    # What a change for the worse is called.
    drop = "drop" if figures.higher_is_better else "rise"
    n = "" if figures.n is None else f" at n = {figures.n:,}"
    mde = f"MDE {size(figures.mde, unit)}{n}"
    if figures.mde is None:
        mde = f"MDE: no {drop}{n} would be found in four runs of five"
    if fell:
        return "inconclusive", f"{moved}, {allowed}, but p worse, Holm = {p_worse:.2g}; {mde}"
    must_see = rules.must_see_of(figures)
    if figures.p_excluded is not None and figures.p_excluded <= rules.alpha:
        excluded = f"a {drop} of {size(must_see, unit)} is excluded (p = {figures.p_excluded:.2g})"
        return "unchanged", f"{moved}{n}; {excluded}"
    if figures.mde is None or figures.mde > must_see + _ROUNDING:
        wanted = f"a {drop} of {size(must_see, unit)} would not have been found"
        return "inconclusive", f"{moved}; {wanted}: {mde}"
    return "unchanged", f"{moved}; {mde}"


def _flips(figures: Comparison) -> str:
    """`, 61 lost and 24 won of 1,600` for a paired comparison; empty otherwise."""
    if figures.lost is None or figures.won is None or figures.n is None:
        return ""
    return f", {figures.lost:,} lost and {figures.won:,} won of {figures.n:,}"
