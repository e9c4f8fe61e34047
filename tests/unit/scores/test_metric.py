"""What a metric's numbers mean, by its name; how much worse it may get; how it may be named."""

from __future__ import annotations

import pytest

from ckptbench.scores.metric import (
    BITS_PER_BYTE,
    SHARE,
    UNKNOWN,
    Metric,
    default_tolerance,
    known_metric,
    spellings,
    wanted_among,
)

POINTS = Metric("points")


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("acc", SHARE),
        ("arc_easy acc_norm,none", SHARE),
        ("exact_match,strict-match", SHARE),
        ("pass@1", SHARE),
        ("humaneval/Pass@10", SHARE),
        ("BLEU", POINTS),
        ("wmt16 chrf++,none", POINTS),
        ("word_perplexity,none", Metric("perplexity", False)),
        ("val_ppl", Metric("perplexity", False)),
        ("bits_per_byte", Metric("bits_per_byte", False)),
        ("eval_loss", Metric("nats", False)),
        ("wer", Metric("", False)),
        ("brier_score", Metric("", False)),
        ("floss", UNKNOWN),  # ends in a known name, but not behind an underscore
        ("acc_stderr", UNKNOWN),
        ("pass@one", UNKNOWN),
    ],
)
def test_well_known_names_have_a_unit_and_a_direction(name: str, meaning: Metric) -> None:
    assert known_metric(name) == meaning


def test_what_a_file_declares_precedes_the_table() -> None:
    assert known_metric("acc", higher_is_better=True) == SHARE
    assert known_metric("acc", higher_is_better=False) == Metric("share", False)
    assert known_metric("loss", higher_is_better=True) == Metric("nats", True)
    assert known_metric("odd", higher_is_better=True) == Metric("", True)


def test_what_is_known_of_the_direction_alone_decides_whether_it_is_gated() -> None:
    assert (SHARE.gated, BITS_PER_BYTE.gated, UNKNOWN.gated) == (True, False, False)
    assert UNKNOWN.higher_is_better is None


def test_the_largest_value() -> None:
    assert [Metric(unit).largest for unit in ("share", "points", "nats")] == [1.0, 100.0, None]


@pytest.mark.parametrize(
    ("unit", "baseline", "tolerance"),
    [
        ("share", 0.5, 0.01),
        ("points", 50.0, 1.0),
        ("bits_per_byte", 2.0, 0.01),
        ("nats", 2.0, 0.01),
        ("perplexity", 12.0, 0.12),
        ("perplexity", -12.0, 0.12),
        ("", 0.0, 0.0),
        ("seconds", 300.0, 3.0),
    ],
)
def test_without_a_tolerance_a_hundredth_is_allowed(
    unit: str, baseline: float, tolerance: float
) -> None:
    assert default_tolerance(unit, baseline) == pytest.approx(tolerance, rel=1e-12)


def test_without_a_baseline_it_is_a_hundredth_of_one() -> None:
    assert default_tolerance("perplexity") == 0.01


def test_a_metric_is_wanted_by_its_whole_name_or_by_its_last_part() -> None:
    metrics = ("arc acc,none", "arc acc_norm,none", "pass@1")
    assert wanted_among(metrics, None) == metrics
    assert wanted_among(metrics, ()) == ()
    assert wanted_among(metrics, ("acc",)) == metrics[:1]
    assert wanted_among(metrics, ("acc,none", "pass@1")) == (metrics[0], metrics[2])
    assert wanted_among(metrics, ("arc acc_norm,none",)) == metrics[1:2]
    assert wanted_among(metrics, ("arc", "arc acc", "none")) == ()
    assert spellings("a b acc,x,y") == {"a b acc,x,y", "acc,x,y", "acc"}
