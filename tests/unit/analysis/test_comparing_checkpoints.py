"""Two checkpoints beside each other: samples in common show what two numbers cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ckptbench.analysis.compare import Settings, compare, standard_error_of
from ckptbench.analysis.composites import with_composite
from ckptbench.analysis.curve import best_of
from ckptbench.gate.measurement import Measurement
from ckptbench.scores.composite import DEFAULT_WEIGHTS
from ckptbench.scores.score import SampleValues, Score

Make = Callable[..., Measurement]
SETTINGS = Settings()


def counts(both: int, lost: int, won: int, neither: int) -> tuple[list[int], list[int]]:
    """Outcomes then and now."""
    then = [1] * (both + lost) + [0] * (won + neither)
    return then, [1] * both + [0] * lost + [1] * won + [0] * neither


def numbers_only(measurement: Measurement) -> Measurement:
    benchmarks = tuple(replace(bench, table=None) for bench in measurement.benchmarks)
    return replace(measurement, benchmarks=benchmarks)


def test_38_lost_and_9_won_of_164(asked: Make) -> None:
    then, now = counts(both=63, lost=38, won=9, neither=54)
    a, b = asked("a", then), asked("b", now)
    paired = compare("real@1", b, a, SETTINGS)
    assert paired is not None
    assert (paired.kind, paired.lost, paired.won) == ("paired", 38, 9)
    assert paired.p_value == pytest.approx(2.49e-5, rel=1e-3)
    assert paired.difference == pytest.approx(-0.1768, abs=5e-5)
    assert paired.standard_error == pytest.approx(0.0396, abs=5e-5)
    unpaired = compare("real@1", numbers_only(b), numbers_only(a), SETTINGS)
    assert unpaired is not None
    assert (unpaired.kind, unpaired.difference) == ("unpaired", pytest.approx(paired.difference))
    assert unpaired.standard_error == pytest.approx(0.0544, abs=5e-5)


def test_pairing_tells_apart_what_two_numbers_cannot(asked: Make) -> None:
    """1,600 samples, 40 lost and 10 won: 1.88 pp, and each number alone is uncertain by 1.2 pp."""
    then, now = counts(both=900, lost=40, won=10, neither=650)
    checkpoints = [asked("checkpoint-1", then), asked("checkpoint-2", now)]
    paired = best_of("real@1", checkpoints, SETTINGS)
    assert paired.best == "checkpoint-1"
    assert paired.rivals[0].distinguishable
    unpaired = best_of("real@1", [numbers_only(each) for each in checkpoints], SETTINGS)
    assert unpaired.rivals[0].comparison is not None
    assert unpaired.rivals[0].comparison.difference == pytest.approx(-0.01875)
    assert not unpaired.rivals[0].distinguishable


def test_one_side_without_samples_makes_it_unpaired(asked: Make) -> None:
    a, b = asked("a", [1, 0, 1, 1] * 20), numbers_only(asked("b", [1, 0, 0, 1] * 20))
    comparison = compare("real@1", a, b, SETTINGS)
    assert comparison is not None
    assert comparison.kind == "unpaired"


def test_no_sample_in_common_is_no_comparison(asked: Make) -> None:
    a = asked("a", [1, 0, 1, 1])
    table = a.benchmarks[0].table
    assert table is not None
    others = SampleValues(table.metrics, ("w", "x", "y", "z"), table.clusters, table.values)
    b = replace(a, benchmarks=(replace(a.benchmarks[0], table=others),))
    assert compare("real@1", a, b, SETTINGS) is None


def test_two_protocols_are_no_comparison(asked: Make) -> None:
    a = asked("a", [1, 0, 1, 1])
    b = replace(a, benchmarks=(replace(a.benchmarks[0], protocol="real/origin"),))
    assert compare("real@1", a, b, SETTINGS) is None


def test_a_source_that_states_no_protocol_is_taken_at_its_word(asked: Make) -> None:
    a = asked("a", [1, 0, 1, 1])
    b = replace(a, benchmarks=(replace(a.benchmarks[0], protocol=""),))
    assert compare("real@1", a, b, SETTINGS) is not None


def test_without_an_n_the_difference_stands_untested(stated: Make) -> None:
    a, b = stated("a", 0.66, 0.81, 0.35, n=0), stated("b", 0.64, 0.81, 0.35, n=0)
    comparison = compare("real@1", b, a, SETTINGS)
    assert comparison is not None
    assert (comparison.kind, comparison.p_value) == ("point", None)


def test_the_composite_is_paired_where_every_part_holds_samples(asked: Make) -> None:
    rng = np.random.default_rng(0)
    weights = {"real@1": 0.4, "real@5": 0.6}
    settings = Settings(weights=weights)
    a = with_composite(asked("a", rng.random((400, 2)) < 0.7), weights)
    b = with_composite(asked("b", rng.random((400, 2)) < 0.5), weights)
    comparison = compare("score", b, a, settings)
    assert comparison is not None
    assert comparison.kind == "paired"
    assert comparison.difference == pytest.approx(
        (b.composite.value or 0) - (a.composite.value or 0) if a.composite and b.composite else None
    )


def test_what_can_be_seen_is_that_of_the_test_that_is_made(asked: Make) -> None:
    """One of nineteen two-sided tests needs a larger drop than a single one-sided test."""
    then, now = counts(both=900, lost=40, won=40, neither=620)
    a, b = asked("a", then), asked("b", now)
    alone = compare("real@1", b, a, SETTINGS, sides=1)
    among = compare("real@1", b, a, SETTINGS, choices=19)
    assert alone is not None
    assert among is not None
    assert (alone.mde or 0) < (among.mde or 0)


@pytest.mark.parametrize(
    ("score", "error"),
    [
        (Score("real@1", 0.66, 2_400, 2_400), 0.00967),
        (Score("real@1", 0.66, 2_400, 2_400, 0.02), 0.02),
        (Score("real@1", 0.66, 2_400, 800), None),
        (Score("real@1", 0.66, 0, 0), None),
        (
            Score(
                "lambada_perplexity", 12.5, 2_400, 2_400, unit="perplexity", higher_is_better=False
            ),
            None,
        ),
        (Score("score", 0.61, 4_800, 4_800), None),
    ],
    ids=["a proportion", "stated", "clusters of unknown likeness", "no n", "no share", "composite"],
)
def test_the_standard_error_of_a_stated_number(score: Score, error: float | None) -> None:
    assert standard_error_of(score) == (None if error is None else pytest.approx(error, abs=5e-6))


# The composite of numbers


def test_its_standard_error_takes_one_benchmarks_metrics_to_share_everything(stated: Make) -> None:
    """Real: 0.4 SE + 0.3 SE, added; LAMBADA has other samples: squares add."""
    made = with_composite(stated("a", 0.66, 0.81, 0.35, n=2_400), DEFAULT_WEIGHTS).composite
    assert made is not None
    real1, real5, lambada = (np.sqrt(p * (1 - p) / 2_399) for p in (0.66, 0.81, 0.35))
    bound = np.hypot(0.4 * real1 + 0.3 * real5, 0.3 * lambada)
    assert (made.value, made.n) == (pytest.approx(0.612), 4_800)
    assert (made.standard_error, made.method) == (pytest.approx(bound), "upper-bound")


def test_the_bound_holds_whatever_the_parts_share(asked: Make) -> None:
    """The samples' own standard error is never above the one of the numbers alone."""
    rng = np.random.default_rng(1)
    weights = {"real@1": 0.5, "real@5": 0.5}
    first = rng.random(500) < 0.6
    for shared in (0.0, 0.5, 1.0):
        fifth = np.where(rng.random(500) < shared, first, rng.random(500) < 0.6)
        measured = asked("a", np.stack([first, fifth], axis=1))
        known = with_composite(measured, weights).composite
        bound = with_composite(numbers_only(measured), weights).composite
        assert known is not None
        assert bound is not None
        assert (known.standard_error or 1) <= 1.05 * (bound.standard_error or 0)


def test_a_composite_that_lacks_a_part_names_it(asked: Make) -> None:
    made = with_composite(asked("a", [1, 0, 1]), DEFAULT_WEIGHTS).composite
    assert made is not None
    assert made.value is None
    assert "real@5 was not measured; lambada@1 was not measured" in made.reason
