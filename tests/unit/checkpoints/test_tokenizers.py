"""Where the tokenizer of a folder is looked for, and what is said of one that is Python code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.fingerprint import TOKENIZER_FILES
from ckptbench.fixtures.checkpoints.huggingface import (
    LoadedMaskedLM,
    load_causal_lm,
    load_masked_lm,
)
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.checkpoints.tokenizers import check_given, load_tokenizer
from ckptbench.fixtures.text.tokens import CausalText

Save = Callable[..., Path]
OTHER = ("[PAD]", "[UNK]", "[MASK]", "다른")


def load(folder: Path, **options: Any) -> LoadedMaskedLM:
    return load_masked_lm(resolve(str(folder)), LoadOptions(device="cpu", **options))


def move_tokenizer(folder: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for name in TOKENIZER_FILES:
        if (folder / name).is_file():
            shutil.move(folder / name, to / name)


def test_a_tokenizer_one_folder_up_is_found_and_told(save: Save) -> None:
    folder = save()
    beside = load(folder)
    move_tokenizer(folder, folder.parent)
    above = load(folder)
    assert above.tokenizer.get_vocab() == beside.tokenizer.get_vocab()
    (note,) = above.notes
    assert note == (
        "the checkpoint has no tokenizer of its own: that of the folder above is used "
        f"({folder.parent})"
    )
    assert beside.notes == ()
    # The same files give the same answers, wherever they lie.
    assert above.fingerprint == beside.fingerprint


def test_the_fingerprint_is_of_the_tokenizer_that_is_used(
    save: Save, write_tokenizer: Callable[..., None]
) -> None:
    folder = save()
    move_tokenizer(folder, folder.parent)
    before = load(folder).fingerprint
    write_tokenizer(folder.parent, OTHER)
    assert load(folder).fingerprint != before


def test_a_tokenizer_two_folders_up_is_not_looked_for(save: Save) -> None:
    folder = save()
    move_tokenizer(folder, folder.parent.parent)
    with pytest.raises(CkptbenchError, match="nor one folder up") as refused:
        load(folder)
    assert "--tokenizer DIR" in refused.value.remedy


def test_a_tokenizer_that_is_given_goes_before_the_checkpoints_own(
    save: Save, write_tokenizer: Callable[..., None], tmp_path: Path
) -> None:
    folder = save()
    own = load(folder)
    write_tokenizer(tmp_path / "other", OTHER)
    given = load(folder, tokenizer=tmp_path / "other")
    assert given.tokenizer.convert_tokens_to_ids("다른") == 3
    assert given.notes == (f"the tokenizer is that of {tmp_path / 'other'} (--tokenizer)",)
    assert given.fingerprint != own.fingerprint
    causal = save("LlamaForCausalLM", num_key_value_heads=2)
    loaded = load_causal_lm(
        resolve(str(causal)), LoadOptions(device="cpu", tokenizer=tmp_path / "other")
    )
    assert loaded.tokenizer.convert_tokens_to_ids("다른") == 3


def test_an_adapters_tokenizer_may_be_given(
    write_tokenizer: Callable[..., None], save: Save, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForMaskedLM

    from ckptbench.fixtures.checkpoints.cache import Models

    folder = save(max_position_embeddings=64)
    config = peft.LoraConfig(target_modules=["query"], init_lora_weights=False)
    peft.get_peft_model(AutoModelForMaskedLM.from_pretrained(folder), config).save_pretrained(
        tmp_path / "adapter"
    )
    write_tokenizer(tmp_path / "other", OTHER)
    spec = resolve(f"{folder}+adapter={tmp_path / 'adapter'}")
    with Models(device="cpu").loaded(spec, None) as own:
        before = own.fingerprint
    with Models(device="cpu", tokenizer=tmp_path / "other").loaded(spec, None) as loaded:
        assert loaded.tokenizer.convert_tokens_to_ids("다른") == 3
        assert "(--tokenizer)" in " ".join(loaded.notes)
        assert loaded.fingerprint != before


@pytest.mark.parametrize("there", [True, False])
def test_what_is_given_must_hold_a_tokenizer(there: bool, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    if there:
        folder.mkdir()
    with pytest.raises(CkptbenchError) as refused:
        check_given(folder)
    assert refused.value.where == "--tokenizer"
    assert ("holds no tokenizer" if there else "is no folder") in refused.value.what
    check_given(None)


# Python only


def kobert(folder: Path, **changes: Any) -> None:
    """The files of a KoBERT folder: a class of its own, its code, and two vocabularies."""
    stated = {
        "tokenizer_class": "KoBertTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_kobert.KoBertTokenizer", None]},
        "mask_token": "[MASK]",
    } | changes
    folder.mkdir(parents=True, exist_ok=True)
    stated = {name: value for name, value in stated.items() if value is not None}
    (folder / "tokenizer_config.json").write_text(json.dumps(stated))
    (folder / "tokenization_kobert.py").write_text("raise SystemExit('the code was run')\n")
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "▁시장", "국수", "▁바다"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


def refused(folder: Path) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as caught:
        load_tokenizer(folder)
    return caught.value


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"auto_map": {"AutoTokenizer": "tokenization_kobert.KoBertTokenizer"}},
        {"auto_map": ["tokenization_kobert.KoBertTokenizer", None]},
        {"auto_map": None},
    ],
)
@pytest.mark.parametrize("config", [None, {"model_type": "bert"}])
def test_a_tokenizer_that_is_python_code_is_told_whole(
    changes: dict[str, Any], config: Any, tmp_path: Path
) -> None:
    kobert(tmp_path, **changes)
    if config:
        (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer_78b3253a26.model").write_bytes(b"x")
    error = refused(tmp_path)
    assert error.what == (
        "the tokenizer is a KoBertTokenizer, which exists as Python code only "
        "(tokenization_kobert.py): transformers has no such class, the folder has no "
        "tokenizer.json, and code of a checkpoint runs only where "
        "--model-args trust_remote_code=DIR names its folder"
    )
    assert "make a tokenizer.json once" in error.remedy
    assert "model_file=str(folder / 'tokenizer_78b3253a26.model')" in error.remedy
    assert f"folder = Path({str(tmp_path)!r})" in error.remedy
    assert error.remedy.endswith(".save_pretrained(folder)")


def test_a_vocabulary_of_sentencepiece_is_not_read_by_wordpieces_rule(tmp_path: Path) -> None:
    kobert(tmp_path, tokenizer_class=None, auto_map=None)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    assert "holds the pieces of SentencePiece" in refused(tmp_path).what


def test_a_tokenizer_json_is_enough_whatever_class_is_named(save: Save) -> None:
    folder = save()
    kobert(folder)
    loaded = load(folder)
    assert loaded.tokenizer.is_fast
    assert loaded.tokenizer.convert_tokens_to_ids("시장") == 5


def test_a_length_that_is_no_number_is_refused_with_its_file(
    save: Save, edit_json: Callable[..., None]
) -> None:
    folder = save()
    edit_json(folder / "tokenizer_config.json", model_max_length="long")
    with pytest.raises(CkptbenchError, match="model_max_length is 'long'") as caught:
        load_tokenizer(folder)
    assert caught.value.where == str(folder / "tokenizer_config.json")


@pytest.mark.parametrize("ids", ["x", [1, "x"], {}])
def test_an_end_that_is_no_token_is_refused_with_its_folder(
    save: Save, edit_json: Callable[..., None], ids: object
) -> None:
    folder = save("GPT2LMHeadModel")
    whole = load_causal_lm(resolve(str(folder)), LoadOptions(device="cpu"))
    whole.model.generation_config.eos_token_id = ids
    with pytest.raises(CkptbenchError, match="eos_token_id is") as caught:
        CausalText(whole.tokenizer, whole.model)
    assert caught.value.where == str(folder)


def test_the_commands_for_a_wordpiece_vocabulary_make_one(tmp_path: Path) -> None:
    kobert(tmp_path)
    words = ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "시장", "##에서")
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    commands = refused(tmp_path).remedy.partition("\n\n")[2]
    exec(compile(commands, "remedy", "exec"), {})
    loaded = load_tokenizer(tmp_path)
    assert loaded.is_fast
    assert loaded.tokenize("시장에서") == ["시장", "##에서"]
    assert loaded.mask_token_id == 4


@pytest.mark.parametrize("numbered", ["by vocab.txt", "by the model"])
def test_the_commands_for_sentencepiece_give_its_tokens(numbered: str, tmp_path: Path) -> None:
    pieces = pytest.importorskip("sentencepiece")
    texts = (Path(__file__).parents[3] / "README.ko.md").read_text(encoding="utf-8").splitlines()
    (tmp_path / "texts").write_text("\n".join(filter(str.strip, texts)), encoding="utf-8")
    pieces.SentencePieceTrainer.train(
        input=str(tmp_path / "texts"),
        model_prefix=str(tmp_path / "spm"),
        vocab_size=350,
        unk_piece="[UNK]",
        pad_piece="[PAD]",
        unk_id=0,
        pad_id=1,
        bos_id=-1,
        eos_id=-1,
        user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"],
        character_coverage=1.0,
    )
    model = pieces.SentencePieceProcessor(model_file=str(tmp_path / "spm.model"))
    words = [model.id_to_piece(i) for i in range(model.get_piece_size())]
    folder = tmp_path / "kobert"
    kobert(folder)
    shutil.copy(tmp_path / "spm.model", folder / "spm.model")
    if numbered == "by vocab.txt":
        words = [*words[:5], *sorted(words[5:])]
        (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    else:
        (folder / "vocab.txt").unlink()
    exec(compile(refused(folder).remedy.partition("\n\n")[2], "remedy", "exec"), {})
    made = load_tokenizer(folder)
    for text in (*filter(str.strip, texts), "(러시아", "두  칸", "ＡＢＣ ① ㎏", "가\t나"):
        ids = made(text, add_special_tokens=False)["input_ids"]
        theirs = [p if p in words else "[UNK]" for p in model.encode(text, out_type=str)]
        assert [words[i] for i in ids] == theirs, text
    assert made("시장")["input_ids"][0] == words.index("[CLS]")
