"""Generated text: the same as transformers' own, whatever it is batched with, cut exactly."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ckptbench import Failed, FillMask, Generate, Generated, Skipped
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

Load = Callable[..., Any]

PROMPTS = (
    "def add(a, b):\n",
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def",
    "x",
    "# 국수를 삶는 동안\nfor word in",
    "while n > 0:\n    n, rest = divmod(n, 10)\n    total",
    "    return",
)


def texts(engine: CausalLMEngine, requests: Sequence[Generate]) -> list[str]:
    answers = dict(engine.answer(requests))
    assert sorted(answers) == list(range(len(requests)))
    assert all(isinstance(answer, Generated) for answer in answers.values())
    return [answers[index].text for index in range(len(requests))]  # type: ignore[union-attr]


def reference(loaded: Any, prompt: str, max_tokens: int, **settings: Any) -> str:
    """transformers' own `generate`, one prompt at a time, without the prompt."""
    inputs = loaded.tokenizer(prompt, return_tensors="pt")
    # Of these models pad and end are told apart by nothing but this.
    settings = {"pad_token_id": 0, **settings}
    output = loaded.model.generate(
        input_ids=inputs.input_ids,
        attention_mask=inputs.attention_mask,
        max_new_tokens=max_tokens,
        do_sample=False,
        **settings,
    )
    before, whole = (
        loaded.tokenizer.decode(ids, skip_special_tokens=True)
        for ids in (inputs.input_ids[0], output[0])
    )
    return whole[len(before) :]


@pytest.mark.parametrize("family", ["llama", "llama-pieces", "qwen2", "gpt2", "bloom"])
def test_greedy_text_is_that_of_transformers_one_prompt_at_a_time(
    family: str, load_causal: Load
) -> None:
    loaded = load_causal(family)
    engine = CausalLMEngine(loaded)
    requests = [Generate(prompt, max_tokens=24) for prompt in PROMPTS]
    wanted = [reference(loaded, prompt, 24) for prompt in PROMPTS]
    assert texts(engine, requests) == wanted
    assert len(set(wanted)) == len(PROMPTS)


def test_a_model_that_padding_changes_gets_rows_of_one_length(load_causal: Load) -> None:
    """A model that takes no mask sees the padding; the engine finds out and does without."""
    loaded = load_causal("llama")
    forward = loaded.model.forward

    def unmasked(
        input_ids: Any, attention_mask: Any = None, logits_to_keep: int = 0, **others: Any
    ) -> Any:
        return forward(input_ids=input_ids, logits_to_keep=logits_to_keep, use_cache=False)

    loaded.model.forward = unmasked
    requests = [Generate(prompt, max_tokens=6) for prompt in PROMPTS]
    got = texts(CausalLMEngine(loaded), requests)
    loaded.model.forward = forward
    assert got == [reference(loaded, prompt, 6) for prompt in PROMPTS]


SAMPLED = [
    Generate(prompt, max_tokens=20, temperature=0.8, top_p=top_p, seed=seed)
    for prompt in PROMPTS[:4]
    for top_p in (1.0, 0.9)
    for seed in (1, 2, 3)
]


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_sampled_text_does_not_depend_on_batch_or_order(family: str, load_causal: Load) -> None:
    loaded = load_causal(family)
    together = texts(CausalLMEngine(loaded), SAMPLED)
    alone = CausalLMEngine(loaded, batch_tokens=1)
    assert [texts(alone, [request])[0] for request in SAMPLED] == together
    order = list(range(len(SAMPLED)))
    random.Random(5).shuffle(order)
    mixed = texts(CausalLMEngine(loaded, batch_tokens=300), [SAMPLED[place] for place in order])
    assert mixed == [together[place] for place in order]
    assert len(set(together)) > len(SAMPLED) // 2


