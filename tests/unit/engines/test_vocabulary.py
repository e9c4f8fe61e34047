from typing import Any

from ckptbench.fixtures.engines.masked.vocabulary import Vocabulary


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


def test_a_word_is_the_same_in_other_pieces(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    ids_of = tokenizer.convert_tokens_to_ids
    spelled = words.spelling(ids_of(["시장"]))
    assert words.spelling(ids_of(["시", "##장"])) == spelled
    # WordPiece has no entry for a space: inside a word the marker writes nothing.
    assert words.spelling(ids_of(["시", "장"])) == spelled
    assert words.spelling(ids_of(["시", "##국"])) != spelled


def test_going_on_from_the_word_before_is_part_of_the_spelling(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    ids_of = tokenizer.convert_tokens_to_ids
    assert words.spelling(ids_of(["##시", "장"])) != words.spelling(ids_of(["시", "장"]))
    assert words.spelling(ids_of(["##시", "장"])) == words.spelling(ids_of(["##시", "##장"]))
    for family, mark in (("deberta", "▁"), ("roberta", "Ġ")):
        words, tokenizer = vocabulary(load, family)
        marked = [each for each in tokenizer.get_vocab() if each.startswith(mark) and each != mark]
        pairs = [(each, each[1:]) for each in marked if each[1:] in tokenizer.get_vocab()]
        assert pairs
        for pair in pairs:
            (behind_space,), (going_on,) = (
                [index] for index in tokenizer.convert_tokens_to_ids(pair)
            )
            assert words.text([behind_space]) == words.text([going_on])
            assert words.spelling([behind_space]) != words.spelling([going_on])


def test_a_space_inside_a_word_is_part_of_the_spelling_where_it_is_written(load: Any) -> None:
    words, tokenizer = vocabulary(load, "deberta")
    ids_of = tokenizer.convert_tokens_to_ids
    space, letter = ids_of(["▁"])[0], ids(tokenizer, "강")
    assert words.spelling([*letter, space, *letter]) != words.spelling([*letter, *letter, space])
    assert words.spelling([space, letter[-1]])[1].startswith(b" ")


def test_bytes_of_a_character_are_compared_whole(load: Any) -> None:
    words, tokenizer = vocabulary(load, "roberta")
    rare = ids(tokenizer, " 뷁")
    assert words.spelling(rare) == (False, " 뷁".encode())
    # Both halves read as U+FFFD, and are not the same.
    assert words.text(rare[-1:]) == words.text(rare[-2:-1])
    assert words.spelling(rare[-1:]) != words.spelling(rare[-2:-1])


def test_what_is_no_text_spells_no_word(load: Any) -> None:
    words, tokenizer = vocabulary(load, "bert")
    market = tokenizer.convert_tokens_to_ids("시장")
    for index in (tokenizer.pad_token_id, len(tokenizer), len(tokenizer) + 2):
        assert words.spelling([index, market]) != words.spelling([market])
        assert words.spelling([market, index]) != words.spelling([market])
    assert words.spelling([len(tokenizer)]) != words.spelling([len(tokenizer) + 2])
