"""One metric of one checkpoint as text: the cells that the tables of every report are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .._util import text as words
from .._util.language import stored, tr
from ..gate import units
from ..gate.verdict import Comparison, Verdict
from ..results.summary import BenchmarkResult, CheckpointResult, CompositeResult
from ..scores.score import Score
from . import phrases
from .verdict_text import detail_of

ERRORS_SHOWN = 3  # of a benchmark
Columns = dict[str, str]  # title of each column, and the property of a row that it shows
SCORE: Columns = {"metric": "label", "score": "value", "n": "n", "95% interval": "interval"}
CHANGE: Columns = {"baseline": "baseline", "diff": "difference"}
COMPARISON: Columns = {
    **CHANGE,
    "95% interval": "difference_interval",
    "MDE": "mde",
    "p worse, Holm": "p",
}
VERDICT: Columns = {"verdict": "verdict_label"}


def titles(*columns: Columns) -> list[str]:
    """The header of a table's columns."""
    return [tr(title) for some in columns for title in some]


def _text(show: Callable[[Score], str]) -> property:
    """A property of a row: its score as text."""
    return property(lambda row: show(row.score))


def _figure(show: Callable[[Comparison], str]) -> property:
    """A property of a row that is empty where nothing was compared."""
    return property(lambda row: show(row.comparison) if row.comparison else "")


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A score and the verdict on it; the properties are their text, in the metric's unit.

    Attributes:
        metric: name, such as `real@1`, or the composite's.
        score: what was measured; without a value where nothing was.
        verdict: the comparison with the baseline; None without one.
        gated: whether the verdict can fail the run; also True where the whole protocol is not
            gated, which a heading says.
        best: whether it is the best of its run, of several checkpoints.
    """

    metric: str
    score: Score
    verdict: Verdict | None = None
    gated: bool = True
    best: bool = False

    def cells(self, *columns: Columns) -> list[str]:
        """The texts of a table's columns."""
        return [getattr(self, name) for some in columns for name in some.values()]

    @property
    def comparison(self) -> Comparison | None:
        """The figures of the verdict."""
        return self.verdict.comparison if self.verdict else None

    @property
    def less_is_better(self) -> bool:
        """Whether less is known to be better."""
        return self.score.higher_is_better is False

    @property
    def label(self) -> str:
        """The metric, with an arrow where less is better."""
        return f"{self.metric} {units.LESS_IS_BETTER}" if self.less_is_better else self.metric

    # `67.78%`, or `-` where `remark` says why; the samples behind it; its 95% interval.
    value = _text(lambda score: units.value(score.value, score.unit))
    n = _text(lambda score: words.count(score.n))
    interval = _text(lambda score: units.value_interval(score.interval, score.unit))
    # The baseline's value over the compared samples; the signed difference and its 95% interval.
    baseline = _figure(lambda known: units.value(known.baseline, known.unit))
    difference = _figure(lambda known: units.points(known.difference, known.unit))
    difference_interval = _figure(lambda known: units.points_interval(known.interval, known.unit))

    @property
    def change(self) -> str:
        """The difference with its interval, where it has one."""
        known = self.comparison is not None and self.comparison.interval is not None
        return f"{self.difference} {self.difference_interval}" if known else self.difference

    # The minimum detectable effect.
    mde = _figure(
        lambda known: (
            tr(units.NO_DROP)
            if known.mde is None and known.p_worse is not None
            else units.size(known.mde, known.unit)
        )
    )

    @property
    def p(self) -> str:
        """The p that the verdict used, after Holm's correction; `(better)` where it is of that."""
        verdict = self.verdict
        if verdict is None or verdict.p_adjusted is None:
            return words.MISSING if verdict else ""
        p = words.p_value(verdict.p_adjusted)
        return tr("{p} (better)", p=p) if verdict.word == "improved" else p

    @property
    def word(self) -> str:
        """The verdict's word."""
        return self.verdict.word if self.verdict else ""

    @property
    def verdict_label(self) -> str:
        """The verdict, marked where it is not gated."""
        word = tr(self.word) if self.word else ""
        return word if self.gated else not_gated(word)

    @property
    def remark(self) -> str:
        """A remark on the score, such as why it does not exist."""
        if self.verdict is not None and self.verdict.remark:
            return f"{self.metric}: {stored(self.verdict.remark)}"
        score = self.score
        if self.word == "missing":
            return ""
        if score.value is None and score.reason.startswith(self.metric):
            return stored(score.reason)
        if score.value is None:
            reason = stored(score.reason) or tr("no reason is known")
            return tr("{metric} not computed: {reason}", metric=self.metric, reason=reason)
        if score.reason:
            return f"{self.metric}: {stored(score.reason)}"
        if score.higher_is_better is None:
            return tr("{metric}: its direction is not known; not gated", metric=self.metric)
        return ""


