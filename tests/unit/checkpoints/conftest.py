"""A small BERT checkpoint to break in many ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "시장", "국수", "바다", "도시", "##에서")


def save_tokenizer(folder: Path, words: tuple[str, ...] = WORDS, **special: Any) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"} | special
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def small(**changes: Any) -> dict[str, Any]:
    """The configuration of a model that loads in no time."""
    sizes = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 40,
    }
    return sizes | changes


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Saves a model of any class beside a tokenizer: `save("BertModel", hidden_size=32)`."""

    def saved(
        architecture: str = "BertForMaskedLM", shard: str | None = None, **changes: Any
    ) -> Path:
        import torch
        import transformers

        model_class = getattr(transformers, architecture)
        torch.manual_seed(0)
        folder = tmp_path / "runs" / "checkpoint-7"
        model = model_class(model_class.config_class(**small(**changes)))
        if shard is None:
            model.save_pretrained(folder)
        else:
            model.save_pretrained(folder, max_shard_size=shard)
        save_tokenizer(folder)
        return folder

    return saved


def edit(file: Path, **changes: Any) -> None:
    """Change keys of a JSON file; None removes one."""
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


@pytest.fixture
def edit_json() -> Callable[..., None]:
    return edit


@pytest.fixture
def write_tokenizer() -> Callable[..., None]:
    return save_tokenizer
