"""Files of training runs: what is read of them, and what is never run."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import LoadedCausalLM, load_causal_lm
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.checkpoints.torch_file import bare_name, read_torch_file
from ckptbench.fixtures.checkpoints.weight_files import check_weight_files

Save = Callable[..., Path]
LLAMA, GPT2 = "LlamaForCausalLM", "GPT2LMHeadModel"


@pytest.fixture
def save_pt(save: Save) -> Callable[..., Path]:
    """Saves the weights of a folder as a file beside its configuration."""

    def saved(
        architecture: str = LLAMA,
        change: Callable[[dict[str, Any]], Any] = lambda weights: {"model_state_dict": weights},
        **sizes: Any,
    ) -> Path:
        import torch
        from safetensors.torch import load_file

        # More rows than the tokenizer has tokens: Qwen2's own class adds one.
        folder = save(architecture, **({"vocab_size": 12, "num_key_value_heads": 2} | sizes))
        weights = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").rename(folder / "kept.safetensors")
        torch.save(change(weights), folder / "checkpoint_best.pt")
        return folder / "checkpoint_best.pt"

    return saved


def load(file: Path) -> LoadedCausalLM:
    return load_causal_lm(resolve(str(file)), LoadOptions(device="cpu"))


def refusal(file: Path) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as refused:
        load(file)
    assert refused.value.remedy
    return refused.value


def logits(loaded: LoadedCausalLM) -> Any:
    import torch

    with torch.inference_mode():
        return loaded.model(torch.tensor([[5, 4, 7]])).logits


def of_folder(file: Path) -> Any:
    """The logits of the same weights, loaded from their folder."""
    (file.parent / "kept.safetensors").rename(file.parent / "model.safetensors")
    return logits(load(file.parent))


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("model.layers.0.mlp.up_proj.weight", "layers.0.mlp.up_proj.weight"),
        ("module._orig_mod.model.model.norm.weight", "norm.weight"),
        ("transformer.h.0.ln_1.bias", "h.0.ln_1.bias"),
        ("_orig_mod.module.tok_embeddings.weight", "tok_embeddings.weight"),
        ("layers.0._orig_mod.attention.wq.weight", "layers.0.attention.wq.weight"),
        ("lm_head.weight", "lm_head.weight"),
        ("layers.0.submodule.weight", "layers.0.submodule.weight"),
        ("net.model.layers.0.mlp.up_proj.weight", "layers.0.mlp.up_proj.weight"),
        ("lm.transformer.h.0.ln_1.bias", "h.0.ln_1.bias"),
        ("network.module.norm.weight", "norm.weight"),
    ],
)
def test_prefixes_are_taken_away_as_often_as_they_occur(name: str, bare: str) -> None:
    assert bare_name(name) == bare


@pytest.mark.parametrize("architecture", [LLAMA, GPT2, "Qwen2ForCausalLM"])
@pytest.mark.parametrize(
    "prefix", ["", "module.", "_orig_mod.module.", "model.model.", "net.", "llm._orig_mod."]
)
def test_weights_of_transformers_find_their_model(
    architecture: str, prefix: str, save_pt: Save
) -> None:
    import torch

    file = save_pt(
        architecture,
        lambda weights: {"model_state_dict": {prefix + name: t for name, t in weights.items()}},
    )
    loaded = load(file)
    assert loaded.architecture == architecture
    assert torch.equal(logits(loaded), of_folder(file))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda weights: {"adapter_state_dict": weights, "epoch": 1},
        lambda weights: {"state_dict": weights, "optimizer": {"state": {}}},
        lambda weights: {"model": weights},
        lambda weights: {"model": {"state_dict": weights}},
        lambda weights: weights,
        lambda weights: {"model_state_dict": weights, "model": {"other": 3}},
    ],
    ids=["adapter_state_dict", "state_dict", "model", "nested", "bare", "first key wins"],
)
def test_weights_are_found_under_any_of_their_keys(wrap: Any, save_pt: Save) -> None:
    import torch

    file = save_pt(change=wrap)
    assert torch.equal(logits(load(file)), of_folder(file))


def test_epoch_and_metrics_are_told(save_pt: Save) -> None:
    import torch

    content = {
        "epoch": 7,
        "train_metrics": {"loss": torch.tensor(1.5), "name": "run"},
        "val_metrics": {"loss": 2, "accuracy": 0.25},
    }
    loaded = load(save_pt(change=lambda weights: {"model_state_dict": weights, **content}))
    assert loaded.notes == (
        "checkpoint_best.pt: epoch 7; train_metrics: loss 1.5; val_metrics: loss 2, accuracy 0.25",
    )


def test_settings_are_looked_for_from_the_outside(tmp_path: Path) -> None:
    import torch

    config = {"model": {"path": "inner", "dtype": "bfloat16"}, "path": "outer"}
    torch.save({"model": {"w": torch.zeros(1)}, "config": config}, tmp_path / "a.pt")
    file = read_torch_file(tmp_path / "a.pt")
    assert list(file.settings("path")) == ["outer", "inner"]
    assert list(file.settings("model", "dtype")) == ["bfloat16"]
    assert list(file.settings("nothing")) == []


def test_configuration_and_tokenizer_may_be_where_the_config_says(
    save_pt: Save, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    file = save_pt(
        change=lambda weights: {"model_state_dict": weights, "config": {"model_path": str(base)}}
    )
    shutil.copytree(file.parent, base, ignore=shutil.ignore_patterns("*.pt", "*.safetensors"))
    alone = tmp_path / "alone" / "checkpoint_final.pt"
    alone.parent.mkdir()
    file.rename(alone)
    assert load(alone).architecture == LLAMA
    shutil.rmtree(base)
    refused = refusal(alone)
    assert f"nor where its config says ('{base}')" in refused.what
    assert refused.where == str(alone)


def test_the_fingerprint_is_of_weights_configuration_and_tokenizer(
    save_pt: Save, edit_json: Callable[..., None], tmp_path: Path
) -> None:
    file = save_pt()
    before = load(file).fingerprint
    renamed = file.rename(file.parent / "checkpoint_final.pt")
    assert load(renamed).fingerprint == before
    edit_json(file.parent / "config.json", rms_norm_eps=1e-3)
    changed = load(renamed).fingerprint
    assert changed != before
    edit_json(file.parent / "tokenizer_config.json", unk_token="[PAD]")
    assert load(renamed).fingerprint not in (before, changed)


def test_an_absent_head_is_tied_to_the_embedding(save_pt: Save) -> None:
    file = save_pt(
        change=lambda weights: {
            name: tensor for name, tensor in weights.items() if name != "lm_head.weight"
        },
        tie_word_embeddings=False,
    )
    loaded = load(file)
    head, embedding = (
        module.weight
        for module in (loaded.model.get_output_embeddings(), loaded.model.get_input_embeddings())
    )
    assert head is embedding or head.data_ptr() == embedding.data_ptr()
    assert loaded.notes == ("no output matrix in the file: tied to the embedding",)


def test_a_head_of_its_own_is_kept_whatever_the_configuration_says(save_pt: Save) -> None:
    import torch

    own = torch.full((12, 16), 0.5)
    file = save_pt(
        change=lambda weights: weights | {"lm_head.weight": own}, tie_word_embeddings=True
    )
    loaded = load(file)
    assert torch.equal(loaded.model.get_output_embeddings().weight, own)
    assert not torch.equal(loaded.model.get_input_embeddings().weight, own)
    assert "of its own" in loaded.notes[0]


def test_a_copy_of_the_embedding_is_no_head_of_its_own(save_pt: Save) -> None:
    file = save_pt(
        change=lambda weights: (
            weights | {"lm_head.weight": weights["model.embed_tokens.weight"].clone()}
        ),
        tie_word_embeddings=True,
    )
    loaded = load(file)
    assert loaded.notes == ()
    assert loaded.model.config.tie_word_embeddings


def test_missing_weights_are_listed(save_pt: Save) -> None:
    name = "model.layers.1.mlp.up_proj.weight"
    file = save_pt(change=lambda weights: {k: t for k, t in weights.items() if k != name})
    refused = refusal(file)
    assert f"LlamaForCausalLM lacks 1 weights: {name}" in refused.what
    assert refused.where == str(file)


def test_unused_weights_are_told(save_pt: Save) -> None:
    import torch

    file = save_pt(change=lambda weights: weights | {"probe.weight": torch.zeros(3)})
    assert load(file).notes == ("1 weights are not used: model.probe.weight",)


def test_weights_of_another_shape_are_listed_with_both(
    save_pt: Save, edit_json: Callable[..., None]
) -> None:
    file = save_pt()
    edit_json(file.parent / "config.json", intermediate_size=24)
    assert "is 16x16 where the config asks for 24x16" in refusal(file).what


def test_one_weight_under_two_names_must_be_one(save_pt: Save) -> None:
    import torch

    doubled = save_pt(
        change=lambda weights: weights | {f"module.{name}": t for name, t in weights.items()}
    )
    assert load(doubled).parameters > 0
    name = "model.norm.weight"
    differing = save_pt(change=lambda weights: weights | {f"module.{name}": torch.zeros(16)})
    assert refusal(differing).what == f"{name} and module.{name} are one weight, but differ"


def test_an_adapter_is_refused_by_name(tmp_path: Path) -> None:
    import torch

    name = "base_model.model.layers.0.q_proj.lora_A.weight"
    torch.save({"adapter_state_dict": {name: torch.zeros(2)}}, tmp_path / "a.pt")
    refused = refusal(tmp_path / "a.pt")
    assert "1 weights of a LoRA adapter" in refused.what
    assert "merge" in refused.remedy


class Trap:
    """Unpickling this makes a file."""

    def __init__(self, sprung: Path) -> None:
        self.sprung = sprung

    def __reduce__(self) -> Any:
        return Path.touch, (self.sprung,)


@pytest.mark.parametrize("archive", [True, False])
def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(
    archive: bool, save_pt: Save, tmp_path: Path
) -> None:
    import torch

    file = save_pt()
    content = {"model_state_dict": {"w": torch.zeros(1)}, "config": Trap(tmp_path / "sprung")}
    torch.save(content, file, _use_new_zipfile_serialization=archive)
    refused = refusal(file)
    assert not (tmp_path / "sprung").exists()
    assert refused.where == str(file)
    assert "could run code" in refused.what
    assert "torch.save({'model_state_dict'" in refused.remedy
    torch.load(file, weights_only=False)
    assert (tmp_path / "sprung").exists(), "the trap is none"


class Blocked:
    """A pickle that PyTorch refuses by the module of its function, in words of their own."""

    def __reduce__(self) -> Any:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("name", ["c.pt", "pytorch_model.bin"])
@pytest.mark.parametrize("value", [Blocked(), argparse.Namespace(lr=1)], ids=["blocked", "class"])
def test_the_advice_to_load_it_all_the_same_is_not_repeated(
    value: Any, name: str, tmp_path: Path
) -> None:
    import torch

    file = tmp_path / name
    torch.save({"model_state_dict": {"w": torch.zeros(1)}, "config": value}, file)
    with pytest.raises(CkptbenchError) as refused:
        check_weight_files((file,)) if name.endswith(".bin") else read_torch_file(file)
    told = str(refused.value)
    assert "could run code" in told
    assert ("system" if isinstance(value, Blocked) else "Namespace") in told
    for advice in ("weights_only", "likely succeed", "safe_globals", "trust"):
        assert advice not in told


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (argparse.Namespace(lr=1), "argparse.Namespace"),
        (Path("/models"), "pathlib.PosixPath"),
        (print, "print"),
    ],
)
def test_what_a_file_asks_for_beyond_data_is_named(value: Any, name: str, save_pt: Save) -> None:
    import torch

    file = save_pt()
    torch.save({"model_state_dict": {"w": torch.zeros(1)}, "config": value}, file)
    assert name in refusal(file).what


def test_a_whole_pickled_model_is_refused(save_pt: Save) -> None:
    import torch

    file = save_pt()
    torch.save(torch.nn.Linear(2, 2), file)
    assert "torch.nn.modules.linear.Linear" in refusal(file).what


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_torchscript_archive_is_refused(save_pt: Save) -> None:
    import torch

    file = save_pt()
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2)), str(file))
    refused = refusal(file)
    assert refused.where == str(file)
    assert "TorchScript" in refused.what


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_a_file_cut_short_is_named(share: float, archive: bool, save_pt: Save) -> None:
    import torch

    file = save_pt()
    content = torch.load(file, weights_only=True)
    torch.save(content, file, _use_new_zipfile_serialization=archive)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    refused = refusal(file)
    assert refused.where == str(file)
    assert f"of {int(share * len(whole)):,} bytes, perhaps cut short" in refused.what


def test_a_file_from_before_archives_is_read(save_pt: Save) -> None:
    import torch

    file = save_pt()
    content = torch.load(file, weights_only=True)
    torch.save(content, file, _use_new_zipfile_serialization=False)
    assert torch.equal(logits(load(file)), of_folder(file))


@pytest.mark.parametrize("content", [{"epoch": 3}, [1, 2], {}])
def test_a_file_without_weights_is_told_what_to_hold(content: Any, save_pt: Save) -> None:
    import torch

    file = save_pt()
    torch.save(content, file)
    refused = refusal(file)
    assert "no weights in the file" in refused.what
    assert "model_state_dict" in refused.remedy


def test_the_model_does_not_depend_on_the_file_any_more(save_pt: Save) -> None:
    """A training run writes `checkpoint_best.pt` again while it is being measured."""
    import torch

    file = save_pt()
    loaded = load(file)
    before = logits(loaded)
    with file.open("r+b") as stream:
        stream.write(b"\0" * file.stat().st_size)
    assert torch.equal(logits(loaded), before)


def test_a_masked_model_is_no_causal_one(save_pt: Save) -> None:
    refused = refusal(save_pt("DebertaV2ForMaskedLM"))
    assert "'deberta-v2' is not a causal language model" in refused.what


def lightning(weights: dict[str, Any]) -> dict[str, Any]:
    """What Lightning writes: the model is an attribute of its module."""
    import torch

    return {
        "epoch": 3,
        "global_step": 655,
        "pytorch-lightning_version": "2.5.1",
        "state_dict": {f"net.{name}": tensor for name, tensor in weights.items()},
        "loops": {"fit_loop": {"state_dict": {}}},
        "callbacks": {"ModelCheckpoint": {"best_model_score": torch.tensor(1.5), "dirpath": "x"}},
        "optimizer_states": [{"state": {0: {"exp_avg": torch.zeros(3)}}}],
        "lr_schedulers": [{"last_epoch": 3}],
        "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 1e-3, "model_name": "somewhere/else"},
    }


def test_a_checkpoint_of_lightning_is_one_like_any_other(save_pt: Save, tmp_path: Path) -> None:
    import torch

    file = save_pt(LLAMA, lightning)
    # Lightning's own place: the tokenizer and the configuration lie above.
    folder = file.parent / "checkpoints"
    folder.mkdir()
    loaded = load(file.rename(folder / "epoch=3-step=655.ckpt"))
    assert loaded.facts == {"epoch": 3.0, "step": 655}
    assert "the folder above" in " ".join(loaded.notes)
    file.parent.joinpath("kept.safetensors").rename(file.parent / "model.safetensors")
    assert torch.equal(logits(loaded), logits(load(file.parent)))


def test_a_tokenizer_of_its_own_goes_before_that_of_the_folder_above(
    save_pt: Save, write_tokenizer: Callable[..., None]
) -> None:
    file = save_pt()
    write_tokenizer(file.parent.parent, ("[PAD]", "[UNK]", "[MASK]", "다른"))
    loaded = load(file)
    assert loaded.tokenizer.convert_tokens_to_ids("시장") == 5
    assert loaded.notes == ()


def test_the_tokenizer_of_a_file_may_be_given(
    save_pt: Save, write_tokenizer: Callable[..., None], tmp_path: Path
) -> None:
    file = save_pt()
    before = load(file).fingerprint
    write_tokenizer(tmp_path / "other", ("[PAD]", "[UNK]", "[MASK]", "다른"))
    loaded = load_causal_lm(
        resolve(str(file)), LoadOptions(device="cpu", tokenizer=tmp_path / "other")
    )
    assert loaded.tokenizer.convert_tokens_to_ids("다른") == 3
    assert loaded.notes == (f"the tokenizer is that of {tmp_path / 'other'} (--tokenizer)",)
    assert loaded.fingerprint != before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: (t * 1000).to(dtype_of("int8")), "stored as whole numbers (torch.int8)"),
        (lambda t: (t * 1000).round(), "every weight matrix holds whole numbers only"),
        (lambda t: t * 0, "every weight matrix is zero"),
    ],
    ids=["int8", "whole", "zero"],
)
@pytest.mark.parametrize("name", ["a.pt", "a.pth", "a.ckpt"])
def test_weights_of_no_trained_model_are_refused(
    change: Any, words: str, name: str, save_pt: Save
) -> None:
    file = save_pt(
        change=lambda weights: {
            "state_dict": {n: change(t) if t.dim() > 1 else t for n, t in weights.items()}
        }
    )
    refused = refusal(file.rename(file.parent / name))
    assert words in refused.what
    assert refused.where == str(file.parent / name)


def dtype_of(name: str) -> Any:
    import torch

    return getattr(torch, name)
