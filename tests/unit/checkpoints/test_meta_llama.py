"""A Llama by Meta's names, with four heads, against a forward pass written here from its tensors.

The forward pass follows the architecture's definition: rotary positions on neighbouring pairs,
heads of keys and values shared by groups of query heads, RMS norms, gated feed-forward.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench import Generate
from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import LoadedCausalLM, load_causal_lm
from ckptbench.fixtures.checkpoints.resolve import resolve

WIDTH, HEADS, KV_HEADS, INNER, LAYERS, EXTRA = 32, 4, 2, 48, 3, 3
HEAD = WIDTH // HEADS
THETA, EPS = 5000.0, 1e-5
PARAMS = {
    "dim": WIDTH, "n_layers": LAYERS + EXTRA, "n_heads": HEADS, "n_kv_heads": KV_HEADS,
    "norm_eps": EPS, "rope_theta": THETA, "vocab_size": -1, "max_seq_len": 64,
}  # fmt: skip
WORDS = ("<unk>", "<s>", "</s>", *(f"w{number}" for number in range(40)))
PROMPT = "w3 w17 w5 w30 w8"


def layer_tensors(prefix: str, numbers: Any, kv_heads: int = KV_HEADS) -> dict[str, Any]:
    import torch

    def random(*size: int) -> Any:
        return torch.randn(size, generator=numbers) * 0.3

    kv = kv_heads * HEAD
    return {
        f"{prefix}.attention.wq.weight": random(WIDTH, WIDTH),
        f"{prefix}.attention.wk.weight": random(kv, WIDTH),
        f"{prefix}.attention.wv.weight": random(kv, WIDTH),
        f"{prefix}.attention.wo.weight": random(WIDTH, WIDTH),
        f"{prefix}.feed_forward.w1.weight": random(INNER, WIDTH),
        f"{prefix}.feed_forward.w2.weight": random(WIDTH, INNER),
        f"{prefix}.feed_forward.w3.weight": random(INNER, WIDTH),
        f"{prefix}.attention_norm.weight": 1 + random(WIDTH),
        f"{prefix}.ffn_norm.weight": 1 + random(WIDTH),
    }


def tensors(kv_heads: int = KV_HEADS) -> dict[str, Any]:
    """A random model with its trunk, layer L-1 as head 0, and the heads behind it."""
    import torch

    numbers = torch.Generator().manual_seed(3)
    weights = {
        "tok_embeddings.weight": torch.randn((len(WORDS), WIDTH), generator=numbers),
        "norm.weight": 1 + 0.1 * torch.randn(WIDTH, generator=numbers),
        "output.weight": torch.randn((len(WORDS), WIDTH), generator=numbers),
    }
    for number in range(LAYERS):
        weights |= layer_tensors(f"layers.{number}", numbers, kv_heads)
    for number in range(EXTRA):
        weights |= layer_tensors(f"extra_heads.{number}", numbers, kv_heads)
    return weights


def norm(x: Any, weight: Any) -> Any:
    return x / (x.pow(2).mean(-1, keepdim=True) + EPS).sqrt() * weight


def rotated(x: Any) -> Any:
    """Each pair of neighbours of `[length, heads, size]`, as a complex number, turned."""
    import torch

    rates = THETA ** (-torch.arange(0, HEAD, 2).double() / HEAD)
    angles = torch.arange(x.shape[0]).double().unsqueeze(1) * rates
    turns = torch.polar(torch.ones_like(angles), angles).unsqueeze(1)
    pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)


def block(weights: dict[str, Any], prefix: str, x: Any) -> Any:
    import torch

    def of(name: str) -> Any:
        return weights[f"{prefix}.{name}.weight"].double()

    length = len(x)
    h = norm(x, of("attention_norm"))
    q = rotated((h @ of("attention.wq").T).view(length, HEADS, HEAD))
    keys = (h @ of("attention.wk").T).view(length, -1, HEAD)
    values = (h @ of("attention.wv").T).view(length, -1, HEAD)
    shared = HEADS // keys.shape[1]
    k, v = (each.repeat_interleave(shared, dim=1) for each in (rotated(keys), values))
    scores = torch.einsum("qhd,khd->hqk", q, k) / HEAD**0.5
    ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
    mixed = torch.einsum("hqk,khd->qhd", scores.masked_fill(ahead, -torch.inf).softmax(-1), v)
    x = x + mixed.reshape(length, WIDTH) @ of("attention.wo").T
    h = norm(x, of("ffn_norm"))
    gate = torch.nn.functional.silu(h @ of("feed_forward.w1").T)
    return x + (gate * (h @ of("feed_forward.w3").T)) @ of("feed_forward.w2").T


def head_logits(weights: dict[str, Any], ids: list[int], head: int = 0) -> Any:
    """Logits `[length, vocabulary]` of one head on the trunk's output."""
    x = weights["tok_embeddings.weight"].double()[ids]
    for number in range(LAYERS - 1):
        x = block(weights, f"layers.{number}", x)
    x = block(weights, f"layers.{LAYERS - 1}" if head == 0 else f"extra_heads.{head - 1}", x)
    output = weights.get("output.weight", weights["tok_embeddings.weight"])
    return norm(x, weights["norm.weight"].double()) @ output.double().T


