"""The HTML report, one file: the values that the template shows.

The page's content security policy forbids every request and every script and style sheet but its
own, which it names by hash, so that a sample's text could do no harm even if it became markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from ..._util import text as words
from ..._util.errors import require_packages
from ..._util.language import is_english, stored, tr, translation
from ...analysis.conclusions import Conclusions, RunConclusions
from ...gate import units
from ...readers.result import Result
from .. import INSTALL, phrases
from ..conclusion import Level, summaries_of
from ..flips import flip_groups
from ..overview import (
    NOISE_LEGEND,
    CheckpointRow,
    Overview,
    mismatch_rows,
    noise_rows,
    overview,
)
from ..plots.figures import Drawing, can_be_drawn
from ..plots.series import BarChart, Chart, CurveChart
from ..rows import MetricRow, checkpoint_rows, not_gated
from .charts import embedded_svg
from .flips_json import ROWS, Embedded, embedded_flips, script_json
from .heading import about, decisions, from_to, recommended, title

SHOWN_FIRST = 6  # sentences, and tables of differences, that are not folded
METRICS_A_TABLE = 6  # a wider table would have to be scrolled sideways
SHORT = 28  # characters of a name that is not broken between lines
LEVEL_WORDS: Mapping[Level, str] = {
    "plain": "Concluded",
    "good": "Passed",
    "warning": "Needs a look",
    "bad": "Failed",
}
# A message of the script: `tr("{n} flips", ...)`.
SAID = re.compile(r'\btr\("([^"]*)"')
Rows = tuple[tuple[str, ...], ...]


def html_report(
    results: Sequence[Result], conclusions: Conclusions, drawn: Sequence[Drawing]
) -> str:
    """The whole page; `drawn` are the charts of the plot files.

    Raises:
        CkptbenchError: jinja2 is not installed.
    """
    template = _template("page.html.j2")
    table = overview(results, conclusions)
    decided = decisions(results, conclusions)
    spoken = {decision.text for decision, _ in decided}
    flips = embedded_flips(flip_groups(results, conclusions, ROWS))
    theme, script = _resource("theme.js"), _resource("script.js")
    style = _resource("style.css")
    composites = [(row.measurement.composite, row.measurement.weights) for row in table.rows]
    weights = next((how for made, how in composites if made and made.metric in table.metrics), {})
    page: str = template.render(
        title=title(results, conclusions, table),
        about=about(results, table),
        shown_first=SHOWN_FIRST,
        metrics_a_table=METRICS_A_TABLE,
        short=SHORT,
        policy=_policy([theme, script], style),
        style=style,
        theme=theme,
        script=script,
        decisions=decided,
        recommended=list(recommended(table)),
        sentences=[each for each in conclusions.sentences if each not in spoken],
        messages=json.dumps(_messages_of(script), ensure_ascii=False),
        runs=[(run.run, _run_details(run)) for run in conclusions.runs],
        facts=(facts := _fact_columns(table.rows)),
        fact_columns=[(name, "") for name in facts],
        table=table,
        columns=list(_columns(table)),
        protocol_tables=list(_protocol_tables(table)),
        weights=weights,
        curves=_figures(drawn, CurveChart),
        with_baseline=any(getattr(each.chart, "baseline", None) is not None for each in drawn),
        english_png=bool(drawn) and not can_be_drawn(),
        noise=list(_noise_tables(conclusions)),
        noise_legend=NOISE_LEGEND,
        bars=_figures(drawn, BarChart),
        pairs=_run_pairs(conclusions),
        mismatches=mismatch_rows(conclusions),
        flips=flips,
        flips_json=script_json(flips.data),
        flips_remark=_flips_remark(flips),
        protocols=_protocol_rows(results),
        checkpoints=_checkpoint_rows(table),
        environments=list(_environments(results)),
        verdict_titles=(tr("conclusion"), tr("verdict")),
        notes=_notes(results, conclusions),
    )
    return page


def _columns(table: Overview) -> Iterator[tuple[str, str]]:
    """Each metric, and what its column is of: `real/whole-word, n = 232, lower is better`."""
    for index, metric in enumerate(table.metrics):
        cells = [row.cells[index] for row in table.rows]
        owners = [row.measurement.owner_of(metric) for row in table.rows]
        protocols = dict.fromkeys(bench.protocol for bench in owners if bench and bench.protocol)
        ns = {cell.score.n for cell in cells if cell.score.n}
        n = from_to(list(map(words.count, sorted(ns))))
        lower = tr("lower is better") if any(cell.less_is_better for cell in cells) else ""
        yield metric, ", ".join(filter(None, [*protocols, f"n = {n}" if n else "", lower]))


def _protocol_tables(table: Overview) -> Iterator[tuple[str, Rows]]:
    """`(checkpoint, rows with the header first)`: every metric of every protocol, with its n."""
    for row in table.rows:
        labelled = list(_metric_rows(row))
        compared = any(each.word for _, each in labelled)
        header: tuple[str, ...] = (tr("protocol"), tr("metric"), tr("score"), tr("n"))
        if compared:
            header += (tr("baseline"), tr("difference"), tr("MDE"), tr("p worse, Holm"))
            header += (tr("verdict"),)
        rows = []
        for label, each in labelled:
            interval = each.interval if each.score.interval else ""
            cells: tuple[str, ...] = (label, each.label, _whole(each.value, interval), each.n)
            if compared:
                known = each.comparison is not None and each.comparison.interval is not None
                change = _whole(each.difference, each.difference_interval if known else "")
                cells += (
                    each.baseline,
                    change,
                    _whole(each.mde),
                    _whole(each.p),
                    each.word if each.gated or not each.word else f"{each.word} (not gated)",
                )
            rows.append(cells)
        if rows:
            yield row.label, (header, *rows)


def _whole(*parts: str) -> str:
    """Parts that a line break may divide only from one another."""
    return " ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts if part)


def _metric_rows(row: CheckpointRow) -> Iterator[tuple[str, MetricRow]]:
    if row.measured is not None:
        for label, each in checkpoint_rows(row.measured):
            yield label, replace(each, gated=each.gated and not label.endswith(not_gated("")))
        return
    for bench in row.measurement.benchmarks:
        label = bench.protocol or bench.benchmark
        label = label if bench.primary else not_gated(label)
        yield from ((label, MetricRow(score.metric, score)) for score in bench.scores)


def runs_page(
    title: str, headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """The runs of a folder as a page that `ckptbench view` serves; it asks whether it is current.

    Args:
        rows: the address of a run's report, empty where there is none, and a cell for each heading.

    Raises:
        CkptbenchError: jinja2 is not installed.
    """
    template = _template("runs.html.j2")
    theme, script, style = map(_resource, ("theme.js", "runs.js", "style.css"))
    page: str = template.render(
        title=title,
        headings=headings,
        rows=rows,
        state=hashlib.sha256(repr(rows).encode()).hexdigest(),
        policy=f"{_policy([theme, script], style)}; connect-src 'self'",
        style=style,
        theme=theme,
        script=script,
    )
    return page


def _messages_of(script: str) -> dict[str, str]:
    """What the page's script says, where it is not said in English."""
    if is_english():
        return {}
    return {message: translation(message) for message in SAID.findall(script)}


