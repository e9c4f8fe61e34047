"""The charts as SVG and PNG, by matplotlib.

The same data give the same bytes: no date, no random names of clip paths. SVG keeps its text as
text, so that it can be searched and is drawn in the reader's own fonts.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._util import language
from ..._util.atomic import atomic_writer
from ..._util.errors import require_packages
from ..._util.language import tr
from ...gate import units
from ...results.layout import safe_name
from .. import INSTALL
from .series import BarChart, Chart, CurveChart, Point, charts

if TYPE_CHECKING:
    from ...analysis.conclusions import Conclusions
    from ...gate.planning import PlanRow, Shares, Target
    from ...readers.result import Result

# Okabe and Ito's colours, the dark ones: readers who do not see all colours can distinguish them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A7500", "#555555")
DASHES = ("-", "--", ":", "-.", (0, (8, 3)), (0, (3, 3)))
_MARKERS = ("o", "s", "^", "D", "x", "+")
_DARK = "#222222"
_MARGIN = 0.05  # of the values' range, at each end of an axis
# Points of a plan's curves for each factor of ten, from ten samples on.
_STEPS = 24
_DECADES = 7
# The first installed one is used where the default font has no glyphs.
_KOREAN = ("Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Malgun Gothic", "AppleGothic")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, drawn; `name` is that of its files, without a suffix."""

    chart: Chart
    name: str
    svg: str
    png: bytes


def drawings(curves: Sequence[CurveChart], bars: Sequence[BarChart]) -> tuple[Drawing, ...]:
    """Every chart drawn once, for its files and for the HTML page.

    Raises:
        CkptbenchError: matplotlib is not installed.
    """
    found: dict[str, Drawing] = {}
    y, x = _limits(curves), _limits(bars)
    with matplotlib_set():
        for curve in curves:
            name = safe_name(f"{curve.metric}-by-{curve.axis}".replace("@", "_at_"))
            found[name] = Drawing(curve, name, *_drawn(curve_figure(curve, y.get(curve.unit))))
        for index, bar in enumerate(bars):
            same = sum(other.metric == bar.metric for other in bars[:index])
            ending = f"-{same + 1}" if same else ""
            name = safe_name(f"{bar.metric}-difference{ending}".replace("@", "_at_"))
            found[name] = Drawing(bar, name, *_drawn(bar_figure(bar, x.get(bar.unit))))
    return tuple(found.values())


def drawn_charts(results: Sequence[Result], conclusions: Conclusions) -> tuple[Drawing, ...]:
    """Every chart of a report; its PNG is English where no font draws the reader's language.

    Raises:
        CkptbenchError: matplotlib is not installed.
    """
    found = drawings(*charts(results, conclusions))
    if can_be_drawn():
        return found
    with language.spoken(language.ENGLISH):
        english = drawings(*charts(results, conclusions))
    return tuple(replace(a, png=b.png) for a, b in zip(found, english, strict=True))


def can_be_drawn() -> bool:
    """Whether PNG can show the language that is spoken; SVG is drawn in the reader's own fonts."""
    return language.is_english() or bool(_korean_fonts())


def _korean_fonts() -> list[str]:
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return [name for name in _KOREAN if name in installed]


def _limits(charts: Sequence[Chart]) -> dict[str, tuple[float, float]]:
    """The ends of the axis that all charts of a unit share; not of a unit that is not known."""
    values: dict[str, list[float]] = {}
    for chart in charts:
        values.setdefault(chart.unit, []).extend(chart.values)
    limits = {}
    for unit, found in values.items():
        low, high = min(found), max(found)
        if unit and low < high:
            limits[unit] = (low - _MARGIN * (high - low), high + _MARGIN * (high - low))
    return limits


def write_drawings(folder: Path, drawn: Sequence[Drawing]) -> tuple[Path, ...]:
    """Write every drawing as `NAME.svg` and `NAME.png`.

    Raises:
        CkptbenchError: a file cannot be written.
    """
    contents: dict[Path, str | bytes] = {}
    for each in drawn:
        contents |= {folder / f"{each.name}.svg": each.svg, folder / f"{each.name}.png": each.png}
    for path, content in contents.items():
        _write(path, content)
    return tuple(contents)


def _write(path: Path, content: str | bytes) -> None:
    with atomic_writer(path) as file:
        file.buffer.write(content.encode() if isinstance(content, str) else content)


def write_plan(
    path: Path, title: str, target: Target, rows: Sequence[PlanRow], known: Shares | None
) -> None:
    """Write the chart of a plan as SVG, or as PNG where the path ends in `.png`.

    Args:
        title: what is compared.
        rows: a curve for each, up to three times the samples that are needed or available.
        known: the baseline, if there is one.

    Raises:
        CkptbenchError: matplotlib is not installed, or the file cannot be written.
    """
    with matplotlib_set():
        text, image = _drawn(plan_figure(title, target, rows, known))
    _write(path, image if path.suffix == ".png" else text)


