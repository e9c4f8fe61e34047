"""Texts that are too long for a served model are cut as for a local one, or refused by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ckptbench.api.requests import (
    Failed,
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
from ckptbench.fixtures.endpoints.engine import EndpointEngine

Serve = Callable[..., Any]
DEMO = resolve("demo-code").path
# Lines that differ, so that a text without its beginning is another text. More than 512 tokens.
LONG = "".join(f"x{number} = {number * 7}\n" for number in range(120))
CUT = (
    Generate(f"{LONG}def add(a, b):\n", max_tokens=24, cut_prompt=True),
    Generate(f"{LONG}def total(numbers):\n", stop=("\n",), max_tokens=200, cut_prompt=True),
    Generate("def shout(s):\n", max_tokens=6, cut_prompt=True),
)
NO_LIKELIHOODS = {"echo", "prompt_logprobs"}
SCORED = LogLikelihood(f"{LONG}def add(a, b):\n", "    return a + b\n")


def answers(engine: Any, requests: Sequence[Request]) -> list[Response]:
    found = list(engine.answer(requests))
    return [response for _, response in sorted(found, key=lambda entry: entry[0])]


def reason(response: Response) -> str:
    assert isinstance(response, Failed), response
    return response.reason


@pytest.mark.parametrize("lacks", [set(), NO_LIKELIHOODS], ids=["scores", "only writes"])
def test_a_prompt_is_cut_where_the_local_engine_cuts_it(
    served: Any, serve: Serve, engine_of: Serve, lacks: set[str]
) -> None:
    server = serve(lacks)
    there = answers(engine_of(server, tokenizer=DEMO), CUT)
    here = served.answers(*CUT)
    assert all(isinstance(response, Generated) for response in here)
    assert [(r.text, r.finish) for r in there] == [(r.text, r.finish) for r in here]
    sent = sorted(len(body["prompt"]) for _, body in server.seen if body["max_tokens"] > 20)
    assert sent[-2:] == [512 - 200, 512 - 24]


def test_a_prompt_beside_which_no_answer_fits_is_skipped_as_here(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    asked = [Generate("def f(a):\n", max_tokens=512, cut_prompt=True)]
    here, there = served.answers(*asked), answers(engine_of(serve(), tokenizer=DEMO), asked)
    assert here == there == [Skipped("over_length")]


def test_a_prompt_that_cannot_be_cut_is_no_answer(serve: Serve, engine_of: Serve) -> None:
    """Sent whole it would get a shorter answer than the benchmark asks for."""
    first, _, short = answers(engine_of(serve({"ids"}), tokenizer=DEMO), CUT)
    assert "where 488 fit beside the answer" in reason(first)
    assert "takes a server that takes token ids" in reason(first)
    assert isinstance(short, Generated)


@pytest.mark.parametrize("lacks", [set(), {"tokenize"}])
def test_without_a_copy_of_the_tokenizer_a_prompt_too_long_names_the_option(
    serve: Serve, engine_of: Serve, lacks: set[str]
) -> None:
    first, second, short = answers(engine_of(serve(lacks)), CUT)
    for told in (reason(first), reason(second)):
        assert "HTTP 400: This model's maximum context length is 512 tokens." in told
        assert "cutting it takes a copy of the tokenizer (--tokenizer)" in told
    assert isinstance(short, Generated)


@pytest.mark.slow
def test_an_answer_that_a_server_squeezes_in_is_none(
    served: Any, serve: Serve, engine_of: Serve
) -> None:
    """As llama-server does: what the prompt leaves, with nothing but `length` to tell of it."""
    long = "".join(f"x{number} = {number * 7}\n" for number in range(40))
    asked = [Generate(f"{long}# {word}\n", max_tokens=400, cut_prompt=True) for word in "ab"]
    server = serve(squeezes=True)
    for response in answers(engine_of(server), asked):
        assert "of 400 tokens: the prompt leaves no more room" in reason(response)
        assert "takes a copy of the tokenizer (--tokenizer)" in reason(response)
    here = served.answers(*asked)
    assert all(isinstance(response, Generated) for response in here)
    there = answers(engine_of(server, tokenizer=DEMO), asked)
    assert [(r.text, r.finish) for r in there] == [(r.text, r.finish) for r in here]
    # Where the prompt is not to be cut, the answer gets what there is room for, as here.
    (uncut,) = [Generate(asked[0].prompt, max_tokens=400)]
    assert answers(engine_of(server), [uncut])[0].text == served.answers(uncut)[0].text


def test_a_context_is_cut_where_the_local_engine_cuts_it(
    served: Any, serve: Serve, connected: Serve
) -> None:
    endpoint = connected(serve(positions=514), tokenizer=DEMO, seq_len=512)
    (here,), (there,) = served.answers(SCORED), answers(EndpointEngine(endpoint), [SCORED])
    assert isinstance(here, Likelihood)
    assert (there.greedy, there.tokens) == (here.greedy, here.tokens)
    assert there.logprob == pytest.approx(here.logprob, abs=1e-4)
    assert endpoint.closing_notes == ()


def test_a_server_that_holds_less_than_the_model_reads_is_told(
    serve: Serve, connected: Serve
) -> None:
    """With a model of 512 tokens it takes 511: it generates one behind them."""
    endpoint = connected(serve(), tokenizer=DEMO)
    asked = [SCORED, LogLikelihoodRolling(LONG), LogLikelihood("def f(a):\n", "    return a\n")]
    assert all(isinstance(r, Likelihood) for r in answers(EndpointEngine(endpoint), asked))
    (note,) = endpoint.closing_notes
    assert note.startswith("2 texts of demo were scored 510 tokens at a time")
    assert note.endswith("--seq-len=510")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacks", "options", "words"),
    [
        (set(), {}, "a copy of the tokenizer (--tokenizer)"),
        ({"ids"}, {"tokenizer": DEMO}, "a server that takes token ids"),
    ],
)
def test_a_text_that_cannot_be_cut_has_no_likelihood(
    serve: Serve, engine_of: Serve, lacks: set[str], options: dict[str, Any], words: str
) -> None:
    """Neither when the server refuses it nor when it would read more than was asked for."""
    roomy = serve(lacks, positions=2048)
    whole, rolling = answers(
        engine_of(roomy, seq_len=512, **options), [SCORED, LogLikelihoodRolling(LONG)]
    )
    assert f"where 513 fit; cutting its beginning off takes {words}" in reason(whole)
    assert reason(rolling) == f"a whole text is scored in windows of tokens, which takes {words}"
    (refused,) = answers(engine_of(serve(lacks), **options), [SCORED])
    assert words in reason(refused)


def test_an_empty_text_is_as_likely_as_here(served: Any, serve: Serve, engine_of: Serve) -> None:
    """The tokenizer's own beginning is scored, as in the local engine."""
    asked = [LogLikelihoodRolling("")]
    (here,), (there,) = served.answers(*asked), answers(engine_of(serve(), tokenizer=DEMO), asked)
    assert (there.tokens, there.logprob) == (here.tokens, pytest.approx(here.logprob, abs=1e-4))
