"""A Llama by Meta's names, with four heads, against a forward pass written from its tensors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from meta_llama_weights import (
    EPS,
    HEAD,
    HEADS,
    KV_HEADS,
    LAYERS,
    PARAMS,
    THETA,
    WIDTH,
    WORDS,
    head_logits,
    save_run,
    tensors,
)

from ckptbench import Generate
from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import LoadedCausalLM, load_causal_lm
from ckptbench.fixtures.checkpoints.resolve import resolve

PROMPT = "w3 w17 w5 w30 w8"


Save = Callable[..., Path]


@pytest.fixture
def save_meta(tmp_path: Path) -> Save:
    """Saves weights as a training run does, with the sizes beside them."""

    def saved(weights: dict[str, Any], prefix: str = "", **content: Any) -> Path:
        prefixed = {prefix + name: tensor for name, tensor in weights.items()}
        return save_run(tmp_path / "run" / "checkpoint_best.pt", prefixed, **content)

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
    assert loaded.extra_heads == ()
    assert not any("extra" in name for name, _ in loaded.model.named_modules())


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
        "are only measured beside it",
        "a value head is not used",
        "1 weights are not used: probe.weight",
    )


@pytest.mark.parametrize("change", ["one is missing", "one is no such layer", "another shape"])
def test_heads_that_are_no_layers_of_the_model_are_left_out(change: str, save_meta: Save) -> None:
    import torch

    weights = tensors()
    if change == "one is missing":
        weights = {n: t for n, t in weights.items() if not n.startswith("extra_heads.1.")}
    elif change == "one is no such layer":
        weights["extra_heads.1.linear.weight"] = torch.zeros(2)
    else:
        weights["extra_heads.1.feed_forward.w2.weight"] = torch.zeros(WIDTH, 8)
    file = save_meta(weights)
    (file.parent / "params.json").write_text(json.dumps(PARAMS | {"n_layers": LAYERS}))
    loaded = load(file)
    assert loaded.extra_heads == ()
    assert any("the others are not used: they are no layers like it" in n for n in loaded.notes)
    assert float((model_logits(loaded, IDS) - head_logits(weights, IDS)).abs().max()) < 1e-4


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
