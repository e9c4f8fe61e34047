"""What texts have in common is read once, by every architecture that can, to the same values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckptbench import Failed, Likelihood, Response
from ckptbench.fixtures.engines.batching import Budget, positions_are_fixed
from ckptbench.fixtures.engines.causal.forward import CausalForward
from ckptbench.fixtures.engines.causal.log_likelihood import LogLikelihoodScorer
from ckptbench.fixtures.engines.causal.tree_forward import TreeForward
from ckptbench.fixtures.text.tokens import Scored

VOCABULARY = 200
SMALL = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 48, "initializer_range": 0.3,
    "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
GPT = {"vocab_size": VOCABULARY, "n_layer": 2, "n_head": 2, "initializer_range": 0.3}
SHARING: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", SMALL),
    "qwen2": ("Qwen2", SMALL),
    "learned positions": ("GPT2", {**GPT, "n_embd": 32}),
    "a wide window": ("Mistral", {**SMALL, "sliding_window": 4096}),
    "soft-capped logits": ("Gemma2", {**SMALL, "head_dim": 8, "sliding_window": 4096}),
    "scaled logits": ("Granite", {**SMALL, "logits_scaling": 2.0}),
}
LENGTHS = (150, 20, 19, 18, 17, 16)
NOT_SHARING: dict[str, tuple[str, dict[str, Any]]] = {
    "a narrow window": ("Mistral", {**SMALL, "sliding_window": 16}),
    "positions from the mask": ("Bloom", {**GPT, "hidden_size": 32, "pad_token_id": 2}),
    "recurrent": ("Mamba", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}),
    "partly recurrent": ("Jamba", {**SMALL, "num_experts": 2}),
}


def model(architecture: str, sizes: dict[str, Any]) -> Any:
    import torch
    import transformers

    head = "LMHeadModel" if architecture == "GPT2" else "ForCausalLM"
    kind = getattr(transformers, f"{architecture}{head}")
    torch.manual_seed(1)
    return kind(kind.config_class(**sizes)).eval()


def texts() -> list[Scored]:
    """Documents with four choices, with the same examples before them and without."""
    numbers = np.random.default_rng(0)

    def drawn(n: int) -> list[int]:
        return [int(number) for number in numbers.integers(2, VOCABULARY, n)]

    found = []
    for examples in (drawn(50), []):
        for _ in range(12):
            document = [*examples, *drawn(int(numbers.integers(5, 20)))]
            for tokens in (1, 1, 3, 5):
                found.append(Scored(len(found), [*document, *drawn(tokens)], tokens))
    return found


def scorer(model: Any, trunk_saves: int | None, budget: int = 2048) -> LogLikelihoodScorer:
    return LogLikelihoodScorer(TreeForward(model, 0), Budget(budget, 10**9), 0.0, trunk_saves)


def values(answers: dict[int, Response]) -> list[float]:
    found = []
    for index in sorted(answers):
        answer = answers[index]
        assert isinstance(answer, Likelihood)
        found.append(answer.logprob)
    return found


def tokens_read(model: Any, scorer: LogLikelihoodScorer, asked: list[Scored]) -> int:
    read: list[int] = []
    dict(scorer.answers(asked))  # tries what the model can do, too
    hook = model.get_input_embeddings().register_forward_pre_hook(
        lambda _, args: read.append(args[0].numel())
    )
    dict(scorer.answers(asked))
    hook.remove()
    return sum(read)


@pytest.mark.parametrize("name", [*SHARING, *NOT_SHARING])
def test_sharing_changes_no_value(name: str) -> None:
    subject = model(*(SHARING | NOT_SHARING)[name])
    alone = values(dict(scorer(subject, None).answers(texts())))
    for saves, budget in ((200, 2048), (10**9, 2048), (200, 100)):
        shared = values(dict(scorer(subject, saves, budget).answers(texts())))
        assert shared == pytest.approx(alone, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", SHARING)
def test_each_token_is_read_once(name: str) -> None:
    subject = model(*SHARING[name])
    every = sum(len(text.inputs) for text in texts())
    # 50 of the examples, and some 20 of each of 24 documents with its choices.
    assert tokens_read(subject, scorer(subject, 200), texts()) < 50 + 24 * 22 < every / 5


def test_a_long_text_does_not_pad_many_short_ones() -> None:
    subject = model(*SHARING["llama"])
    asked = [Scored(n, [2 + n, *range(3, length + 3)], 1) for n, length in enumerate(LENGTHS)]
    assert tokens_read(subject, scorer(subject, 64), asked) <= sum(LENGTHS) + 64
    # Where a run costs more, they are one batch.
    assert tokens_read(subject, scorer(subject, 10**9), asked) == len(LENGTHS) * max(LENGTHS)


@pytest.mark.parametrize("name", NOT_SHARING)
def test_a_model_that_cannot_share_reads_each_text(name: str) -> None:
    subject = model(*NOT_SHARING[name])
    every = sum(len(text.inputs) for text in texts())
    # Choices of one token are read from one place all the same: half of the texts.
    assert tokens_read(subject, scorer(subject, 200), texts()) > every / 2


def test_a_text_that_is_not_finite_spoils_no_other_in_its_row() -> None:
    subject = model(*SHARING["llama"])
    asked = texts()
    spoiled = [text.index for text in asked if 7 in text.inputs]
    assert 0 < len(spoiled) < len(asked)
    expected = dict(scorer(subject, None).answers(asked))
    subject.get_input_embeddings().weight.data[7] = float("nan")
    found = dict(scorer(subject, 200).answers(asked))
    assert sorted(found) == sorted(expected)
    for index, answer in found.items():
        if index in spoiled:
            assert isinstance(answer, Failed)
        else:
            assert values({index: answer}) == pytest.approx(values({index: expected[index]}))


def test_rows_that_do_not_fit_into_memory_are_taken_apart() -> None:
    import torch

    subject = model(*SHARING["llama"])
    asked = texts()
    expected = values(dict(scorer(subject, None).answers(asked)))
    engine = scorer(subject, 200)
    dict(engine.answers(asked[:4]))
    forward = subject.forward

    def limited(input_ids: Any, **others: Any) -> Any:
        if input_ids.numel() > 80:
            raise torch.OutOfMemoryError("out of memory")
        return forward(input_ids=input_ids, **others)

    subject.forward = limited
    assert values(dict(engine.answers(asked))) == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "soft-capped logits", "scaled logits"])
def test_logits_in_pieces_are_those_of_the_whole(name: str) -> None:
    """More tokens are scored than have their logits held at once."""
    subject = model(*SHARING[name])
    numbers = np.random.default_rng(1)
    whole = [int(number) for number in numbers.integers(2, VOCABULARY, 60)]
    asked = [Scored(0, whole, 50), Scored(1, whole[:30], 20), Scored(2, whole[5:], 40)]
    expected = values(dict(scorer(subject, None).answers(asked)))
    forward = TreeForward(subject, 0)
    forward._logits_at_once = 7 * VOCABULARY
    found = LogLikelihoodScorer(forward, Budget(2048, 10**9), 0.0, 200).answers(asked)
    assert values(dict(found)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("architecture", "more"),
    [
        ("Llama", {}),
        ("Mistral", {"sliding_window": 30}),
        ("Gemma2", {"head_dim": 8, "sliding_window": 30}),
        (
            "Llama",
            {
                "max_position_embeddings": 48,
                "rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4},
            },
        ),
    ],
)
def test_prompts_that_share_go_on_as_they_do_alone(architecture: str, more: Any) -> None:
    """Also where attention reaches back less far than the prompts, or positions stretch."""
    import torch

    subject = model(architecture, {**SMALL, **more})
    numbers = np.random.default_rng(2)
    examples, *rests = (
        [int(number) for number in numbers.integers(2, VOCABULARY, n)] for n in (40, *range(3, 13))
    )
    prompts = [[*examples, *rest] for rest in rests]
    forward = CausalForward(subject, 0)
    # Otherwise rows of one length alone share a batch.
    together = prompts if forward.padding_is_harmless else prompts[:1]
    decoding = forward.begin(together, range(len(together)), room=1)
    alone = torch.cat([forward.alone(prompt) for prompt in together])
    torch.testing.assert_close(decoding.logits, alone, rtol=1e-4, atol=1e-4)
    if not positions_are_fixed(subject):
        return  # transformers keeps the rotation of the longest text so far: order matters
    texts = [Scored(i, prompt, 1) for i, prompt in enumerate(prompts)]
    expected = values(dict(scorer(subject, None).answers(texts)))
    assert values(dict(scorer(subject, 200).answers(texts))) == pytest.approx(expected, rel=1e-4)


def batches(subject: Any, engine: LogLikelihoodScorer, asked: list[Scored]) -> list[Any]:
    """The token ids of each run of the model `[rows, longest]`."""
    forward = engine._forward
    forward.padding_is_harmless, forward.can_share  # noqa: B018 (tried before it is recorded)
    read: list[Any] = []
    hook = subject.register_forward_pre_hook(
        lambda _, args, named: read.append(named["input_ids"]), with_kwargs=True
    )
    assert len(dict(engine.answers(asked))) == len(asked)
    hook.remove()
    return read


def test_exact_reads_each_text_in_a_batch_of_its_own() -> None:
    subject = model(*SHARING["llama"])
    read = batches(subject, scorer(subject, None), texts())
    assert sorted(ids[0].tolist() for ids in read) == sorted(list(text.inputs) for text in texts())


def test_where_padding_would_change_a_row_only_equal_lengths_share_a_batch() -> None:
    subject = model(*SHARING["llama"])
    engine = scorer(subject, 10**9)
    forward = engine._forward
    forward.__dict__ |= {"padding_is_harmless": False, "can_share": (False, False)}
    read = batches(subject, engine, texts())
    assert not any((ids == forward.pad).any() for ids in read)
    assert any(len(ids) > 1 for ids in read)


@pytest.mark.parametrize(("head", "most"), [(True, 9), (False, 80)])
def test_no_more_logits_are_held_than_allowed(head: bool, most: int) -> None:
    """Of the scored tokens where the model goes on behind its head, of all where it has none."""
    subject = model(*SHARING["soft-capped logits"])
    engine = scorer(subject, 10**9)
    forward = engine._forward
    kept = forward.head if head else replace(forward.head, module=None)
    forward.__dict__ |= {"head": kept, "can_share": (False, False)}
    forward._logits_at_once = most * VOCABULARY
    held: list[int] = []
    hook = subject.register_forward_hook(
        lambda _, args, output: held.append(output.logits.shape[:-1].numel())
    )
    alone = texts()
    expected = values(dict(scorer(subject, None).answers(alone)))
    held.clear()
    assert values(dict(engine.answers(alone))) == pytest.approx(expected, rel=1e-5)
    hook.remove()
    assert 1 < len(held) < len(alone)
    assert max(held) <= most


@pytest.mark.parametrize(
    ("lengths", "stem", "runs"),
    [
        ([12], 0, 2),  # the head is tried
        ([12, 12], 0, 2),
        ([12, 9], 0, 3),  # padding, too
        ([40, 37], 30, 7),  # and branches and trunks
    ],
)
def test_what_no_text_needs_is_not_tried(lengths: list[int], stem: int, runs: int) -> None:
    subject = model(*SHARING["llama"])
    numbers = np.random.default_rng(3)
    start = [int(number) for number in numbers.integers(2, VOCABULARY, stem)]
    ends = [numbers.integers(2, VOCABULARY, n - stem).tolist() for n in lengths]
    asked = [Scored(i, [*start, *end], 1) for i, end in enumerate(ends)]
    seen: list[Any] = []
    hook = subject.register_forward_hook(lambda *_: seen.append(_))
    assert len(dict(scorer(subject, 200).answers(asked))) == len(asked)
    hook.remove()
    assert len(seen) == runs


def test_a_leak_between_branches_that_rounding_could_hide_is_found() -> None:
    """In bf16 logits may differ by a tenth; what another branch reads must change none at all."""
    import torch

    subject = model("Llama", {**SMALL, "initializer_range": 0.02}).to(torch.bfloat16)

    class Leaking(TreeForward):
        def _mask(self, ends: torch.Tensor, before: int) -> torch.Tensor:
            return super()._mask(torch.full_like(ends, ends.shape[1]), before)

    assert TreeForward(subject, 0).can_share[0]
    assert not Leaking(subject, 0).can_share[0]
