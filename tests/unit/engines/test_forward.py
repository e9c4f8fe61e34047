"""Logits at one position a row, whatever the batch, the architecture and the memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ckptbench.fixtures.engines.batching import Budget
from ckptbench.fixtures.engines.masked.beam_search import Query, Reply
from ckptbench.fixtures.engines.masked.forward import MaskedForward

LENGTHS = (9, 30, 4, 30, 17, 5, 22)


def forward_of(loaded: Any, tokens: int = 64, **changes: Any) -> MaskedForward:
    options = {
        "pad": loaded.tokenizer.pad_token_id,
        "budget": Budget(tokens, 10**9),
        "multiple": 1,
        "limit": 64,
    }
    return MaskedForward(loaded.model, **(options | changes))


def queries(loaded: Any, best: int = 4) -> list[Query]:
    chance = np.random.default_rng(1)
    rows = [chance.integers(5, len(loaded.tokenizer), n).astype(np.int32) for n in LENGTHS]
    return [Query(row, len(row) // 2, best, target=int(row[0])) for row in rows]


def plain(loaded: Any, query: Query) -> Any:
    """Log probabilities of the whole vocabulary, from one row through the model as it is."""
    import torch

    with torch.inference_mode():
        logits = loaded.model(torch.from_numpy(query.ids.astype(np.int64))[None]).logits
    return logits[0, query.position].double().log_softmax(-1)


def all_replies(forward: MaskedForward, asked: list[Query]) -> list[Reply]:
    replies = dict(forward.replies(asked))
    return [replies[index] for index in range(len(asked))]


@contextmanager
def memory_for(model: Any, tokens: int) -> Iterator[list[tuple[int, int]]]:
    """A device whose memory holds so many tokens of a batch; the shapes that were tried."""
    import torch

    tried: list[tuple[int, int]] = []

    def refuse(module: Any, args: Any, kwargs: Any) -> None:
        shape = tuple(kwargs["input_ids"].shape)
        tried.append(shape)
        if math.prod(shape) > tokens:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    hook = model.register_forward_pre_hook(refuse, with_kwargs=True)
    try:
        yield tried
    finally:
        hook.remove()


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta"])
def test_replies_are_the_models_own_log_probabilities(
    family: str, load: Callable[..., Any]
) -> None:
    loaded = load(family)
    forward = forward_of(loaded)
    asked = queries(loaded)
    for query, reply in zip(asked, all_replies(forward, asked), strict=True):
        expected = plain(loaded, query)
        best = expected.topk(4)
        assert list(reply.best) == best.indices.tolist()
        assert list(reply.logprobs) == pytest.approx(best.values.tolist(), abs=1e-4)
        assert reply.target == pytest.approx(float(expected[query.target]), abs=1e-4)


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta"])
def test_the_head_sees_one_position_a_row(family: str, load: Callable[..., Any]) -> None:
    loaded = load(family)
    forward = forward_of(loaded, tokens=10**6)
    rows = []
    head = loaded.model.get_output_embeddings()
    hook = head.register_forward_hook(lambda module, args, output: rows.append(output.shape[:-1]))
    try:
        all_replies(forward, queries(loaded))
    finally:
        hook.remove()
    assert [math.prod(shape) for shape in rows] == [len(LENGTHS)]


def test_a_head_that_needs_all_positions_gets_them(load: Callable[..., Any]) -> None:
    """A head that mixes positions answers otherwise when it sees one: it is found out."""

    def mix(module: Any, args: Any) -> Any:
        return (args[0] + args[0].roll(1, dims=1) * 0.5,)

    loaded = load("bert")
    loaded.model.cls.register_forward_pre_hook(mix)
    asked = queries(loaded)
    forward = forward_of(loaded)
    # Rolling brings the last position to the first, so padding matters as well.
    for query, reply in zip(asked, all_replies(forward, asked), strict=True):
        assert list(reply.best) == plain(loaded, query).topk(4).indices.tolist()


def test_a_model_without_a_padding_mask_gets_rows_of_one_length(load: Callable[..., Any]) -> None:
    import torch
    from transformers import FNetConfig, FNetForMaskedLM

    loaded = load("bert")
    torch.manual_seed(3)
    config = FNetConfig(
        vocab_size=len(loaded.tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        intermediate_size=48,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    object.__setattr__(loaded, "model", FNetForMaskedLM(config).eval())
    forward = forward_of(loaded, tokens=10**6)
    assert forward.budget.equal_lengths
    asked = queries(loaded)
    for query, reply in zip(asked, all_replies(forward, asked), strict=True):
        assert list(reply.best) == plain(loaded, query).topk(4).indices.tolist()


def test_equal_entries_come_in_the_order_of_their_ids(load: Callable[..., Any]) -> None:
    import torch

    loaded = load("bert")
    with torch.no_grad():
        loaded.model.cls.predictions.decoder.weight.zero_()
        loaded.model.cls.predictions.decoder.bias.zero_()
    for reply in all_replies(forward_of(loaded), queries(loaded)):
        assert list(reply.best) == [0, 1, 2, 3]


def test_below_fp32_the_head_still_works_in_fp32(load: Callable[..., Any]) -> None:
    import torch

    exact = load("bert")
    coarse = load("bert", dtype="bf16")
    before = {name: weight.dtype for name, weight in coarse.model.named_parameters()}
    asked = queries(exact, best=30)
    forward = forward_of(coarse)
    for query, reply in zip(asked, all_replies(forward, asked), strict=True):
        assert len(set(reply.logprobs)) == 30, "bf16 logits would tie"
        expected = plain(exact, query)[list(reply.best)]
        assert torch.tensor(reply.logprobs).double() == pytest.approx(expected, abs=1.0)
    assert {name: weight.dtype for name, weight in coarse.model.named_parameters()} == before
    assert set(before.values()) == {torch.bfloat16}


def test_a_batch_that_does_not_fit_is_halved_until_it_does(load: Callable[..., Any]) -> None:
    loaded = load("bert")
    asked = queries(loaded)
    expected = all_replies(forward_of(loaded), asked)
    forward = forward_of(loaded, tokens=10**6)
    with memory_for(loaded.model, tokens=70) as tried:
        replies = all_replies(forward, asked)
    assert tried[:3] == [(7, 30), (3, 30), (1, 30)]
    assert [reply.best for reply in replies] == [reply.best for reply in expected]


def test_a_single_row_that_does_not_fit_fails_alone(load: Callable[..., Any]) -> None:
    loaded = load("bert")
    asked = queries(loaded)
    forward = forward_of(loaded, tokens=10**6)
    with memory_for(loaded.model, tokens=25):
        replies = all_replies(forward, asked)
    failed = [index for index, reply in enumerate(replies) if reply.failure]
    assert failed == [index for index, length in enumerate(LENGTHS) if length > 25]
    assert replies[1].failure == "out of memory at one row of 30 tokens"


def test_other_errors_of_the_model_are_raised(load: Callable[..., Any]) -> None:
    loaded = load("bert")
    forward = forward_of(loaded)

    def broken(module: Any, args: Any, kwargs: Any) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    loaded.model.register_forward_pre_hook(broken, with_kwargs=True)
    with pytest.raises(RuntimeError, match="mat1"):
        all_replies(forward, queries(loaded))


def test_logits_that_are_not_finite_fail_their_row_only(load: Callable[..., Any]) -> None:
    import torch

    loaded = load("bert")
    asked = queries(loaded)
    poison = len(loaded.tokenizer) - 1
    with torch.no_grad():
        # The head keeps its own copy, so that only rows which hold the token are spoiled.
        head = loaded.model.cls.predictions.decoder
        head.weight = torch.nn.Parameter(head.weight.clone())
        loaded.model.bert.embeddings.word_embeddings.weight[poison] = math.nan
    for query in asked:
        query.ids[query.ids == poison] = 5
    asked[3].ids[2] = poison
    replies = all_replies(forward_of(loaded), asked)
    assert [bool(reply.failure) for reply in replies] == [index == 3 for index in range(7)]
    assert replies[3].failure.startswith("NaN logits")
