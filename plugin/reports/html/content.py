"""What stands on the page, as values that the template only has to put into elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..._util import text as words
from ...analysis.conclusions import Conclusions, RunConclusions
from ...gate import units
from ...readers.result import Result
from ...reports import phrases
from ...results.summary import Summary
from ...scores.score import Score
from ..conclusion import Level, conclude, gated_verdicts
from ..noise_table import by_signal, noise_rows
from ..overview import Cell, Overview, interval_text, value_text
from ..plots.series import bar_charts, curve_charts
from .charts import bar_svg, curve_svg, legend_svg, number
from .flips_json import Embedded

_LEVEL_WORDS: Mapping[Level, str] = {
    "good": "Passed",
    "warning": "Needs a look",
    "bad": "Failed",
}


@dataclass(frozen=True, slots=True)
class Banner:
    """The gate's sentence on one run: `level` is what style it has, `word` what it says."""

    level: Level
    word: str
    text: str
    run: str


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One score as text; `sort` is its value as a number, empty where there is none."""

    metric: str
    value: str
    interval: str
    sort: str
    best: bool
    difference: str
    verdict: str
    remark: str


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One checkpoint as text; `facts` are its values of the table's fact columns."""

    label: str
    recommended: str
    incomplete: str
    facts: tuple[tuple[str, str, str], ...]
    cells: tuple[ScoreCell, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, with the rows of the table that says the same.

    Attributes:
        title: what is shown.
        axis: what x is; empty where there is none.
        svg: the drawing; empty where the rows hold drawings of their own.
        legend: `(drawing, run)` of each curve, where there are several.
        rows: cells of the table.
    """

    title: str
    axis: str
    svg: str
    legend: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]


def banners(results: Sequence[Result]) -> tuple[Banner, ...]:
    """The gate's sentences of the runs that were compared with a baseline, or are incomplete."""
    found = []
    for summary in _summaries(results):
        if any(gated_verdicts(summary)) or not summary.complete:
            said = conclude(summary)
            found.append(Banner(said.level, _LEVEL_WORDS[said.level], said.text, summary.run_id))
    return tuple(found)


def score_rows(overview: Overview) -> tuple[tuple[str, ...], tuple[ScoreRow, ...]]:
    """`(names of the fact columns, rows)`; a fact that no checkpoint states has no column.

    The sequence length in tokens has one where the checkpoints differ in it.
    """
    facts: dict[str, list[float | int | None]] = {
        "epoch": [row.measurement.epoch for row in overview.rows],
        "step": [row.measurement.step for row in overview.rows],
        "sequence": [row.measurement.seq_len for row in overview.rows],
    }
    if len(set(facts["sequence"])) == 1:  # the settings at the end of the page say it
        del facts["sequence"]
    known = {name: values for name, values in facts.items() if any(v is not None for v in values)}
    rows = []
    for place, row in enumerate(overview.rows):
        told = []
        for name, values in known.items():
            value = values[place]
            missing = (words.MISSING, "")
            told.append((name, *(missing if value is None else (number(value), str(value)))))
        reasons = dict.fromkeys(b.incomplete for b in row.measurement.benchmarks if b.incomplete)
        rows.append(
            ScoreRow(
                row.label,
                row.recommended,
                "; ".join(reasons),
                tuple(told),
                tuple(_score_cell(cell) for cell in row.cells),
            )
        )
    return tuple(known), tuple(rows)


def curve_figures(conclusions: Conclusions) -> tuple[Figure, ...]:
    """The learning curves, a figure a metric."""
    figures = []
    for place, chart in enumerate(curve_charts(conclusions)):
        several = len(chart.curves) > 1
        rows = tuple(
            (
                f"{curve.run}/{point.name}" if several and curve.run else point.name,
                number(point.x),
                value_text(point.value, chart.share),
                interval_text(point.interval, chart.share),
            )
            for curve in chart.curves
            for point in curve.points
        )
        legend = tuple((legend_svg(i), curve.run) for i, curve in enumerate(chart.curves))
        svg = curve_svg(chart, f"curve-{place}")
        figures.append(Figure(chart.title, chart.axis, svg, legend if several else (), rows))
    return tuple(figures)


def bar_figures(overview: Overview, conclusions: Conclusions) -> tuple[Figure, ...]:
    """The differences from the baseline or the best; the first cell of a row is its drawing."""
    figures = []
    for chart in bar_charts(overview, conclusions):
        rows = tuple(
            (
                bar_svg(bar, chart.extent),
                bar.name,
                units.points(bar.comparison.difference, bar.comparison.unit),
                units.points_interval(bar.comparison.interval, bar.comparison.unit),
                _probability(bar.p_value),
                bar.told,
            )
            for bar in chart.bars
        )
        title = f"{chart.metric}: difference from {chart.against}"
        figures.append(Figure(title, "", "", (), rows))
    return tuple(figures)


def run_details(run: RunConclusions) -> tuple[str, ...]:
    """Every sentence on one run: its best ones, its peaks, whether training can stop."""
    details = [best.detail for best in run.best] + [peak.detail for peak in run.peaks]
    if run.stopping is not None:
        details.append(run.stopping.detail)
    return tuple(detail for detail in details if detail)


def noise_tables(
    conclusions: Conclusions,
) -> tuple[tuple[str, tuple[tuple[str, ...], ...], str], ...]:
    """`(run, rows with the header first, why there is no noise)` of each run with curves."""
    found = []
    for run in conclusions.runs:
        if len(run.measurements) < 2 or not run.noise:
            continue
        named = {each.metric: each for each in run.noise}
        order = by_signal(run, list(named))
        reasons = dict.fromkeys(each.reason for each in run.noise if each.step is None)
        rows = tuple(noise_rows(run, [named[metric] for metric in order]))
        found.append((run.run, rows, "; ".join(reasons)))
    return tuple(found)


def compared_runs(conclusions: Conclusions) -> tuple[tuple[str, ...], ...]:
    """Rows of the table of runs side by side."""
    return tuple(
        (
            pair.metric,
            f"{pair.left} ({pair.left_checkpoint})",
            f"{pair.right} ({pair.right_checkpoint})",
            pair.at,
            units.points(figures.difference, figures.unit) if figures else words.MISSING,
            units.points_interval(figures.interval, figures.unit) if figures else words.MISSING,
            pair.differ,
        )
        for pair in conclusions.compared
        for figures in (pair.comparison,)
    )


def flips_remark(embedded: Embedded) -> str:
    """What a reader must know of the list: what was left out, and where it stands."""
    told = [f"Without texts: {reason}." for reason in embedded.missing]
    if embedded.shown < embedded.flips:
        told.append(
            f"{words.count(embedded.shown)} of {words.count(embedded.flips)} flips are listed, "
            "an equal share of each checkpoint; summary.json and the sample files hold the rest."
        )
    if any(text[3] for _, texts in embedded.data["samples"] for text in texts):
        told.append(
            f"Fields longer than {words.count(embedded.field_chars)} characters are cut; "
            "the sample files hold them whole."
        )
    return " ".join(told)


def protocol_rows(results: Sequence[Result]) -> tuple[tuple[str, ...], ...]:
    """EvalProtocol, whether it is gated, dataset and coverage, each different row once."""
    rows = []
    for summary in _summaries(results):
        for checkpoint in summary.checkpoints:
            for result in checkpoint.benchmarks:
                data = result.dataset
                about = ", ".join(filter(None, [data.name, data.source, data.licence, data.hash]))
                gated = "headline" if result.primary else "shown beside it"
                rows.append((result.protocol, gated, about, phrases.coverage(result.coverage)))
    return tuple(dict.fromkeys(rows))


def checkpoint_rows(overview: Overview) -> tuple[tuple[str, ...], ...]:
    """Where each checkpoint comes from: label, specification, fingerprint, settings, source."""
    rows = []
    for row in overview.rows:
        known = row.measurement
        settings = row.measured.settings if row.measured else known.facts
        rows.append(
            (row.label, known.spec, known.fingerprint, phrases.settings(settings), known.source)
        )
    return tuple(rows)


def environments(results: Sequence[Result]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """`(source, ((name, value), ...))` of each source."""
    found = []
    for result in results:
        summary = result.summary
        facts = [("read from", str(result.path)), ("made by", result.origin)]
        if summary is not None:
            facts += [("run", summary.run_id), ("started", summary.started), ("gate", summary.gate)]
            facts += sorted(summary.environment.items())
        found.append((summary.run_id if summary else result.path.name, tuple(facts)))
    return tuple(found)


def notes(results: Sequence[Result], conclusions: Conclusions) -> tuple[str, ...]:
    """What a reader must know, each once: of the conclusions, the sources and their runs."""
    told = list(conclusions.notes)
    for result in results:
        told += result.notes
        if result.summary is not None:
            told += [*result.summary.notes, *phrases.noise_notes(result.summary)]
    return tuple(dict.fromkeys(told))


def _score_cell(cell: Cell) -> ScoreCell:
    score, verdict = cell.score, cell.verdict
    value = score.value if score else None
    share = score is None or score.share
    difference = ""
    if verdict is not None and verdict.comparison is not None:
        figures = verdict.comparison
        difference = units.points(figures.difference, figures.unit)
        if figures.interval is not None:
            difference += f" {units.points_interval(figures.interval, figures.unit)}"
    return ScoreCell(
        cell.metric,
        value_text(value, share),
        interval_text(score.interval, share) if score and score.interval else "",
        "" if value is None else repr(float(value)),
        cell.best,
        difference,
        verdict.word if verdict else "",
        _remark(score),
    )


def _remark(score: Score | None) -> str:
    if score is None:
        return ""
    if score.value is None:
        return score.reason
    return "lower is better" if score.higher_is_better is False else ""


def _probability(p: float | None) -> str:
    return words.MISSING if p is None else words.probability(p)


def _summaries(results: Sequence[Result]) -> tuple[Summary, ...]:
    return tuple(result.summary for result in results if result.summary is not None)
