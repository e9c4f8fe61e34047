from typing import Any

from ckptbench.fixtures.engines.vocabulary import Vocabulary


def vocabulary(load: Any, family: str) -> tuple[Vocabulary, Any]:
    tokenizer = load(family).tokenizer
    return Vocabulary(tokenizer.backend_tokenizer, len(tokenizer) + 3), tokenizer


def ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_wordpiece_entries_lose_their_marker(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    assert words.text(tokenizer.convert_tokens_to_ids(["##에서"])) == "에서"
    assert words.text(ids(tokenizer, "가게")) == "가게"


def test_sentencepiece_entries_lose_the_space_before_them(load: Any) -> None:
    words, tokenizer = vocabulary(load, "deberta")
    assert tokenizer.convert_ids_to_tokens(ids(tokenizer, "바다"))[0].startswith("▁")
    assert words.text(ids(tokenizer, "바다")) == "바다"


def test_bytes_of_several_entries_become_one_character(load: Any) -> None:
    words, tokenizer = vocabulary(load, "roberta")
    rare = ids(tokenizer, " 뷁")
    assert len(rare) > 1
    assert words.text(rare) == "뷁"
    assert words.text(rare[-1:]) == "\N{REPLACEMENT CHARACTER}"


def test_every_entry_that_spells_a_word_is_found(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    assert words.entries("시") == tuple(tokenizer.convert_tokens_to_ids(["시", "##시"]))
    assert words.entries("시장") == tuple(tokenizer.convert_tokens_to_ids(["시장"]))
    assert words.entries("가게") == ()


def test_a_word_is_looked_up_as_the_tokenizer_reads_it(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    assert words.entries("N") == tuple(tokenizer.convert_tokens_to_ids(["n", "##n"]))


def test_columns_without_an_entry_stand_for_nothing(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    assert words.text([len(tokenizer) + 2]) == ""
