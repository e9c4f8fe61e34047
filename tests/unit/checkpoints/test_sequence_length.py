import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.sequence_length import (
    SequenceLength,
    automatic,
    position_limit,
    requested_length,
    tokenizer_limit,
    training_length,
)

SIZES = {
    "vocab_size": 20,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 66,
}


def model(name: str, **changes: Any) -> Any:
    import transformers

    model_class = getattr(transformers, name)
    return model_class(model_class.config_class(**(SIZES | changes)))


def test_the_smallest_of_what_is_known_decides_and_says_so() -> None:
    known = (SequenceLength(1024, "a"), None, SequenceLength(256, "b"), SequenceLength(512, "c"))
    assert automatic(*known) == SequenceLength(256, "b")


def test_of_equals_the_first_is_named() -> None:
    assert automatic(SequenceLength(512, "a"), SequenceLength(512, "b")).source == "a"


def test_without_any_limit_it_is_512_by_default() -> None:
    length = automatic(None, None)
    assert length.tokens == 512
    assert "default" in length.source


@pytest.mark.parametrize("key", ["max_seq_length", "max_length", "block_size", "seq_len"])
def test_training_arguments_in_json_count(tmp_path: Path, key: str) -> None:
    (tmp_path / "training_args.json").write_text(json.dumps({key: 256, "seed": 1}))
    assert training_length(tmp_path) == SequenceLength(256, f"{key} of training_args.json")


def test_the_length_of_generated_text_in_a_configuration_does_not(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_length": 20, "seq_len": 384}))
    assert training_length(tmp_path) == SequenceLength(384, "seq_len of config.json")


def test_the_shortest_statement_counts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_seq_length": 512}))
    (tmp_path / "training_args.json").write_text(json.dumps({"block_size": 128}))
    assert training_length(tmp_path) == SequenceLength(128, "block_size of training_args.json")


@pytest.mark.parametrize("content", ["", "[1]", '{"seq_len": true}', '{"seq_len": -1}', "{}"])
def test_what_states_no_length_is_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "training_args.json").write_text(content)
    assert training_length(tmp_path) is None


def test_pickled_training_arguments_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / "training_args.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    assert training_length(tmp_path) is None


def test_a_tokenizer_that_knows_no_limit_states_none() -> None:
    assert tokenizer_limit(int(1e30)) is None
    assert tokenizer_limit(512) == SequenceLength(512, "model_max_length of the tokenizer")


@pytest.mark.parametrize(
    ("name", "changes", "tokens"),
    [
        ("BertForMaskedLM", {}, 66),
        ("AlbertForMaskedLM", {"embedding_size": 8}, 66),
        # The first position of a token is that behind the padding id.
        ("RobertaForMaskedLM", {"pad_token_id": 1}, 64),
        ("RobertaForMaskedLM", {"pad_token_id": 3}, 62),
        ("DebertaV2ForMaskedLM", {"position_biased_input": True}, 66),
    ],
)
def test_learned_positions_end(name: str, changes: dict[str, Any], tokens: int) -> None:
    """The limit is where the model stops working: one token more and it has no position."""
    import torch

    limited = model(name, **changes).eval()
    limit = position_limit(limited)
    assert limit is not None
    assert limit.tokens == tokens
    with torch.inference_mode():
        limited(torch.full((1, tokens), 7))
        with pytest.raises((IndexError, RuntimeError)):
            limited(torch.full((1, tokens + 1), 7))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (
            "DebertaV2ForMaskedLM",
            {"position_biased_input": False, "relative_attention": True, "pos_att_type": ["c2p"]},
        ),
        (
            "ModernBertForMaskedLM",
            {"pad_token_id": 0, "cls_token_id": 1, "bos_token_id": 1, "sep_token_id": 2}
            | {"eos_token_id": 2},
        ),
    ],
)
def test_relative_and_rotary_positions_do_not(name: str, changes: dict[str, Any]) -> None:
    import torch

    endless = model(name, **changes).eval()
    assert position_limit(endless) is None
    with torch.inference_mode():
        assert endless(torch.full((1, 150), 7)).logits.shape[1] == 150


def test_a_length_that_is_asked_for_is_taken() -> None:
    asked = requested_length(256, SequenceLength(512, "positions"), "runs/x")
    assert asked == SequenceLength(256, "--seq-len")
    assert requested_length(4096, None, "runs/x").tokens == 4096


def test_a_length_without_positions_is_refused_with_the_limit() -> None:
    with pytest.raises(CkptbenchError) as refused:
        requested_length(1024, SequenceLength(512, "positions"), "runs/x")
    assert refused.value.where == "--seq-len"
    assert "more than the model has positions for: 512 (runs/x)" in refused.value.what


def test_loading_takes_the_length_from_the_checkpoint(
    save: Callable[..., Path], edit_json: Callable[..., None]
) -> None:
    from ckptbench.fixtures.checkpoints.huggingface import load_masked_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    checkpoint = resolve(str(save()))
    assert load_masked_lm(checkpoint, LoadOptions("cpu")).seq_len.tokens == 40
    edit_json(checkpoint.path / "tokenizer_config.json", model_max_length=32)
    assert load_masked_lm(checkpoint, LoadOptions("cpu")).seq_len.tokens == 32
    (checkpoint.path / "training_args.json").write_text('{"max_seq_length": 24}')
    assert load_masked_lm(checkpoint, LoadOptions("cpu")).seq_len.tokens == 24
    assert load_masked_lm(checkpoint, LoadOptions("cpu", seq_len=40)).seq_len.tokens == 40
    with pytest.raises(CkptbenchError, match="positions for: 40"):
        load_masked_lm(checkpoint, LoadOptions("cpu", seq_len=41))
