"""Folders that load, and what is said of those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import LoadedMaskedLM, load_masked_lm
from ckptbench.fixtures.checkpoints.resolve import resolve

Save = Callable[..., Path]
WEIGHTS = "model.safetensors"


def load(folder: Path, **options: Any) -> LoadedMaskedLM:
    return load_masked_lm(resolve(str(folder)), LoadOptions(**({"device": "cpu"} | options)))


def refusal(folder: Path, **options: Any) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as refused:
        load(folder, **options)
    assert refused.value.remedy
    return refused.value


def logits(loaded: LoadedMaskedLM) -> Any:
    import torch

    with torch.inference_mode():
        return loaded.model(torch.tensor([[5, 4, 7]])).logits


def to_bin(folder: Path) -> Path:
    """The same checkpoint with its weights in the older format."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    return folder


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Change the tensors in the weights file."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    return folder


def test_a_saved_model_comes_back_as_it_was(save: Save) -> None:
    import torch

    loaded = load(save())
    assert loaded.architecture == "BertForMaskedLM"
    assert loaded.parameters == sum(p.numel() for p in loaded.model.parameters())
    assert (loaded.device, loaded.dtype) == (torch.device("cpu"), torch.float32)
    assert loaded.tokenizer.mask_token == "[MASK]"
    assert not loaded.model.training
    assert loaded.notes == ()
    assert len(loaded.fingerprint) == 64


@pytest.mark.parametrize("architecture", ["RobertaForMaskedLM", "DebertaV2ForMaskedLM"])
def test_any_architecture_with_a_masked_lm_head_loads(architecture: str, save: Save) -> None:
    assert load(save(architecture)).architecture == architecture


def test_shards_and_the_older_format_hold_the_same_model(save: Save) -> None:
    import torch

    whole = logits(load(save()))
    assert torch.equal(logits(load(to_bin(save()))), whole)


def test_sharded_safetensors_load(save: Save, tmp_path: Path) -> None:
    import torch

    whole = logits(load(save()))
    (tmp_path / "runs" / "checkpoint-7" / WEIGHTS).unlink()
    folder = save(shard="4KB")
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 1
    assert not (folder / WEIGHTS).exists()
    assert torch.equal(logits(load(folder)), whole)


def test_nothing_is_printed_while_loading(save: Save, capfd: pytest.CaptureFixture[str]) -> None:
    folder = save("BertForPreTraining")
    capfd.readouterr()
    load(folder)
    assert capfd.readouterr() == ("", "")


def test_a_dtype_can_be_asked_for(save: Save) -> None:
    import torch

    loaded = load(save(), dtype="bf16")
    assert {weight.dtype for weight in loaded.model.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"dtype": "fp32x"}, "unknown dtype 'fp32x' (did you mean 'fp32'?)"),
        ({"device": "cuad"}, "unknown device 'cuad' (did you mean 'cuda'?)"),
        ({"device": "cuda:97"}, "cuda:97 asked for, "),
    ],
)
def test_a_device_or_dtype_that_is_none_is_refused(
    options: dict[str, str], what: str, save: Save
) -> None:
    assert refusal(save(), **options).what.startswith(what)


def test_a_causal_model_is_not_a_masked_one(save: Save) -> None:
    folder = save("LlamaForCausalLM", num_key_value_heads=2)
    refused = refusal(folder)
    assert "LlamaForCausalLM (model_type 'llama') is not a masked language model" in refused.what
    assert refused.where == str(folder / "config.json")


def test_a_model_without_its_head_is_refused_with_what_is_missing(save: Save) -> None:
    refused = refusal(save("BertModel"))
    assert "BertForMaskedLM lacks 6 weights: cls.predictions.bias" in refused.what
    assert "masked-LM head" in refused.remedy


def test_a_classifier_is_refused_with_what_is_left_over(save: Save) -> None:
    refused = refusal(save("BertForSequenceClassification"))
    assert "left over: classifier.bias, classifier.weight" in refused.what


