"""The charts of the plot files inside the page: in its colours, with a title for every point."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from ..plots.figures import COLOURS, Drawing
from ..plots.series import CurveChart
from .captions import description, point_title

# The page's own colours, which follow its theme, for those of the files; see `style.css`.
_COLOURS = {
    **{colour.lower(): f"var(--s{index})" for index, colour in enumerate(COLOURS)},
    "#ffffff": "var(--card)",
    "#cccccc": "var(--rule)",
    "#b0b0b0": "var(--soft)",
    "#000000": "var(--soft)",
    "#222222": "var(--ink)",
}
_TAG = re.compile(r"<[^>]*>")
_IDENTITY = re.compile(r'(\bid="|href="#|url\(#)')
# A marker of a curve is drawn in one colour, filled; bands have no stroke, and ticks no fill.
_MARKER = re.compile(r'<use [^>]*style="fill: (#\w{6}); stroke: \1[^>]*>')


def embedded_svg(drawing: Drawing) -> str:
    """A drawing as an element of the page.

    Learning curves have a title, a description and a title for each point; bars are hidden from
    screen readers, as the table beside them holds the same. Every id begins with the drawing's
    name, which is unique in the page.
    """
    chart, svg, identity = drawing.chart, drawing.svg, drawing.name
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    body = svg[svg.index("<g ") :]  # without the declaration, metadata and style sheet of a file
    if not isinstance(chart, CurveChart):
        head = f'<svg class="chart" {box[0]} aria-hidden="true">'
        return head + _TAG.sub(lambda tag: _in_page(tag[0], identity), body)
    # The legend's markers come after the points.
    titles = (point_title(chart, point) for curve in chart.curves for point in curve.points)
    shown = _TAG.sub(lambda tag: _titled(_in_page(tag[0], identity), tag[0], titles), body)
    return (
        f'<svg class="chart curves" {box[0]} role="img" aria-labelledby="{identity}-title" '
        f'aria-describedby="{identity}-desc"><title id="{identity}-title">{escape(chart.title)}'
        f'</title><desc id="{identity}-desc">{escape(description(chart))}</desc>{shown}'
    )


def _in_page(tag: str, identity: str) -> str:
    """A tag of a file's SVG with ids of its own and the page's colours."""
    tag = _IDENTITY.sub(rf"\g<1>{identity}-", tag.replace("xlink:href", "href"))
    return re.sub(r"#\w{6}(?=[;\"])", lambda colour: _COLOURS.get(colour[0], colour[0]), tag)


def _titled(shown: str, original: str, titles: Iterator[str]) -> str:
    """A marker with the next title around it; any other tag as it is."""
    title = next(titles, None) if _MARKER.match(original) else None
    return shown if title is None else f"<g><title>{escape(title)}</title>{shown}</g>"