def curve_figure(chart: CurveChart, limits: tuple[float, float] | None = None) -> Any:
    """A matplotlib figure of the learning curves with their 95% bands, shares in per cent.

    Args:
        limits: the ends of the y axis, in the unit of the values; None for those that fit.
    """
    scale = 100 if chart.unit == "share" else 1
    figure, axes = _subplots(4.2, chart.metric)
    for index, curve in enumerate(chart.curves):
        style = index % len(COLOURS)
        axes.plot(
            [point.x for point in curve.points],
            [point.value * scale for point in curve.points],
            color=COLOURS[style],
            linestyle=DASHES[style],
            marker=_MARKERS[style],
            label=plain(curve.run or tr("unnamed run")),
        )
        for known, points in groupby(curve.points, lambda point: point.interval is not None):
            if known:
                _draw_intervals(axes, list(points), scale, COLOURS[style])
    if chart.baseline is not None:
        name = tr("baseline, {value}", value=units.value(chart.baseline, chart.unit))
        axes.axhline(chart.baseline * scale, color=_DARK, linestyle="--", linewidth=1, label=name)
    if limits is not None:
        axes.set_ylim(*(end * scale for end in limits))
    axes.set_xlabel(tr(chart.axis))
    label = tr("lower is better") if chart.higher_is_better is False else tr("score")
    label = tr("score, %") if chart.unit == "share" else label
    axes.set_ylabel(tr("{label} (bands: 95% intervals)", label=label))
    axes.grid(alpha=0.3)
    if len(chart.curves) > 1 or chart.baseline is not None:
        axes.legend()
    return figure


def _draw_intervals(axes: Any, points: Sequence[Point], scale: int, colour: str) -> None:
    """A band over neighbouring points; a line where only one has an interval."""
    x = [point.x for point in points]
    ends = [[end * scale for end in point.interval or ()] for point in points]
    low, high = zip(*ends, strict=True)
    if len(x) == 1:
        axes.vlines(x, low, high, color=colour, linewidth=1.2)
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def bar_figure(chart: BarChart, limits: tuple[float, float] | None = None) -> Any:
    """A matplotlib figure of the differences with their 95% intervals, in the metric's unit.

    Args:
        limits: the ends of the x axis, in the metric's unit; None for those that fit.
    """
    figure, axes = _subplots(1.4 + 0.34 * len(chart.bars), chart.title, wrap=True)
    unit = chart.unit
    scale = 100 if unit == "share" else 1
    for index, bar in enumerate(chart.bars):
        figures = bar.comparison
        colour = COLOURS[0] if figures.improvement >= 0 else COLOURS[1]
        axes.barh(index, figures.difference * scale, color=colour, alpha=0.75, height=0.6)
        if figures.interval is not None:
            ends = [end * scale for end in figures.interval]
            axes.plot(ends, [index, index], color=_DARK, marker="|", linewidth=1.2)
    names = [plain(f"{bar.name} ({tr(bar.conclusion)})") for bar in chart.bars]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color=_DARK, linewidth=0.8)
    if limits is not None:
        axes.set_xlim(*(end * scale for end in limits))
    unit_name = units.size(0.0, unit).partition(" ")[2]
    what = ", ".join(filter(None, [tr("difference"), unit_name]))
    axes.set_xlabel(tr("{label} (lines: 95% intervals)", label=what))
    axes.grid(axis="x", alpha=0.3)
    return figure


def plan_figure(title: str, target: Target, rows: Sequence[PlanRow], known: Shares | None) -> Any:
    """A matplotlib figure of the smallest drop that is found, by the number of samples."""
    from matplotlib.ticker import FuncFormatter

    from ...gate.planning import mde_curve

    figure, axes = _subplots(4.2, title)
    needed = [row.needed for row in rows if row.needed is not None]
    last = 3 * max([100, *needed, *([known.n] if known else [])])
    ns = [round(10 ** (1 + step / _STEPS)) for step in range(_STEPS * _DECADES)]
    ns = [n for n in ns if n <= last]
    for index, row in enumerate(rows):
        drops = mde_curve(target, row.assumed, ns, known)
        points = [(n, drop * 100) for n, drop in zip(ns, drops, strict=True) if drop is not None]
        axes.plot(
            [n for n, _ in points],
            [drop for _, drop in points],
            color=COLOURS[index % len(COLOURS)],
            linestyle=DASHES[index % len(COLOURS)],
            label=plain(
                f"{100 * row.assumed:.3g}% flips" + (f" ({row.source})" if row.source else "")
            ),
        )
    axes.axhline(target.drop * 100, color=_DARK, linewidth=0.8)
    if known:
        axes.axvline(known.n, color=_DARK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        axis(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:g}"[0] in "125" else ""))
    axes.set_xlabel("samples" + (f" (dotted: {known.n:,})" if known else ""))
    axes.set_ylabel(f"true drop found with {target.power:.0%} power, pp")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    return figure


def _subplots(height: float, title: str, *, wrap: bool = False) -> tuple[Any, Any]:
    """A figure, its height in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(plain(title), wrap=wrap)
    return figure, axes


def check_matplotlib(where: str) -> None:
    """Refuse a plot before anything is computed.

    Raises:
        CkptbenchError: matplotlib is not installed.
    """
    require_packages(["matplotlib"], "a plot", where=where, remedy=INSTALL)


@contextmanager
def matplotlib_set() -> Iterator[None]:
    """matplotlib set to draw the same thing everywhere, whatever the user's own settings."""
    check_matplotlib("report plots")
    import matplotlib

    fonts = ["DejaVu Sans", *_korean_fonts()]
    ours: dict[Any, object] = {
        "svg.hashsalt": "ckptbench",
        "svg.fonttype": "none",
        "font.family": fonts,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Without a font for a name's script, PNG shows boxes; SVG keeps its text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(ours)
        yield


def _drawn(figure: Any) -> tuple[str, bytes]:
    text, image = io.StringIO(), io.BytesIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "ckptbench"})
    figure.savefig(image, format="png", dpi=150, metadata={"Software": "ckptbench"})
    # matplotlib writes spaces at the ends of some lines, which editors would remove.
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n")), image.getvalue()


def plain(text: str) -> str:
    """Foreign text as matplotlib shows it literally: no formula, and no label that it hides."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
