"""What the charts show, and the files they are drawn to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from ckptbench.analysis.conclusions import Conclusions
from ckptbench.reports.html.charts import embedded_svg
from ckptbench.reports.overview import overview
from ckptbench.reports.plots.figures import _limits, curve_figure, drawings, write_drawings
from ckptbench.reports.plots.series import (
    Bar,
    BarChart,
    Curve,
    CurveChart,
    Point,
    bar_charts,
    charts,
    curve_charts,
)


def test_curves_are_over_epochs_where_every_checkpoint_states_one(rising: Any) -> None:
    (run,) = rising.conclusions.runs
    epochs = (0.5, 1.0, 3.0)
    timed = tuple(replace(m, epoch=e) for m, e in zip(run.measurements, epochs, strict=True))
    chart, _ = curve_charts(Conclusions((replace(run, measurements=timed),)))
    assert (chart.metric, chart.axis) == ("real@1", "epoch")
    assert [(p.x, p.value) for p in chart.curves[0].points] == [(0.5, 0.25), (1.0, 0.75), (3, 0.95)]


def test_curves_are_over_steps_else_and_over_places_where_nothing_is_known(rising: Any) -> None:
    chart, _ = curve_charts(rising.conclusions)
    assert chart.axis == "step"
    assert [point.x for point in chart.curves[0].points] == [100, 200, 300]
    (run,) = rising.conclusions.runs
    unknown = tuple(replace(m, step=None) for m in run.measurements)
    chart, _ = curve_charts(Conclusions((replace(run, measurements=unknown),)))
    assert chart.axis == "checkpoint"
    assert [point.x for point in chart.curves[0].points] == [1, 2, 3]


def test_two_checkpoints_of_one_epoch_do_not_keep_runs_from_being_seen_by_epoch(
    rising: Any,
) -> None:
    (run,) = rising.conclusions.runs
    epochs = (0.5, 1.0, 1.0)
    timed = tuple(replace(m, epoch=e) for m, e in zip(run.measurements, epochs, strict=True))
    assert curve_charts(Conclusions((replace(run, measurements=timed),)))[0].axis == "epoch"
    stuck = tuple(replace(m, epoch=1.0) for m in run.measurements)
    assert curve_charts(Conclusions((replace(run, measurements=stuck),)))[0].axis == "step"


def test_a_single_checkpoint_is_no_curve(sweep: Callable[..., Any]) -> None:
    assert curve_charts(sweep({"checkpoint-1": [1, 2]}).conclusions) == ()


def test_bars_are_differences_from_the_baseline(fallen: Any) -> None:
    table = overview(*fallen.both)
    (chart,) = bar_charts(table, fallen.conclusions)
    assert chart.against == "the baseline"
    assert [(bar.name, bar.conclusion) for bar in chart.bars] == [("checkpoint-655", "regressed")]


def test_bars_are_differences_from_the_best_without_one(rising: Any) -> None:
    charts = bar_charts(overview(*rising.both), rising.conclusions)
    assert [(chart.metric, chart.against) for chart in charts] == [
        ("real@1", "checkpoint-300, the best"),
        ("real@5", "checkpoint-100, the best"),
    ]
    first = charts[0].bars[0]
    assert first.name == "checkpoint-100"
    assert first.conclusion == "significant"
    assert first.comparison.difference == pytest.approx(-0.70)
    assert first.p_value is not None
    assert first.p_value >= (first.comparison.p_value or 0)  # Holm's correction only adds


def test_metrics_of_one_unit_have_the_same_axis_and_others_their_own() -> None:
    low = CurveChart("low", "step", (curve("a", (1, 0.1, None), (2, 0.2, None)),))
    high = CurveChart("high", "step", (curve("a", (1, 0.8, None), (2, 0.9, (0.5, 1.0))),))
    bits = replace(high, metric="bits", unit="bits_per_byte")
    odd = [replace(high, metric=name, unit="") for name in ("x", "y")]
    limits = _limits([low, high, bits, *odd])
    assert limits == {
        "share": pytest.approx((0.055, 1.045)),
        "bits_per_byte": pytest.approx((0.475, 1.025)),
    }
    figure = curve_figure(low, limits["share"])
    assert figure.axes[0].get_ylim() == pytest.approx((5.5, 104.5))


def test_the_baseline_is_a_line_in_the_learning_curves(sweep: Callable[..., Any]) -> None:
    run = sweep({"checkpoint-1": [1, 2, 2], "checkpoint-2": [1, 1, 2]}, against=[1, 1, 1])
    (first, second), _ = charts(*run.both)
    assert (first.metric, first.baseline) == ("real@1", 0.7)
    assert second.baseline is None  # nothing was compared in real@5
    assert "baseline, 70.00%" in in_page(first)
    assert "baseline" not in in_page(second)
    others = replace(run.result.summary.checkpoints[0], baseline="another.json")
    summary = replace(run.result.summary, checkpoints=(others, *run.result.summary.checkpoints[1:]))
    (two, _), _ = charts([replace(run.result, summary=summary)], run.conclusions)
    assert two.baseline is None


def bars_in_page(*bars: Bar) -> str:
    (drawing,) = drawings((), [BarChart(bars[0].comparison.metric, "the baseline", bars)])
    return embedded_svg(drawing)


def test_the_colour_of_a_bar_marks_what_is_worse(make: SimpleNamespace) -> None:
    lower = Bar("a", make.paired("real@1", 0.3, 0.5), "regressed", 0.01)
    assert "fill: var(--s1)" in bars_in_page(lower)
    less = replace(lower, comparison=replace(lower.comparison, higher_is_better=False))
    assert "fill: var(--s0)" in bars_in_page(less)


def test_differences_are_in_the_unit_of_their_metric(make: SimpleNamespace) -> None:
    share = Bar("a", make.paired("real@1", 0.3, 0.5), "regressed", 0.01)
    assert ">difference, pp (lines: 95% intervals)<" in bars_in_page(share)
    bits = replace(share, comparison=replace(share.comparison, unit="bits_per_byte"))
    text = bars_in_page(bits)
    assert ">difference, bits/byte (lines: 95% intervals)<" in text
    assert "\N{MINUS SIGN}20" not in text


def test_no_difference_without_an_interval_can_be_drawn(make: SimpleNamespace) -> None:
    same = Bar("a", make.point("real@1", 0.5, 0.5), "unchanged", None)
    assert "nan" not in bars_in_page(same).lower()


def curve(run: str, *points: tuple[float, float, tuple[float, float] | None]) -> Curve:
    return Curve(run, tuple(Point(f"c-{x:g}", x, value, band) for x, value, band in points))


HOSTILE = CurveChart(
    "real@1",
    "step",
    (
        curve("_a $x^2$ <b>", (1, 0.1, (0.0, 0.2)), (2, 0.3, (0.2, 0.4)), (3, 0.2, None)),
        curve("b&b", (2, 0.5, None), (4, 0.6, (0.5, 0.7))),
    ),
)


def in_page(chart: CurveChart) -> str:
    (drawing,) = drawings([chart], ())
    return embedded_svg(drawing)


def test_a_drawing_for_the_page_is_well_formed_whatever_runs_are_called() -> None:
    drawing = ElementTree.fromstring(in_page(HOSTILE))
    assert drawing.find("title").text == "real@1 by step"  # type: ignore[union-attr]
    assert "_a $x^2$ <b>: 10.00% at c-1" in (drawing.find("desc").text or "")  # type: ignore[union-attr]
    assert "_a $x^2$ <b>" in "".join(drawing.itertext())


def test_every_point_has_a_title_with_its_values() -> None:
    chart = CurveChart(
        "real@1",
        "step",
        tuple(curve(f"run-{i}", (1, 0.1, None), (2, 0.2 + i / 10, (0.1, 0.9))) for i in range(6)),
    )
    drawing = ElementTree.fromstring(in_page(chart))
    titles = [group.find("title") for group in drawing.iter("g")]
    assert [title.text for title in titles if title is not None] == [
        text
        for i in range(6)
        for text in ("c-1: 10.00%", f"c-2: {20 + 10 * i:.2f}% [10.00, 90.00]")
    ]


def test_ids_are_the_drawings_own_and_nothing_points_elsewhere(rising: Any) -> None:
    known: set[str] = set()
    bars = bar_charts(overview(*rising.both), rising.conclusions)
    for drawing in drawings(curve_charts(rising.conclusions), bars):
        text = embedded_svg(drawing)
        own = re.findall(r' id="([^"]*)"', text)
        assert set(re.findall(r'(?:href="|url\()#([^")]*)', text)) <= set(own)
        assert not known & set(own)
        known |= set(own)


def test_a_drawing_has_the_colours_of_the_pages_theme(rising: Any) -> None:
    bars = bar_charts(overview(*rising.both), rising.conclusions)
    for drawing in drawings((*curve_charts(rising.conclusions), HOSTILE), bars):
        assert re.search(r"#[0-9a-fA-F]{6}[;\"]", drawing.svg)
        assert not re.search(r"#[0-9a-fA-F]{6}[;\"]", embedded_svg(drawing))


def test_a_band_is_drawn_where_intervals_are_known_and_only_there() -> None:
    text = in_page(HOSTILE)
    assert text.count("FillBetweenPolyCollection") == 1  # points 1 and 2 of the first run
    assert text.count("LineCollection") == 1  # a point whose neighbour has no interval


def test_equal_values_without_intervals_can_be_drawn() -> None:
    flat = CurveChart("real@1", "step", (curve("a", (1, 0.0, None), (2, 0.0, None)),))
    assert "nan" not in in_page(flat).lower()


def test_values_that_are_no_shares_are_not_shown_in_per_cent() -> None:
    points = curve("a", (1, 31.5, (30.0, 33.0)), (2, 24.25, (23.0, 25.0)))
    chart = CurveChart("lambada_perplexity", "step", (points,), "", higher_is_better=False)
    text = in_page(chart)
    assert "score, %" not in text
    assert "31.500%" not in text
    assert "lower is better" in text
    assert "lowest 24.250 at" in text
    unknown = CurveChart("x", "step", (points,), unit="", higher_is_better=None)
    assert "better" not in in_page(unknown)


def test_every_chart_becomes_an_svg_and_a_png(rising: Any, tmp_path: Path) -> None:
    bars = bar_charts(overview(*rising.both), rising.conclusions)
    drawn = drawings((*curve_charts(rising.conclusions), HOSTILE), bars)
    written = write_drawings(tmp_path, drawn)
    assert sorted({path.name for path in written}) == sorted(p.name for p in tmp_path.iterdir())
    assert {path.suffix for path in written} == {".svg", ".png"}
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        else:
            ElementTree.parse(path)


def test_the_text_of_an_svg_is_text_and_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    write_drawings(tmp_path / "a", drawings([HOSTILE], ()))
    write_drawings(tmp_path / "b", drawings([HOSTILE], ()))
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    text = (tmp_path / "a" / "real_at_1-by-step.svg").read_text(encoding="utf-8")
    assert "_a $x^2$ &lt;b&gt;" in text
    assert not re.search(r"<dc:date>|20\d\d-\d\d-\d\d", text)


def test_drawing_leaves_the_settings_of_matplotlib_as_they_were(tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    write_drawings(tmp_path, drawings([HOSTILE], ()))
    assert dict(matplotlib.rcParams) == before