def _template(name: str) -> Any:
    require_packages(["jinja2"], "the HTML report", where="report html", remedy=INSTALL)
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(count=words.count, number=_number)
    level_words = {level: tr(word) for level, word in LEVEL_WORDS.items()}
    environment.globals.update(formula=words.formula, zip=zip, level_words=level_words)
    environment.globals.update(tr=tr, stored=stored, lang=tr("en"))
    return environment.from_string(_resource(name))


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str], style: str) -> str:
    # The charts have `style` attributes. `style-src` is for browsers without its two parts.
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"style-src-elem {_hash(style)}; style-src-attr 'unsafe-inline'; img-src data:; "
        f"script-src {' '.join(map(_hash, scripts))}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _fact_columns(rows: Sequence[CheckpointRow]) -> dict[str, tuple[float | int | None, ...]]:
    """Epoch, step and, where checkpoints differ in it, sequence length: columns with a value."""
    sequence = tr("sequence")
    names = {tr("epoch"): "epoch", tr("step"): "step", sequence: "seq_len"}
    facts: dict[str, tuple[float | int | None, ...]] = {
        title: tuple(getattr(row.measurement, name) for row in rows)
        for title, name in names.items()
    }
    if len(set(facts[sequence])) == 1:  # it is among the settings at the end of the page
        del facts[sequence]
    return {n: values for n, values in facts.items() if any(v is not None for v in values)}


def _number(value: float | None) -> str:
    if value is None:
        return words.MISSING
    return words.count(int(value)) if value == int(value) else f"{value:g}"


def _figures(drawn: Sequence[Drawing], kind: type[Chart]) -> tuple[tuple[str, str, Rows], ...]:
    """`(title, drawing, rows of its values, the header first)` of each chart of a kind."""
    return tuple(
        (each.chart.title, embedded_svg(each), tuple(_chart_rows(each.chart)))
        for each in drawn
        if isinstance(each.chart, kind)
    )


