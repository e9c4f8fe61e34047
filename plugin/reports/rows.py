"""A table's cells, said once for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..gate.verdict import Comparison, Verdict
from ..results import BenchmarkResult, CompositeResult
from ..scores.score import Score
from . import words


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
        sees: the smallest drop that 80% power can see.
        verdict: the verdict's word, or empty without a baseline.
        remark: what the reader must know of the score, such as why it does not exist.
        detail: the verdict's sentence.
    """

    metric: str
    score: str
    n: str
    interval: str
    baseline: str = ""
    difference: str = ""
    difference_interval: str = ""
    sees: str = ""
    verdict: str = ""
    remark: str = ""
    detail: str = ""


def benchmark_rows(result: BenchmarkResult) -> tuple[Row, ...]:
    """A row for each score, then one for each verdict on a metric that has no score."""
    verdicts = {verdict.metric: verdict for verdict in result.verdicts}
    scored = [_row(score, verdicts.pop(score.metric, None)) for score in result.scores]
    return (
        *scored,
        *(
            _row(Score(name, None, 0, 0, reason="this run has no such score"), v)
            for name, v in verdicts.items()
        ),
    )


def composite_row(composite: CompositeResult) -> Row:
    """The row of the weighted mean."""
    return _row(composite.score, composite.verdict)


def _row(score: Score, verdict: Verdict | None) -> Row:
    figures = verdict.comparison if verdict else None
    compared = _compared(figures) if figures else ("", "", "", "")
    baseline, difference, difference_interval, sees = compared
    return Row(
        metric=score.metric,
        score=words.percent(score.value) if score.share else words.number(score.value),
        n=words.count(score.n),
        interval=(words.percent_interval if score.share else words.number_interval)(score.interval),
        baseline=baseline,
        difference=difference,
        difference_interval=difference_interval,
        sees=sees,
        verdict=verdict.word if verdict else "",
        remark=_remark(score),
        detail=verdict.detail if verdict else "",
    )


def doubts(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """`(verdict, sentence)` for the verdicts somebody should look at.

    Metrics of one benchmark that fail for the same reason share a sentence.
    """
    metrics: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.detail and row.verdict not in ("unchanged", "improved"):
            metrics.setdefault((row.verdict, row.detail), []).append(row.metric)
    return [
        (verdict, f"{', '.join(names)} {verdict}: {detail}")
        for (verdict, detail), names in metrics.items()
    ]


def _remark(score: Score) -> str:
    if score.value is None and score.reason.startswith(score.metric):
        return score.reason
    if score.value is None:
        return f"{score.metric} does not exist: {score.reason or 'no reason is known'}"
    if score.reason:
        return f"{score.metric}: {score.reason}"
    return "" if score.share else f"{score.metric}: lower is better; not gated"


def _compared(figures: Comparison) -> tuple[str, str, str, str]:
    return (
        words.percent(figures.baseline),
        words.points(figures.difference),
        words.points_interval(figures.interval),
        words.size(figures.mde),
    )