def not_gated(label: str) -> str:
    """`real@1 (not gated)`."""
    return tr("{label} (not gated)", label=label)


def benchmark_rows(result: BenchmarkResult) -> tuple[MetricRow, ...]:
    """A row for each score, then one for each verdict on a metric that has no score."""
    verdicts = {verdict.metric: verdict for verdict in result.verdicts}
    ungated = {v.metric for v in result.verdicts if result.primary and not v.gated}
    rows = [
        MetricRow(s.metric, s, verdicts.pop(s.metric, None), gated=s.metric not in ungated)
        for s in result.scores
    ]
    none = "this run has no such score"
    rows += [MetricRow(m, Score(m, None, 0, 0, reason=none), v) for m, v in verdicts.items()]
    return tuple(rows)


def missing_rows(checkpoint: CheckpointResult) -> tuple[MetricRow, ...]:
    """A row for each gated metric of the baseline whose benchmark the run does not have."""
    return tuple(MetricRow(v.metric, Score(v.metric, None, 0, 0), v) for v in checkpoint.missing)


def composite_row(composite: CompositeResult) -> MetricRow:
    """The row of the weighted mean."""
    return MetricRow(composite.score.metric, composite.score, composite.verdict)


def checkpoint_rows(checkpoint: CheckpointResult) -> Iterator[tuple[str, MetricRow]]:
    """`(protocol or formula, row)`: every row of a checkpoint, the composite last."""
    for result in checkpoint.benchmarks:
        label = result.protocol if result.primary else not_gated(result.protocol)
        yield from ((label, row) for row in benchmark_rows(result))
    yield from ((tr("in the baseline only"), row) for row in missing_rows(checkpoint))
    if checkpoint.composite is not None:
        formula = words.formula(checkpoint.composite.weights)
        yield not_gated(formula), composite_row(checkpoint.composite)


def doubts(rows: Iterable[MetricRow]) -> list[tuple[str, str]]:
    """`(verdict, sentence)` for the verdicts that need attention.

    Metrics of one benchmark that fail for the same reason share a sentence.
    """
    metrics: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        detail = detail_of(row.verdict) if row.verdict else ""
        if detail and row.gated and row.word not in ("unchanged", "improved", "identical"):
            metrics.setdefault((row.word, detail), []).append(row.metric)
    return [
        (word, f"{', '.join(names)} {tr(word)}: {detail}")
        for (word, detail), names in metrics.items()
    ]


def benchmark_remarks(result: BenchmarkResult) -> Iterator[tuple[str, str]]:
    """`(kind, sentence)`: remarks on a benchmark beside its coverage and its table.

    The kind is `error`, `noise`, `note`, `remark` (of a score), or a verdict's word.
    """
    for error in result.errors[:ERRORS_SHOWN]:
        yield "error", tr("error: {line}", line=error.partition("\n")[0])
    noise = (phrases.noise(result), phrases.noise_floor(result))
    yield from (("noise", sentence) for sentence in noise if sentence)
    yield from (("note", note) for note in phrases.comparison_notes(result))
    rows = benchmark_rows(result)
    yield from (("remark", row.remark) for row in rows if row.remark)
    yield from doubts(rows)
