"""The step-to-step noise of a metric: how far its scores lie from the smooth curve of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt

import numpy as np
import pytest

from ckptbench.curves.conclude import conclude
from ckptbench.curves.measurement import BenchmarkMeasurement, Measurement
from ckptbench.curves.noise import FEWEST, expected_range, noise_of, residual_deviation
from ckptbench.reports.conclusions_json import conclusions_json
from ckptbench.reports.curve_table import curve_lines
from ckptbench.reports.noise_table import noise_markdown
from ckptbench.scores.score import Score

Make = Callable[..., Measurement]


def run_of(values: Sequence[float], steps: Sequence[int] | None = None) -> list[Measurement]:
    steps = steps or [100 * i for i in range(1, len(values) + 1)]
    scores = [Score("acc", float(value), 1_000, 1_000, 0.0151) for value in values]
    return [
        Measurement(
            f"checkpoint-{step}",
            run="run",
            step=step,
            benchmarks=(BenchmarkMeasurement("task", "", True, (score,)),),
        )
        for step, score in zip(steps, scores, strict=True)
    ]


def test_evenly_spaced_it_is_the_root_of_the_squared_second_differences_over_six() -> None:
    values = [0.30, 0.35, 0.33, 0.40, 0.38]
    second = [b - (a + c) / 2 for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    expected = sqrt(sum(d * d / 1.5 for d in second) / 3)
    assert residual_deviation(range(5), values) == pytest.approx(expected)


def test_a_straight_line_has_none_at_whatever_distances() -> None:
    places = [0.0, 1.0, 1.5, 4.0, 9.0]
    assert residual_deviation(places, [0.2 + 0.05 * t for t in places]) == pytest.approx(0)
    with pytest.raises(ValueError, match="have no residuals"):
        residual_deviation([0.0, 1.0], [0.2, 0.3])


def test_it_finds_the_noise_that_was_added_to_a_curve() -> None:
    """Twenty checkpoints of a run that learns 30 pp, with noise of 1 pp."""
    rng = np.random.default_rng(1)
    steps = [500 * i for i in range(1, 21)]
    smooth = np.array([0.3 + 0.3 * log(step / 500 + 1) / log(21) for step in steps])
    squares = []
    for _ in range(400):
        found = noise_of("acc", run_of(smooth + rng.normal(0, 0.01, 20), steps))
        assert found is not None
        squares.append(found.noise**2)
    assert sqrt(np.mean(squares)) == pytest.approx(0.01, rel=0.05)


def test_the_ratio_is_the_range_over_the_noise_beside_what_chance_gives() -> None:
    rng = np.random.default_rng(2)
    still = [noise_of("acc", run_of(0.5 + rng.normal(0, 0.01, 15))) for _ in range(200)]
    ratios = [each.ratio for each in still if each is not None and each.ratio is not None]
    assert np.median(ratios) == pytest.approx(expected_range(15), rel=0.1)
    found = noise_of("acc", run_of(np.linspace(0.3, 0.6, 15) + rng.normal(0, 0.01, 15)))
    assert found is not None
    assert found.ratio == pytest.approx(found.spread / found.noise)
    assert (found.ratio or 0) > 3 * found.by_chance
    assert found.standard_error == pytest.approx(0.0151)


@pytest.mark.parametrize(("n", "expected"), [(2, 1.128), (5, 2.326), (10, 3.078), (20, 3.735)])
def test_the_expected_range_is_tippetts(n: int, expected: float) -> None:
    assert expected_range(n) == pytest.approx(expected, abs=5e-4)


def test_scores_that_do_not_move_have_no_ratio() -> None:
    found = noise_of("acc", run_of([0.5] * 6))
    assert found is not None
    assert (found.noise, found.ratio) == (0.0, None)


def test_few_checkpoints_have_none_and_a_note_says_how_many_it_takes() -> None:
    few, enough = run_of([0.3, 0.4, 0.5, 0.6]), run_of([0.3, 0.4, 0.5, 0.6, 0.55])
    conclusions = conclude(few)
    assert conclusions.runs[0].noise == ()
    assert any(f"takes {FEWEST} checkpoints or more" in note for note in conclusions.notes)
    conclusions = conclude(enough)
    assert [each.metric for each in conclusions.runs[0].noise] == ["acc"]
    assert not any("step-to-step" in note for note in conclusions.notes)


def test_every_report_has_it() -> None:
    conclusions = conclude(run_of([0.30, 0.36, 0.38, 0.47, 0.50, 0.49]))
    (noise,) = conclusions.runs[0].noise
    shown = f"{100 * noise.noise:.2f} pp"
    (line,) = (each for each in curve_lines(conclusions) if shown in each)
    assert line.split()[0] == "acc"
    (folded,) = noise_markdown(conclusions)
    assert shown in folded
    runs = conclusions_json(conclusions)["runs"]
    assert isinstance(runs, list)
    assert runs[0]["noise"][0]["noise"] == pytest.approx(noise.noise)  # type: ignore[index,call-overload]
