"""The charts as SVG and PNG files, by matplotlib.

The same data give the same bytes: no date, no random names of clip paths. SVG keeps its text as
text, so that it can be searched and is drawn in the reader's own fonts.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..._util.atomic import atomic_write_bytes, atomic_write_text
from ..._util.errors import CkptbenchError
from ...results.layout import safe_name
from .series import BarChart, CurveChart

# Okabe and Ito's colours, the dark ones: told apart by readers who do not see all colours.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A7500", "#555555")
DASHES = ("-", "--", ":", "-.", (0, (8, 3)), (0, (3, 3)))
_MARKERS = ("o", "s", "^", "D", "x", "+")
# The first that is installed draws what the default font has no glyphs for.
_KOREAN = ("Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Malgun Gothic", "AppleGothic")


def write_plots(
    folder: Path, curves: Sequence[CurveChart], bars: Sequence[BarChart]
) -> tuple[Path, ...]:
    """Write every chart as `NAME.svg` and `NAME.png`.

    Raises:
        CkptbenchError: matplotlib is not installed, or a file cannot be written.
    """
    paths: list[Path] = []
    with matplotlib_set():
        for curve in curves:
            name = safe_name(f"{curve.metric}-by-{curve.axis}".replace("@", "_at_"))
            paths += _save(folder / name, curve_figure(curve))
        for place, bar in enumerate(bars):
            same = [b for b in bars[:place] if b.metric == bar.metric]
            ending = f"-{len(same) + 1}" if same else ""
            name = safe_name(f"{bar.metric}-difference{ending}".replace("@", "_at_"))
            paths += _save(folder / name, bar_figure(bar))
    return tuple(paths)


def curve_figure(chart: CurveChart) -> Any:
    """A matplotlib figure of the learning curves with their 95% bands, shares in per cent."""
    from matplotlib.figure import Figure

    scale = 100 if chart.share else 1
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for place, curve in enumerate(chart.curves):
        style = place % len(COLOURS)
        points = curve.points
        axes.plot(
            [point.x for point in points],
            [point.value * scale for point in points],
            color=COLOURS[style],
            linestyle=DASHES[style],
            marker=_MARKERS[style],
            label=plain(curve.run or "unnamed run"),
        )
        known = [(point.x, *point.interval) for point in points if point.interval is not None]
        if known:
            x, low, high = zip(*known, strict=True)
            below, above = [v * scale for v in low], [v * scale for v in high]
            axes.fill_between(x, below, above, color=COLOURS[style], alpha=0.15, linewidth=0)
    axes.set_title(plain(chart.metric))
    axes.set_xlabel(chart.axis)
    unit = "score, %" if chart.share else "lower is better"
    axes.set_ylabel(f"{unit} (bands: 95% intervals)")
    axes.grid(alpha=0.3)
    if len(chart.curves) > 1:
        axes.legend()
    return figure


def bar_figure(chart: BarChart) -> Any:
    """A matplotlib figure of the differences with their 95% intervals, in percentage points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1.4 + 0.34 * len(chart.bars)), layout="constrained")
    axes = figure.subplots()
    for place, bar in enumerate(chart.bars):
        figures = bar.comparison
        difference = figures.difference * 100
        colour = COLOURS[0] if difference >= 0 else COLOURS[1]
        axes.barh(place, difference, color=colour, alpha=0.75, height=0.6)
        if figures.interval is not None:
            low, high = (end * 100 for end in figures.interval)
            axes.plot([low, high], [place, place], color="#222222", marker="|", linewidth=1.2)
    names = [plain(f"{bar.name} ({bar.told})") for bar in chart.bars]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_title(plain(f"{chart.metric}: difference from {chart.against}"), wrap=True)
    axes.set_xlabel("difference, pp (lines: 95% intervals)")
    axes.grid(axis="x", alpha=0.3)
    return figure


def check_matplotlib(where: str) -> None:
    """Refuse a plot that cannot be drawn, before anything is computed.

    Raises:
        CkptbenchError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise _missing(where)


def _missing(where: str) -> CkptbenchError:
    return CkptbenchError(
        "the plots need matplotlib, which is not installed",
        where=where,
        remedy="Install it with: pip install 'ckptbench[report]'",
    )


@contextmanager
def matplotlib_set() -> Iterator[None]:
    """matplotlib set to draw the same thing everywhere, whatever the user's own settings say."""
    try:
        import matplotlib
        from matplotlib import font_manager
    except ImportError as error:
        raise _missing("report plots") from error
    installed = set(font_manager.get_font_names())
    fonts = ["DejaVu Sans", *(name for name in _KOREAN if name in installed)]
    ours: dict[Any, object] = {
        "svg.hashsalt": "ckptbench",
        "svg.fonttype": "none",
        "font.family": fonts,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A name whose script no installed font has is drawn as boxes in PNG; SVG keeps its text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(ours)
        yield


def _save(path: Path, figure: Any) -> list[Path]:
    svg, png = path.with_name(f"{path.name}.svg"), path.with_name(f"{path.name}.png")
    text, image = drawn(figure)
    atomic_write_text(svg, text)
    atomic_write_bytes(png, image)
    return [svg, png]


def drawn(figure: Any) -> tuple[str, bytes]:
    """A figure as SVG and as PNG."""
    text, image = io.StringIO(), io.BytesIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    # matplotlib leaves blanks at the ends of some lines, which editors would change.
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n")), image.getvalue()


def plain(text: str) -> str:
    """Somebody's words as matplotlib shows them: no formula, and never a label it leaves out."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