def save_words(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)


Save = Callable[..., Path]


@pytest.fixture
def save_meta(tmp_path: Path) -> Save:
    """Saves weights as a training run does, with the sizes beside them."""

    def saved(weights: dict[str, Any], prefix: str = "", **content: Any) -> Path:
        import torch

        file = tmp_path / "run" / "checkpoint_best.pt"
        file.parent.mkdir(exist_ok=True)
        save_words(file.parent)
        (file.parent / "params.json").write_text(json.dumps(PARAMS))
        prefixed = {prefix + name: tensor for name, tensor in weights.items()}
        torch.save({"model_state_dict": prefixed, **content}, file)
        return file

    return saved


def load(file: Path, **options: Any) -> LoadedCausalLM:
    return load_causal_lm(
        resolve(str(file)), LoadOptions(**({"device": "cpu", "dtype": "fp32"} | options))
    )


def refusal(file: Path) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as refused:
        load(file)
    assert refused.value.remedy
    return refused.value


def model_logits(loaded: LoadedCausalLM, ids: list[int]) -> Any:
    import torch

    with torch.inference_mode():
        return loaded.model(torch.tensor([ids])).logits[0].double()


IDS = [1, 6, 20, 8, 33, 11, 40, 2, 9]


@pytest.mark.parametrize("kv_heads", [KV_HEADS, HEADS, 1])
@pytest.mark.parametrize("prefix", ["", "_orig_mod.module.", "module.model._orig_mod."])
def test_the_first_head_gives_the_logits(prefix: str, kv_heads: int, save_meta: Save) -> None:
    weights = tensors(kv_heads)
    file = save_meta(weights, prefix)
    (file.parent / "params.json").write_text(json.dumps(PARAMS | {"n_kv_heads": kv_heads}))
    loaded = load(file)
    assert loaded.architecture == "LlamaForCausalLM"
    difference = model_logits(loaded, IDS) - head_logits(weights, IDS)
    assert float(difference.abs().max()) < 1e-4
    other = model_logits(loaded, IDS) - head_logits(weights, IDS, head=1)
    assert float(other.abs().max()) > 1


@pytest.mark.parametrize("prefix", ["", "_orig_mod.module."])
def test_greedy_text_is_that_of_the_first_head(prefix: str, save_meta: Save) -> None:
    from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

    weights = tensors()
    loaded = load(save_meta(weights, prefix))
    ids = [1, *(WORDS.index(word) for word in PROMPT.split())]
    start = len(ids)
    for _ in range(12):
        ids.append(int(head_logits(weights, ids)[-1].argmax()))
        if WORDS[ids[-1]] == "</s>":
            break
    wanted = [WORDS[token] for token in ids[start:] if WORDS[token].startswith("w")]
    ((_, answer),) = CausalLMEngine(loaded).answer([Generate(PROMPT, max_tokens=12)])
    assert answer.text.split() == wanted  # type: ignore[union-attr]
    assert len(wanted) > 3


def test_a_model_without_further_heads_is_an_ordinary_llama(save_meta: Save) -> None:
    weights = {name: t for name, t in tensors().items() if not name.startswith("extra_heads")}
    file = save_meta(weights)
    (file.parent / "params.json").write_text(json.dumps(PARAMS | {"n_layers": LAYERS}))
    loaded = load(file)
    assert float((model_logits(loaded, IDS) - head_logits(weights, IDS)).abs().max()) < 1e-4
    assert loaded.notes == ()


