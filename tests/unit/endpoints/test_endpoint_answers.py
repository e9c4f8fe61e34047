"""What a server answers is checked before it is believed."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.fixtures.endpoints.client import Headers
from ckptbench.fixtures.endpoints.parse import (
    BadAnswer,
    ServerChoice,
    TokenScore,
    body,
    choices,
    listed_models,
    opening,
    read,
)
from ckptbench.fixtures.endpoints.retries import retry_after_s


def answer(*texts: Any) -> Any:
    return {"choices": [{"index": i, "text": text} for i, text in enumerate(texts)]}


def test_choices_come_in_the_order_of_their_index() -> None:
    shuffled = {"choices": list(reversed(answer("a", "b", "c")["choices"]))}
    assert [choice.text for choice in choices(shuffled, 3)] == ["a", "b", "c"]


def test_a_missing_text_is_null_and_not_an_error() -> None:
    assert choices(answer(None), 1)[0].text is None
    chat = {"choices": [{"index": 0, "message": {"role": "assistant", "content": None}}]}
    assert choices(chat, 1)[0].text is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (answer("a"), "1 of 2 answers"),
        (answer("a", "b", "c"), "3 of 2 answers"),
        ({"choices": [{"index": 0, "text": "a"}] * 2}, "numbered its 2 answers 0, 0"),
        ({"choices": [{"index": 0, "text": "a"}, {"index": 1}]}, "has no text"),
        ({"choices": [{"index": 0, "text": 1}, {"index": 1, "text": "b"}]}, "has no text"),
        ({"usage": {"completion_tokens": 2}}, "has no choices"),
        ([], "has no choices"),
        ({"choices": "ab"}, "has no choices"),
    ],
)
def test_what_was_not_asked_for_is_refused(value: Any, words: str) -> None:
    with pytest.raises(BadAnswer, match=words):
        choices(value, 2)


def test_lists_of_models_of_another_shape_list_none() -> None:
    assert listed_models({"data": [{"id": "a"}, {"object": "model"}]}) == [{"id": "a"}]
    assert listed_models({"models": ["a"]}) == []
    assert listed_models(None) == []


def echoed(text: str = "the sea x", finish: str = "length", **columns: Any) -> ServerChoice:
    told = {
        "tokens": ["the", " sea", " x"],
        "token_logprobs": [None, -1.0, -2.0],
        "top_logprobs": [None, {" sea": -1.0}, {" y": -0.5, " x": -2.0}],
    } | columns
    return ServerChoice(text, finish, "", {"text": text, "logprobs": told})


def test_echo_tells_the_prompt_and_one_generated_token() -> None:
    scores = read(echoed(), "the sea", "echo")
    assert scores == [TokenScore("the", None, False), TokenScore(" sea", -1.0, True)]


def test_echo_that_ends_by_itself_is_split_by_its_text() -> None:
    tokens = ["the", " sea"]
    whole = {"tokens": tokens, "token_logprobs": [None, -1.0], "top_logprobs": [None, {"s": -0.1}]}
    scores = read(echoed("the sea", "stop", **whole), "the sea", "echo")
    assert scores[1] == TokenScore(" sea", -1.0, False)
    assert len(read(echoed(finish="stop"), "the sea", "echo")) == 2
    with pytest.raises(BadAnswer, match="where the prompt ends"):
        read(echoed("elsewhere", "stop"), "else", "echo")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (echoed(" x"), "ignores echo"),
        (ServerChoice("the sea x", "length", "", {}), "not those of an echoed prompt"),
        (
            ServerChoice("the sea x", "length", "", {"logprobs": {"content": [{"logprob": -1.0}]}}),
            "not those of an echoed prompt",
        ),
        (echoed(token_logprobs=[None, -1.0]), "different lengths"),
        (echoed(token_logprobs=[None, None, -1.0]), "no log probability for token 1"),
        (echoed(token_logprobs=[None, float("nan"), -1.0]), "nan"),
        (echoed(token_logprobs=[None, 0.7, -1.0]), "0.7"),
        (echoed(token_logprobs=[None, "-1", -1.0]), "no numbers"),
        (echoed(top_logprobs=[None, None, None]), "top_logprobs"),
        (
            echoed(
                tokens=["the", "\ufffd", " x"], top_logprobs=[None, {"\ufffd": -1.0}, {"x": -1.0}]
            ),
            "parts of a character",
        ),
        (echoed(tokens=[], token_logprobs=[], top_logprobs=[]), "no token of the prompt"),
    ],
)
def test_an_echo_without_a_value_for_each_token_is_refused(
    choice: ServerChoice, words: str
) -> None:
    with pytest.raises(BadAnswer, match=words):
        read(choice, "the sea", "echo")


def listed(*entries: Any) -> ServerChoice:
    return ServerChoice("x", "length", "", {"prompt_logprobs": list(entries)})


def entry(token: int, logprob: float, rank: int = 1) -> dict[str, Any]:
    return {str(token): {"logprob": logprob, "rank": rank, "decoded_token": f"<{token}>"}}


def test_prompt_logprobs_tell_ids_and_ranks() -> None:
    scores = read(listed(None, entry(5, -1.0), entry(6, -2.0, 3)), [4, 5, 6], "prompt_logprobs")
    assert [(s.id, s.logprob, s.first_choice) for s in scores] == [
        (None, None, False),
        (5, -1.0, True),
        (6, -2.0, False),
    ]


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (ServerChoice("x", "length", "", {}), "ignores prompt_logprobs"),
        (listed(None, entry(5, -1.0)), "scored 2 tokens where 3 were sent"),
        (listed(None, entry(7, -1.0), entry(6, -1.0)), "token 7 where 5 was sent"),
        (listed(None, entry(5, -1.0) | entry(9, -1.0), entry(6, -1.0)), "other tokens"),
        (listed(None, {"5": {"rank": 1}}, entry(6, -1.0)), "lack logprob or rank"),
        (listed(None, None, entry(6, -1.0)), "no log probability for token 1"),
    ],
)
def test_prompt_logprobs_of_other_tokens_are_refused(choice: ServerChoice, words: str) -> None:
    with pytest.raises(BadAnswer, match=words):
        read(choice, [4, 5, 6], "prompt_logprobs")


def spelled(*texts: str) -> ServerChoice:
    return listed(
        None, *({"1": {"logprob": -1.0, "rank": 1, "decoded_token": text}} for text in texts)
    )


@pytest.mark.parametrize(
    "texts",
    [("the", " sea"), ("", "the", "sea"), (" sea",), ("\ufffd", "\ufffd"), ("the", " ｓｅａ")],
)
def test_tokens_that_spell_the_prompt_to_its_end_are_its_tokens(texts: tuple[str, ...]) -> None:
    assert len(read(spelled(*texts), "the sea", "prompt_logprobs")) == len(texts) + 1


@pytest.mark.parametrize("texts", [("the",), ("the", " se"), ("a", " lake")])
def test_a_list_that_ends_before_the_prompt_does_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(BadAnswer, match=r"do not spell the prompt to its end.*--tokenizer"):
        read(spelled(*texts), "the sea", "prompt_logprobs")


@pytest.mark.parametrize(
    "tokens",
    [("the", " sea", " x"), ("<s>", "the", "sea", " x"), ("", "the", " sea", " x")],
)
def test_an_echo_spells_the_whole_prompt(tokens: tuple[str, ...]) -> None:
    values = [None, *(-1.0 for _ in tokens[1:])]
    tops = [None, *({token: -1.0} for token in tokens[1:])]
    whole = echoed(tokens=list(tokens), token_logprobs=values, top_logprobs=tops)
    assert len(read(whole, "the sea", "echo", first_scored=False)) == len(tokens) - 1


@pytest.mark.parametrize("first", [None, -1.0])
def test_an_echo_that_begins_after_the_prompt_does_is_refused(first: float | None) -> None:
    tops = [None if first is None else {" sea": first}, {" x": -1.0}]
    late = echoed(tokens=[" sea", " x"], token_logprobs=[first, -1.0], top_logprobs=tops)
    with pytest.raises(BadAnswer, match=r"do not spell the prompt from its beginning"):
        read(late, "the sea", "echo")


def test_a_first_token_has_no_value_where_the_server_gives_it_none() -> None:
    tokens = {"tokens": ["\ufffd", "\ufffd", " x"], "token_logprobs": [-1.0, -1.0, -1.0]}
    late = echoed(**tokens, top_logprobs=[{"a": 0.0}] * 3)
    assert len(read(late, "the sea", "echo", first_scored=True)) == 2
    with pytest.raises(BadAnswer, match="lacks the beginning"):
        read(late, "the sea", "echo", first_scored=False)


def test_no_more_is_generated_than_servers_insist_on() -> None:
    for way in ("echo", "prompt_logprobs"):
        assert body("m", "text", way)["max_tokens"] == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["<s>", "the", " sea"], 1),
        (["", " the", " sea"], 1),
        (["the", " sea"], 0),
        (["?", "?", "?"], None),
    ],
)
def test_the_servers_own_beginning_is_told_from_the_texts(
    tokens: list[str], expected: int | None
) -> None:
    scores = [TokenScore(t, -1.0 if i else None, False) for i, t in enumerate(tokens)]
    assert opening(scores, "the sea") == expected


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after_s("2.5", 0.0) == 2.5
    assert retry_after_s("-1", 0.0) == 0.0
    assert retry_after_s("Thu, 01 Jan 1970 00:01:40 GMT", 40.0) == 60.0
    assert retry_after_s("Thu, 01 Jan 1970 00:01:40 GMT", 400.0) == 0.0
    assert retry_after_s("soon", 0.0) is None
    assert retry_after_s("", 0.0) is None


def test_secrets_are_taken_out_of_a_servers_words() -> None:
    headers = Headers.of([("X-Key", "abcdefgh")], "sk-1234567")
    assert headers.values == {"X-Key": "abcdefgh", "Authorization": "Bearer sk-1234567"}
    told = headers.redact("wrong key sk-1234567 (Bearer sk-1234567), abcdefgh")
    assert told == "wrong key *** (***), ***"
    assert "abcdefgh" not in repr(headers)


def test_a_given_authorization_wins_over_the_key() -> None:
    headers = Headers.of([("authorization", "Basic abcdefgh")], "sk-1234567")
    assert headers.values == {"authorization": "Basic abcdefgh"}
