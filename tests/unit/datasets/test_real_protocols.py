"""The protocols of Real@K: what is asked, and what counts as named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptbench.api.protocol import EvalProtocol, RequestContext
from ckptbench.api.requests import Failed, Filled, FillMask, Skipped
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets import korean as morphology
from ckptbench.fixtures.datasets.real_k import ORIGIN, PROTOCOLS, SINGLE_MASK, WHOLE_WORD

SAMPLE = Sample(
    "a-1",
    {
        "text": "사과는 달다. 마당의 사과가 익었다.",
        "answer": "사과",
        "first": (0, 2),
        "second": (12, 14),
    },
)


def filled(*candidates: str) -> Filled:
    """Candidates in a model's order, as an engine gives them when none equals the answer."""
    logprobs = tuple(-0.5 * n for n in range(1, len(candidates) + 1))
    return Filled(candidates, logprobs, rank=None, masks=1)


def read(*candidates: str) -> Filled:
    response = ORIGIN.read(SAMPLE, filled(*candidates))
    assert isinstance(response, Filled)
    return response


def test_their_names() -> None:
    assert [p.name for p in PROTOCOLS] == ["real/whole-word", "real/single-mask", "real/origin"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: p.variant)
def test_the_second_mention_is_masked_in_the_whole_text(protocol: EvalProtocol) -> None:
    request = protocol.ask(SAMPLE, RequestContext(top=5))
    assert request.text == SAMPLE["text"]
    assert request.text[slice(*request.span)] == request.word == "사과"
    assert request.span == (12, 14)


@pytest.mark.parametrize(("top", "width"), [(1, 10), (5, 10), (6, 12), (20, 40)])
def test_whole_word_searches_a_beam_of_twice_k_and_at_least_ten(top: int, width: int) -> None:
    request = WHOLE_WORD.ask(SAMPLE, RequestContext(top=top))
    assert request.beam == width
    assert request.top >= top


def test_whole_word_and_single_mask_keep_the_first_mention_in_the_window() -> None:
    whole = WHOLE_WORD.ask(SAMPLE, RequestContext(top=5))
    single = SINGLE_MASK.ask(SAMPLE, RequestContext(top=5))
    assert (whole.masks, whole.keep) == ("word", (0, 2))
    assert (single.masks, single.keep) == ("single", (0, 2))
    assert whole.window_chars is single.window_chars is None


def test_single_mask_keeps_as_many_candidates_as_k() -> None:
    assert SINGLE_MASK.ask(SAMPLE, RequestContext(top=30)).top == 30


def test_origin_asks_for_fifty_tokens_in_a_window_of_characters() -> None:
    assert ORIGIN.ask(SAMPLE, RequestContext(top=5)) == FillMask(
        text=SAMPLE["text"],
        span=(12, 14),
        word="사과",
        masks="single",
        keep=None,
        window_chars=200,
        top=50,
    )


@pytest.mark.parametrize("protocol", [WHOLE_WORD, SINGLE_MASK], ids=lambda p: p.variant)
def test_the_others_take_the_engines_rank_as_it_is(protocol: EvalProtocol) -> None:
    response = replace(filled("배", "사과"), rank=2)
    assert protocol.read(SAMPLE, response) is response


def test_offsets_that_came_as_lists_make_a_request_that_can_be_a_key() -> None:
    listed = Sample("a", {**SAMPLE.fields, "first": [0, 2], "second": [12, 14]})
    for protocol in PROTOCOLS:
        assert hash(protocol.ask(listed, RequestContext())) == hash(
            protocol.ask(SAMPLE, RequestContext())
        )


def test_origin_passes_over_what_is_no_noun_and_keeps_the_order() -> None:
    response = read("는", "배", ".", "사과", "[UNK]", "1990", "포도")
    assert response.candidates == ("배", "사과", "포도")
    assert response.logprobs == (-1.0, -2.0, -3.5)
    assert response.rank == 2


@pytest.mark.parametrize(
    ("candidates", "rank"),
    [
        (("사과",), 1),
        (("배", "사과나무"), 2),
        (("배", "포도"), None),
        (("풋사과", "사과"), 1),
        ((), None),
        (("는", "."), None),
    ],
)
def test_origin_counts_a_noun_that_contains_the_answer(
    candidates: tuple[str, ...], rank: int | None
) -> None:
    assert read(*candidates).rank == rank


def test_origin_counts_a_noun_that_the_answer_contains() -> None:
    tree = Sample("a", {**SAMPLE.fields, "answer": "사과나무"})
    response = ORIGIN.read(tree, filled("배", "나무"))
    assert isinstance(response, Filled)
    assert response.rank == 2


def test_an_empty_candidate_is_contained_in_every_answer_but_is_no_noun() -> None:
    assert read("", " ").rank is None


@pytest.mark.parametrize("response", [Skipped("first_mention_out_of_window"), Failed("NaN logits")])
def test_what_is_no_answer_stays_as_it_is(response: Skipped | Failed) -> None:
    assert ORIGIN.read(SAMPLE, response) is response


@pytest.mark.parametrize(
    ("word", "noun"),
    [
        ("바다", True),
        ("서울", True),
        ("한국인", True),
        ("학교에서", True),
        ("것", True),
        ("그녀", False),
        ("합니다", False),
        ("1990", False),
        ("the", False),
        ("!", False),
        ("", False),
    ],
)
def test_a_noun_is_what_kiwi_begins_with_a_noun(word: str, noun: bool) -> None:
    assert morphology.is_noun(word) is noun


def test_whole_word_alone_scores_the_noun_itself() -> None:
    """Elsewhere any entry that spells it counts: there is no one likelihood."""
    assert [p.name for p in PROTOCOLS if p.answer is not None] == ["real/whole-word"]
    assert WHOLE_WORD.answer is not None
    assert WHOLE_WORD.answer(SAMPLE) == "사과"
    wanted = {p.name: p.ask(SAMPLE, RequestContext(top=5)).likelihood for p in PROTOCOLS}
    assert wanted == {"real/whole-word": True, "real/single-mask": False, "real/origin": False}
