"""The shape of a comparison and of the verdict on it, and the list of verdict words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

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
    """What a verdict word means for whoever reads or obeys it.

    Attributes:
        level: how it is drawn: `bad` red, `warning` yellow, `good` green.
        fails: the settings of `--gate` under which it fails the run.
    """

    level: Level
    fails: frozenset[Gate] = frozenset()


_ANY_GATE: frozenset[Gate] = frozenset({"regress", "strict"})

# The only list of verdict words, the most severe first.
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
        detail: one sentence a person can act on.
        tolerance: allowed change for the worse, in the metric's unit.
        alpha: significance level of the whole gate, before Holm's correction.
        p_adjusted: the p that the verdict used, after Holm's correction: of "worse", or of
            "better" for `improved`; None when nothing was tested.
        comparison: the figures, or None when nothing could be compared.
        gated: whether it can fail the run.
        remark: what to look at in a verdict that stands, such as an unusually large rise.
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

    @property
    def p_name(self) -> str:
        """Which p `p_adjusted` is: `p better, Holm` or `p worse, Holm`."""
        return "p better, Holm" if self.word == "improved" else "p worse, Holm"
