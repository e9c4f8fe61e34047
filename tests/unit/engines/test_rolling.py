"""Whole texts, scored from their first token to their last, however long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckptbench import Failed, Generate, Likelihood, LogLikelihood, LogLikelihoodRolling
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine
from ckptbench.fixtures.text.tokens import Scored, Sums, windows

Load = Callable[..., Any]
LONG = "for word in words:\n    count += 1\n" * 6


@pytest.mark.parametrize(("tokens", "seq_len"), [(1, 8), (8, 8), (9, 8), (16, 8), (21, 8), (5, 64)])
def test_each_token_is_scored_once_with_as_much_before_it_as_fits(
    tokens: int, seq_len: int
) -> None:
    ids = list(range(100, 100 + tokens))
    scored: list[int] = []
    for place, (window, n) in enumerate(windows(ids, 0, seq_len)):
        assert len(window) <= seq_len + 1
        assert n == seq_len or len(scored) + n == tokens
        if place:
            assert len(window) == seq_len + 1
        scored += window[-n:]
    assert scored == ids


@pytest.mark.parametrize("tokens", [0, 1, 7, 8, 9, 20, 31])
def test_the_windows_are_lm_evals(tokens: int) -> None:
    utils = pytest.importorskip("lm_eval.utils")
    ids = list(range(100, 100 + tokens))
    pairs = utils.get_rolling_token_windows(ids, 0, 8, 1)
    theirs = [([*seen, predicted[-1]], len(predicted)) for seen, predicted in pairs]
    assert windows(ids, 0, 8) == theirs


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_a_text_longer_than_the_model_reads_is_the_sum_of_its_windows(
    family: str, load_causal: Load
) -> None:
    import torch

    loaded = load_causal(family, seq_len=16)
    tokenizer = loaded.tokenizer
    ids = tokenizer(LONG)["input_ids"]
    first = tokenizer.bos_token_id
    beginning = tokenizer.eos_token_id if first is None else first
    expected, cut = 0.0, windows(ids, beginning, 16)
    assert len(cut) > 3
    for window, n in cut:
        with torch.inference_mode():
            logits = loaded.model(torch.tensor([window[:-1]])).logits[0].double()
        logprobs = logits.log_softmax(-1)
        expected += sum(
            float(logprobs[place - 1, window[place]])
            for place in range(len(window) - n, len(window))
        )
    short = LogLikelihood("while", " n")
    answers = dict(CausalLMEngine(loaded).answer([short, LogLikelihoodRolling(LONG), short]))
    rolled = answers[1]
    assert isinstance(rolled, Likelihood)
    assert rolled.logprob == pytest.approx(expected, rel=1e-5)
    assert rolled.tokens == len(ids)
    assert answers[0] == answers[2]


def test_an_empty_text_is_certain(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("qwen2"))
    assert dict(engine.answer([LogLikelihoodRolling("")])) == {0: Likelihood(0.0, False, 0)}


def test_a_window_that_fails_fails_its_text_once_and_no_other() -> None:
    sums = Sums(2)
    texts = sums.scored(0, [([0, 1, 2], 2), ([1, 2, 3], 1)]) + sums.scored(1, [([0, 5], 1)])
    assert [text.index for text in texts] == [2, 3, 4]
    assert texts[0] == Scored(2, [0, 1, 2], 2, part=True)
    broken = Failed("NaN logits")
    given = [(2, broken), (4, Likelihood(-1.0, True, 1)), (3, Likelihood(-2.0, True, 1))]
    assert list(sums.collect(given)) == [(0, broken), (1, Likelihood(-1.0, False, 1))]


def test_a_prompt_that_leaves_no_room_is_cut_at_its_beginning_where_that_is_asked(
    load_causal: Load,
) -> None:
    loaded = load_causal("qwen2", seq_len=32)
    engine = CausalLMEngine(loaded)
    ids = loaded.tokenizer(LONG)["input_ids"]
    kept = loaded.tokenizer.decode(ids[-(32 - 8) :])
    assert loaded.tokenizer(kept)["input_ids"] == ids[-(32 - 8) :]
    cut, whole = (
        dict(engine.answer([Generate(prompt, max_tokens=8, cut_prompt=True)]))[0]
        for prompt in (LONG, kept)
    )
    assert cut == whole
    assert cut.tokens == 8  # type: ignore[union-attr]


def test_new_tokens_alone_are_what_the_tokenizer_makes_of_them(load_causal: Load) -> None:
    loaded = load_causal("llama-pieces")
    engine = CausalLMEngine(loaded)
    prompts = [Generate(f"def f{n}(a):", max_tokens=6) for n in range(8)]
    behind = dict(engine.answer(prompts))
    alone = dict(
        engine.answer([Generate(each.prompt, max_tokens=6, alone=True) for each in prompts])
    )
    texts = [(behind[n].text, alone[n].text) for n in range(8)]  # type: ignore[union-attr]
    # SentencePiece drops the space of a text's first word: that is how the two differ.
    assert any(text.startswith(" ") and text[1:] == by_itself for text, by_itself in texts)
