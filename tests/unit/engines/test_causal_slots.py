"""Slots: the same texts as without them, for models whose attention is plain, in bounded memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ckptbench import Failed, Generate, Generated
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.engines.causal import slot_forward as slot_forward_module
from ckptbench.fixtures.engines.causal.drawing import draw
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine
from ckptbench.fixtures.engines.causal.forward import CausalForward
from ckptbench.fixtures.engines.causal.generation import Generation, GenerationBudget
from ckptbench.fixtures.engines.causal.generation_state import TextRow
from ckptbench.fixtures.engines.causal.sampling import SamplingState, choose
from ckptbench.fixtures.engines.causal.slots import Slots, slot_forward

Load = Callable[..., Any]

PROMPTS = (
    "def add(a, b):\n",
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def",
    "x",
    "# 국수를 삶는 동안\nfor word in",
    "while n > 0:\n    n, rest = divmod(n, 10)\n    total",
    "    return",
)
PLENTY = GenerationBudget(tokens=10**6, prompt_tokens=10**6, rows=1000)
REQUESTS = [
    Generate(
        prompt, max_tokens=9 + 7 * trial, temperature=temperature, top_p=top_p, seed=trial,
        stop=("e", "§") if trial == 2 else (),
    )
    for prompt in PROMPTS[:4]
    for temperature, top_p in ((0.0, 1.0), (0.8, 1.0), (0.8, 0.9))
    for trial in range(3)
]  # fmt: skip


def in_slots(loaded: Any, budget: GenerationBudget = PLENTY) -> CausalLMEngine:
    """An engine that generates in slots, as one on a GPU does."""
    engine = CausalLMEngine(loaded)
    forward = engine._generation._forward
    slots = slot_forward(forward)
    assert slots is not None
    engine._generation = Generation(forward, engine._text, budget, 0.0, slots)
    return engine


@pytest.mark.parametrize("family", ["llama", "llama-pieces", "qwen2", "gpt2"])
def test_texts_are_those_of_any_other_batch(family: str, load_causal: Load) -> None:
    loaded = load_causal(family)
    wanted = dict(CausalLMEngine(loaded).answer(REQUESTS))
    assert len({answer.finish for answer in wanted.values()}) > 1  # type: ignore[union-attr]
    for rows, prompt_tokens in ((1000, 10**6), (7, 64), (2, 1)):
        budget = GenerationBudget(10**6, prompt_tokens, rows)
        assert dict(in_slots(loaded, budget).answer(REQUESTS)) == wanted
    alone = in_slots(loaded, GenerationBudget(1, 1, 1))
    assert dict(alone.answer(REQUESTS[:6])) == {place: wanted[place] for place in range(6)}


def test_looking_seldom_changes_no_answer(load_causal: Load) -> None:
    loaded = load_causal("llama")
    wanted = dict(CausalLMEngine(loaded).answer(REQUESTS))
    for steps in (1, 5, 50):
        engine = in_slots(loaded, GenerationBudget(10**6, 10**6, 5))
        engine._generation._in_slots._steps = steps  # type: ignore[union-attr]
        assert dict(engine.answer(REQUESTS)) == wanted


@pytest.mark.parametrize("columns", [16, 32])
def test_attention_reads_more_columns_as_texts_grow(
    columns: int, load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_causal("qwen2")
    wanted = dict(CausalLMEngine(loaded).answer(REQUESTS))
    widths: list[int] = []
    advance = Slots.advance

    def noted(self: Slots, width: int) -> Any:
        widths.append(width)
        return advance(self, width)

    engine = in_slots(loaded)
    monkeypatch.setattr(Slots, "advance", noted)
    monkeypatch.setattr("ckptbench.fixtures.engines.causal.slots.COLUMNS_MORE", columns)
    assert dict(engine.answer(REQUESTS)) == wanted
    assert len(set(widths)) > 1


def other_attention() -> dict[str, tuple[str, dict[str, Any]]]:
    sizes: dict[str, Any] = {
        "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 48, "head_dim": 8,
        "initializer_range": 0.3, "max_position_embeddings": 64, "pad_token_id": 0,
    }  # fmt: skip
    dynamic = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    return {
        "nearest tokens only": ("MistralForCausalLM", sizes | {"sliding_window": 32}),
        "capped scores": ("Gemma2ForCausalLM", sizes | {"sliding_window": 4096}),
        "stretched positions": ("LlamaForCausalLM", sizes | {"rope_scaling": dynamic}),
        "biases by distance": (
            "BloomForCausalLM",
            {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 2},
        ),
    }


@pytest.mark.parametrize("kind", list(other_attention()))
def test_attention_of_another_kind_does_without(kind: str) -> None:
    import torch
    import transformers

    name, sizes = other_attention()[kind]
    torch.manual_seed(3)
    architecture = getattr(transformers, name)
    model = architecture(architecture.config_class(**sizes)).eval()
    usual = model.config._attn_implementation
    assert slot_forward(CausalForward(model, 0)) is None
    assert model.config._attn_implementation == usual


def test_the_model_is_left_as_it_was(load_causal: Load) -> None:
    loaded = load_causal("llama")
    usual = loaded.model.config._attn_implementation
    engine = in_slots(loaded)
    wanted = dict(engine.answer(REQUESTS[:3]))
    assert loaded.model.config._attn_implementation == usual
    forward = loaded.model.forward

    def failing(**inputs: Any) -> Any:
        raise ZeroDivisionError

    loaded.model.forward = failing
    with pytest.raises(ZeroDivisionError):
        dict(engine.answer(REQUESTS[:3]))
    loaded.model.forward = forward
    assert loaded.model.config._attn_implementation == usual
    assert dict(engine.answer(REQUESTS[:3])) == wanted


def test_a_slot_that_is_free_is_taken_and_a_prompt_is_read_once(
    load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight slots: one text of 64 tokens, and fifty-six of 8 that go through the others."""
    loaded = load_causal("llama")
    requests = [Generate("x", max_tokens=64)]
    requests += [Generate("def", max_tokens=8, temperature=1.0, seed=s) for s in range(56)]
    loaded.model.generation_config.eos_token_id = None
    loaded.model.config.eos_token_id = None
    loaded.tokenizer.eos_token = None
    engine = in_slots(loaded, GenerationBudget(10**6, 10**6, 8))
    steps: list[int] = []
    read: list[int] = []
    run, admit = Slots.run, Slots.admit

    def noted_run(self: Slots, n: int, length: int) -> Any:
        steps.append(n)
        return run(self, n, length)

    def noted_admit(self: Slots, slots: Sequence[int], prompts: Any, *others: Any) -> None:
        read.append(len(prompts))
        assert len(set(prompts)) == len(prompts)
        admit(self, slots, prompts, *others)

    monkeypatch.setattr(Slots, "run", noted_run)
    monkeypatch.setattr(Slots, "admit", noted_admit)
    answers = dict(engine.answer(requests))
    assert all(isinstance(answer, Generated) for answer in answers.values())
    # Eight short texts follow each other in each of seven slots, beside the long one.
    assert sum(steps) <= 64 + 16
    assert max(read) <= 2
    assert len(set(answers.values())) > 10


