"""Likelihoods against a plain loop over the logits of one text at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckptbench import Failed, Likelihood, LogLikelihood, LogLikelihoodRolling, Skipped
from ckptbench._util import rounding
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

Load = Callable[..., Any]

PAIRS = (
    ("def add(a, b):\n", "    return a + b"),
    ("def add(a, b):\n    ", "return"),
    ("", "while n > 0:"),
    ("class", " Stack"),
    ("국수를 삶는 동안 손님은", " 시장을 구경한다."),
    ("for word in words:\n" * 3, "x"),
)


def plain(loaded: Any, ids: list[int], tokens: int) -> tuple[float, bool]:
    import torch

    with torch.inference_mode():
        logits = loaded.model(torch.tensor([ids])).logits[0].float()
    total, greedy = 0.0, True
    for place in range(len(ids) - tokens, len(ids)):
        total += float(logits[place - 1].log_softmax(-1)[ids[place]])
        greedy = greedy and int(logits[place - 1].argmax()) == ids[place]
    return total, greedy


def split(loaded: Any, context: str, continuation: str) -> tuple[list[int], int]:
    """As lm-eval does, with the tokenizer's own beginning."""
    spaces = len(context) - len(context.rstrip())
    if spaces:
        continuation = context[-spaces:] + continuation
        context = context[:-spaces]
    whole = loaded.tokenizer(context + continuation)["input_ids"]
    start = len(loaded.tokenizer(context)["input_ids"])
    if start == 0:
        return [loaded.tokenizer.bos_token_id, *whole], len(whole)
    return whole, len(whole) - start


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt2"])
def test_likelihoods_are_those_of_a_plain_loop(family: str, load_causal: Load) -> None:
    loaded = load_causal(family)
    answers = dict(CausalLMEngine(loaded).answer([LogLikelihood(*pair) for pair in PAIRS]))
    for index, pair in enumerate(PAIRS):
        ids, tokens = split(loaded, *pair)
        logprob, greedy = plain(loaded, ids, tokens)
        answer = answers[index]
        assert isinstance(answer, Likelihood)
        assert answer.logprob == pytest.approx(logprob, abs=1e-4)
        assert (answer.greedy, answer.tokens) == (greedy, tokens)


def test_what_the_model_would_say_is_greedy(load_causal: Load) -> None:
    import torch

    loaded = load_causal("llama")
    tokenizer = loaded.tokenizer
    greedy = []
    for first in range(20, 120):
        with torch.inference_mode():
            ids = torch.tensor([[0, first]])
            following = int(loaded.model(ids).logits[0, -1].argmax())
        pair = tokenizer.decode([first]), tokenizer.decode([following])
        # Only where the tokenizer reads the text as it was written.
        if tokenizer("".join(pair))["input_ids"] == [0, first, following] and pair[0].strip():
            greedy.append(LogLikelihood(*pair))
    assert len(greedy) > 5
    answers = dict(CausalLMEngine(loaded).answer(greedy))
    assert all(answer.greedy for answer in answers.values())  # type: ignore[union-attr]


def test_the_beginning_of_a_long_context_is_cut_off(load_causal: Load) -> None:
    loaded = load_causal("llama", seq_len=16)
    pair = ("def longest(words):\n" * 5, "    return best")
    ((_, answer),) = CausalLMEngine(loaded).answer([LogLikelihood(*pair)])
    ids, tokens = split(loaded, *pair)
    assert len(ids) > 17
    assert isinstance(answer, Likelihood)
    assert answer.logprob == pytest.approx(plain(loaded, ids[-17:], tokens)[0], abs=1e-4)


def test_how_the_tokenizer_pads_and_cuts_changes_nothing(load_causal: Load) -> None:
    requests = [LogLikelihood(*pair) for pair in PAIRS]
    requests.append(LogLikelihood("def longest(words):\n" * 5, "    return best"))
    plain = dict(CausalLMEngine(load_causal("llama", seq_len=64)).answer(requests))
    for side in ("left", "right"):
        loaded = load_causal("llama", seq_len=64)
        tokenizer = loaded.tokenizer
        tokenizer.padding_side = tokenizer.truncation_side = side
        tokenizer.backend_tokenizer.enable_truncation(4, direction=side)
        tokenizer.backend_tokenizer.enable_padding(length=80, direction=side)
        assert dict(CausalLMEngine(loaded).answer(requests)) == plain


