"""What stands on the page, as values that the template only has to put into elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..._util import text as words
from ...analysis.conclusions import Conclusions, RunConclusions
from ...gate import units
from ...readers.result import Result
from ...results.summary import Summary
from .. import phrases
from ..conclusion import Conclusion, Level, conclude, gated_verdicts
from ..overview import CheckpointRow, Overview, noise_rows
from ..plots.figures import Drawing
from ..plots.series import BarChart, CurveChart
from ..rows import MetricRow
from .charts import embedded_svg
from .flips_json import Embedded

LEVEL_WORDS: Mapping[Level, str] = {
    "good": "Passed",
    "warning": "Needs a look",
    "bad": "Failed",
}
Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, with the rows of the table that says the same, their header first."""

    title: str
    svg: str
    rows: Rows


def banners(results: Sequence[Result]) -> tuple[tuple[Conclusion, str], ...]:
    """`(the gate's sentence, run)` of the runs that were compared, or are incomplete."""
    return tuple(
        (conclude(summary), summary.run_id)
        for summary in _summaries(results)
        if any(gated_verdicts(summary)) or not summary.complete
    )


def fact_columns(rows: Sequence[CheckpointRow]) -> dict[str, tuple[float | int | None, ...]]:
    """What the checkpoints state of themselves by column; none that no checkpoint states.

    The sequence length in tokens has a column where the checkpoints differ in it.
    """
    measurements = [row.measurement for row in rows]
    facts: dict[str, tuple[float | int | None, ...]] = {
        "epoch": tuple(m.epoch for m in measurements),
        "step": tuple(m.step for m in measurements),
        "sequence": tuple(m.seq_len for m in measurements),
    }
    if len(set(facts["sequence"])) == 1:  # the settings at the end of the page say it
        del facts["sequence"]
    return {n: values for n, values in facts.items() if any(v is not None for v in values)}


def number(value: float | None) -> str:
    """`14,800`, `0.5`."""
    if value is None:
        return words.MISSING
    return words.count(int(value)) if value == int(value) else f"{value:g}"


def remark(cell: MetricRow) -> str:
    """Why there is no value, or that less is better."""
    if cell.score.value is None:
        return cell.score.reason
    return "lower is better" if cell.less_is_better else ""


def figures(drawn: Sequence[Drawing], kind: type[CurveChart | BarChart]) -> tuple[Figure, ...]:
    """The learning curves, or the differences from the baseline or the best."""
    return tuple(
        Figure(each.chart.title, embedded_svg(each), tuple(_chart_rows(each.chart)))
        for each in drawn
        if isinstance(each.chart, kind)
    )


def _chart_rows(chart: CurveChart | BarChart) -> Iterator[tuple[str, ...]]:
    if isinstance(chart, BarChart):
        yield "checkpoint", "difference", "95% interval", "p", "conclusion"
        for bar in chart.bars:
            known, p = bar.comparison, bar.p_value
            interval = units.points_interval(known.interval, known.unit)
            probability = words.MISSING if p is None else words.probability(p)
            difference = units.points(known.difference, known.unit)
            yield bar.name, difference, interval, probability, bar.conclusion
        return
    yield "checkpoint", chart.axis, "score", "95% interval"
    for curve in chart.curves:
        run = f"{curve.run}/" if len(chart.curves) > 1 and curve.run else ""
        for point in curve.points:
            interval = units.value_interval(point.interval, chart.unit)
            value = units.value(point.value, chart.unit)
            yield f"{run}{point.name}", number(point.x), value, interval


def run_details(run: RunConclusions) -> tuple[str, ...]:
    """Every sentence on one run: its best ones, its peaks, whether training can stop."""
    details = [best.detail for best in run.best] + [peak.detail for peak in run.peaks]
    details += [run.stopping.detail] if run.stopping else []
    return tuple(filter(None, details))


def noise_tables(conclusions: Conclusions) -> Iterator[tuple[str, Rows, str]]:
    """`(run, rows with the header first, why there is no noise)` of each run with curves."""
    for run in conclusions.runs:
        if len(run.measurements) > 1 and run.noise:
            reasons = dict.fromkeys(each.reason for each in run.noise if each.step is None)
            yield run.run, tuple(noise_rows(run, run.noise)), "; ".join(reasons)


def run_pairs(conclusions: Conclusions) -> Rows:
    """Rows of the table of runs side by side, the header first."""
    header = ("metric", "left", "right", "at", "difference", "95% interval", "different")
    rows = tuple(
        (
            pair.metric,
            f"{pair.left} ({pair.left_checkpoint})",
            f"{pair.right} ({pair.right_checkpoint})",
            pair.at,
            units.points(known.difference, known.unit) if known else words.MISSING,
            units.points_interval(known.interval, known.unit) if known else words.MISSING,
            pair.differ,
        )
        for pair in conclusions.compared
        for known in (pair.comparison,)
    )
    return (header, *rows) if rows else ()


def flips_remark(embedded: Embedded) -> str:
    """What a reader must know of the list: what was left out, and where it stands."""
    sentences = [f"Without texts: {reason}." for reason in embedded.missing]
    if embedded.shown < embedded.flips:
        sentences.append(
            f"{words.count(embedded.shown)} of {words.count(embedded.flips)} flips are listed, "
            "an equal share of each checkpoint; summary.json and the sample files hold the rest."
        )
    if any(text[3] for _, texts in embedded.data["samples"] for text in texts):
        sentences.append(
            f"Fields longer than {words.count(embedded.field_chars)} characters are cut; "
            "the sample files hold them whole."
        )
    return " ".join(sentences)


def protocol_rows(results: Sequence[Result]) -> Rows:
    """Protocol, whether it is gated, dataset and coverage, each different row once."""
    rows = []
    for result in (r for s in _summaries(results) for c in s.checkpoints for r in c.benchmarks):
        data = result.dataset
        about = ", ".join(filter(None, [data.name, data.source, data.licence, data.hash]))
        role = "headline" if result.primary else "shown beside it"
        rows.append((result.protocol, role, about, phrases.coverage(result.coverage)))
    header = ("protocol", "role", "dataset", "coverage")
    return (header, *dict.fromkeys(rows)) if rows else ()


def checkpoint_rows(table: Overview) -> Rows:
    """Where each checkpoint comes from, the header first."""
    rows = [("checkpoint", "given as", "fingerprint", "settings", "read from")]
    for row in table.rows:
        known = row.measurement
        settings = phrases.settings(row.measured.settings if row.measured else known.facts)
        rows.append((row.label, known.spec, known.fingerprint, settings, known.source))
    return tuple(rows)


def environments(results: Sequence[Result]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """`(source, [(name, value), ...])` of each source."""
    for result in results:
        summary = result.summary
        facts = [("read from", str(result.path)), ("made by", result.origin)]
        if summary is not None:
            facts += [("run", summary.run_id), ("started", summary.started), ("gate", summary.gate)]
            facts += sorted(summary.environment.items())
        yield summary.run_id if summary else result.path.name, facts


def notes(results: Sequence[Result], conclusions: Conclusions) -> tuple[str, ...]:
    """What a reader must know, each once: of the conclusions, the sources and their runs."""
    found = list(conclusions.notes)
    for result in results:
        found += result.notes
        if result.summary is not None:
            found += [*result.summary.notes, *phrases.noise_notes(result.summary)]
    return tuple(dict.fromkeys(found))


def _summaries(results: Sequence[Result]) -> tuple[Summary, ...]:
    return tuple(result.summary for result in results if result.summary is not None)
