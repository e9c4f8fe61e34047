"""Putting the page together: template, style, script and data in one file.

The page's own policy forbids every request and every script but its own, which it names by hash:
were a sample's text to end up as markup, it could still do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec
from typing import Any

from ..._util import text as words
from ..._util.errors import CkptbenchError
from ...analysis.conclusions import Conclusions
from ...readers.result import Result
from ..flips import flip_groups
from ..overview import NOISE_LEGEND, mismatch_rows, overview
from ..plots.figures import Drawing, drawings
from ..plots.series import BarChart, CurveChart, charts
from . import content
from .flips_json import ROWS, embedded_flips, script_json

SHOWN_FIRST = 6  # sentences, and tables of differences, that are not folded


def html_report(
    results: Sequence[Result],
    conclusions: Conclusions,
    drawn: Sequence[Drawing] | None = None,
) -> str:
    """The whole page.

    Args:
        drawn: the charts, as they stand in the plot files; None to draw them.

    Raises:
        CkptbenchError: jinja2 or matplotlib is not installed.
    """
    template = _template()
    table = overview(results, conclusions)
    if drawn is None:
        drawn = drawings(*charts(results, conclusions))
    flips = embedded_flips(flip_groups(results, conclusions, ROWS))
    theme, script = _resource("theme.js"), _resource("script.js")
    composites = [(row.measurement.composite, row.measurement.weights) for row in table.rows]
    weights = next((how for made, how in composites if made and made.metric in table.metrics), {})
    page: str = template.render(
        title=_title(results),
        shown_first=SHOWN_FIRST,
        policy=_policy(theme, script),
        style=_resource("style.css"),
        theme=theme,
        script=script,
        banners=content.banners(results),
        sentences=conclusions.sentences,
        runs=[(run.run, content.run_details(run)) for run in conclusions.runs],
        facts=content.fact_columns(table.rows),
        table=table,
        weights=weights,
        curves=content.figures(drawn, CurveChart),
        noise=list(content.noise_tables(conclusions)),
        noise_legend=NOISE_LEGEND,
        bars=content.figures(drawn, BarChart),
        pairs=content.run_pairs(conclusions),
        mismatches=mismatch_rows(conclusions),
        flips=flips,
        flips_json=script_json(flips.data),
        flips_remark=content.flips_remark(flips),
        protocols=content.protocol_rows(results),
        checkpoints=content.checkpoint_rows(table),
        environments=list(content.environments(results)),
        notes=content.notes(results, conclusions),
    )
    return page


def _title(results: Sequence[Result]) -> str:
    names = [r.summary.run_id if r.summary else r.path.name for r in results]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _template() -> Any:
    if find_spec("jinja2") is None:
        raise CkptbenchError(
            "the HTML report needs jinja2, which is not installed",
            where="report html",
            remedy="Install it with: pip install 'ckptbench[report]'",
        )
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(count=words.count, number=content.number, remark=content.remark)
    environment.globals.update(formula=words.formula, zip=zip, level_words=content.LEVEL_WORDS)
    return environment.from_string(_resource("page.html.j2"))


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'"
        for s in scripts
    )
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src {hashes}; base-uri 'none'; form-action 'none'"
    )