def _chart_rows(chart: Chart) -> Iterator[tuple[str, ...]]:
    if isinstance(chart, BarChart):
        header = (tr("checkpoint"), tr("difference"), tr("95% interval"), "p", tr("conclusion"))
        yield header
        for bar in chart.bars:
            known, p = bar.comparison, bar.p_value
            interval = units.points_interval(known.interval, known.unit)
            probability = words.MISSING if p is None else words.p_value(p)
            difference = units.points(known.difference, known.unit)
            yield bar.name, difference, interval, probability, bar.conclusion
        return
    yield tr("checkpoint"), tr(chart.axis), tr("score"), tr("95% interval")
    for curve in chart.curves:
        run = f"{curve.run}/" if len(chart.curves) > 1 and curve.run else ""
        for point in curve.points:
            interval = units.value_interval(point.interval, chart.unit)
            value = units.value(point.value, chart.unit)
            yield f"{run}{point.name}", _number(point.x), value, interval


def _run_details(run: RunConclusions) -> tuple[str, ...]:
    details = [*(each.detail for each in run.best), *(each.detail for each in run.peaks)]
    return tuple(filter(None, [*details, run.stopping.detail if run.stopping else ""]))


def _noise_tables(conclusions: Conclusions) -> Iterator[tuple[str, Rows, str]]:
    """`(run, rows with the header first, why there is no noise)` of each run with curves."""
    for run in conclusions.runs:
        if len(run.measurements) > 1 and run.noise:
            reasons = dict.fromkeys(each.reason for each in run.noise if each.step is None)
            shown = "; ".join(map(stored, reasons))
            yield run.run, tuple(noise_rows(run, run.noise)), shown


def _run_pairs(conclusions: Conclusions) -> Rows:
    header: tuple[str, ...] = (tr("metric"), tr("left"), tr("right"), tr("at"), tr("difference"))
    header += (tr("95% interval"), tr("different"))
    rows = tuple(
        (
            pair.metric,
            f"{pair.left} ({pair.left_checkpoint})",
            f"{pair.right} ({pair.right_checkpoint})",
            stored(pair.at),
            units.points(known.difference, known.unit) if known else words.MISSING,
            units.points_interval(known.interval, known.unit) if known else words.MISSING,
            tr(pair.differ),
        )
        for pair in conclusions.compared
        for known in (pair.comparison,)
    )
    return (header, *rows) if rows else ()


def _flips_remark(embedded: Embedded) -> str:
    sentences = [tr("Without texts: {reason}.", reason=reason) for reason in embedded.missing]
    notes = map(stored, embedded.notes)
    sentences += [f"{note[:1].upper()}{note[1:]}." for note in notes]
    if embedded.shown < embedded.flips:
        sentences.append(
            tr(
                "{n} of {of} flips are listed, an equal share of each checkpoint; the rest is in "
                "summary.json and the sample files.",
                n=words.count(embedded.shown),
                of=words.count(embedded.flips),
            )
        )
    if any(text[3] for _, texts in embedded.data["samples"] for text in texts):
        sentences.append(
            tr(
                "Fields longer than {n} characters are cut; the sample files have their full text.",
                n=words.count(embedded.field_chars),
            )
        )
    return " ".join(sentences)


def _protocol_rows(results: Sequence[Result]) -> Rows:
    """Protocol, whether it is gated, dataset and coverage, each different row once."""
    rows = []
    for result in (r for s in summaries_of(results) for c in s.checkpoints for r in c.benchmarks):
        data = result.dataset
        about = ", ".join(filter(None, [data.name, data.source, data.licence, data.hash]))
        role = tr("headline") if result.primary else tr("shown in addition")
        rows.append((result.protocol, role, about, phrases.coverage(result.coverage)))
    header = (tr("protocol"), tr("role"), tr("dataset"), tr("coverage"))
    return (header, *dict.fromkeys(rows)) if rows else ()


def _checkpoint_rows(table: Overview) -> Rows:
    """Where each checkpoint comes from, the header first."""
    titles = (tr("checkpoint"), tr("given as"), tr("fingerprint"), tr("settings"), tr("cost"))
    rows = [(*titles, tr("read from"))]
    for row in table.rows:
        known = row.measurement
        settings = phrases.settings(row.measured.settings if row.measured else known.facts)
        cost = phrases.bill(row.measured) if row.measured else ""
        rows.append((row.label, known.spec, known.fingerprint, settings, cost, known.source))
    return tuple(rows)


def _environments(results: Sequence[Result]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """`(source, [(name, value), ...])` of each source."""
    for result in results:
        summary = result.summary
        facts = [(tr("read from"), str(result.path)), (tr("made by"), result.origin)]
        if summary is not None:
            facts += [(tr("run"), summary.run_id), (tr("started"), summary.started)]
            facts += [(tr("gate"), summary.gate)]
            facts += sorted(summary.environment.items())
        yield summary.run_id if summary else result.path.name, facts


def _notes(results: Sequence[Result], conclusions: Conclusions) -> tuple[str, ...]:
    found = list(conclusions.notes)
    for result in results:
        found += result.notes
        for summary in summaries_of([result]):
            found += [*summary.notes, *phrases.noise_notes(summary)]
    return tuple(dict.fromkeys(map(stored, found)))
