"""A served model gives the scores of the same model here, or says why it gives none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.requests import (
    Failed,
    FillMask,
    Generate,
    Generated,
    Likelihood,
    LogLikelihood,
    LogLikelihoodRolling,
    Request,
    Response,
    Skipped,
)
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.endpoints.identity import fingerprint

Serve = Callable[..., Any]
DEMO = resolve("demo-code").path
TEXTS = (
    Generate("def add(a, b):\n", max_tokens=24),
    Generate("def total(numbers):\n", stop=("\n",), max_tokens=24),
    Generate("def is_even(n):\n", stop=("!", "?", ";", ":", "n %"), max_tokens=24),
    Generate("def shout(s):\n", max_tokens=6),
)
SCORED = (
    LogLikelihood("def add(a, b):\n", "    return a + b\n"),
    LogLikelihood("def add(a, b):\n   ", " return a - b\n"),
    LogLikelihood("def add(a, b):\n", "    return"),
    LogLikelihood("", "def add"),
)


def answers(engine: Any, requests: Sequence[Request]) -> list[Response]:
    found = list(engine.answer(requests))
    assert sorted(index for index, _ in found) == list(range(len(requests)))
    return [response for _, response in sorted(found, key=lambda entry: entry[0])]


def texts(responses: Sequence[Response]) -> list[str]:
    assert all(isinstance(r, Generated) for r in responses), responses
    return [r.text for r in responses if isinstance(r, Generated)]


def reason(response: Response) -> str:
    assert isinstance(response, Failed), response
    assert "\n" not in response.reason
    return response.reason


def test_greedy_texts_are_those_of_the_local_engine(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    here = served.answers(*TEXTS)
    there = answers(engine_of(serve()), TEXTS)
    assert texts(there) == texts(here)
    assert [r.finish for r in there] == [r.finish for r in here]


@pytest.mark.parametrize("lacks", [set(), {"prompt_logprobs"}, {"ids"}])
@pytest.mark.parametrize("tokenizer", [None, DEMO])
def test_likelihoods_are_those_of_the_local_engine(
    served: Any, serve: Serve, engine_of: Serve, lacks: set[str], tokenizer: Path | None
) -> None:
    there = answers(engine_of(serve(lacks=lacks), tokenizer=tokenizer), SCORED)
    for mine, theirs in zip(served.answers(*SCORED), there, strict=True):
        assert isinstance(theirs, Likelihood)
        assert theirs.logprob == pytest.approx(mine.logprob, abs=1e-3)
        assert (theirs.greedy, theirs.tokens) == (mine.greedy, mine.tokens)


def test_a_context_is_counted_once_for_all_its_continuations(
    serve: Serve, engine_of: Serve
) -> None:
    server = serve()
    engine = engine_of(server)
    before = len(server.seen)
    answers(engine, [LogLikelihood("def f(a):\n", f"    return {n}") for n in range(5)])
    assert len(server.seen) - before == 6


def test_a_long_text_is_scored_in_the_local_engines_windows(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    (request,) = asked = [LogLikelihoodRolling("def add(a, b):\n    return a + b\n")]
    (mine,) = served.answers(request)
    (theirs,) = answers(engine_of(serve(), tokenizer=DEMO), asked)
    assert theirs.logprob == pytest.approx(mine.logprob, abs=1e-3)
    assert theirs.tokens == mine.tokens
    assert "--tokenizer" in reason(answers(engine_of(serve()), asked)[0])


def test_a_server_that_scores_only_what_it_generates_is_refused(
    serve: Serve, engine_of: Serve
) -> None:
    engine = engine_of(serve(lacks={"echo", "prompt_logprobs"}))
    for response in answers(engine, SCORED):
        told = reason(response)
        assert "ignores echo" in told
        assert "ignores prompt_logprobs" in told
    assert "reports no log probabilities of prompts" in " ".join(engine.notes)


def test_each_answer_has_its_own_seed(serve: Serve, engine_of: Serve) -> None:
    engine = engine_of(serve())
    asked = [Generate("def f(", max_tokens=16, temperature=1.5, seed=seed) for seed in range(6)]
    drawn = texts(answers(engine, asked))
    assert len(set(drawn)) > 1
    assert texts(answers(engine, asked[3:4])) == drawn[3:4]


def test_trials_are_drawn_at_once_where_seeds_are_not_honoured(
    serve: Serve, engine_of: Serve
) -> None:
    server = serve(lacks={"seed"})
    engine = engine_of(server)
    asked = [Generate("def f(", max_tokens=16, temperature=1.5, seed=seed) for seed in range(6)]
    before = len(server.seen)
    assert len(set(texts(answers(engine, asked)))) > 1
    assert [body["n"] for _, body in server.seen[before:]] == [6]
    assert "does not honour seed" in " ".join(engine.notes)


def test_a_server_that_ignores_temperature_draws_no_trials(serve: Serve, engine_of: Serve) -> None:
    engine = engine_of(serve(lacks={"temperature", "n"}))
    hot, cold = answers(engine, [Generate("def f(", temperature=0.8), Generate("def f(")])
    assert "ignores temperature" in reason(hot)
    assert isinstance(cold, Generated)


def test_a_prompt_gets_as_many_tokens_as_there_is_room_for(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    asked = [Generate("x = 1\n" * 100, max_tokens=400), Generate("x = 1\n" * 200, max_tokens=9)]
    here = served.answers(*asked)
    assert isinstance(here[1], Skipped)
    assert isinstance(here[0], Generated)
    for tokenizer in (None, DEMO):
        there = answers(engine_of(serve(), tokenizer=tokenizer), asked)
        assert texts(there[:1]) == [here[0].text]
        assert there[1] == here[1]


def test_a_prompt_too_long_for_a_server_that_counts_no_tokens_fails_with_its_words(
    serve: Serve, engine_of: Serve
) -> None:
    (told,) = answers(engine_of(serve(lacks={"tokenize"})), [Generate("x", max_tokens=4000)])
    assert "HTTP 400: This model's maximum context length is 512 tokens." in reason(told)


def test_what_a_server_cannot_answer_is_refused(serve: Serve, engine_of: Serve) -> None:
    (fill, chat) = answers(
        engine_of(serve(lacks={"chat"})), [FillMask("a b", (0, 1), "a"), Generate("a", chat=True)]
    )
    assert "no FillMask" in reason(fill)
    assert "does not chat" in reason(chat)
    (plain,) = answers(engine_of(serve(), path="/chat/completions"), [Generate("a")])
    assert "choose a protocol that chats" in reason(plain)


def test_a_chat_goes_to_the_path_of_chats(serve: Serve, engine_of: Serve) -> None:
    server = serve()
    (answer,) = answers(engine_of(server), [Generate("def f(x):\n", chat=True, max_tokens=8)])
    assert isinstance(answer, Generated)
    assert server.seen[-1][1]["messages"] == [{"role": "user", "content": "def f(x):\n"}]


def test_connections_are_used_again(serve: Serve, engine_of: Serve) -> None:
    server = serve()
    engine = engine_of(server, at_once=3)
    for _ in range(3):
        answers(engine, [Generate(f"def f{n}(", max_tokens=2) for n in range(8)])
    assert server.connections <= 3


# Identity


def test_answers_are_used_again_in_the_same_run_only(serve: Serve, connected: Serve) -> None:
    server = serve()
    first, again, other = (connected(server, run=run).fingerprint for run in ("a", "a", "b"))
    assert first == again
    assert first != other


def test_what_is_only_a_way_to_draw_identifies_no_model(serve: Serve, connected: Serve) -> None:
    """One pair of draws decides whether seeds are honoured: it may turn out otherwise."""
    endpoint = connected(serve(), run="a")
    unlike = replace(endpoint.capabilities, seed=False)
    assert fingerprint(endpoint.address, "demo", unlike, "a") == endpoint.fingerprint
    other = replace(endpoint.capabilities, greedy_text="")
    assert fingerprint(endpoint.address, "demo", other, "a") != endpoint.fingerprint


def test_the_model_is_the_only_one_or_the_one_named(serve: Serve, connected: Serve) -> None:
    assert connected(serve()).model == "demo"
    with pytest.raises(CkptbenchError, match=r"no model 'demos' \(did you mean 'demo'\?\)"):
        connected(serve(), model="demos")


def test_a_tokenizer_of_another_model_is_refused(
    serve: Serve, connected: Serve, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "the": 1}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(tmp_path)
    with pytest.raises(CkptbenchError, match="tokens of a text, not those"):
        connected(serve(), tokenizer=tmp_path)


def test_nobody_at_an_address_is_one_clear_error(serve: Serve, connected: Serve) -> None:
    server = serve()
    server.stop()
    with pytest.raises(CkptbenchError, match="no server answers") as caught:
        connected(server, retries=0)
    assert "start the server first" in str(caught.value)


def test_a_server_that_was_never_there_is_not_waited_for(serve: Serve, connected: Serve) -> None:
    server = serve()
    server.stop()
    with pytest.raises(CkptbenchError, match="after 3 tries"):
        connected(server, retries=50)


# What goes wrong


@pytest.mark.parametrize(
    "fault", ["429", "503", "500", "reset", "cut", "webpage", "error=502", "error=429"]
)
def test_what_passes_is_tried_again(
    served: Any, serve: Serve, engine_of: Serve, fault: str
) -> None:
    engine = engine_of(serve(fault=lambda n: fault if n in (0, 1, 5) else ""), retries=4)
    assert texts(answers(engine, TEXTS)) == texts(served.answers(*TEXTS))


def test_the_server_is_not_asked_before_the_time_it_names(serve: Serve, engine_of: Serve) -> None:
    from ckptbench.fixtures.endpoints import client

    times: list[float] = []

    def told(number: int) -> str:
        import time

        times.append(time.monotonic())
        return "429" if number == 0 else ""

    engine = engine_of(serve(fault=told), at_once=1)
    answers(engine, TEXTS[:1])
    assert times[1] - times[0] >= 0.05
    assert client.LONGEST_RETRY_AFTER_S > 60


def test_a_refusal_is_told_and_not_tried_again(
    serve: Serve, engine_of: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    server = serve(fault=lambda n: "400" if n == 0 else "")
    engine = engine_of(server, at_once=1)
    told = [reason(r) for r in answers(engine, TEXTS) if isinstance(r, Failed)]
    assert told == ["HTTP 400: no such thing, ***"]
    assert server.asked == len(TEXTS)
    assert server.seen[-1][0]["Authorization"] == "Bearer sk-secret-123"


@pytest.mark.parametrize(
    ("fault", "words"),
    [("half", "3 of 6 answers"), ("renumber", "numbered"), ("no-choices", "no choices")],
)
def test_a_broken_answer_fails_all_that_were_asked_with_it(
    serve: Serve, engine_of: Serve, fault: str, words: str
) -> None:
    engine = engine_of(serve(lacks={"seed"}, fault=lambda number: fault))
    asked = [Generate("def f(", max_tokens=4, temperature=1.5, seed=seed) for seed in range(6)]
    assert all(words in reason(response) for response in answers(engine, asked))


def test_a_shuffled_answer_is_put_in_order(serve: Serve, engine_of: Serve) -> None:
    engine = engine_of(serve(lacks={"seed"}, fault=lambda number: "reorder"))
    asked = [Generate("def f(", max_tokens=4, temperature=1.5, seed=seed) for seed in range(6)]
    assert len(texts(answers(engine, asked))) == 6


def test_null_is_an_empty_answer_that_is_marked(serve: Serve, engine_of: Serve) -> None:
    engine = engine_of(serve(fault=lambda number: "null" if number == 2 else ""), at_once=1)
    found = answers(engine, TEXTS)
    assert found[2] == Generated("", 0, "eos", null=True)
    assert all(texts(found)[:2])
    assert [r.null for r in found if isinstance(r, Generated)] == [False, False, True, False]


BROKEN_OFF = (
    "abort",
    "error",
    "content_filter",
    "load",
    "cancelled",
    "insufficient_system_resource",
    "Some new word",
)


@pytest.mark.parametrize("word", [*BROKEN_OFF, "null"])
@pytest.mark.parametrize("chat", [False, True])
def test_an_answer_that_the_server_broke_off_is_an_error_of_its_own_count(
    serve: Serve, connected: Serve, word: str, chat: bool
) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    server = serve(fault=lambda number: f"finish={word}" if number in (1, 3) else "")
    endpoint = connected(server, at_once=1)
    asked = [Generate(f"def f{n}(a):\n", max_tokens=6, chat=chat) for n in range(5)]
    found = answers(EndpointEngine(endpoint), asked)
    assert [isinstance(r, Failed) for r in found] == [False, True, False, True, False]
    assert reason(found[1]) == f"the server cut the answer short: its finish_reason is {word}"
    (note,) = endpoint.closing_notes
    assert note.startswith(f"2 answers of demo were cut short (finish_reason {word})")
    assert server.asked == len(asked), "it is not asked again in the same run"


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", "eos"),
        ("eos", "eos"),
        ("eos_token", "eos"),
        ("EOS_TOKEN", "eos"),
        ("end_turn", "eos"),
        ("tool_calls", "eos"),
        ("function_call", "eos"),
        ("stop_sequence", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
    ],
)
def test_the_words_of_servers_for_a_whole_answer(
    serve: Serve, engine_of: Serve, word: str, finish: str
) -> None:
    (found,) = answers(engine_of(serve(fault=lambda number: f"finish={word}")), TEXTS[:1])
    assert isinstance(found, Generated)
    assert found.finish == finish


def test_of_answers_drawn_at_once_only_the_broken_one_fails(serve: Serve, engine_of: Serve) -> None:
    def first_of(number: int) -> str:
        return "first-aborts"

    engine = engine_of(serve(lacks={"seed"}, fault=first_of))
    asked = [Generate("def f(", max_tokens=4, temperature=1.5, seed=seed) for seed in range(3)]
    found = answers(engine, asked)
    assert "finish_reason is abort" in reason(found[0])
    assert len(texts(found[1:])) == 2


def test_null_of_a_server_that_states_no_reasons_says_nothing(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    engine = engine_of(serve(lacks={"finish"}))
    found = answers(engine, TEXTS)
    here = served.answers(*TEXTS)
    assert texts(found) == texts(here)
    # What it counts in its answer tells the one that is as long as it may be.
    assert [r.finish for r in found] == [r.finish for r in here]
    assert "states no finish_reason" in " ".join(engine.notes)
    assert "states no finish_reason" not in " ".join(engine_of(serve()).notes)


def test_null_behind_a_stop_string_is_a_whole_answer(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    engine = engine_of(serve(fault=lambda number: "finish=null"))
    (found,) = answers(engine, TEXTS[1:2])
    assert found == served.answers(TEXTS[1])[0].__class__(found.text, 0, "stop")
    assert found.text == served.answers(TEXTS[1])[0].text


def test_scores_of_a_request_that_was_broken_off_are_none(serve: Serve, engine_of: Serve) -> None:
    engine = engine_of(serve(fault=lambda number: "finish=abort"), tokenizer=DEMO)
    assert "finish_reason 'abort'" in reason(answers(engine, SCORED[:1])[0])


@pytest.mark.parametrize("lacks", [set(), {"prompt_logprobs"}])
def test_scores_that_lack_the_first_token_are_none(
    serve: Serve, engine_of: Serve, lacks: set[str]
) -> None:
    engine = engine_of(serve(lacks=lacks, fault=lambda n: "no-first" if n % 2 else ""), at_once=1)
    found = answers(engine, SCORED[:1])  # asks for its context, then for the whole
    assert "lacks the beginning" in reason(found[0])


def test_half_a_character_is_no_text(serve: Serve, engine_of: Serve) -> None:
    (found,) = answers(engine_of(serve(fault=lambda number: "surrogate")), TEXTS[:1])
    assert texts([found]) == ["a\ufffd"]


@pytest.mark.parametrize("chat", [False, True])
def test_the_time_limit_is_for_the_whole_answer(serve: Serve, connected: Serve, chat: bool) -> None:
    """Each byte comes in time, and the answer takes seconds."""
    import time

    from ckptbench.fixtures.endpoints.engine import EndpointEngine
    from ckptbench.fixtures.endpoints.retries import Patience

    server = serve(fault=lambda number: "drip" if number == 0 else "")
    endpoint = connected(server, at_once=1, retries=0)
    endpoint.client.patience = Patience(0.5, retries=0)
    begun = time.monotonic()
    asked = [Generate("def f(a):\n", max_tokens=4, chat=chat), TEXTS[0]]
    slow, quick = answers(EndpointEngine(endpoint), asked)
    assert "no complete answer in time (0.5 s" in reason(slow)
    assert isinstance(quick, Generated), "the connection is given back"
    assert time.monotonic() - begun < 10


def test_a_dripping_answer_is_asked_for_again(serve: Serve, connected: Serve) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine
    from ckptbench.fixtures.endpoints.retries import Patience

    server = serve(fault=lambda number: "drip" if number == 0 else "")
    endpoint = connected(server, at_once=1)
    endpoint.client.patience = Patience(0.5, retries=1, first_wait_s=0.01)
    assert texts(answers(EndpointEngine(endpoint), TEXTS[:1]))
    assert server.asked == 2


@pytest.mark.parametrize(
    ("fault", "words"), [("flood", "is larger than"), ("flood-500", "HTTP 500")]
)
def test_an_answer_without_an_end_is_not_read_to_it(
    serve: Serve, engine_of: Serve, fault: str, words: str
) -> None:
    server = serve(fault=lambda number: fault if number == 0 else "")
    found = answers(engine_of(server, at_once=1, retries=0), TEXTS[:2])
    assert words in reason(found[0])
    assert isinstance(found[1], Generated)
    assert server.flooded < 50_000_000


def test_the_size_of_an_answer_follows_from_what_is_asked() -> None:
    from ckptbench.fixtures.endpoints.client import most_bytes

    one = most_bytes({"prompt": "a", "max_tokens": 100})
    assert most_bytes({"prompt": "a", "max_tokens": 100, "n": 3}) == one + 200 * 1024
    # Every character of the longest known tokens may be escaped.
    assert one > 100 * 128 * 6
    # A prompt of as many tokens as bytes, each told with its number, its text and its place.
    scored = {"prompt": "a" * 1000, "max_tokens": 1, "prompt_logprobs": 0}
    assert most_bytes(scored) - most_bytes({**scored, "prompt": "a"}) > 999 * 500
    assert most_bytes({"model": "demo", "prompt": [1, 2, 3]}) < 2_000_000
    assert most_bytes(None) == 1 << 24


def test_a_server_that_is_gone_is_not_asked_for_the_rest(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    server = serve(fault=lambda number: "die" if number == 4 else "")
    engine = engine_of(server, retries=1, at_once=1)
    asked = [Generate(f"def f{n}(a):\n", max_tokens=4) for n in range(40)]
    found = answers(engine, asked)
    assert texts(found[:4]) == texts(served.answers(*asked[:4]))
    told = [reason(response) for response in found[4:]]
    assert all("after 2 tries" in words for words in told[:3])
    assert all("stopped answering" in words for words in told[3:])
    assert server.asked == 5
    assert "was not sent" in reason(answers(engine, asked[:1])[0])


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["429", "503", "error=429"])
def test_a_server_that_answers_now_and_then_answers_all(
    serve: Serve, engine_of: Serve, fault: str
) -> None:
    """It takes every fourth request, whoever sends it."""
    engine = engine_of(serve(fault=lambda number: "" if number % 4 == 3 else fault), retries=3)
    asked = [Generate(f"def f{n}(a):\n", max_tokens=2) for n in range(8)]
    assert len(texts(answers(engine, asked))) == len(asked)


def test_a_server_that_only_refuses_is_not_gone_at_once(serve: Serve, engine_of: Serve) -> None:
    server = serve(fault=lambda number: "429" if number < 12 else "")
    engine = engine_of(server, retries=1, at_once=1)
    found = answers(engine, [Generate(f"def f{n}(a):\n", max_tokens=2) for n in range(8)])
    told = [reason(response) for response in found[:6]]
    assert told == ["no answer after 2 tries: HTTP 429: slow down"] * 6
    assert len(texts(found[6:])) == 2


def test_a_server_that_only_ever_refuses_is_gone_in_the_end(
    serve: Serve, engine_of: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ckptbench.fixtures.endpoints import client

    engine = engine_of(serve(fault=lambda number: "429"), retries=1)
    monkeypatch.setattr(client, "LONGEST_RETRY_AFTER_S", 0.06)
    found = answers(engine, [Generate(f"def f{n}(a):\n", max_tokens=2) for n in range(60)])
    assert all("HTTP 429" in reason(response) for response in found)
    assert "stopped answering" in reason(found[-1])


def test_an_error_in_an_answer_is_told(serve: Serve, engine_of: Serve) -> None:
    server = serve(fault=lambda number: {0: "error=400", 1: "error=502"}.get(number, ""))
    found = answers(engine_of(server, retries=0, at_once=1), TEXTS)
    assert [reason(response) for response in found[:2]] == [
        "error 400 in an answer with status 200: Provider returned error",
        "no answer: error 502 in an answer with status 200: Provider returned error",
    ]
    assert len(texts(found[2:])) == len(TEXTS) - 2


def test_one_request_that_always_fails_does_not_stop_the_others(
    serve: Serve, engine_of: Serve
) -> None:
    server = serve(fault=lambda number: "500" if number < 2 else "")
    found = answers(engine_of(server, retries=1, at_once=1), TEXTS)
    assert "HTTP 500" in reason(found[0])
    assert len(texts(found[1:])) == len(TEXTS) - 1


# Another model at the same address


def test_no_answer_of_another_model_is_believed_after_a_broken_connection(
    serve: Serve, connected: Serve
) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    server = serve()

    def fault(number: int) -> str:
        if number == 2:
            server.probe_fault = "other-text"
        return "reset" if number == 2 else ""

    server.fault = fault
    endpoint = connected(server, at_once=1)
    found = answers(EndpointEngine(endpoint), [*TEXTS, *TEXTS])
    assert len(texts(found[:2])) == 2
    told = [reason(response) for response in found[2:]]
    assert all(words.startswith("another model answers since a connection") for words in told)
    assert "is answered with 'of another model'" in told[0]
    assert all(words.endswith("this one was not sent") for words in told[1:])
    endpoint.check_model()
    assert endpoint.closing_notes == ()


def test_the_same_model_is_believed_after_a_broken_connection(
    serve: Serve, connected: Serve
) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    endpoint = connected(serve(fault=lambda number: "reset" if number == 2 else ""), at_once=1)
    assert len(texts(answers(EndpointEngine(endpoint), TEXTS))) == len(TEXTS)
    endpoint.check_model()
    assert endpoint.closing_notes == ()


@pytest.mark.parametrize("path", ["", "/chat/completions"])
def test_a_model_that_has_changed_in_the_end_is_a_note(
    serve: Serve, connected: Serve, path: str
) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    server = serve()
    endpoint = connected(server, path=path)
    endpoint.check_model()
    asked = [Generate("def f(", max_tokens=4, chat=bool(path))]
    server.probe_fault = "finish=abort"  # changes nothing in the text
    assert len(texts(answers(EndpointEngine(endpoint), asked))) == 1
    endpoint.check_model()
    assert endpoint.closing_notes == ()
    server.probe_fault = "other-text"
    endpoint.check_model()
    (note,) = endpoint.closing_notes
    assert note.startswith("answers of demo may be those of several models: a fixed question was")


def test_answers_that_name_several_models_are_counted(serve: Serve, connected: Serve) -> None:
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    names = ["a", "a", "b", "a"]
    endpoint = connected(serve(fault=lambda number: f"model={names[number]}"), at_once=1)
    assert len(texts(answers(EndpointEngine(endpoint), TEXTS))) == len(TEXTS)
    assert endpoint.closing_notes == ("answers of demo name 2 models: a (3), b (1)",)
