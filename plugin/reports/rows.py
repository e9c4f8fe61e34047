"""A table's cells, said once for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .._util import text as words
from ..gate import units
from ..gate.verdict import Comparison, Verdict, verdict_p
from ..results.summary import BenchmarkResult, CheckpointResult, CompositeResult
from ..scores.score import Score


@dataclass(frozen=True, slots=True)
class Row:
    """One metric as text.

    Attributes:
        metric: name, such as `real@1`.
        score: percentage, or `-` where `remark` says why.
        n: samples behind the score.
        interval: its 95% interval in per cent.
        baseline: percentage over the compared samples; empty when nothing was compared, as are
            the three that follow.
        difference: from the baseline, in percentage points.
        difference_interval: its 95% interval.
        mde: the minimum detectable effect, in the metric's unit.
        p: the p that the verdict used, after Holm's correction; `(better)` stands behind it
            where it is not of "worse".
        p_sentence: the same with its name: `p worse, Holm = 0.0312`; empty without one.
        verdict: the verdict's word, or empty without a baseline.
        remark: what the reader must know of the score, such as why it does not exist.
        detail: the verdict's sentence.
        falls: whether less is better.
        gated: whether the verdict can fail the run; True as well where its whole protocol is only
            shown, which a heading says.
    """

    metric: str
    score: str
    n: str
    interval: str
    baseline: str = ""
    difference: str = ""
    difference_interval: str = ""
    mde: str = ""
    p: str = ""
    p_sentence: str = ""
    verdict: str = ""
    remark: str = ""
    detail: str = ""
    falls: bool = False
    gated: bool = True

    @property
    def verdict_label(self) -> str:
        """The verdict, with what a reader must know who only looks for words."""
        return self.verdict if self.gated else f"{self.verdict} (not gated)"

    @property
    def label(self) -> str:
        """The metric, with an arrow where less is better."""
        return f"{self.metric} {units.LESS_IS_BETTER}" if self.falls else self.metric


def benchmark_rows(result: BenchmarkResult) -> tuple[Row, ...]:
    """A row for each score, then one for each verdict on a metric that has no score."""
    verdicts = {verdict.metric: verdict for verdict in result.verdicts}
    ungated = {v.metric for v in result.verdicts if result.primary and not v.gated}
    scored = [
        replace(_row(score, verdicts.pop(score.metric, None)), gated=score.metric not in ungated)
        for score in result.scores
    ]
    return (
        *scored,
        *(
            _row(Score(name, None, 0, 0, reason="this run has no such score"), v)
            for name, v in verdicts.items()
        ),
    )


def missing_rows(checkpoint: CheckpointResult) -> tuple[Row, ...]:
    """A row for each gated metric of the baseline whose benchmark the run does not have."""
    return tuple(_row(Score(v.metric, None, 0, 0), v) for v in checkpoint.missing)


def composite_row(composite: CompositeResult) -> Row:
    """The row of the weighted mean."""
    return _row(composite.score, composite.verdict)


def _row(score: Score, verdict: Verdict | None) -> Row:
    figures = verdict.comparison if verdict else None
    compared = _compared(figures) if figures else ("", "", "", "")
    baseline, difference, difference_interval, mde = compared
    return Row(
        metric=score.metric,
        score=units.value(score.value, score.unit),
        n=words.count(score.n),
        interval=units.value_interval(score.interval, score.unit),
        baseline=baseline,
        difference=difference,
        difference_interval=difference_interval,
        mde=mde,
        p=_p(verdict),
        p_sentence=verdict_p(verdict) if verdict else "",
        verdict=verdict.word if verdict else "",
        remark=_remark(score, verdict),
        detail=verdict.detail if verdict else "",
        falls=score.higher_is_better is False,
    )


def doubts(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """`(verdict, sentence)` for the verdicts somebody should look at.

    Metrics of one benchmark that fail for the same reason share a sentence.
    """
    metrics: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.detail and row.gated and row.verdict not in ("unchanged", "improved", "identical"):
            metrics.setdefault((row.verdict, row.detail), []).append(row.metric)
    return [
        (verdict, f"{', '.join(names)} {verdict}: {detail}")
        for (verdict, detail), names in metrics.items()
    ]


def _p(verdict: Verdict | None) -> str:
    if verdict is None or verdict.p_adjusted is None:
        return words.MISSING if verdict else ""
    p = words.probability(verdict.p_adjusted).removeprefix("p = ").removeprefix("p ")
    return f"{p} (better)" if verdict.word == "improved" else p


def _remark(score: Score, verdict: Verdict | None = None) -> str:
    if verdict is not None and verdict.remark:
        return f"{score.metric}: {verdict.remark}"
    if verdict is not None and verdict.word == "missing":
        return ""
    if score.value is None and score.reason.startswith(score.metric):
        return score.reason
    if score.value is None:
        return f"{score.metric} does not exist: {score.reason or 'no reason is known'}"
    if score.reason:
        return f"{score.metric}: {score.reason}"
    if score.higher_is_better is None:
        return f"{score.metric}: its direction is not known; not gated"
    return ""


def _compared(figures: Comparison) -> tuple[str, str, str, str]:
    return (
        units.value(figures.baseline, figures.unit),
        units.points(figures.difference, figures.unit),
        units.points_interval(figures.interval, figures.unit),
        units.size(figures.mde, figures.unit)
        if figures.mde is not None or figures.p_worse is None
        else units.NO_DROP,
    )