def test_parts_of_the_training_objective_may_be_left_over(save: Save) -> None:
    """The pooler and the next-sentence head take no part in filling masks."""
    assert load(save("BertForPreTraining")).architecture == "BertForMaskedLM"


def test_a_second_copy_of_tied_weights_may_be_left_over(save: Save) -> None:
    def copy(tensors: dict[str, Any]) -> None:
        words = tensors["bert.embeddings.word_embeddings.weight"]
        tensors["cls.predictions.decoder.weight"] = words.clone()

    assert load(rewrite(save(), copy)).architecture == "BertForMaskedLM"


def test_missing_weights_are_listed(save: Save) -> None:
    name = "bert.encoder.layer.1.output.dense.weight"
    refused = refusal(rewrite(save(), lambda tensors: tensors.pop(name)))
    assert f"lacks 1 weights: {name}" in refused.what


def test_extra_weights_are_listed(save: Save, edit_json: Callable[..., None]) -> None:
    """A model of two layers under a configuration of one would answer, but as another model."""
    folder = save()
    edit_json(folder / "config.json", num_hidden_layers=1)
    refused = refusal(folder)
    assert "16 weights have no place in BertForMaskedLM: bert.encoder.layer.1." in refused.what
    assert refused.what.endswith("and 10 more")


def test_weights_of_another_shape_are_listed_with_both(
    save: Save, edit_json: Callable[..., None]
) -> None:
    folder = save()
    edit_json(folder / "config.json", intermediate_size=24)
    what = refusal(folder).what
    assert "bert.encoder.layer.0.intermediate.dense.weight is 16x16" in what
    assert "where the config asks for 24x16" in what


def test_a_tokenizer_larger_than_the_embedding_is_refused_with_both_sizes(
    save: Save, write_tokenizer: Callable[..., None]
) -> None:
    folder = save()
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(20)))
    write_tokenizer(folder, words)
    assert refusal(folder).what == "the tokenizer knows 25 tokens, the embedding has 10 rows"


def test_a_tokenizer_without_a_mask_token_is_refused(
    save: Save, write_tokenizer: Callable[..., None]
) -> None:
    folder = save()
    write_tokenizer(folder, mask_token=None)
    assert refusal(folder).what == "the tokenizer has no mask token"


def test_a_folder_without_a_tokenizer_is_refused(save: Save) -> None:
    folder = save()
    for file in folder.glob("*token*"):
        file.unlink()
    assert "no tokenizer in" in refusal(folder).what


def test_a_damaged_tokenizer_is_refused(save: Save) -> None:
    folder = save()
    content = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(content[: len(content) // 2])
    assert refusal(folder).what.startswith("the tokenizer cannot be loaded")


def test_weights_cut_short_are_named_with_both_sizes(save: Save) -> None:
    folder = save()
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[:-100])
    refused = refusal(folder)
    assert refused.where == str(folder / WEIGHTS)
    assert f"holds {len(content) - 100:,} bytes where its header asks for {len(content):,}" in (
        refused.what
    )


@pytest.mark.parametrize("length", [0, 5, 8, 50])
def test_weights_cut_inside_their_header_are_named(save: Save, length: int) -> None:
    folder = save()
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[:length])
    assert refusal(folder).where == str(folder / WEIGHTS)


def test_a_file_that_is_no_safetensors_is_named(save: Save) -> None:
    folder = save()
    (folder / WEIGHTS).write_bytes((8).to_bytes(8, "little") + b"not JSON")
    assert "not a safetensors file" in refusal(folder).what


