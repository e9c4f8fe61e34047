"""A kind of request is one entry: what is stored, shown and counted follows from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from ckptbench.api.answer_kinds import KIND_OF, KINDS, StoredFields, answer, answer_text
from ckptbench.api.requests import (
    CompoundRequest,
    CompoundResponse,
    Conversation,
    FillMask,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    LogLikelihoodRolling,
    parts_of,
)
from ckptbench.reports.sample_texts import RESPONSE_CHARS, response_text
from ckptbench.results.answers import decode, encode

TALK = Conversation((("user", "four"), ("assistant", "seven")))


@pytest.fixture
def own_kind() -> Iterator[Any]:
    """A kind of answer that somebody adds."""

    @answer("counted", text=lambda stored: f"{stored.get('tokens')} tokens", rare=("guessed",))
    @dataclass(frozen=True, slots=True)
    class Counted:
        tokens: int
        guessed: bool = False

    yield Counted
    del KIND_OF[KINDS.pop("counted").type]


def test_a_new_answer_is_stored_under_its_name_and_read_back(own_kind: Any) -> None:
    assert encode(own_kind(3)) == '{"kind": "counted", "tokens": 3}'
    assert decode(encode(own_kind(3))) == own_kind(3)
    assert decode(encode(own_kind(3, guessed=True))) == own_kind(3, guessed=True)


def test_a_new_answer_may_be_a_part_of_several(own_kind: Any) -> None:
    whole = CompoundResponse((own_kind(3), Generated("a", 1, "eos")))
    assert decode(encode(whole)) == whole


def test_a_new_answer_is_shown_by_its_own_text(own_kind: Any) -> None:
    stored = json.loads(encode(own_kind(3)))
    assert response_text(stored) == "3 tokens"
    assert (
        response_text({"kind": "several", "parts": [stored, stored]}) == "1: 3 tokens\n2: 3 tokens"
    )


@pytest.mark.parametrize("stored", [{"kind": "unheard"}, {"filtered_resps": ["B"]}])
def test_an_answer_of_an_unknown_kind_is_shown_as_json(stored: StoredFields) -> None:
    assert response_text(stored) == answer_text(stored) == json.dumps(stored)


def test_a_long_part_says_how_much_of_the_whole_is_left_out() -> None:
    part = {"kind": "generated", "text": "x" * (RESPONSE_CHARS + 100)}
    shown = response_text({"kind": "several", "parts": [part]})
    assert shown == "1: " + "x" * (RESPONSE_CHARS - 3) + "… (103 more characters)"


@pytest.mark.parametrize(
    ("request_", "characters", "tokens"),
    [
        (FillMask("a word", (0, 1), "a"), 6, 0),
        (Generate("abc", max_tokens=7), 3, 7),
        (Generate("abc", max_tokens=7, conversation=TALK), 12, 7),
        (LogLikelihood("ab", " cd", TALK), 14, 0),
        (LogLikelihoodRolling("abcd"), 4, 0),
    ],
)
def test_a_request_says_what_is_read_and_written_for_it(
    request_: Any, characters: int, tokens: int
) -> None:
    assert (request_.characters, request_.most_tokens) == (characters, tokens)


def test_the_parts_of_a_request() -> None:
    single = LogLikelihood("a", "b")
    assert parts_of(single) == (single,)
    assert parts_of(CompoundRequest((single, single))) == (single, single)


def test_a_likelihood_is_shown_with_its_rank() -> None:
    stored = json.loads(encode(Likelihood(-1.5, True, 2)))
    assert response_text(stored) == "log-probability -1.5 (its first choice)"
