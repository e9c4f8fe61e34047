"""Metrics for which less is better take part in what is concluded; unknown ones do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ckptbench.curves.comparing import Settings, compare
from ckptbench.curves.conclude import conclude
from ckptbench.curves.measurement import BenchmarkMeasurement, Measurement
from ckptbench.reports.curve_table import curve_lines
from ckptbench.scores.fold import fold
from ckptbench.scores.metric import BITS_PER_BYTE
from ckptbench.scores.score import SampleValues, Score

Make = Callable[..., Measurement]
SETTINGS = Settings()


def stated(values: Sequence[float], *, error: float = 0.01, **kind: object) -> list[Measurement]:
    kind = {"unit": "bits_per_byte", "higher_is_better": False, **kind}
    return [
        Measurement(
            f"checkpoint-{i}",
            run="run",
            step=i,
            benchmarks=(
                BenchmarkMeasurement(
                    "text",
                    "",
                    True,
                    (Score("bpb", value, 500, 500, error, **kind),),  # type: ignore[arg-type]
                ),
            ),
        )
        for i, value in enumerate(values, 1)
    ]


def test_the_lowest_is_best_and_recommended() -> None:
    conclusions = conclude(stated([1.40, 1.10, 0.90, 1.05]))
    (run,) = conclusions.runs
    assert (run.best[0].best, run.best[0].value) == ("checkpoint-3", 0.90)
    assert run.recommended is not None
    assert run.recommended.checkpoint == "checkpoint-3"
    assert "bpb is lowest at step 3 (checkpoint-3, 0.90000 bits/byte)" in run.best[0].detail


def test_a_rise_is_what_got_worse_in_its_own_unit() -> None:
    (peak,) = conclude(stated([1.40, 1.10, 0.90, 1.05])).runs[0].peaks
    assert (peak.peak, peak.fell) == ("checkpoint-3", "yes")
    assert peak.comparison is not None
    assert peak.comparison.difference == pytest.approx(0.15)
    assert peak.comparison.improvement == pytest.approx(-0.15)
    assert peak.detail.startswith("bpb rose by 0.15 bits/byte from its lowest, checkpoint-3")
    assert "pp" not in peak.detail
    assert "%" not in peak.detail


def test_a_run_whose_loss_still_falls_goes_on() -> None:
    stopping = conclude(stated([2.0, 1.6, 1.3, 1.1, 0.9])).runs[0].stopping
    assert stopping is not None
    assert (stopping.stop, stopping.best) == ("no", "checkpoint-5")
    (peak,) = conclude(stated([2.0, 1.6, 1.3])).runs[0].peaks
    assert peak.improved


def test_of_two_runs_the_lower_is_better() -> None:
    left = [replace(each, run="a") for each in stated([1.2, 0.9])]
    right = [replace(each, run="b") for each in stated([1.2, 1.1])]
    row = conclude([*left, *right]).compared[-1]
    assert row.differ == "yes"
    assert row.detail.startswith("a is better than b by 0.2 bits/byte in bpb")


def test_paired_samples_keep_what_is_worse_and_what_is_lost() -> None:
    rng = np.random.default_rng(0)
    before = rng.normal(1.0, 0.2, 300)

    def asked(name: str, values: np.ndarray) -> Measurement:  # type: ignore[type-arg]
        samples = tuple(map(str, range(300)))
        table = SampleValues(
            ("bpb",), samples, samples, values.reshape(-1, 1), kinds={"bpb": BITS_PER_BYTE}
        )
        bench = BenchmarkMeasurement("text", "text/rolling", True, tuple(fold(table)), table)
        return Measurement(name, benchmarks=(bench,))

    worse = compare(
        "bpb",
        asked("b", before + np.where(rng.random(300) < 0.9, 0.05, -0.01)),
        asked("a", before),
        SETTINGS,
    )
    assert worse is not None
    assert worse.kind == "paired"
    assert worse.difference > 0
    assert worse.interval is not None
    assert worse.interval[0] > 0
    assert (worse.lost or 0) > (worse.won or 0)
    assert (worse.p_worse or 1) < 0.001
    assert (worse.current, worse.baseline) == (
        pytest.approx(worse.baseline + worse.difference),
        pytest.approx(float(before.mean())),
    )


def test_a_metric_of_unknown_direction_is_shown_and_one_note_says_so() -> None:
    run = stated([0.6, 0.5, 0.4], unit="", higher_is_better=None)
    conclusions = conclude(run)
    assert conclusions.runs[0].best == ()
    assert conclusions.runs[0].recommended is None
    assert [note for note in conclusions.notes if "shown and not compared" in note] == [
        "shown and not compared, because their direction or their scale is not known: bpb"
    ]
    assert any("0.60000" in line for line in curve_lines(conclusions))


def test_a_share_out_of_range_takes_no_part_and_is_named() -> None:
    run = stated([0.5, 0.6, 0.7], unit="share", higher_is_better=True)
    (bench,) = run[2].benchmarks
    broken = replace(bench.scores[0], value=41.5, unit="", higher_is_better=None)
    run[2] = replace(run[2], benchmarks=(replace(bench, scores=(broken,)),))
    conclusions = conclude(run)
    assert conclusions.runs[0].best[0].best == "checkpoint-2"
    assert "left out of bpb: run: checkpoint-3: 41.5 is no share between 0 and 1" in (
        conclusions.notes
    )