def test_a_row_whose_logits_are_not_finite_fails_alone(load_causal: Load) -> None:
    loaded = load_causal("llama")
    word = loaded.tokenizer("§", add_special_tokens=False)["input_ids"][-1]
    whole = dict(in_slots(loaded).answer([Generate("def", max_tokens=6)]))
    engine = in_slots(loaded)
    loaded.model.model.embed_tokens.weight.data[word] = float("nan")
    prompts = ["def", "a §", "§ and a longer prompt"]
    answers = dict(engine.answer([Generate(prompt, max_tokens=6) for prompt in prompts]))
    assert answers[0] == whole[0]
    for place in (1, 2):
        assert answers[place] == Failed("NaN logits: the model's output is not finite")


def crowd(loaded: Any, most: int) -> None:
    """From now on memory suffices for so many rows."""
    import torch

    forward = loaded.model.forward

    def limited(input_ids: Any, **others: Any) -> Any:
        if len(input_ids) > most:
            raise torch.OutOfMemoryError("out of memory")
        return forward(input_ids=input_ids, **others)

    loaded.model.forward = limited


def test_slots_that_do_not_fit_are_halved(load_causal: Load) -> None:
    loaded = load_causal("llama")
    engine = in_slots(loaded)
    wanted = dict(engine.answer(REQUESTS))
    crowd(loaded, most=6)
    assert dict(engine.answer(REQUESTS)) == wanted
    assert engine._generation.budget.rows <= 6


