"""The protocols of LAMBADA@1: the blank is what is filled, or the last word what is scored."""

from __future__ import annotations

import pytest

from ckptbench.api.protocol import EvalProtocol, RequestContext
from ckptbench.api.requests import FillMask, LogLikelihood
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets.lambada import CHOICE, GREEDY, MLM_WHOLE_WORD, PROTOCOLS

RAIN = Sample("r-1", {"text": "우산은 작았다. 비가 와서 _을 폈다.", "answer": "우산"})
BOTH = Sample("r-2", {**RAIN.fields, "candidate": "양산"})


def test_their_names() -> None:
    assert [p.name for p in PROTOCOLS] == [
        "lambada/mlm-whole-word",
        "lambada/choice",
        "lambada/greedy",
    ]


def test_the_last_word_is_scored_with_the_space_before_it() -> None:
    whole = Sample("w-1", {"text": "It rained.\n\nShe had no  umbrella"})
    request = GREEDY.ask(whole, RequestContext())
    assert request == LogLikelihood("It rained.\n\nShe had no ", " umbrella")
    assert request.context + request.continuation == whole["text"]


def test_a_whole_passage_and_a_blank_are_asked_by_different_protocols() -> None:
    whole = Sample("w-1", {"text": "She had no umbrella"})
    assert [p.variant for p in PROTOCOLS if p.covers(whole)] == ["greedy"]
    assert [p.variant for p in PROTOCOLS if p.covers(BOTH)] == ["mlm-whole-word", "choice"]


@pytest.mark.parametrize("protocol", [MLM_WHOLE_WORD, CHOICE], ids=lambda p: p.variant)
def test_the_blank_is_filled_and_never_an_earlier_appearance(protocol: EvalProtocol) -> None:
    request = protocol.ask(BOTH, RequestContext())
    assert request.text == "우산은 작았다. 비가 와서 우산을 폈다."
    assert request.span == (15, 17)
    assert request.text[slice(*request.span)] == request.word == "우산"


@pytest.mark.parametrize("text", ["_은 비를 막는다.", "비를 막는 것은 _", "_"])
def test_the_blank_may_stand_anywhere(text: str) -> None:
    request = MLM_WHOLE_WORD.ask(Sample("r", {"text": text, "answer": "우산"}), RequestContext())
    start, end = request.span
    assert request.text[:start] + "_" + request.text[end:] == text


def test_whole_word_is_greedy_and_has_one_candidate() -> None:
    request = MLM_WHOLE_WORD.ask(RAIN, RequestContext())
    assert (request.masks, request.beam, request.top) == ("word", 1, 1)
    assert request.options == ()
    assert request.keep is None


def test_the_candidate_does_not_change_what_whole_word_asks() -> None:
    assert MLM_WHOLE_WORD.ask(BOTH, RequestContext()) == MLM_WHOLE_WORD.ask(RAIN, RequestContext())


def test_choice_sets_the_answer_against_the_candidate() -> None:
    request = CHOICE.ask(BOTH, RequestContext())
    assert isinstance(request, FillMask)
    assert request.options == ("우산", "양산")
    assert request.word == "우산"
    assert request.top == 2


def test_choice_covers_rows_that_have_a_candidate() -> None:
    assert CHOICE.covers(BOTH)
    assert not CHOICE.covers(RAIN)
    assert MLM_WHOLE_WORD.covers(RAIN)


def test_the_right_answer_is_the_text_that_is_scored() -> None:
    """For its bits per byte: with what stands behind the blank, or the space before the word."""
    assert MLM_WHOLE_WORD.answer is not None
    assert MLM_WHOLE_WORD.answer(RAIN) == "우산"
    assert CHOICE.answer is not None
    assert CHOICE.answer(BOTH) == "우산을"
    assert GREEDY.answer is not None
    assert GREEDY.answer(Sample("w-1", {"text": "She had no  umbrella"})) == " umbrella"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("_", "우산"),
        ("비를 막는 것은 _", "우산"),
        ("_,\n그리고", "우산,"),
        ("_이다. 비", "우산이다."),
    ],
)
def test_a_choice_is_scored_up_to_the_next_white_space(text: str, form: str) -> None:
    sample = Sample("r", {"text": text, "answer": "우산", "candidate": "양산"})
    assert CHOICE.answer is not None
    assert CHOICE.answer(sample) == form


@pytest.mark.parametrize("protocol", [MLM_WHOLE_WORD, CHOICE], ids=lambda p: p.variant)
def test_the_likelihood_of_a_masked_word_is_asked_for(protocol: EvalProtocol) -> None:
    assert protocol.ask(BOTH, RequestContext()).likelihood