def test_a_continuation_longer_than_the_model_reads_is_skipped(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama", seq_len=16))
    ((_, answer),) = engine.answer([LogLikelihood("x", "국" * 40)])
    assert answer == Skipped("over_length")


@pytest.mark.parametrize("batch_tokens", [1, 40, "auto"])
def test_the_batch_changes_nothing(batch_tokens: Any, load_causal: Load) -> None:
    loaded = load_causal("llama")
    requests = [LogLikelihood(*pair) for pair in PAIRS]
    alone = [next(CausalLMEngine(loaded).answer([request]))[1] for request in requests]
    answers = dict(CausalLMEngine(loaded, batch_tokens).answer(requests))
    for index, wanted in enumerate(alone):
        got = answers[index]
        assert isinstance(got, Likelihood)
        assert isinstance(wanted, Likelihood)
        assert got.logprob == pytest.approx(wanted.logprob, abs=1e-4)
        assert got.greedy == wanted.greedy
        assert got.answer_logprob == wanted.answer_logprob


def test_a_text_at_the_edge_of_its_rounding_is_scored_again_alone(
    load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_causal("llama")
    pair = ("def add(a, b):\n", "    return a + b")
    ((_, first),) = CausalLMEngine(loaded).answer([LogLikelihood(*pair)])
    assert isinstance(first, Likelihood)
    engine = CausalLMEngine(loaded)
    rows: list[int] = []
    loaded.model.register_forward_pre_hook(
        lambda module, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    others = [LogLikelihood("while n > 0:", " print(n)"), LogLikelihood("국수를", " 삶는 동안")]
    requests = [LogLikelihood(*pair), *others]
    dict(engine.answer(requests))  # tries what the model can do, too
    rows.clear()
    dict(engine.answer(requests))
    assert rows == [3]
    # The steps are so long that the text lies 10.5 of them below nothing.
    monkeypatch.setattr(rounding, "STEP", -first.logprob / first.tokens / 10.5)
    rows.clear()
    dict(engine.answer(requests))
    assert rows == [3, 1]


def test_logits_that_are_not_finite_fail_that_text_alone(load_causal: Load) -> None:
    loaded = load_causal("llama")
    word = loaded.tokenizer("§", add_special_tokens=False)["input_ids"][-1]
    loaded.model.model.embed_tokens.weight.data[word] = float("nan")
    requests = [LogLikelihood("a §", " b"), LogLikelihood("a", " b"), LogLikelihood("a", "")]
    answers = dict(CausalLMEngine(loaded).answer(requests))
    assert answers[0] == Failed("NaN logits: the model's output is not finite")
    assert isinstance(answers[1], Likelihood)
    assert "no token of its own" in answers[2].reason  # type: ignore[union-attr]


def test_a_batch_that_does_not_fit_is_halved(load_causal: Load) -> None:
    import torch

    loaded = load_causal("llama")
    engine = CausalLMEngine(loaded)
    requests = [LogLikelihood(*pair) for pair in PAIRS]
    whole = dict(engine.answer(requests))
    forward = loaded.model.forward

    def limited(input_ids: Any, **others: Any) -> Any:
        if len(input_ids) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return forward(input_ids=input_ids, **others)

    loaded.model.forward = limited
    again = dict(engine.answer(requests))
    assert [again[i].tokens for i in again] == [whole[i].tokens for i in again]  # type: ignore[union-attr]
    assert all(isinstance(answer, Likelihood) for answer in again.values())


@pytest.mark.parametrize("family", ["llama", "llama-pieces", "gpt2"])
def test_requests_of_all_kinds_are_answered_together_as_alone(
    family: str, load_causal: Load
) -> None:
    loaded = load_causal(family)
    asked = [
        *(LogLikelihood(*pair) for pair in PAIRS),
        LogLikelihoodRolling("국수를 삶는 동안 손님은 시장을 구경한다."),
        LogLikelihood("a", ""),
        LogLikelihood(*PAIRS[0]),
    ]
    alone = [dict(CausalLMEngine(loaded, exact=True).answer([request]))[0] for request in asked]
    answers = dict(CausalLMEngine(loaded).answer(asked))
    assert sorted(answers) == list(range(len(asked)))
    for index, wanted in enumerate(alone):
        if isinstance(wanted, Likelihood):
            got = answers[index]
            assert isinstance(got, Likelihood)
            assert got.logprob == pytest.approx(wanted.logprob, rel=1e-5)
            assert (got.greedy, got.tokens) == (wanted.greedy, wanted.tokens)
        else:
            assert isinstance(answers[index], Failed)


def test_a_text_that_the_tokenizer_breaks_on_fails_alone(load_causal: Load) -> None:
    loaded = load_causal("llama")
    tokenizer = loaded.tokenizer

    class Breaking:
        def __call__(self, text: Any, **options: Any) -> Any:
            if "§" in ("".join(text) if isinstance(text, list) else text):
                raise ValueError("no such character")
            return tokenizer(text, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(tokenizer, name)

    engine = CausalLMEngine(loaded)
    engine._text._tokenizer = Breaking()
    answers = dict(engine.answer([LogLikelihood("a", " §"), LogLikelihood("a", " b")]))
    assert "no such character" in answers[0].reason  # type: ignore[union-attr]
    assert isinstance(answers[1], Likelihood)
