"""What the model sees around a place, and the tokens of what may stand in it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ckptbench.fixtures.engines.masked.masking import Context, Gap, Masker

FAMILIES = ["bert", "roberta", "deberta"]
TEXT = "오래된 시장 골목에는 국수 가게가 많다. 축제가 열리면 시장에서 국수를 삶는 음악가들은 많다."


class Pieces:
    """Tokens as strings, to compare with what can be read."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._masker = Masker(tokenizer.backend_tokenizer)

    def around(self, left: str, right: str, apart: bool = False) -> tuple[list[str], list[str]]:
        context = self._masker.contexts([Gap(left, right, apart=apart)])[0]
        assert isinstance(context, Context)
        names = self._tokenizer.convert_ids_to_tokens
        return names(context.left), names(context.right)

    def kept(self, left: str, right: str, keep: tuple[int, int]) -> list[str]:
        context = self._masker.contexts([Gap(left, right, keep)])[0]
        assert isinstance(context, Context)
        assert context.keep is not None
        ids = [*context.left, *context.right]
        return list(self._tokenizer.convert_ids_to_tokens(ids[slice(*context.keep)]))

    def word(self, left: str, word: str) -> list[str]:
        ids = self._masker.words([(left, word)])[0]
        return list(self._tokenizer.convert_ids_to_tokens(ids))

    def natural(self, text: str) -> list[str]:
        return list(self._tokenizer.tokenize(text))


@pytest.fixture
def pieces(load: Any) -> Any:
    return lambda family: Pieces(load(family).tokenizer)


def test_what_follows_a_word_keeps_its_continuation_marker(pieces: Any) -> None:
    left, right = pieces("bert").around("오래된 ", "에서 국수를")
    assert left == ["오", "##래", "##된"]
    assert right == ["##에서", "국수", "##를"]


def test_tokenized_apart_it_is_what_writing_the_mask_into_the_text_gives(
    pieces: Any, load: Any
) -> None:
    tokenizer = load("bert").tokenizer
    left, right = pieces("bert").around("오래된 ", "에서 국수를", apart=True)
    assert right[0] == "에"
    assert [*left, "[MASK]", *right] == tokenizer.tokenize("오래된 [MASK]에서 국수를")


def test_a_word_gets_the_marker_of_its_place(pieces: Any) -> None:
    assert pieces("bert").word("오래된 ", "가게") == ["가", "##게"]
    assert pieces("bert").word("신", "가게") == ["##가", "##게"]
    assert pieces("bert").word("", "가게") == ["가", "##게"]
    assert pieces("deberta").word("오래된 ", "바다")[0].startswith("▁")
    assert not pieces("deberta").word("먼", "바다")[0].startswith("▁")
    assert pieces("roberta").word("오래된 ", "시장")[0].startswith("Ġ")
    assert not pieces("roberta").word("", "시장")[0].startswith("Ġ")


@pytest.mark.parametrize("family", FAMILIES)
def test_context_and_word_together_are_the_natural_tokens_wherever_these_part_at_the_word(
    family: str, pieces: Any, load: Any
) -> None:
    """The stand-in changes nothing: checked at every beginning of a written word."""
    known = pieces(family)
    encoded = load(family).tokenizer(TEXT, add_special_tokens=False, return_offsets_mapping=True)
    natural = known.natural(TEXT)
    checked = 0
    for eojeol in re.finditer(r"\S+", TEXT):
        for end in range(eojeol.start() + 1, eojeol.end() + 1):
            if any(first < end < last for first, last in encoded["offset_mapping"]):
                continue
            left, right = known.around(TEXT[: eojeol.start()], TEXT[end:])
            word = known.word(TEXT[: eojeol.start()], TEXT[eojeol.start() : end])
            assert [*left, *word, *right] == natural
            checked += 1
    assert checked >= 12


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_kept_is_found_on_both_sides(family: str, pieces: Any) -> None:
    left, right = "축제가 열리면 ", "에서 국수를 삶는다."
    known = pieces(family)
    before = "".join(known.kept(left, right, (0, 2)))
    at = len(left) + right.index("국수")
    behind = "".join(known.kept(left, right, (at, at + 2)))
    if family == "roberta":
        assert before == known.natural("축제")[0] or before == "".join(known.natural("축제"))
        assert "".join(known.natural(" 국수")) in behind
    else:
        assert before.replace("##", "").replace("▁", "").startswith("축제")
        assert behind.replace("##", "").replace("▁", "").startswith("국수")


def test_an_unknown_character_beside_the_word_does_not_swallow_it(pieces: Any) -> None:
    known = pieces("bert")
    assert known.natural("시장☃는") == ["[UNK]"]
    assert known.around("오래된 ", "☃는 많다") == (["오", "##래", "##된"], ["[UNK]", "많", "##다"])


def test_a_text_cannot_smuggle_in_special_tokens(pieces: Any) -> None:
    left, right = pieces("bert").around("[MASK] ", " [SEP]")
    assert "[MASK]" not in left
    assert "[SEP]" not in right


def test_a_text_that_breaks_the_tokenizer_leaves_the_others_whole(load: Any) -> None:
    masker = Masker(load("bert").tokenizer.backend_tokenizer)
    broken, whole = masker.contexts([Gap("시\ud800장", ""), Gap("시장", " 국수")])
    assert isinstance(broken, Exception)
    assert isinstance(whole, Context)
    assert isinstance(masker.words([("", "\udfff")])[0], Exception)


def test_the_tokenizer_of_the_checkpoint_is_left_as_it_was(load: Any) -> None:
    tokenizer = load("bert").tokenizer
    tokenizer.backend_tokenizer.enable_truncation(4)
    Masker(tokenizer.backend_tokenizer)
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 4
    assert tokenizer("[MASK]", add_special_tokens=False)["input_ids"] == [tokenizer.mask_token_id]


def test_the_ids_around_every_text_are_the_models(load: Any) -> None:
    assert Masker(load("bert").tokenizer.backend_tokenizer).special_ids() == ([2], [3])
    assert Masker(load("roberta").tokenizer.backend_tokenizer).special_ids() == ([0], [2])
