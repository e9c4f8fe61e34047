"""Multi-token prediction: what the heads behind the first got right, against a slow loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from meta_llama_weights import (
    CIRCLE_PARAMS,
    EXTRA,
    WORDS,
    circle,
    head_logits,
    save_run,
)

from ckptbench import MTP_HEADS, Generate, Generated
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

PROMPTS = ("w3 w4", "w30 w8 w9 w1 w2 w5", "w17", "w39 w0 w1")


def engine(folder: Path, weights: dict[str, Any], **options: Any) -> CausalLMEngine:
    file = save_run(folder / "run" / "best.pt", weights, CIRCLE_PARAMS)
    how = LoadOptions(device="cpu", dtype="fp32")
    return CausalLMEngine(load_causal_lm(resolve(str(file)), how), **options)


def answers(asked: CausalLMEngine, requests: Sequence[Generate]) -> list[Generated]:
    found = dict(asked.answer(requests))
    assert all(isinstance(answer, Generated) for answer in found.values())
    return [found[index] for index in range(len(requests))]  # type: ignore[misc]


def slow_counts(
    weights: dict[str, Any], prompt: str, answer: Generated
) -> tuple[tuple[int, ...], int]:
    """Agreements and passes by the definition, one text and one place at a time."""
    words = answer.text.split()
    assert len(words) == answer.tokens
    asked = [1, *map(WORDS.index, prompt.split())]
    ids = [*asked, *map(WORDS.index, words)]
    choices = [head_logits(weights, ids, head).argmax(-1).tolist() for head in range(EXTRA + 1)]
    first = len(asked) - 1  # the place that chose the first token
    end = len(ids) - 1  # behind the last such place
    agreed = tuple(
        sum(choices[head][at] == choices[0][at + head] for at in range(first, end - head))
        for head in range(1, EXTRA + 1)
    )
    at, passes = first, 0
    while at < end:
        passes += 1
        head = 1
        while head <= EXTRA and at + head < end and choices[head][at] == choices[0][at + head]:
            head += 1
        at += head
    return agreed, passes


def test_heads_that_copy_the_first_ones_later_choices_agree_everywhere(tmp_path: Path) -> None:
    (found,) = answers(engine(tmp_path, circle()), [Generate("w3 w4", max_tokens=12)])
    assert found.text.split() == [f"w{number}" for number in range(5, 17)]
    assert found.agreed == (11, 10, 9)
    assert found.passes == 12 / 4


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("noise", [0.0013, 0.0016])
def test_counts_are_those_of_a_slow_loop(noise: float, temperature: float, tmp_path: Path) -> None:
    weights = circle(noise)
    requests = [
        Generate(prompt, max_tokens=most, temperature=temperature, seed=seed)
        for seed, (prompt, most) in enumerate(zip(PROMPTS * 2, range(1, 33, 4), strict=True))
    ]
    found = answers(engine(tmp_path, weights), requests)
    for request, answer in zip(requests, found, strict=True):
        assert (answer.agreed, answer.passes) == slow_counts(weights, request.prompt, answer)
    places = sum(answer.tokens for answer in found)
    agreed = sum(answer.agreed[0] for answer in found)
    assert 0.1 * places < agreed < 0.9 * places, "neither none nor all agree"
    follows = [answer.text.split()[0] for answer in found]
    circular = [f"w{(int(r.prompt.split()[-1][1:]) + 1) % 40}" for r in requests]
    assert (follows == circular) == (temperature == 0), "sampled texts leave the circle"


def test_random_heads_seldom_agree(tmp_path: Path) -> None:
    """Another model altogether: its heads have nothing in common."""
    weights = circle(0.0013) | {
        name: tensor for name, tensor in circle(1.0, seed=9).items() if "extra_heads" in name
    }
    (found,) = answers(engine(tmp_path, weights), [Generate("w3 w4", max_tokens=40)])
    assert (found.agreed, found.passes) == slow_counts(weights, "w3 w4", found)
    assert sum(found.agreed) < 20


def test_counts_depend_neither_on_the_batch_nor_on_the_order(tmp_path: Path) -> None:
    weights = circle(0.0014)
    requests = [Generate(prompt, max_tokens=24) for prompt in PROMPTS]
    together = answers(engine(tmp_path, weights), requests)
    assert answers(engine(tmp_path, weights, batch_tokens=1), requests) == together
    assert answers(engine(tmp_path, weights), requests[::-1]) == together[::-1]


def test_what_lies_behind_a_stop_string_is_not_counted(tmp_path: Path) -> None:
    (found,) = answers(engine(tmp_path, circle()), [Generate("w3", stop=("w8",), max_tokens=30)])
    assert found.text.split() == ["w4", "w5", "w6", "w7"]
    assert (found.tokens, found.agreed, found.passes) == (5, (4, 3, 2), 2)


def test_logits_that_are_not_finite_leave_the_text_without_counts(tmp_path: Path) -> None:
    weights = circle()
    weights["extra_heads.1.feed_forward.w2.weight"][0, 0] = float("nan")
    (found,) = answers(engine(tmp_path, weights), [Generate("w3", max_tokens=4)])
    assert found.text.split() == ["w4", "w5", "w6", "w7"]
    assert (found.agreed, found.passes) == ((), 0)


def test_only_models_with_such_heads_are_read_once_more(tmp_path: Path) -> None:
    weights = {name: t for name, t in circle().items() if "extra_heads" not in name}
    file = save_run(tmp_path / "run" / "best.pt", weights, CIRCLE_PARAMS | {"n_layers": 3})
    how = LoadOptions(device="cpu", dtype="fp32")
    plain = CausalLMEngine(load_causal_lm(resolve(str(file)), how))
    calls = []
    plain._model.model.register_forward_hook(lambda *_: calls.append(1))
    (found,) = answers(plain, [Generate("w3", max_tokens=4)])
    assert (found.tokens, found.agreed, found.passes) == (4, (), 0)
    made = len(calls)
    assert MTP_HEADS not in plain.settings
    with_heads = engine(tmp_path / "heads", circle())
    calls.clear()
    with_heads._model.model.register_forward_hook(lambda *_: calls.append(1))
    answers(with_heads, [Generate("w3", max_tokens=4)])
    assert len(calls) == made + 1
    assert with_heads.settings[MTP_HEADS] == EXTRA + 1
