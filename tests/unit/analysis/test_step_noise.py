"""The noise from checkpoint to checkpoint, of simulated curves whose noise is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.curve import step_noise, step_noise_of
from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
from ckptbench.scores.score import Score

Make = Callable[..., Measurement]


def measured(
    values: Sequence[float], steps: Sequence[int | None], error: float | None = 0.01
) -> list[Measurement]:
    return [
        Measurement(
            f"checkpoint-{place}",
            run="run",
            step=step,
            benchmarks=(
                BenchmarkMeasurement(
                    "task", "task", True, (Score("acc", value, 500, 500, error, unit="share"),)
                ),
            ),
        )
        for place, (value, step) in enumerate(zip(values, steps, strict=True), start=1)
    ]


@pytest.mark.parametrize("spacing", ["equal", "random", "doubling"])
def test_the_noise_around_a_smooth_curve_is_found_however_steps_are_spaced(spacing: str) -> None:
    rng = np.random.default_rng(5)
    estimates = []
    for _ in range(400):
        places = {
            "equal": np.arange(1.0, 28.0),
            "random": np.sort(rng.choice(10_000, 27, replace=False)).astype(float),
            "doubling": 1.5 ** np.arange(27.0),
        }[spacing]
        trend = 0.4 + 0.3 * places / places[-1]
        values = trend + rng.normal(0, 0.008, len(places))
        estimates.append(step_noise(places.tolist(), values.tolist()) ** 2)
    assert np.sqrt(np.mean(estimates)) == pytest.approx(0.008, rel=0.05)


def test_a_saturating_curve_adds_little_to_it() -> None:
    rng = np.random.default_rng(6)
    places = np.arange(1.0, 21.0)
    curve = 0.7 - 0.4 * np.exp(-places / 8)
    found = [
        step_noise(places.tolist(), (curve + rng.normal(0, 0.01, 20)).tolist()) ** 2
        for _ in range(400)
    ]
    assert np.sqrt(np.mean(found)) == pytest.approx(0.01, rel=0.06)


def test_by_hand() -> None:
    """Unequal spacing: 0.25 from the left neighbour's weight, 0.75 of it from the right's."""
    # x = 0, 3, 4: a = 1/4, b = 3/4; residual 0.25 x 0 + 0.75 x 1 - 0 = 0.75.
    assert step_noise([0, 3, 4], [0, 0, 1]) == pytest.approx(0.75 / np.sqrt(1 + 1 / 16 + 9 / 16))


@pytest.mark.parametrize(("places", "values"), [([1, 2], [0.1, 0.2]), ([1, 1, 2], [0.1, 0.2, 0.3])])
def test_too_few_and_places_that_do_not_rise_are_refused(
    places: list[float], values: list[float]
) -> None:
    with pytest.raises(ValueError, match=r"needed|increase"):
        step_noise(places, values)


def test_it_stands_beside_the_sampling_error_and_the_range() -> None:
    noise = step_noise_of("acc", measured([0.50, 0.56, 0.58, 0.66], [100, 200, 300, 400], 0.02))
    # Second differences -0.04 and 0.06, each of the variance 6/4 of the noise's.
    assert noise.step == pytest.approx(np.sqrt((0.02**2 + 0.03**2) / 1.5 / 2))
    assert noise.sampling == pytest.approx(0.02)
    assert noise.span == pytest.approx(0.16)
    assert noise.signal_to_noise == pytest.approx(0.16 / (noise.step or 0))


def test_it_needs_four_checkpoints_and_says_so() -> None:
    noise = step_noise_of("acc", measured([0.5, 0.6, 0.7], [1, 2, 3]))
    assert (noise.step, noise.signal_to_noise) == (None, None)
    assert noise.reason == "3 checkpoints, 4 are needed"


def test_values_that_do_not_move_have_no_ratio_and_no_errors_no_sampling_error() -> None:
    noise = step_noise_of("acc", measured([0.5] * 4, [1, 2, 3, 4], None))
    assert (noise.step, noise.signal_to_noise) == (0.0, None)
    assert noise.reason == "no step-to-step noise"
    assert (
        step_noise_of(
            "acc",
            [
                Measurement(
                    "a",
                    benchmarks=(
                        BenchmarkMeasurement(
                            "t", "t", True, (Score("acc", 12.5, 10, 10, unit="points"),)
                        ),
                    ),
                )
            ],
        ).sampling
        is None
    )


def test_places_stand_in_for_steps_that_are_not_known() -> None:
    values = [0.5, 0.56, 0.58, 0.66]
    known = step_noise_of("acc", measured(values, [1, 2, 3, 4]))
    assert step_noise_of("acc", measured(values, [10, None, 30, 40])).step == known.step
    assert step_noise_of("acc", measured(values, [10, 10, 30, 40])).step == known.step


def test_a_run_has_the_noise_of_each_of_its_metrics(asked: Make) -> None:
    rng = np.random.default_rng(2)
    run = [asked(f"checkpoint-{i}", rng.random((300, 2)) < 0.5, step=i) for i in range(1, 7)]
    (concluded,) = conclude(run).runs
    assert [each.metric for each in concluded.noise] == ["real@1", "real@5"]
    for noise in concluded.noise:
        # Independent samples at each checkpoint: the step noise is the sampling error.
        assert noise.step is not None
        assert noise.sampling is not None
        assert 0.3 < noise.step / noise.sampling < 2.5
