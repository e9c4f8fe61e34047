"""The searches, driven by a table of probabilities in place of a model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ckptbench.fixtures.engines.masked.beam_search import (
    BeamResult,
    Blank,
    Query,
    Reply,
    Search,
    beam_search,
    score_options,
)

MASK = 99
BLANK = Blank(np.array([1, 5], np.int32), np.array([6, 2], np.int32), MASK)
Table = Callable[[tuple[int, ...]], Sequence[float]]


def answered(search: Search, table: Table) -> tuple[BeamResult, list[int]]:
    """Drive a search; what it found and the number of queries of each step."""

    def reply(query: Query) -> Reply:
        filled = tuple(int(token) for token in query.ids[2 : query.position])
        assert list(query.ids[:2]) == [1, 5]
        assert list(query.ids[-2:]) == [6, 2]
        assert all(token == MASK for token in query.ids[query.position : -2])
        logprobs = [math.log(p) for p in table(filled)]
        best = sorted(range(len(logprobs)), key=lambda token: (-logprobs[token], token))
        best = best[: query.best]
        target = logprobs[query.target] if query.target >= 0 else math.nan
        return Reply(best, [logprobs[token] for token in best], target)

    queries = next(search)
    steps = []
    while True:
        steps.append(len(queries))
        try:
            queries = search.send([reply(query) for query in queries])
        except StopIteration as end:
            return end.value, steps


def random_table(seed: int, entries: int) -> Table:
    def row(filled: tuple[int, ...]) -> Sequence[float]:
        numbers = np.random.default_rng((seed, *filled))
        return list(numbers.dirichlet(np.ones(entries) * 0.5))

    return row


def test_one_mask_is_the_usual_top_k() -> None:
    found, steps = answered(beam_search(BLANK, 1, beam=1, top=3), lambda _: [0.1, 0.4, 0.2, 0.3])
    assert found.sequences == ((1,), (3,), (2,))
    assert found.logprobs == pytest.approx([math.log(0.4), math.log(0.3), math.log(0.2)])
    assert steps == [1]


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_a_filling_is_scored_on_the_way_whatever_the_beam_holds(seed: int, beam: int) -> None:
    table = random_table(seed, 6)
    for answer in itertools.product(range(6), repeat=3):
        found, steps = answered(beam_search(BLANK, 3, beam, top=2, answer=answer), table)
        plain, plain_steps = answered(beam_search(BLANK, 3, beam, top=2), table)
        expected = sum(math.log(table(answer[:step])[token]) for step, token in enumerate(answer))
        assert found.answer == pytest.approx(expected)
        assert (found.sequences, found.margin) == (plain.sequences, plain.margin)
        assert math.isnan(plain.answer)
        # A row of its own in each step whose beam has lost its beginning, and none in the first.
        more = [mine - theirs for mine, theirs in zip(steps, plain_steps, strict=True)]
        assert more[0] == 0
        assert set(more) <= {0, 1}


def test_the_best_word_need_not_begin_with_the_best_token() -> None:
    """0.6 x 0.5 is less than 0.4 x 0.9: a beam of two finds it, the greedy search does not."""

    def table(filled: tuple[int, ...]) -> Sequence[float]:
        return {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.1, 0.9]}[filled]

    greedy, _ = answered(beam_search(BLANK, 2, beam=1, top=1), table)
    wide, _ = answered(beam_search(BLANK, 2, beam=2, top=1), table)
    assert greedy.sequences == ((0, 0),)
    assert wide.sequences == ((1, 1),)
    assert wide.logprobs == pytest.approx([math.log(0.36)])


@pytest.mark.parametrize("masks", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_as_wide_as_the_vocabulary_is_exhaustive(masks: int, seed: int) -> None:
    table = random_table(seed, 5)
    found, _ = answered(beam_search(BLANK, masks, beam=5**masks, top=7), table)
    scores = {
        ids: sum(math.log(table(ids[:step])[token]) for step, token in enumerate(ids))
        for ids in itertools.product(range(5), repeat=masks)
    }
    best = sorted(scores, key=lambda ids: -scores[ids])[: min(7, 5**masks)]
    assert list(found.sequences) == best
    assert found.logprobs == pytest.approx([scores[ids] for ids in best])


def test_between_two_masks_the_beam_survives() -> None:
    _, steps = answered(beam_search(BLANK, 3, beam=4, top=2), random_table(0, 9))
    assert steps == [1, 4, 4]


def test_of_equal_candidates_the_lower_token_id_comes_first() -> None:
    found, _ = answered(beam_search(BLANK, 2, beam=3, top=4), lambda _: [0.25] * 4)
    assert found.sequences == ((0, 0), (0, 1), (0, 2), (0, 3))
    assert found.margin == 0


def test_the_margin_is_the_narrowest_choice_that_mattered() -> None:
    found, _ = answered(
        beam_search(BLANK, 1, beam=1, top=1), lambda _: [0.5, 0.3, 0.2 - 1e-9, 1e-9]
    )
    assert found.margin == pytest.approx(math.log(0.5 / 0.3))
    both, _ = answered(beam_search(BLANK, 1, beam=1, top=2), lambda _: [0.36, 0.35, 0.2, 0.09])
    assert both.margin == pytest.approx(math.log(0.36 / 0.35))


def test_a_margin_is_also_where_the_beam_is_cut() -> None:
    def table(filled: tuple[int, ...]) -> Sequence[float]:
        return [0.9, 0.05, 0.05] if filled else [0.5, 0.2501, 0.2499]

    found, _ = answered(beam_search(BLANK, 2, beam=2, top=1), table)
    assert found.margin == pytest.approx(math.log(0.2501 / 0.2499))


def letters(ids: Sequence[int]) -> str:
    """Entries 0 to 3 write `a`, `b`, `ab` and nothing: (0, 1) and (2, 3) are one word."""
    return "".join(("a", "b", "ab", "")[token] for token in ids)


def test_fillings_that_spell_one_word_are_one_candidate() -> None:
    """`b` leads with 0.36; `a`+`b` and `ab` have 0.30 and 0.22 apart and 0.52 together."""

    def table(filled: tuple[int, ...]) -> Sequence[float]:
        first = [0.40, 0.36, 0.24, 0.0 + 1e-12]
        return {
            (): first,
            (0,): [1e-3, 0.75, 0.001, 0.248],
            (1,): [1e-6, 1e-6, 1e-6, 1 - 3e-6],
            (2,): [0.05, 0.02, 0.03, 0.90],
        }.get(filled, first)

    plain, _ = answered(beam_search(BLANK, 2, beam=4, top=4), table)
    assert plain.sequences == ((1, 3), (0, 1), (2, 3), (0, 3))
    found, steps = answered(beam_search(BLANK, 2, beam=4, top=4, spelling=letters), table)
    assert steps == [1, 4]
    assert found.sequences == ((0, 1), (1, 3), (0, 3))
    assert found.logprobs == pytest.approx(
        [math.log(0.30 + 0.216), math.log(0.36), math.log(0.0992)], abs=1e-5
    )


@pytest.mark.parametrize("seed", range(8))
def test_merged_candidates_are_the_sums_over_what_the_beam_keeps(seed: int) -> None:
    table = random_table(seed, 4)
    kept, _ = answered(beam_search(BLANK, 3, beam=4, top=9), table)
    found, _ = answered(beam_search(BLANK, 3, beam=4, top=9, spelling=letters), table)
    sums: dict[str, float] = {}
    for ids, logprob in zip(kept.sequences, kept.logprobs, strict=True):
        sums[letters(ids)] = sums.get(letters(ids), 0.0) + math.exp(logprob)
    order = sorted(sums, key=lambda word: -sums[word])
    assert [letters(ids) for ids in found.sequences] == order
    assert found.logprobs == pytest.approx([math.log(sums[word]) for word in order])
    assert set(found.sequences) <= set(kept.sequences)


def test_a_margin_is_between_words_not_between_fillings_of_one() -> None:
    """Two fillings of one word may tie; two words may not, apart or summed."""

    def one_word(filled: tuple[int, ...]) -> Sequence[float]:
        return [0.45, 0.05, 0.45, 0.05] if not filled else [0.01, 0.45, 0.09, 0.45]

    tied, _ = answered(beam_search(BLANK, 2, beam=2, top=2), one_word)
    assert tied.margin == 0
    found, _ = answered(
        beam_search(BLANK, 2, beam=2, top=2, spelling=lambda ids: ids[0] >= 0), one_word
    )
    assert found.sequences == ((0, 1),)
    # (0, 1), (0, 3), (2, 1) and (2, 3) are all equal, and two of them are cut off.
    assert found.margin == 0

    def two_words(filled: tuple[int, ...]) -> Sequence[float]:
        return [0.5, 0.3, 0.2 - 2e-9, 2e-9]

    summed, _ = answered(
        beam_search(BLANK, 1, beam=1, top=3, spelling=lambda ids: ids[0] == 0), two_words
    )
    assert summed.sequences == ((0,), (1,))
    assert summed.logprobs[0] - summed.logprobs[1] < 1e-7
    assert summed.margin == summed.logprobs[0] - summed.logprobs[1]


def test_an_option_is_scored_token_by_token_behind_its_own_beginning() -> None:
    table = random_table(3, 6)
    options = [(4,), (2, 5), (0, 1, 3)]
    found, steps = answered(score_options(BLANK, options), table)
    scores = [
        sum(math.log(table(ids[:step])[token]) for step, token in enumerate(ids)) for ids in options
    ]
    order = sorted(range(3), key=lambda option: -scores[option])
    assert steps == [6]
    assert list(found.order) == order
    assert list(found.sequences) == [options[option] for option in order]
    assert found.logprobs == pytest.approx([scores[option] for option in order])


def test_of_equal_options_the_earlier_comes_first() -> None:
    found, _ = answered(score_options(BLANK, [(2,), (1,)]), lambda _: [0.2, 0.4, 0.4])
    assert found.order == (0, 1)
    assert found.margin == 0
