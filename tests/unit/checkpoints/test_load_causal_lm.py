"""Folders of causal models, and what kind a checkpoint is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import LoadedCausalLM, load_causal_lm
from ckptbench.fixtures.checkpoints.resolve import resolve

Save = Callable[..., Path]
WEIGHTS = "model.safetensors"


def load(folder: Path, **options: Any) -> LoadedCausalLM:
    return load_causal_lm(resolve(str(folder)), LoadOptions(**({"device": "cpu"} | options)))


def refusal(folder: Path) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as refused:
        load(folder)
    assert refused.value.remedy
    return refused.value


def rewrite(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(
    "architecture",
    ["LlamaForCausalLM", "GPT2LMHeadModel", "Qwen2ForCausalLM", "GPTNeoXForCausalLM"],
)
def test_any_architecture_with_a_causal_head_loads(architecture: str, save: Save) -> None:
    import torch

    loaded = load(save(architecture, vocab_size=12))
    assert loaded.architecture == architecture
    assert (loaded.device, loaded.dtype) == (torch.device("cpu"), torch.float32)
    assert loaded.parameters == sum(p.numel() for p in loaded.model.parameters())
    assert not loaded.model.training
    assert loaded.notes == ()
    assert loaded.seq_len.tokens == 40


def test_nothing_is_printed_while_loading(save: Save, capfd: pytest.CaptureFixture[str]) -> None:
    folder = save("GPT2LMHeadModel")
    capfd.readouterr()
    load(folder)
    assert capfd.readouterr() == ("", "")


def test_a_dtype_can_be_asked_for(save: Save) -> None:
    import torch

    loaded = load(save("LlamaForCausalLM"), dtype="bf16")
    assert {weight.dtype for weight in loaded.model.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "BertForMaskedLM"])
def test_an_attention_can_be_asked_for(architecture: str, save: Save) -> None:
    from ckptbench.fixtures.checkpoints.cache import Models
    from ckptbench.fixtures.engines.base import LocalEngine

    found = resolve(str(save(architecture)))
    for asked, used in (("eager", "eager"), ("sdpa", "sdpa")):
        with Models("cpu", attention=asked).loaded(found, None) as loaded:
            assert loaded.model.config._attn_implementation == used
            assert LocalEngine(loaded).settings["attn_implementation"] == asked
    with Models("cpu").loaded(found, None) as loaded:
        assert "attn_implementation" not in LocalEngine(loaded).settings


def test_an_attention_that_is_not_installed_is_named(save: Save) -> None:
    with pytest.raises(CkptbenchError, match=r"(?i)flash"):
        load(save("LlamaForCausalLM"), attention="flash_attention_2")


def test_rotary_positions_go_beyond_what_is_stated_and_learned_ones_do_not(save: Save) -> None:
    assert load(save("LlamaForCausalLM"), seq_len=64).seq_len.tokens == 64
    with pytest.raises(CkptbenchError, match="more than the model has positions for: 40"):
        load(save("GPT2LMHeadModel"), seq_len=64)


def test_the_generation_config_is_part_of_the_fingerprint(
    save: Save, edit_json: Callable[..., None]
) -> None:
    folder = save("LlamaForCausalLM")
    before = load(folder).fingerprint
    edit_json(folder / "generation_config.json", eos_token_id=[2, 3])
    changed = load(folder)
    assert changed.fingerprint != before
    assert changed.model.generation_config.eos_token_id == [2, 3]


def test_missing_weights_are_listed(save: Save) -> None:
    name = "model.layers.1.mlp.up_proj.weight"
    refused = refusal(rewrite(save("LlamaForCausalLM"), lambda tensors: tensors.pop(name)))
    assert f"LlamaForCausalLM lacks 1 weights: {name}" in refused.what


def test_a_model_without_its_head_is_refused(save: Save) -> None:
    refused = refusal(save("LlamaModel", tie_word_embeddings=False))
    assert "lm_head.weight" in refused.what
    assert "language-model head" in refused.remedy


def test_extra_weights_are_listed(save: Save, edit_json: Callable[..., None]) -> None:
    folder = save("LlamaForCausalLM")
    edit_json(folder / "config.json", num_hidden_layers=1)
    assert "9 weights have no place in LlamaForCausalLM" in refusal(folder).what


def test_a_value_head_is_told_and_not_used(save: Save) -> None:
    import torch

    def add(tensors: dict[str, Any]) -> None:
        tensors["v_head.summary.weight"] = torch.zeros(1, 16)

    assert load(rewrite(save("LlamaForCausalLM"), add)).notes == ("a value head is not used",)


def test_weights_cut_short_are_named(save: Save) -> None:
    folder = save("LlamaForCausalLM")
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-100])
    assert refusal(folder).where == str(folder / WEIGHTS)


def test_weights_that_are_not_finite_are_noted(save: Save) -> None:
    name = "model.norm.weight"
    folder = rewrite(save("LlamaForCausalLM"), lambda tensors: tensors[name].fill_(float("nan")))
    assert load(folder).notes == (f"1 weights hold NaN or infinity: {name}",)


def test_a_masked_model_is_not_a_causal_one(save: Save) -> None:
    refused = refusal(save("DebertaV2ForMaskedLM"))
    assert "(model_type 'deberta-v2') is not a causal language model" in refused.what


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, "causal"),
        ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, "causal"),
        ({"model_type": "gpt2"}, "causal"),
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "masked"),
        ({"model_type": "bert", "architectures": ["BertForPreTraining"]}, "masked"),
        ({"model_type": "bert", "architectures": ["BertLMHeadModel"]}, "causal"),
        ({"model_type": "bert"}, "masked"),
        ({"model_type": "bert", "is_decoder": True}, "causal"),
        ({"model_type": "bert", "architectures": ["BertModel"]}, "masked"),
        ({"model_type": "xlm", "architectures": ["XLMWithLMHeadModel"]}, "masked"),
        ({"model_type": "deberta-v2"}, "masked"),
    ],
)
def test_the_configuration_tells_the_kind(
    config: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert resolve(str(tmp_path)).model_kind == kind


def test_a_file_of_a_training_run_is_causal(tmp_path: Path) -> None:
    (tmp_path / "checkpoint_best.pt").write_bytes(b"x")
    assert resolve(str(tmp_path / "checkpoint_best.pt")).model_kind == "causal"


def test_what_is_neither_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vit"}))
    with pytest.raises(CkptbenchError, match="neither a masked nor a causal"):
        _ = resolve(str(tmp_path)).model_kind