def test_the_seed_decides_the_text(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama"))
    first, second = (
        texts(engine, [Generate("def", max_tokens=20, temperature=1.0, seed=seed)] * 2)
        for seed in (1, 2)
    )
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert first != second


def test_a_narrow_choice_is_made_from_the_text_alone(
    load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two equal rows in the output matrix every second-best token is a tie."""
    from ckptbench.fixtures.engines.causal.forward import CausalForward

    loaded = load_causal("llama")
    seen: list[list[int]] = []
    alone = CausalForward.alone

    def counted(self: CausalForward, ids: Sequence[int]) -> Any:
        seen.append(list(ids))
        return alone(self, ids)

    monkeypatch.setattr(CausalForward, "alone", counted)
    texts(CausalLMEngine(loaded), [Generate("def", max_tokens=4)])
    assert not seen
    loaded.model.lm_head.weight.data[:] = loaded.model.lm_head.weight.data[:1]
    texts(
        CausalLMEngine(loaded), [Generate("def", max_tokens=4), Generate("class A", max_tokens=4)]
    )
    prompt = list(loaded.tokenizer("def")["input_ids"])
    assert next(ids for ids in seen if ids[: len(prompt)] == prompt) == prompt


def generated(engine: CausalLMEngine, request: Generate) -> Generated:
    ((_, answer),) = engine.answer([request])
    assert isinstance(answer, Generated)
    return answer


@pytest.mark.parametrize("family", ["llama", "llama-pieces"])
def test_text_ends_before_the_first_stop_string(family: str, load_causal: Load) -> None:
    """Also one that begins and ends inside tokens: every piece of the text is tried as a stop."""
    engine = CausalLMEngine(load_causal(family))
    whole = generated(engine, Generate(PROMPTS[1], max_tokens=16)).text
    assert len(whole) > 10
    for length in (1, 2, 3, 5):
        for start in range(len(whole) - length):
            stop = whole[start : start + length]
            answer = generated(engine, Generate(PROMPTS[1], stop=(stop, "§"), max_tokens=16))
            assert answer.text == whole[: whole.index(stop)]
            assert answer.finish == "stop"
            assert answer.tokens <= 16


def test_how_the_tokenizer_pads_and_cuts_changes_no_text(load_causal: Load) -> None:
    requests = [Generate(prompt, max_tokens=12) for prompt in PROMPTS]
    plain = texts(CausalLMEngine(load_causal("llama")), requests)
    for side in ("left", "right"):
        loaded = load_causal("llama")
        tokenizer = loaded.tokenizer
        tokenizer.padding_side = tokenizer.truncation_side = side
        tokenizer.backend_tokenizer.enable_truncation(2, direction=side)
        tokenizer.backend_tokenizer.enable_padding(length=80, direction=side)
        assert texts(CausalLMEngine(loaded), requests) == plain


def test_rows_that_stop_early_leave_the_others_as_they_are(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama"))
    plain = [Generate(prompt, max_tokens=16) for prompt in PROMPTS]
    whole = texts(engine, plain)
    cut = [
        Generate(prompt, stop=(text[place],), max_tokens=16)
        for place, (prompt, text) in enumerate(zip(PROMPTS, whole, strict=True))
    ]
    got = texts(engine, [*cut, *plain])
    assert got[len(cut) :] == whole
    assert got[: len(cut)] == [text[: text.index(text[place])] for place, text in enumerate(whole)]


def test_a_stop_string_in_the_prompt_stops_nothing(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama"))
    plain = generated(engine, Generate("def f():\n", max_tokens=8))
    assert "\n" not in plain.text
    assert generated(engine, Generate("def f():\n", stop=("def", "\n"), max_tokens=8)) == plain


@pytest.mark.parametrize("place", [0, 3])
def test_every_end_of_the_generation_config_ends_the_text(place: int, load_causal: Load) -> None:
    loaded = load_causal("llama")
    inputs = loaded.tokenizer(PROMPTS[0], return_tensors="pt")
    start = inputs.input_ids.shape[1]
    ids = loaded.model.generate(**inputs, max_new_tokens=8, do_sample=False)[0, start:].tolist()
    assert ids.index(ids[place]) == place
    loaded.model.generation_config.eos_token_id = [1, ids[place]]
    answer = generated(CausalLMEngine(loaded), Generate(PROMPTS[0], max_tokens=8))
    assert answer.finish == "eos"
    assert answer.tokens == place + 1
    assert answer.text == loaded.tokenizer.decode(ids[:place], skip_special_tokens=True)


def test_special_tokens_are_kept_out_of_the_text_and_may_be_stops(load_causal: Load) -> None:
    loaded = load_causal("llama")
    loaded.model.generation_config.eos_token_id = None
    loaded.model.config.eos_token_id = None
    end = loaded.tokenizer.convert_tokens_to_ids("<|end|>")
    loaded.model.lm_head.weight.data[:] = 0
    loaded.model.lm_head.weight.data[end] = loaded.model.lm_head.weight.data[1]
    # All logits are equal, so the lowest id, `<s>`, is the greedy choice throughout.
    engine = CausalLMEngine(loaded)
    assert generated(engine, Generate("def", max_tokens=5)) == Generated("", 5, "length")
    stopped = generated(engine, Generate("def", stop=("<s>",), max_tokens=5))
    assert stopped == Generated("", 1, "stop")


def test_a_prompt_that_leaves_no_room_is_skipped(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama", seq_len=16))
    tokens = len(engine._loaded.tokenizer("def add")["input_ids"])
    answers = dict(engine.answer([Generate("x" * 40, max_tokens=4), Generate("def add")]))
    assert answers[0] == Skipped("over_length")
    assert isinstance(answers[1], Generated)
    assert answers[1].tokens == 16 - tokens
    assert answers[1].finish == "length"


def test_other_requests_and_texts_that_cannot_be_read_fail_alone(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama"))
    answers = dict(
        engine.answer(
            [
                FillMask("a b", (0, 1), "a"),
                Generate("\ud800"),
                Generate("def", chat=True),
                Generate("def", max_tokens=3),
            ]
        )
    )
    assert isinstance(answers[3], Generated)
    assert [type(answers[place]) for place in range(3)] == [Failed] * 3
    assert "not FillMask" in answers[0].reason  # type: ignore[union-attr]
    assert "no chat template" in answers[2].reason  # type: ignore[union-attr]


def test_a_row_whose_logits_are_not_finite_fails_alone(load_causal: Load) -> None:
    loaded = load_causal("llama")
    word = loaded.tokenizer("§", add_special_tokens=False)["input_ids"][-1]
    whole = texts(CausalLMEngine(loaded), [Generate("def", max_tokens=6)])
    loaded.model.model.embed_tokens.weight.data[word] = float("nan")
    prompts = ["def", "a §", "§ and a longer prompt"]
    answers = dict(
        CausalLMEngine(loaded).answer([Generate(prompt, max_tokens=6) for prompt in prompts])
    )
    assert answers[0].text == whole[0]  # type: ignore[union-attr]
    for place in (1, 2):
        assert answers[place] == Failed("NaN logits: the model's output is not finite")


def crowded(loaded: Any, most: int, at: int = 0) -> Any:
    """A forward pass for which memory suffices up to so many rows (from the call `at` on)."""
    import torch

    forward, calls = loaded.model.forward, [0]

    def limited(
        input_ids: Any, position_ids: Any = None, logits_to_keep: int = 0, **others: Any
    ) -> Any:
        calls[0] += 1
        if len(input_ids) > most and calls[0] > at:
            raise torch.OutOfMemoryError("out of memory")
        return forward(
            input_ids=input_ids,
            position_ids=position_ids,
            logits_to_keep=logits_to_keep,
            **others,
        )

    # As transformers' own forward passes name it.
    limited.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
    return limited


@pytest.mark.parametrize("at", [0, 3])
def test_a_batch_that_does_not_fit_is_halved(at: int, load_causal: Load) -> None:
    loaded = load_causal("llama")
    requests = [Generate(prompt, max_tokens=6) for prompt in PROMPTS]
    engine = CausalLMEngine(loaded)
    whole = texts(engine, requests)
    loaded.model.forward = crowded(loaded, most=2, at=at)
    assert texts(engine, requests) == whole
    assert engine._generation.budget.rows <= 3


def test_a_row_that_does_not_fit_alone_fails(load_causal: Load) -> None:
    loaded = load_causal("llama")
    engine = CausalLMEngine(loaded)
    texts(engine, [Generate("def", max_tokens=1)])  # tries what the model can do
    loaded.model.forward = crowded(loaded, most=0)
    answers = dict(engine.answer([Generate("def", max_tokens=3), Generate("x", max_tokens=3)]))
    assert all(
        isinstance(answer, Failed) and answer.reason.startswith("out of memory at one row of ")
        for answer in answers.values()
    )


def test_the_budget_decides_the_batch(load_causal: Load) -> None:
    loaded = load_causal("llama")
    engine = CausalLMEngine(loaded, batch_tokens=64)
    sizes: list[tuple[int, int]] = []
    begin = engine._generation._forward.begin

    def noted(prompts: Any, owners: Any, room: int) -> Any:
        sizes.append((len(owners), max(map(len, prompts)) + room))
        return begin(prompts, owners, room)

    engine._generation._forward.begin = noted  # type: ignore[method-assign]
    texts(engine, [Generate(prompt, max_tokens=12) for prompt in PROMPTS])
    assert all(rows == 1 or rows * longest <= 64 for rows, longest in sizes)
    assert sizes[0][1] == max(longest for _, longest in sizes)
    assert max(rows for rows, _ in sizes) > 1


def test_a_prompt_of_several_trials_is_read_once(load_causal: Load) -> None:
    engine = CausalLMEngine(load_causal("llama"))
    read: list[int] = []
    begin = engine._generation._forward.begin

    def noted(prompts: Any, owners: Any, room: int) -> Any:
        read.append(len(prompts))
        return begin(prompts, owners, room)

    engine._generation._forward.begin = noted  # type: ignore[method-assign]
    trials = [Generate("def", max_tokens=4, temperature=1.0, seed=seed) for seed in range(8)]
    assert len(set(texts(engine, trials))) > 1
    assert read == [1]


def test_it_tells_what_an_answer_depends_on(load_causal: Load) -> None:
    loaded = load_causal("llama")
    engine = CausalLMEngine(loaded)
    assert engine.fingerprint == loaded.fingerprint
    assert engine.settings == {"seq_len": 128, "dtype": "fp32"}
    assert engine.notes[0].startswith("sequence length 128 tokens: max_position_embeddings")


def test_looking_seldom_changes_no_answer(load_causal: Load) -> None:
    """On a GPU several steps pass between two looks; a stop or an end among them still counts."""
    loaded = load_causal("llama")
    plain = [Generate(prompt, max_tokens=21) for prompt in PROMPTS]
    whole = texts(CausalLMEngine(loaded), plain)
    requests = plain + [
        Generate(prompt, stop=(text[place : place + 2], "§"), max_tokens=21)
        for prompt, text in zip(PROMPTS, whole, strict=True)
        for place in range(0, len(text) - 2, 3)
    ]
    loaded.model.generation_config.eos_token_id = loaded.tokenizer.convert_tokens_to_ids(
        ["e", "s", "Ġ"]
    )
    wanted = dict(CausalLMEngine(loaded).answer(requests))
    assert {answer.finish for answer in wanted.values()} == {"stop", "eos", "length"}  # type: ignore[union-attr]
    for steps in (2, 8, 50):
        engine = CausalLMEngine(loaded)
        engine._generation._unseen = steps
        assert dict(engine.answer(requests)) == wanted


def test_what_no_prompt_needs_is_not_tried(load_causal: Load) -> None:
    """Whether prompts can share, where these have nothing in common."""
    loaded = load_causal("llama")
    runs: list[Any] = []
    loaded.model.register_forward_pre_hook(lambda *_: runs.append(_))
    assert len(texts(CausalLMEngine(loaded), [Generate("while n > 0:", max_tokens=1)])) == 1
    assert len(runs) == 6


@pytest.mark.parametrize("family", ["llama", "gpt2", "bloom"])
def test_prompts_with_the_same_examples_share_them(family: str, load_causal: Load) -> None:
    loaded = load_causal(family)
    examples = "def add(a, b):\n    return a + b\nwhile n > 0:\n    print(n)\nclass Stack:\n"
    asked = [
        Generate(f"{examples}{text}", max_tokens=6, temperature=temperature, seed=3)
        for text in [
            "for word",
            "국수를",
            "x",
            "def longest",
            "n",
            "best",
            "self",
            "pop",
            "i",
            "total",
        ]
        for temperature in (0.0, 1.0)
    ]
    engine = CausalLMEngine(loaded)
    alone = [texts(engine, [request])[0] for request in asked]
    assert engine._generation._forward.shares  # tried before anything is recorded
    read: list[int] = []
    loaded.model.get_input_embeddings().register_forward_pre_hook(
        lambda _, args: read.append(args[0].numel())
    )
    assert texts(engine, asked) == alone
    prompts = [len(loaded.tokenizer(request.prompt)["input_ids"]) for request in asked[::2]]
    # What the model reads before the second token of any answer.
    assert sum(read[:2]) < sum(prompts) / 2
    # Only what stands behind the examples takes up what may be read at once.
    begin, begun = engine._generation._forward.begin, []

    def noted(prompts: Any, *others: Any) -> Any:
        begun.append(len(prompts))
        return begin(prompts, *others)

    engine._generation._forward.begin = noted  # type: ignore[method-assign]
    engine._generation.budget = replace(engine._generation.budget, prompt_tokens=3 * max(prompts))
    assert texts(engine, asked) == alone
    assert max(begun) > 3
