"""Training examples: passages as token ids in which nouns that return are masked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .grammar import Passage
from .tokenizer import MASK_ID, UNK_ID

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

WITH_ENDING_SHARE = 0.15  # masked nouns whose ending (a josa, mostly) is masked with them
APART_SHARE = 0.15  # masked nouns whose ending looks like the start of a word, as it does to a
# tokenizer that sees a mask token written into the text
OTHER_WORD_SHARE = 0.03  # words outside the nouns that are masked too: they teach the language


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


def mask(
    passage: Passage, encoding: Encoding, starting: Mapping[int, int], random_: random.Random
) -> Example | None:
    """Mask one mention of up to three nouns of a passage, as a whole; None when none returns.

    Mostly a later mention is masked, as Real@K asks it. In half of the cases the first tokens
    of the word are left standing, because a word of several tokens is filled in from the left.
    `starting` gives the entry that starts a word for one that goes on with it.
    """
    mentions = mention_tokens(passage, encoding)
    returning = [spans for spans in mentions.values() if len(spans) > 1]
    if not returning:
        return None
    count = 1 if random_.random() < 0.4 else random_.choice((2, 3))
    ids = list(encoding.ids)
    places: list[int] = []
    for spans in random_.sample(returning, min(count, len(returning))):
        first = 1 if random_.random() < 0.8 else 0
        start, end = spans[random_.randrange(first, len(spans))]
        ending = range(end, end_of_word(encoding, end - 1))
        way = random_.random()
        if way < WITH_ENDING_SHARE:
            end = ending.stop
        elif way < WITH_ENDING_SHARE + APART_SHARE and ending:
            ids[ending.start] = starting.get(ids[ending.start], ids[ending.start])
        given = random_.randrange(end - start) if random_.random() < 0.5 else 0
        places.extend(range(start + given, end))
    nouns = {token for spans in mentions.values() for span in spans for token in range(*span)}
    for token in one_token_words(encoding):
        if token not in nouns and ids[token] != UNK_ID and random_.random() < OTHER_WORD_SHARE:
            places.append(token)
    answers = [encoding.ids[place] for place in places]
    for place in places:
        ids[place] = MASK_ID
    return Example(ids, places, answers)


def end_of_word(encoding: Encoding, token: int) -> int:
    """The token behind the word that a token is of."""
    words = encoding.word_ids
    return next(behind for behind in range(token, len(words)) if words[behind] != words[token])


def starting_entries(tokenizer: Tokenizer) -> dict[int, int]:
    """The entry that starts a word for each that goes on with one, where there are both."""
    vocabulary = tokenizer.get_vocab()
    continuing = {entry: id_ for entry, id_ in vocabulary.items() if entry.startswith("##")}
    return {
        id_: vocabulary[entry[2:]] for entry, id_ in continuing.items() if entry[2:] in vocabulary
    }


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
    starting = starting_entries(tokenizer)
    while True:
        order = random_.sample(passages, len(passages))
        for first in range(0, len(order), 32 * size):
            drawn = order[first : first + 32 * size]
            encodings = tokenizer.encode_batch([passage.text for passage in drawn])
            made = (
                mask(passage, encoding, starting, random_)
                for passage, encoding in zip(drawn, encodings, strict=True)
            )
            pool = sorted(filter(None, made), key=lambda example: len(example.ids))
            cut = [pool[at : at + size] for at in range(0, len(pool), size)]
            random_.shuffle(cut)
            yield from cut
