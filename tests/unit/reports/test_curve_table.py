"""The tables of a training run on a terminal: they fit, and recommend one checkpoint."""

from __future__ import annotations

from math import ceil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ckptbench._util import text as words
from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.conclusions import Conclusions
from ckptbench.gate import units
from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
from ckptbench.reports.html.page import html_report
from ckptbench.reports.markdown import markdown_report
from ckptbench.reports.overview import overview
from ckptbench.reports.plots.figures import drawings
from ckptbench.reports.plots.series import curve_charts
from ckptbench.reports.terminal_sweep import curve_lines
from ckptbench.scores.score import Score

TASKS = [
    "arc_challenge",
    "arc_easy",
    "boolq",
    "hellaswag",
    "lambada_openai",
    "logiqa",
    "piqa",
    "sciq",
    "winogrande",
    "wsc",
]
COLUMNS = 100


@pytest.fixture(scope="module")
def suite() -> Conclusions:
    """27 checkpoints of one run, ten tasks with two metrics each, as lm-eval states them."""
    rng = np.random.default_rng(1)
    steps = [0, *(2**i for i in range(10)), *range(1_000, 144_000, 9_000)]
    checkpoints = []
    for step in steps:
        trend = 0.25 + 0.4 * (1 - np.exp(-step / 20_000))
        benches = []
        for place, task in enumerate(TASKS):
            values = trend + 0.02 * place + rng.normal(0, 0.01, 2)
            scores = tuple(
                Score(f"{task} {name}", float(value), 0, 0, 0.011)
                for name, value in zip(("acc", "acc_norm"), values, strict=True)
            )
            benches.append(BenchmarkMeasurement(task, task, True, scores))
        checkpoints.append(
            Measurement(f"step{step}", run="pythia-70m", step=step, benchmarks=tuple(benches))
        )
    return conclude(checkpoints)


def on_screen(lines: list[str], columns: int = COLUMNS) -> int:
    """Lines that a terminal shows: a longer one is broken."""
    return sum(max(1, ceil(words.width(line) / columns)) for line in lines)


def test_27_checkpoints_with_20_metrics_fit_on_60_lines(suite: Conclusions) -> None:
    (run,) = suite.runs
    assert (len(run.measurements), len(run.best)) == (27, 21)
    lines = list(curve_lines(suite, columns=COLUMNS))
    assert on_screen(lines) <= 60
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == ["checkpoint"])
    table = lines[start : start + 28]
    assert max(map(words.width, table)) <= COLUMNS
    assert [line.split()[0] for line in table[1:]] == [m.name for m in run.measurements]
    assert "average" in table[0]
    assert "13 more metrics: -v shows each" in "\n".join(lines)


def test_verbose_shows_every_metric_and_what_is_concluded_of_it(suite: Conclusions) -> None:
    text = "\n".join(curve_lines(suite, verbose=True))
    for best in suite.runs[0].best:
        assert best.detail in text
    assert "more metrics" not in text


def test_one_checkpoint_is_recommended_and_the_same_everywhere(
    suite: Conclusions, make: SimpleNamespace
) -> None:
    (run,) = suite.runs
    lines = list(curve_lines(suite))
    marked = [line.split()[0] for line in lines if line.rstrip().endswith("recommended")]
    assert marked == [run.recommended]
    assert run.stopping is not None
    assert run.stopping.best == run.recommended
    assert f" {run.recommended} (step" in suite.sentences[0]
    rows = overview([], suite).rows
    assert [row.label for row in rows if row.recommended] == [run.recommended]
    assert {row.recommended for row in rows} == {"", "average"}
    assert markdown_report([], suite).count("recommended by average") == 1
    page = html_report([], suite, ())
    assert page.count('<span class="tag">recommended') == 1


def test_the_noise_stands_in_every_report(suite: Conclusions, rising: Any) -> None:
    (run,) = suite.runs
    average = next(each for each in run.noise if each.metric == "average")
    ratio = f"{average.signal_to_noise:.1f}"
    (line,) = (each for each in curve_lines(suite) if each.split()[:1] == ["average"])
    assert line.split()[-1] == ratio
    assert units.size(average.step) in line
    assert f"| {ratio} |" in markdown_report([], suite)
    drawn = drawings(curve_charts(suite)[:1], ())  # the others would only take time
    assert f">{ratio}</td>" in html_report([], suite, drawn)
    lines = list(curve_lines(rising.conclusions))
    assert "  step-to-step noise is not known: 3 checkpoints, 4 are needed" in lines


def test_less_is_better_has_an_arrow_and_its_own_unit() -> None:
    def checkpoint(step: int, value: float) -> Measurement:
        score = Score("bits", value, 90, 90, 0.01, unit="bits_per_byte", higher_is_better=False)
        bench = BenchmarkMeasurement("bits", "bits", True, (score,))
        return Measurement(f"c-{step}", run="r", step=step, benchmarks=(bench,))

    lines = list(curve_lines(conclude([checkpoint(1, 1.5), checkpoint(2, 1.2)])))
    assert f"bits {units.LESS_IS_BETTER}" in lines[1]
    assert "1.2000*" in lines[3]
