"""The chart of a plan: the smallest drop that is found, by the number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._util.atomic import atomic_write_bytes, atomic_write_text
from ...gate.planning import FlipsRow, Shares, Target, mde_curve
from .figures import COLOURS, DASHES, drawn, matplotlib_set, plain

# Numbers of samples that are looked at for each factor of ten, from ten on.
_STEPS = 24
_DECADES = 7


@dataclass(frozen=True, slots=True)
class PlanChart:
    """The MDE by the number of samples.

    Attributes:
        title: what is compared.
        drop: that is to be found, a fraction: a line across.
        power: share of comparisons that find it.
        n: samples that there are: a line upwards; None without.
        curves: of each its label and `(samples, MDE as a fraction)`.
    """

    title: str
    drop: float
    power: float
    n: int | None
    curves: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]


def write_plan(
    path: Path, title: str, target: Target, rows: Sequence[FlipsRow], held: Shares | None
) -> None:
    """Write a plan's chart as SVG, or as PNG where the path ends so.

    Args:
        title: what is compared.
        rows: a curve for each; up to three times the samples that are needed, or there are.
        held: the baseline, if there is one.

    Raises:
        CkptbenchError: matplotlib is not installed, or the file cannot be written.
    """
    needed = [row.needed for row in rows if row.needed is not None]
    last = 3 * max([100, *needed, *([held.n] if held else [])])
    ns = [round(10 ** (1 + step / _STEPS)) for step in range(_STEPS * _DECADES)]
    ns = [n for n in ns if n <= last]
    curves = []
    for row in rows:
        found = zip(ns, mde_curve(target, row.flips, ns, held), strict=True)
        label = f"{100 * row.flips:.3g}% flips" + (f" ({row.source})" if row.source else "")
        curves.append((label, tuple((n, drop) for n, drop in found if drop is not None)))
    n = held.n if held else None
    chart = PlanChart(title, target.drop, target.power, n, tuple(curves))
    with matplotlib_set():
        text, image = drawn(plan_figure(chart))
    if path.suffix == ".png":
        atomic_write_bytes(path, image)
    else:
        atomic_write_text(path, text)


def plan_figure(chart: PlanChart) -> Any:
    """A matplotlib figure of the smallest drop that is found, by the number of samples."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for place, (label, points) in enumerate(chart.curves):
        style = place % len(COLOURS)
        axes.plot(
            [n for n, _ in points],
            [drop * 100 for _, drop in points],
            color=COLOURS[style],
            linestyle=DASHES[style],
            label=plain(label),
        )
    axes.axhline(chart.drop * 100, color="#222222", linewidth=0.8)
    if chart.n is not None:
        axes.axvline(chart.n, color="#222222", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        axis(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:g}"[0] in "125" else ""))
    axes.set_title(plain(chart.title))
    axes.set_xlabel("samples" + (f" (dotted: {chart.n:,})" if chart.n is not None else ""))
    axes.set_ylabel(f"true drop found with {chart.power:.0%} power, pp")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    return figure
