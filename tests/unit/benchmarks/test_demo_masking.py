"""What the demo model is trained on: passages with a noun masked that stands elsewhere too."""

from __future__ import annotations

import random
from itertools import islice

import pytest

pytest.importorskip("transformers")

from ckptbench.benchmarks.demo import grammar, masking, tokenizer

WORDS = tokenizer.build(512).backend_tokenizer
TEXT = "감자는 굵다. 농부는 감자를 심었다."
PASSAGE = grammar.Passage(TEXT, ((0, 2), (8, 10), (12, 14)))


def mask(passage: grammar.Passage, seed: int) -> masking.Example | None:
    starting = masking.starting_entries(WORDS)
    return masking.mask(passage, WORDS.encode(passage.text), starting, random.Random(seed))


def test_mentions_are_found_as_tokens() -> None:
    found = masking.mention_tokens(PASSAGE, WORDS.encode(TEXT))
    tokens = WORDS.encode(TEXT).tokens
    assert {noun: [tokens[a:b] for a, b in spans] for noun, spans in found.items()} == {
        "감자": [["감자"], ["감자"]],
        "농부": [["농부"]],
    }


def test_only_a_noun_that_returns_is_masked_and_one_mention_of_it_stays() -> None:
    potato, farmer = WORDS.token_to_id("감자"), WORDS.token_to_id("농부")
    for seed in range(50):
        example = mask(PASSAGE, seed)
        assert example is not None
        assert example.answers.count(potato) <= 1
        assert example.ids.count(potato) >= 1
        assert farmer not in example.answers


def test_the_answers_are_what_stood_at_the_masks() -> None:
    for number, passage in enumerate(islice(grammar.passages(5), 200)):
        example = mask(passage, number)
        if example is not None:
            original = WORDS.encode(passage.text).ids
            assert example.answers == [original[place] for place in example.places]
            assert {example.ids[place] for place in example.places} == {tokenizer.MASK_ID}
            assert example.ids.count(tokenizer.MASK_ID) == len(example.places)


def test_a_passage_in_which_no_noun_returns_is_left_out() -> None:
    assert mask(grammar.Passage("감자는 굵다.", ((0, 2),)), 1) is None


def test_batches_are_full_and_the_same_for_the_same_seed() -> None:
    passages = list(islice(grammar.passages(3), 256))
    first, again = (
        list(islice(masking.batches(passages, WORDS, 8, random.Random(1)), 10)) for _ in range(2)
    )
    assert first == again
    assert all(len(batch) == 8 for batch in first)
