"""A Llama by Meta's names, with four heads, and a forward pass written from its tensors.

The forward pass follows the architecture's definition: rotary positions on neighbouring pairs,
heads of keys and values shared by groups of query heads, RMS norms, gated feed-forward.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WIDTH, HEADS, KV_HEADS, INNER, LAYERS, EXTRA = 32, 4, 2, 48, 3, 3
HEAD = WIDTH // HEADS
THETA, EPS = 5000.0, 1e-5
PARAMS = {
    "dim": WIDTH, "n_layers": LAYERS + EXTRA, "n_heads": HEADS, "n_kv_heads": KV_HEADS,
    "norm_eps": EPS, "rope_theta": THETA, "vocab_size": -1, "max_seq_len": 64,
}  # fmt: skip
WORDS = ("<unk>", "<s>", "</s>", *(f"w{number}" for number in range(40)))


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
    q = rotated((h @ of("attention.wq").T).view(length, -1, HEAD))
    keys = (h @ of("attention.wk").T).view(length, -1, HEAD)
    values = (h @ of("attention.wv").T).view(length, -1, HEAD)
    shared = q.shape[1] // keys.shape[1]
    k, v = (each.repeat_interleave(shared, dim=1) for each in (rotated(keys), values))
    scores = torch.einsum("qhd,khd->hqk", q, k) / HEAD**0.5
    ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
    mixed = torch.einsum("hqk,khd->qhd", scores.masked_fill(ahead, -torch.inf).softmax(-1), v)
    x = x + mixed.reshape(length, -1) @ of("attention.wo").T
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


def save_run(
    file: Path, weights: dict[str, Any], params: dict[str, Any] | None = None, **content: Any
) -> Path:
    """Save weights as a training run does, with the sizes and the tokenizer beside them."""
    import torch

    file.parent.mkdir(parents=True, exist_ok=True)
    save_words(file.parent)
    (file.parent / "params.json").write_text(json.dumps(PARAMS if params is None else params))
    torch.save({"model_state_dict": weights, **content}, file)
    return file


# A model of words that follow each other in a circle, of which every head knows the order.
CIRCLE_WIDTH, CIRCLE_PARAMS = 48, PARAMS | {"dim": 48, "n_heads": 6, "n_kv_heads": 6}
SPECIALS = 3


def circle(noise: float = 0.0, seed: int = 5) -> dict[str, Any]:
    """Weights whose every head names its word of the circle: w3 w4 ... w39 w0.

    A word is a unit vector beside a constant. The first head passes it on, and the output matrix
    names the word behind it; each further head moves it on before, by a product that its gate, open
    at the constant, makes linear. Words outside of the circle are never chosen.

    Args:
        noise: standard deviation of what is added to the matrices of every layer: ten times as much
            to those of attention, and five times as much to the further heads, which then err.
    """
    import torch

    numbers = torch.Generator().manual_seed(seed)
    words, constant = len(WORDS) - SPECIALS, len(WORDS) - SPECIALS
    step = torch.eye(words).roll(1, dims=0)  # a word's vector to that of the next word
    embedding = torch.zeros(len(WORDS), CIRCLE_WIDTH)
    embedding[SPECIALS:, :words] = torch.eye(words)
    embedding[:SPECIALS, 0] = 1
    embedding[:, constant] = 1
    output = torch.zeros(len(WORDS), CIRCLE_WIDTH)
    output[SPECIALS:, :words] = step
    output[:SPECIALS, constant] = -5
    scale = (CIRCLE_WIDTH / 2) ** 0.5  # of a vector behind its norm
    weights = {
        "tok_embeddings.weight": embedding,
        "norm.weight": torch.ones(CIRCLE_WIDTH),
        "output.weight": output,
    }
    heads = {f"layers.{number}": 0 for number in range(LAYERS)}
    heads |= {f"extra_heads.{number}": number + 1 for number in range(EXTRA)}
    for prefix, ahead in heads.items():
        gate, moved, back = (torch.zeros(INNER, CIRCLE_WIDTH) for _ in range(3))
        gate[:words, constant] = 1
        opened = scale * torch.tensor(scale).sigmoid() * scale
        moved[:words, :words] = torch.linalg.matrix_power(step, ahead) - torch.eye(words)
        back[:words, :words] = torch.eye(words) / opened
        square = torch.zeros(CIRCLE_WIDTH, CIRCLE_WIDTH)
        matrices = {f"attention.w{name}": square for name in "qkvo"}
        matrices |= {"feed_forward.w1": gate, "feed_forward.w3": moved, "feed_forward.w2": back.T}
        spread = noise * (5 if ahead else 1)
        for name, matrix in matrices.items():
            random = torch.randn(matrix.shape, generator=numbers) * spread
            own = 10 * random if "attention" in name else random
            weights[f"{prefix}.{name}.weight"] = matrix + own
        weights[f"{prefix}.attention_norm.weight"] = torch.ones(CIRCLE_WIDTH)
        weights[f"{prefix}.ffn_norm.weight"] = torch.ones(CIRCLE_WIDTH)
    return weights
