"""Tokens are counted as the model reads and writes them: no padding, and what is shared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ckptbench import (
    FillMask,
    Generate,
    Generated,
    LogLikelihood,
    LogLikelihoodRolling,
    Tokens,
)
from ckptbench.fixtures.engines.batching import Budget
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine
from ckptbench.fixtures.engines.causal.generation import Generation, GenerationBudget
from ckptbench.fixtures.engines.causal.log_likelihood import LogLikelihoodScorer
from ckptbench.fixtures.engines.causal.slots import slot_forward
from ckptbench.fixtures.engines.causal.tree_forward import TreeForward
from ckptbench.fixtures.engines.masked.engine import MaskedLMEngine
from ckptbench.fixtures.text.tokens import Scored, windows

Load = Callable[..., Any]
CONTEXT = "class Stack:\n    def __init__(self):\n        self.items = []\n"
SCORED = [LogLikelihood(CONTEXT, end) for end in ("\n    def push", "\n    def pop", "print(")]
PROMPT, OTHER = "def add(a, b):\n", "while n > 0:\n    n, rest"


def count(engine: Any, *requests: Any) -> Tokens:
    before = engine.tokens
    assert len(list(engine.answer(requests))) == len(requests)
    new: Tokens = engine.tokens.since(before)
    return new


def alone(engine: CausalLMEngine, *requests: LogLikelihood) -> list[tuple[int, ...]]:
    """What the model reads of each text by itself: all of its tokens but the last."""
    return [tuple(engine._text.pair(request)[0][:-1]) for request in requests]


def distinct(texts: Sequence[tuple[int, ...]]) -> int:
    """Tokens of texts, those of their common beginnings once."""
    return len({text[:end] for text in texts for end in range(1, len(text) + 1)})


def test_a_masked_model_reads_the_text_once_for_each_beginning_of_each_mask(load: Load) -> None:
    engine = MaskedLMEngine(load("bert", dtype="bf16"))
    left, right = "오래된 ", " 골목에는 국수 가게가 많다."

    def asked(word: str, beam: int) -> tuple[FillMask, int, int]:
        text = left + word + right
        request = FillMask(text, (len(left), len(left) + len(word)), word, beam=beam)
        tokenizer = engine._loaded.tokenizer
        masks = len(tokenizer(word, add_special_tokens=False)["input_ids"])
        return request, masks, len(tokenizer(text)["input_ids"])

    short, masks, length = asked("시장", 4)
    assert masks == 1
    assert count(engine, short) == Tokens(length)
    long, masks, longer = asked("강산별", 4)
    assert masks == 3
    # One row with three masks, then four for each of the two that are left.
    assert count(engine, long) == Tokens(longer * (1 + 4 + 4))
    assert count(engine, short, long) == Tokens(length + longer * 9)


def test_what_is_made_again_in_fp64_is_read_again(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = MaskedLMEngine(load("bert"))
    request = FillMask("오래된 시장 골목", (4, 6), "시장")
    once = count(engine, request)
    monkeypatch.setattr(engine, "_is_narrow", lambda gap: True)
    assert count(engine, request) == Tokens(2 * once.read)


@pytest.mark.parametrize("shares", [True, False])
def test_a_shared_beginning_of_scored_texts_counts_once(load_causal: Load, shares: bool) -> None:
    engine = CausalLMEngine(load_causal("llama", dtype="bf16"), exact=not shares)
    texts = alone(engine, *SCORED)
    assert distinct(texts) < sum(map(len, texts))
    read = distinct(texts) if shares else sum(map(len, texts))
    assert count(engine, *SCORED) == Tokens(read)


def test_a_trunk_of_several_rows_counts_once(load_causal: Load) -> None:
    forward = TreeForward(load_causal("llama", dtype="bf16").model, 0)
    scorer = LogLikelihoodScorer(forward, Budget(10**5, 10**8), 0.0, trunk_saves=32)
    trunk = [5 + n for n in range(50)]
    # Too many for one row: each goes on from the keys and values of the trunk.
    rows = [[100 + number, *(60 + (number * n) % 90 for n in range(60))] for number in range(20)]
    texts = [Scored(n, [*trunk, *row], 3) for n, row in enumerate(rows)]
    assert len(dict(scorer.answers(texts))) == 20
    assert scorer.tokens_read == distinct([tuple(text.inputs) for text in texts]) == 50 + 20 * 60


def test_a_whole_text_is_read_in_its_windows(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama", dtype="bf16", seq_len=16), exact=True)
    text = CONTEXT * 2
    cut = windows(engine._text.whole(text), engine._text.beginning(), 16)
    assert len(cut) > 2
    read = sum(len(ids) - 1 for ids, _ in cut)
    assert count(engine, LogLikelihoodRolling(text)) == Tokens(read)


def in_slots(engine: CausalLMEngine) -> CausalLMEngine:
    """Generation as on a GPU."""
    forward = engine._generation._forward
    slots = slot_forward(forward)
    assert slots is not None
    forward.tokens_read = 0
    budget = GenerationBudget(tokens=10**6, prompt_tokens=10**6, rows=1000)
    engine._generation = Generation(forward, engine._text, budget, 0.0, slots)
    return engine


@pytest.mark.parametrize("slots", [True, False])
def test_a_prompt_of_several_trials_is_read_once_and_each_text_written(
    load_causal: Load, slots: bool
) -> None:
    engine = CausalLMEngine(load_causal("llama", dtype="bf16"))
    assert engine.tokens == Tokens()
    engine = in_slots(engine) if slots else engine
    requests = [
        Generate(prompt, max_tokens=9, temperature=0.8, seed=seed)
        for prompt in (PROMPT, OTHER)
        for seed in range(3)
    ]
    before = engine.tokens
    answers = dict(engine.answer(requests)).values()
    written = sum(answer.tokens for answer in answers if isinstance(answer, Generated))
    read = sum(len(engine._text.prompt(Generate(prompt))) for prompt in (PROMPT, OTHER))
    # What was tried to find out what the model can do is of no request.
    assert (before, engine.tokens) == (Tokens(), Tokens(read, written))
    assert len(answers) < written <= 9 * len(answers)


def test_tokens_behind_a_stop_string_were_written(load_causal: Load) -> None:
    engine = in_slots(CausalLMEngine(load_causal("llama", dtype="bf16")))
    ((_, whole),) = engine.answer([Generate(PROMPT, max_tokens=40)])
    assert isinstance(whole, Generated)
    assert whole.tokens == 40
    before = engine.tokens
    ((_, cut),) = engine.answer([Generate(PROMPT, max_tokens=40, stop=(whole.text[:1],))])
    assert isinstance(cut, Generated)
    assert cut.tokens < 8
    assert engine.tokens.since(before).written == 8  # so many until somebody looked


def test_a_model_on_the_processor_holds_no_gpu(load: Load) -> None:
    assert MaskedLMEngine(load("bert")).gpus == 0