def test_what_takes_no_part_is_said(save_meta: Save) -> None:
    import torch

    extra = {
        "value_head.linear.weight": torch.zeros(1, WIDTH),
        "rope.freqs": torch.zeros(HEAD // 2),
        "probe.weight": torch.zeros(2),
    }
    notes = load(save_meta(tensors() | extra, epoch=4, val_metrics={"loss": 1.25})).notes
    assert notes == (
        "checkpoint_best.pt: epoch 4; val_metrics: loss 1.25",
        "multi-token prediction with 4 heads: layer 2 is the head of the next token, the others "
        "are not used",
        "a value head is not used",
        "1 weights are not used: probe.weight",
    )


def test_without_an_output_matrix_the_embedding_is_it(save_meta: Save) -> None:
    weights = tensors()
    del weights["output.weight"]
    loaded = load(save_meta(weights))
    assert float((model_logits(loaded, IDS) - head_logits(weights, IDS)).abs().max()) < 1e-4
    assert any("tied to the embedding" in note for note in loaded.notes)


def test_missing_weights_are_listed_by_their_own_names(save_meta: Save) -> None:
    weights = tensors()
    del weights["layers.1.attention.wk.weight"], weights["norm.weight"]
    what = refusal(save_meta(weights)).what
    assert what == (
        "a Llama of 3 layers lacks 2 weights: layers.1.attention.wk.weight, norm.weight"
    )


@pytest.mark.parametrize(
    "config",
    [
        {"n_heads": HEADS, "n_kv_heads": KV_HEADS, "norm_eps": EPS, "rope_theta": THETA},
        {
            "model": {
                "num_attention_heads": HEADS,
                "num_key_value_heads": KV_HEADS,
                "rms_norm_eps": EPS,
                "rope_theta": THETA,
            }
        },
    ],
    ids=["of Meta's names", "nested, of transformers' names"],
)
def test_sizes_may_stand_in_the_checkpoint_itself(config: Any, save_meta: Save) -> None:
    weights = tensors()
    file = save_meta(weights, config=config)
    (file.parent / "params.json").unlink()
    loaded = load(file)
    assert float((model_logits(loaded, IDS) - head_logits(weights, IDS)).abs().max()) < 1e-4


def test_sizes_may_stand_where_the_config_says_the_model_is(
    save_meta: Save, tmp_path: Path
) -> None:
    file = save_meta(tensors(), config={"model": {"path": str(tmp_path / "base")}})
    (tmp_path / "base").mkdir()
    (file.parent / "params.json").rename(tmp_path / "base" / "params.json")
    assert load(file).parameters > 0


def test_without_the_number_of_heads_it_says_what_to_put_where(save_meta: Save) -> None:
    file = save_meta(tensors())
    (file.parent / "params.json").unlink()
    refused = refusal(file)
    assert "the number of attention heads is not stated" in refused.what
    assert "params.json" in refused.remedy


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"n_heads": 5}, "n_heads 5 and n_kv_heads 2 do not fit wq of 32 rows"),
        ({"n_kv_heads": 4}, "n_kv_heads 4 do not fit wq of 32 rows and wk of 16"),
        ({"n_layers": 5}, "n_layers is 5, the file holds 3 layers and 3 extra heads"),
    ],
)
def test_sizes_that_contradict_the_weights_are_refused(
    changes: dict[str, int], what: str, save_meta: Save
) -> None:
    file = save_meta(tensors())
    (file.parent / "params.json").write_text(json.dumps(PARAMS | changes))
    assert what in refusal(file).what


def test_one_part_of_a_model_in_several_is_refused(save_meta: Save) -> None:
    file = save_meta(tensors())
    parts = [file.parent / f"consolidated.0{number}.pth" for number in range(2)]
    for part in parts:
        part.write_bytes(file.read_bytes())
    assert "one of 2 parts" in refusal(parts[0]).what


def test_stretched_positions_of_later_models_are_taken_over() -> None:
    from ckptbench.fixtures.checkpoints.meta_llama import from_meta_llama

    made = from_meta_llama(tensors(), PARAMS | {"use_scaled_rope": True, "max_seq_len": None}, "x")
    assert made.config["rope_scaling"] == {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }  # fmt: skip
    assert made.config["max_position_embeddings"] == 131_072
