"""The demo's tokenizer: WordPiece over the demo's own words and the syllables of Korean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import grammar

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, UNK, CLS, SEP, MASK = SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD_ID, UNK_ID, CLS_ID, SEP_ID, MASK_ID = range(len(SPECIALS))
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIGNS = ".,!?'\"()%-:;·~"
# Endings of more than one syllable; those of one are in the alphabet.
ENDINGS = (
    *(
        "에서",
        "에는",
        "에게",
        "까지",
        "부터",
        "처럼",
        "보다",
        "으로",
        "이다",
        "이라고",
        "라고",
        "이나",
    ),
    *("한다", "했다", "하고", "하는", "였다", "이었다", "되었다", "었다", "았다", "지만", "면서"),
    "에서는",
)


def vocabulary() -> list[str]:
    """The entries in the order of their ids.

    Listed instead of learned: the nouns are whole entries, every syllable can start and go on a
    word, and the file is the same on every machine (a trainer breaks ties as it pleases).
    """
    words = grammar.words()
    predicates = [
        part
        for verbs in (words.object_verbs, words.subject_verbs)
        for forms in verbs.values()
        for form in forms
        for phrase in form
        for part in phrase.split()
    ]
    starts = [*SIGNS, *LETTERS, *words.syllables]
    continuations = [*LETTERS, *words.syllables, *ENDINGS]
    fillers = [word for list_ in words.fillers.values() for word in list_]
    nouns = [noun for list_ in words.nouns.values() for noun in list_]
    pieces = [*starts, *(f"##{piece}" for piece in continuations)]
    return list(dict.fromkeys([*SPECIALS, *pieces, *fillers, *predicates, *nouns]))


def build(max_tokens: int) -> PreTrainedTokenizerFast:
    """The tokenizer of a model that reads at most so many tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {entry: number for number, entry in enumerate(vocabulary())}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=UNK))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}",
        pair=f"{CLS} $A {SEP} $B {SEP}",
        special_tokens=[(CLS, CLS_ID), (SEP, SEP_ID)],
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        unk_token=UNK,
        pad_token=PAD,
        cls_token=CLS,
        sep_token=SEP,
        mask_token=MASK,
        model_max_length=max_tokens,
    )
