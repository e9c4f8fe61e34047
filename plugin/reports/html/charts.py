"""Charts as inline SVG, drawn with the page's own colours so that they follow its theme.

The runs of a chart differ in colour, dash and marker: none of them has to be told by colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from ..._util import text as words
from ..overview import interval_text, value_text
from ..plots.series import Bar, Curve, CurveChart

WIDTH, HEIGHT = 400, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 12, 38
Scale = Callable[[float], float]

STYLES = 6  # colours, dashes and markers that `style.css` and `_marker` know


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers that span `[low, high]`: multiples of 1, 2 or 5 times a power of ten."""
    span = max(high - low, 1e-9)
    rough = span / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = max(first + 1, math.ceil(high / step - 1e-9))
    return [round(i * step, 10) for i in range(first, last + 1)]


def curve_svg(chart: CurveChart, identity: str) -> str:
    """The learning curves of one metric: a band for the 95% intervals, a line, a marker a point.

    Args:
        identity: unique in the page; the title and the description are found by it.
    """
    return "".join(_curve_parts(chart, identity))


def bar_svg(bar: Bar, extent: tuple[float, float]) -> str:
    """One difference as a bar from zero with a whisker for its interval.

    It says nothing that the table it stands in does not say in words, so readers of screens are
    not told of it.

    Args:
        extent: the differences at the left and the right edge; zero lies within.
    """
    left, right = extent

    def at(value: float) -> float:
        return 4 + 192 * (value - left) / (right - left)

    figures = bar.comparison
    zero, end = at(0.0), at(figures.difference)
    kind = "lower" if figures.improvement < 0 else "higher"
    parts = [
        '<svg class="bar" viewBox="0 0 200 20" preserveAspectRatio="none" aria-hidden="true">',
        f'<rect class="{kind}" x="{min(zero, end):.1f}" y="5" '
        f'width="{abs(end - zero):.1f}" height="10"/>',
        f'<line class="zero" x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="20"/>',
    ]
    if figures.interval is not None:
        low, high = map(at, figures.interval)
        parts.append(
            f'<path class="whisker" d="M{low:.1f} 10H{high:.1f}M{low:.1f} 6V14M{high:.1f} 6V14"/>'
        )
    return "".join([*parts, "</svg>"])


def marker(style: int, x: float, y: float) -> str:
    """The shape that stands for a run: circle, square, triangle, diamond, cross, plus."""
    d = (
        f"M{x - 3.5:.1f} {y:.1f}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
        f"M{x - 3.2:.1f} {y - 3.2:.1f}h6.4v6.4h-6.4z",
        f"M{x:.1f} {y - 4.2:.1f}l4 7h-8z",
        f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        f"M{x - 3.2:.1f} {y - 3.2:.1f}l6.4 6.4m0 -6.4l-6.4 6.4",
        f"M{x - 4:.1f} {y:.1f}h8m-4 -4v8",
    )[style % STYLES]
    return f'<path class="marker" d="{d}"/>'


def number(value: float) -> str:
    """`14,800`, `0.5`."""
    return words.count(int(value)) if value == int(value) else f"{value:g}"


def legend_svg(style: int) -> str:
    """A run's line and marker, for the legend."""
    return (
        f'<svg class="key s{style % STYLES}" viewBox="0 0 34 12" aria-hidden="true">'
        f'<path class="line" d="M1 6H33"/>{marker(style, 17, 6)}</svg>'
    )


def described(chart: CurveChart) -> str:
    """What a reader who does not see the chart should know of it."""
    told = []
    for curve in chart.curves:
        first, last = curve.points[0], curve.points[-1]
        less = chart.higher_is_better is False
        best, word = (min, "lowest") if less else (max, "highest")
        top = best(curve.points, key=lambda point: point.value)
        told.append(
            f"{curve.run or 'The run'}: {value_text(first.value, chart.share)} at {first.name}, "
            f"{word} {value_text(top.value, chart.share)} at {top.name}, "
            f"{value_text(last.value, chart.share)} at {last.name}."
        )
    return " ".join(told)


def _curve_parts(chart: CurveChart, identity: str) -> Iterator[str]:
    points = [point for curve in chart.curves for point in curve.points]
    ends = [end for p in points for end in (p.value, *(p.interval or ()))]
    y_ticks = ticks(min(ends), max(ends), 6)
    places = [p.x for p in points]
    low_x, high_x = min(places), max(places)
    x_ticks = [t for t in ticks(low_x, high_x, 6) if low_x - 1e-9 <= t <= high_x + 1e-9]
    if chart.axis == "checkpoint":
        x_ticks = [t for t in x_ticks if t == int(t)]

    def across(x: float) -> float:
        share = (x - low_x) / (high_x - low_x) if high_x > low_x else 0.5
        return _LEFT + 6 + share * (WIDTH - _LEFT - _RIGHT - 12)

    def down(y: float) -> float:
        share = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    yield (
        f'<svg class="curves" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{identity}-title" aria-describedby="{identity}-desc">'
        f'<title id="{identity}-title">{escape(chart.title)}</title>'
        f'<desc id="{identity}-desc">{escape(described(chart))}</desc>'
    )
    scale, unit = (100, "%") if chart.share else (1, "")
    decimals = max(0, -math.floor(math.log10((y_ticks[1] - y_ticks[0]) * scale) + 1e-9))
    for tick in y_ticks:
        y = down(tick)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
        told = f"{tick * scale:,.{decimals}f}{unit}"
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="y">{told}</text>'
    for tick in x_ticks:
        y = HEIGHT - _BOTTOM + 16
        yield f'<text x="{across(tick):.1f}" y="{y}" class="x">{number(tick)}</text>'
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    yield f'<text x="{middle:.0f}" y="{HEIGHT - 5}" class="x axis">{chart.axis}</text>'
    for style, curve in enumerate(chart.curves):
        yield f'<g class="s{style % STYLES}">'
        yield from _bands(curve, across, down)
        line = "L".join(f"{across(p.x):.1f} {down(p.value):.1f}" for p in curve.points)
        yield f'<path class="line" d="M{line}"/>'
        for point in curve.points:
            told = f"{point.name}: {value_text(point.value, chart.share)} "
            told += interval_text(point.interval, chart.share) if point.interval else ""
            shape = marker(style, across(point.x), down(point.value))
            yield f"<g><title>{escape(told.strip())}</title>{shape}</g>"
        yield "</g>"
    yield "</svg>"


def _bands(curve: Curve, across: Scale, down: Scale) -> Iterator[str]:
    """A band over each stretch of neighbouring points that have intervals."""
    stretch: list[tuple[float, float, float]] = []
    for point in (*curve.points, None):
        if point is not None and point.interval is not None:
            stretch.append((point.x, *point.interval))
        elif stretch:
            yield _band(stretch, across, down)
            stretch = []


def _band(stretch: Sequence[tuple[float, float, float]], across: Scale, down: Scale) -> str:
    upper = [f"{across(x):.1f} {down(high):.1f}" for x, _, high in stretch]
    lower = [f"{across(x):.1f} {down(low):.1f}" for x, low, _ in reversed(stretch)]
    if len(stretch) == 1:
        return f'<path class="whisker" d="M{upper[0]}L{lower[0]}"/>'
    return f'<path class="band" d="M{"L".join(upper + lower)}Z"/>'
