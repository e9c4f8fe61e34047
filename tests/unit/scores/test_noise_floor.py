"""The floor under comparisons: which samples are asked again, and what is said of it."""

from __future__ import annotations

import pytest

from ckptbench.scores.noise import drawn, floor_notes, may_flip, noise_floor, other_batch_size
from ckptbench.scores.reducers import Mean, Named, TopK


def test_the_share_that_flips_has_the_interval_of_a_share() -> None:
    floor = noise_floor([(place == 3, True) for place in range(100)])
    assert floor is not None
    assert floor.interval is not None
    assert (floor.samples, floor.flipped, floor.unanswered) == (100, 1, 0)
    assert floor.interval == pytest.approx((0.00023, 0.0554), abs=1e-4)


def test_a_sample_without_a_second_answer_is_counted_apart() -> None:
    floor = noise_floor([(False, True), (None, True), (True, True)])
    assert floor is not None
    assert (floor.samples, floor.flipped, floor.unanswered) == (2, 1, 1)
    nothing = noise_floor([(None, False)])
    assert nothing is not None
    assert (nothing.samples, nothing.interval, nothing.other_batch_size) == (0, None, False)
    assert noise_floor([]) is None


def test_the_choice_depends_on_the_samples_and_the_seed_alone() -> None:
    samples = [f"{place:03}" for place in range(300)]
    chosen = drawn(samples, 20, seed=1)
    assert len(set(chosen)) == 20
    assert drawn(reversed(samples), 20, seed=1) == chosen
    assert drawn(samples, 20, seed=2) != chosen
    assert sorted(drawn(samples, 900, seed=1)) == samples


@pytest.mark.parametrize(("usual", "other"), [(1, 1), (2, 1), (3, 1), (8, 4), (14, 7), (2400, 7)])
def test_batches_are_smaller_the_second_time(usual: int, other: int) -> None:
    assert other_batch_size(usual) == other


def test_values_without_a_miss_cannot_flip() -> None:
    assert may_flip(TopK((1,)))
    assert may_flip(Mean())
    assert may_flip(Named(("acc", "acc_norm"), "acc"))
    assert not may_flip(Named(("bits_per_byte",)))


def test_notes_say_what_is_not_known() -> None:
    word, bytes_ = ("word/plain", TopK((1,)), ()), ("text/rolling", Named(("bits",)), ())
    known = ("word/plain", TopK((1,)), [(False, True)])
    assert floor_notes([known], {"dtype": "bf16"}, 0.0, 5) == ()
    (note,) = floor_notes([word], {"dtype": "bf16"}, 0.0, None)
    assert note.startswith("bf16 rounds differently in batches of other sizes")
    assert floor_notes([word], {"dtype": "fp32"}, 0.0, None) == ()
    assert floor_notes([word], {"dtype": "bf16"}, 0.8, None) == ()
    assert floor_notes([bytes_], {"dtype": "bf16"}, 0.0, None) == ()
    assert floor_notes([word, bytes_], {}, 0.0, 5) == (
        "word/plain: noise floor not measured: no sample was asked again",
        "text/rolling: noise floor not measured: an answer gives values and is never missed",
    )