def test_a_row_that_does_not_fit_alone_fails(load_causal: Load) -> None:
    loaded = load_causal("llama")
    engine = in_slots(loaded)
    crowd(loaded, most=0)
    answers = dict(engine.answer([Generate(prompt, max_tokens=3) for prompt in PROMPTS]))
    assert len(answers) == len(PROMPTS)
    assert all(
        isinstance(answer, Failed) and answer.reason.startswith("out of memory at one row of ")
        for answer in answers.values()
    )


def test_slots_are_gone_when_their_texts_are(
    load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, not when garbage is collected: the next ones need the memory."""
    made: list[weakref.ref[Slots]] = []
    init = Slots.__init__

    def noted(self: Slots, *arguments: Any, **named: Any) -> None:
        made.append(weakref.ref(self))
        init(self, *arguments, **named)

    engine = in_slots(load_causal("llama"))
    monkeypatch.setattr(Slots, "__init__", noted)
    gc.disable()
    try:
        dict(engine.answer(REQUESTS))
        assert made
        assert all(reference() is None for reference in made)
    finally:
        gc.enable()


def test_much_shorter_rows_wait_for_slots_of_their_own(load_causal: Load) -> None:
    generation = in_slots(
        load_causal("llama"), GenerationBudget(tokens=400, prompt_tokens=1000, rows=50)
    )._generation

    def rows(*lengths: int) -> list[TextRow]:
        ask = Generate("", max_tokens=1)
        return [TextRow(0, ask, (1,) * (n - 1), 1, frozenset(), frozenset()) for n in lengths]

    assert generation._wave(rows(100, 90, 80)) == (3, 3)
    assert generation._wave(rows(*[100] * 6, *[60] * 10, *[40] * 10)) == (16, 4)
    assert generation._wave(rows(*[40] * 10)) == (10, 10)
    assert generation._wave(rows(1000, 900)) == (2, 1)
    assert generation._wave(rows(*[2] * 70)) == (70, 50)


def test_drawing_by_parts_is_drawing() -> None:
    import torch

    numbers = torch.Generator().manual_seed(0)
    logits = torch.randn((40, 90), generator=numbers)
    owner = torch.arange(300) % 40
    steps = torch.arange(300) % 11
    settings = [((0.0, 0.7, 1.0)[seed % 3], (1.0, 0.8)[seed % 2], seed) for seed in range(300)]
    sampling = SamplingState.of(settings, "cpu")
    ids, finite = draw(logits, sampling, steps, owner)
    assert finite.all()
    for row in range(300):
        only = sampling.rows(slice(row, row + 1))
        alone = choose(logits[owner[row]][None], only, int(steps[row]), rounding=0.0)
        assert alone.ids.item() == ids[row].item()


@pytest.fixture
def gpu() -> str:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return "cuda"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_the_kernel_draws_the_same(dtype: str, gpu: str) -> None:
    import torch

    kernel = pytest.importorskip("ckptbench.fixtures.engines.causal.sampling_kernel")
    numbers = torch.Generator().manual_seed(0)
    logits = (torch.randn((12, 9001), generator=numbers) * 3).to(gpu, getattr(torch, dtype))
    logits[9, 5], logits[10, 7], logits[11] = float("nan"), float("inf"), -float("inf")
    steps = torch.arange(48, device=gpu)
    owner = steps % 12
    for rows in ([(0.0, 1.0)], [(0.8, 1.0)], [(0.0, 1.0), (0.8, 0.9), (1.0, 0.5), (1.3, 1.0)]):
        settings = [(*rows[seed % len(rows)], seed * 77 - 5) for seed in range(48)]
        sampling = SamplingState.of(settings, gpu)
        wanted = choose(logits[owner].float(), sampling, steps, rounding=0.0)
        ids, finite = kernel.draw(logits, sampling, steps, owner)
        assert torch.equal(finite, wanted.finite)
        assert torch.equal(ids[finite], wanted.ids[finite])


@pytest.mark.parametrize(("heads", "key_heads", "size"), [(14, 2, 64), (4, 4, 80), (32, 1, 256)])
@pytest.mark.parametrize(("dtype", "near"), [("bfloat16", 2e-2), ("float32", 1e-5)])
def test_the_kernel_attends_to_the_same_columns(
    heads: int, key_heads: int, size: int, dtype: str, near: float, gpu: str
) -> None:
    import torch

    kernel = pytest.importorskip("ckptbench.fixtures.engines.causal.attention_kernel")
    numbers = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Any:
        return torch.randn(shape, generator=numbers).to(gpu, getattr(torch, dtype))

    query = random(5, heads, 1, size)
    # As a cache holds them, more columns than are read; what is behind a text may be anything.
    key, value = (random(5, 200, key_heads, size)[:, :150].transpose(1, 2) for _ in range(2))
    lengths = torch.tensor([1, 63, 64, 65, 150], device=gpu)
    value[0, :, 1:], key[1, :, 63:] = float("nan"), float("inf")
    attended = kernel.attend(query, key, value, lengths, 0.2)[:, 0]
    for row, length in enumerate(lengths.tolist()):
        keys, values = (
            each[row, :, :length].repeat_interleave(heads // key_heads, 0).double()
            for each in (key, value)
        )
        weights = (0.2 * query[row].double() @ keys.transpose(1, 2)).softmax(-1)
        assert torch.allclose(attended[row].double(), (weights @ values)[:, 0], atol=near, rtol=0)


@pytest.mark.parametrize("change", [lambda mask: mask.float(), lambda mask: mask[..., 0], None])
def test_a_model_that_changes_its_mask_does_without(
    change: Callable[[Any], Any] | None, load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = CausalForward(load_causal("llama").model, 0)
    assert slot_forward(forward) is not None
    attention = slot_forward_module._attention

    def changed(module: Any, query: Any, key: Any, value: Any, mask: Any, **settings: Any) -> Any:
        return attention(module, query, key, value, change(mask) if change else None, **settings)

    monkeypatch.setattr(slot_forward_module, "_attention", changed)
    assert slot_forward(forward) is None


def test_what_keeps_texts_out_of_slots_is_told(
    load_causal: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no C compiler\nwas found")

    monkeypatch.setattr(slot_forward_module, "_attention", broken)
    with pytest.warns(UserWarning, match="the slower way, .*: no C compiler was found"):
        assert slot_forward(CausalForward(load_causal("llama").model, 0)) is None


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt2"])
def test_recorded_steps_write_the_same(
    family: str, gpu: str, causal_folder: Callable[[str], Any]
) -> None:
    from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    found = resolve(str(causal_folder(family)))
    loaded = load_causal_lm(found, LoadOptions(device=gpu, dtype="fp32"))
    wanted = dict(CausalLMEngine(loaded).answer(REQUESTS))
    for rows in (1000, 7):
        engine = in_slots(loaded, GenerationBudget(10**6, 10**6, rows))
        assert dict(engine.answer(REQUESTS)) == wanted


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_what_prompts_have_in_common_is_read_once(family: str, load_causal: Load) -> None:
    loaded = load_causal(family)
    examples = "def add(a, b):\n    return a + b\nwhile n > 0:\n    print(n)\nclass Stack:\n"
    endings = ("for word", "국수를", "x", "def longest", "n", "best", "self", "pop", "i", "total")
    asked = [
        Generate(f"{examples}{ending}", max_tokens=6, temperature=temperature, seed=3)
        for ending in endings
        for temperature in (0.0, 1.0)
    ]
    expected = dict(CausalLMEngine(loaded).answer(asked))
    engine = in_slots(loaded)
    assert engine._generation._forward.shares  # tried before anything is recorded
    read: list[int] = []
    loaded.model.get_input_embeddings().register_forward_pre_hook(
        lambda _, args: read.append(args[0].numel())
    )
    assert dict(engine.answer(asked)) == expected
    prompts = [len(loaded.tokenizer(request.prompt)["input_ids"]) for request in asked[::2]]
    assert sum(read[:2]) < sum(prompts) / 2
