"""Training examples: passages as token ids in which nouns that return are masked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .grammar import Passage
from .tokenizer import MASK_ID, UNK_ID

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

OTHER_WORD_SHARE = 0.05  # words outside the nouns that are masked too: they teach the language


@dataclass(frozen=True, slots=True)
class Example:
    """A masked passage: its token ids, the masked places among them, and what stood there."""

    ids: list[int]
    places: list[int]
    answers: list[int]


def mention_tokens(passage: Passage, encoding: Encoding) -> dict[str, list[tuple[int, int]]]:
    """Each noun's mentions as tokens `[start, end)`, where token and noun boundaries agree."""
    starts = {start: token for token, (start, end) in enumerate(encoding.offsets) if end > start}
    ends = {end: token + 1 for token, (start, end) in enumerate(encoding.offsets) if end > start}
    found: dict[str, list[tuple[int, int]]] = {}
    for start, end in passage.mentions:
        if start in starts and end in ends:
            found.setdefault(passage.text[start:end], []).append((starts[start], ends[end]))
    return found


def mask(passage: Passage, encoding: Encoding, random_: random.Random) -> Example | None:
    """Mask one mention of up to three nouns of a passage, as a whole; None when none returns.

    Mostly a later mention is masked, as Real@K asks it. In half of the cases the first tokens
    of the word are left standing, because a word of several tokens is filled in from the left.
    """
    mentions = mention_tokens(passage, encoding)
    returning = [spans for spans in mentions.values() if len(spans) > 1]
    if not returning:
        return None
    count = 1 if random_.random() < 0.4 else random_.choice((2, 3))
    places: list[int] = []
    for spans in random_.sample(returning, min(count, len(returning))):
        first = 1 if random_.random() < 0.8 else 0
        start, end = spans[random_.randrange(first, len(spans))]
        given = random_.randrange(end - start) if random_.random() < 0.5 else 0
        places.extend(range(start + given, end))
    nouns = {token for spans in mentions.values() for span in spans for token in range(*span)}
    ids = list(encoding.ids)
    for token in one_token_words(encoding):
        if token not in nouns and ids[token] != UNK_ID and random_.random() < OTHER_WORD_SHARE:
            places.append(token)
    answers = [ids[place] for place in places]
    for place in places:
        ids[place] = MASK_ID
    return Example(ids, places, answers)


def one_token_words(encoding: Encoding) -> list[int]:
    """The tokens that are a whole word.

    Of the words outside the nouns only these are masked: a masked ending would teach that a mask
    behind a word goes on with it, but the masks that a benchmark asks about begin a word.
    """
    words = encoding.word_ids
    return [
        token
        for token in range(1, len(words) - 1)
        if words[token - 1] != words[token] != words[token + 1]
    ]


def batches(
    passages: Sequence[Passage], tokenizer: Tokenizer, size: int, random_: random.Random
) -> Iterator[Sequence[Example]]:
    """Batches without end, each of examples of like length, in random order.

    Every round over the passages takes them in another order and masks them anew.
    """
    while True:
        order = random_.sample(passages, len(passages))
        for first in range(0, len(order), 32 * size):
            drawn = order[first : first + 32 * size]
            encodings = tokenizer.encode_batch([passage.text for passage in drawn])
            made = (
                mask(passage, encoding, random_)
                for passage, encoding in zip(drawn, encodings, strict=True)
            )
            pool = sorted(filter(None, made), key=lambda example: len(example.ids))
            cut = [pool[at : at + size] for at in range(0, len(pool), size)]
            random_.shuffle(cut)
            yield from cut