def test_a_missing_shard_is_named(save: Save) -> None:
    folder = save(shard="4KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    shards[1].unlink()
    refused = refusal(folder)
    assert refused.what == f"1 of {len(shards)} shards missing: {shards[1].name}"
    assert refused.where == str(folder / "model.safetensors.index.json")


def test_an_unreadable_shard_index_is_named(save: Save) -> None:
    folder = save(shard="4KB")
    (folder / "model.safetensors.index.json").write_text('{"metadata": {}}')
    assert "not a readable shard index" in refusal(folder).what


def test_a_folder_without_weights_is_refused_with_what_it_needs(save: Save) -> None:
    folder = save()
    (folder / WEIGHTS).unlink()
    refused = refusal(folder)
    assert "no weights in" in refused.what
    assert "pytorch_model.bin" in refused.remedy


@pytest.mark.parametrize("content", ["", "{", "[]", '{"hidden_size": 3}'])
def test_a_configuration_that_is_none_is_named(save: Save, content: str) -> None:
    folder = save()
    (folder / "config.json").write_text(content)
    assert refusal(folder).where == str(folder / "config.json")


def test_a_pickle_that_would_run_code_is_refused_and_not_run(save: Save, tmp_path: Path) -> None:
    import torch

    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "sprung",)

    folder = to_bin(save())
    torch.save({"weight": Trap()}, folder / "pytorch_model.bin")
    refused = refusal(folder)
    assert refused.where == str(folder / "pytorch_model.bin")
    assert "could run code" in refused.what
    assert not (tmp_path / "sprung").exists()


def test_a_bin_file_cut_short_is_named(save: Save) -> None:
    folder = to_bin(save())
    content = (folder / "pytorch_model.bin").read_bytes()
    (folder / "pytorch_model.bin").write_bytes(content[: len(content) // 2])
    assert refusal(folder).where == str(folder / "pytorch_model.bin")


def test_weights_that_are_not_finite_are_noted(save: Save) -> None:
    name = "bert.encoder.layer.0.output.dense.bias"
    loaded = load(rewrite(save(), lambda tensors: tensors[name].fill_(float("nan"))))
    assert loaded.notes == (f"1 weights hold NaN or infinity: {name}",)


def test_a_broken_model_setting_is_named(save: Save) -> None:
    folder = save()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_attention_heads": 3}))
    assert refusal(folder).what.startswith("the weights cannot be loaded: The hidden size (16)")


@pytest.mark.parametrize("format_", ["safetensors", "bin"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: (t * 1000).char(), "stored as whole numbers"),
        (lambda t: (t * 1000).long(), "stored as whole numbers"),
        (lambda t: (t * 1000).round(), "every weight matrix holds whole numbers only"),
        (lambda t: t * 0, "every weight matrix is zero"),
    ],
    ids=["int8", "int64", "whole", "zero"],
)
def test_weights_of_no_trained_model_are_refused(
    format_: str, change: Any, words: str, save: Save
) -> None:
    folder = save()
    rewrite(
        folder,
        lambda weights: weights.update(
            {name: change(weight) for name, weight in weights.items() if weight.dim() > 1}
        ),
    )
    refused = refusal(to_bin(folder) if format_ == "bin" else folder)
    assert words in refused.what
    assert refused.where == str(folder)


def test_some_quantized_matrices_among_others_are_refused_too(save: Save) -> None:
    name = "bert.encoder.layer.0.output.dense.weight"
    folder = rewrite(save(), lambda weights: weights.update({name: (weights[name] * 99).char()}))
    assert f"1 weights are stored as whole numbers (I8): {name}" in refusal(folder).what


def test_whole_numbers_in_a_buffer_are_none_of_the_weights(save: Save) -> None:
    import torch

    ids = {"bert.embeddings.position_ids": torch.arange(40)[None]}
    assert load(rewrite(save(), lambda weights: weights.update(ids))).notes == ()


def test_matrices_of_zeros_or_whole_numbers_among_others_are_named(save: Save) -> None:
    query, key = (f"bert.encoder.layer.0.attention.self.{n}.weight" for n in ("query", "key"))
    folder = rewrite(
        save(),
        lambda weights: weights.update(
            {query: weights[query] * 0, key: (weights[key] * 99).round()}
        ),
    )
    assert load(folder).notes == (
        f"1 weight matrices are zero: {query}",
        f"1 weight matrices hold whole numbers only: {key}",
    )
