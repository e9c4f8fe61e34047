"""Small random models, each with a tokenizer of another family, saved and loaded like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SENTENCES = (
    "오래된 시장 골목에는 국수 가게가 많다.",
    "국수를 삶는 동안 손님은 시장을 구경한다.",
    "강을 따라 걷는 길은 도시의 자랑이다.",
    "도시에서 강까지 버스로 십 분이 걸린다.",
    "산 위의 마을에는 눈이 일찍 내린다.",
    "마을 사람들은 눈을 치우고 불을 피운다.",
    "축제가 열리면 도시 전체가 음악으로 가득하다.",
    "음악가들은 축제에서 새 노래를 들려준다.",
    "야구 경기가 끝나면 시장도 문을 닫는다.",
    "별을 보는 사람은 밤의 마을을 좋아한다.",
    "배는 바다로 나가고 바다는 배를 돌려보낸다.",
    "The old market sells noodles, and the market is loud.",
)

Load = Callable[..., Any]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def wordpiece() -> Any:
    """BERT's tokenizer over syllables and whole words, so that words have 1, 2, 3 tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ("시장", "축제", "도시", "마을", "국수", "바다", "음악", "##에서", "##에는", "##으로")
    letters = sorted({letter for line in SENTENCES for letter in line if not letter.isspace()})
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    entries = (*specials, *letters, *(f"##{letter}" for letter in letters), *words)
    vocabulary = {entry: index for index, entry in enumerate(entries)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def byte_bpe() -> Any:
    """RoBERTa's tokenizer: byte-level BPE, `Ġ` before a word, offsets without the space."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )


def unigram() -> Any:
    """The tokenizer of DeBERTa-v3 and XLM-R: Unigram, `▁` before a word, counted in its offsets."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=220,
        special_tokens=["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"],
        unk_token="[UNK]",
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def bert(vocabulary: int) -> Any:
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=96,
            # Weights as large as this make logits that differ, as those of a trained model do.
            initializer_range=0.3,
        )
    )


def roberta(vocabulary: int) -> Any:
    from transformers import RobertaConfig, RobertaForMaskedLM

    return RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=130,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            type_vocab_size=1,
            initializer_range=0.3,
        )
    )


def deberta(vocabulary: int) -> Any:
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM

    return DebertaV2ForMaskedLM(
        DebertaV2Config(
            vocab_size=vocabulary,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=64,
            relative_attention=True,
            position_buckets=16,
            position_biased_input=False,
            pos_att_type=["p2c", "c2p"],
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            type_vocab_size=0,
            initializer_range=0.3,
        )
    )


FAMILIES = {
    "bert": (wordpiece, bert),
    "roberta": (byte_bpe, roberta),
    "deberta": (unigram, deberta),
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Saves the family's checkpoint once and gives its folder."""
    saved: dict[str, Path] = {}

    def save(family: str) -> Path:
        if family not in saved:
            import torch

            make_tokenizer, make_model = FAMILIES[family]
            torch.manual_seed(7)
            tokenizer = make_tokenizer()
            saved[family] = tmp_path_factory.mktemp(family) / "checkpoint-1"
            make_model(len(tokenizer)).save_pretrained(saved[family])
            tokenizer.save_pretrained(saved[family])
        return saved[family]

    return save


@pytest.fixture
def load(folder: Callable[[str], Path]) -> Load:
    """Loads a family's checkpoint on the CPU: `load("bert", seq_len=64)`."""
    from ckptbench.checkpoints.kind import LoadOptions
    from ckptbench.fixtures.checkpoints.huggingface import load_masked_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    def loaded(family: str, **options: Any) -> Any:
        return load_masked_lm(resolve(str(folder(family))), LoadOptions(device="cpu", **options))

    return loaded


PROGRAMS = (
    "def add(a, b):\n    return a + b\n",
    "def longest(words):\n    best = ''\n    for word in words:\n",
    "class Stack:\n    def __init__(self):\n        self.items = []\n",
    "while n > 0:\n    n, rest = divmod(n, 10)\n    total += rest\nprint(total)\n",
)


def code_bpe(opening: bool) -> Any:
    """A byte-level tokenizer of programs, with or without a token before every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=["<s>", "</s>", "<pad>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((*PROGRAMS, *SENTENCES), trainer)
    if opening:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<|end|>"],
    )


def code_pieces(_: bool) -> Any:
    """The tokenizer of Llama 2: `▁` for a space, and the first one of a text is not decoded."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
    trainer = trainers.BpeTrainer(
        vocab_size=200, special_tokens=["<s>", "</s>", "<unk>"], show_progress=False
    )
    tokenizer.train_from_iterator((*PROGRAMS, *SENTENCES), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
CAUSAL = {
    "llama": ("LlamaForCausalLM", code_bpe, _SIZES),
    "llama-pieces": ("LlamaForCausalLM", code_pieces, _SIZES),
    "qwen2": ("Qwen2ForCausalLM", code_bpe, _SIZES | {"tie_word_embeddings": True}),
    "gpt2": (
        "GPT2LMHeadModel",
        code_bpe,
        {
            "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 96,
            "initializer_range": 0.3, "bos_token_id": 0, "eos_token_id": 1,
        },
    ),
    "bloom": (
        "BloomForCausalLM",
        code_bpe,
        {
            "hidden_size": 32, "n_layer": 2, "n_head": 2, "initializer_range": 0.3,
            "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
        },
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Saves a small random causal model once and gives its folder."""
    saved: dict[str, Path] = {}

    def save(family: str) -> Path:
        if family not in saved:
            import torch
            import transformers

            architecture, make_tokenizer, sizes = CAUSAL[family]
            tokenizer = make_tokenizer(family == "llama")
            model_class = getattr(transformers, architecture)
            torch.manual_seed(7)
            # A few rows more than tokens, as many models have, and room for tokens that the
            # architecture's own tokenizer class adds.
            config = model_class.config_class(vocab_size=len(tokenizer) + 8, **sizes)
            saved[family] = tmp_path_factory.mktemp(family) / "checkpoint-1"
            model_class(config).save_pretrained(saved[family])
            tokenizer.save_pretrained(saved[family])
        return saved[family]

    return save


@pytest.fixture
def load_causal(causal_folder: Callable[[str], Path]) -> Load:
    """Loads a small causal model on the CPU: `load_causal("gpt2", seq_len=64)`."""
    from ckptbench.checkpoints.kind import LoadOptions
    from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    def loaded(family: str, **options: Any) -> Any:
        return load_causal_lm(
            resolve(str(causal_folder(family))), LoadOptions(device="cpu", **options)
        )

    return loaded
