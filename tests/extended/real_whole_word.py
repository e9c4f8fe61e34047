"""Real@K under `real/whole-word`, read from its definition a second time and slowly.

    python tests/extended/real_whole_word.py CHECKPOINT SAMPLES.jsonl OUTCOMES.jsonl [--seq-len N]

Written from the definition of the protocol, with `transformers` and `torch` alone: nothing of
ckptbench is imported, WordPiece is written out here, rows are not shared between samples, and the
whole softmax is taken. So a mistake in the engine is not repeated here. For checkpoints with a
WordPiece tokenizer that neither lowercases nor strips accents.

The definition: the tokens that the tokenizer gives the noun in its text become masks; a beam of
width max(10, 2K) fills them from left to right, ranked by the sum of log probabilities; fillings
that spell the same word are one candidate, their probabilities added, where going on from the
word before or not is part of the spelling; hit when the noun's spelling is among the first K.

Choices the definition leaves open, as docs/metrics.md makes them: a token that reaches across an
end of the noun is parted there, because what stands beside the noun stays in the text; the masks
stand in the middle of a window that is shorter than the text.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KS = (1, 5)
BEAM = max(10, 2 * max(KS))
LONGEST_WORD = 100  # characters; WordPiece calls a longer one unknown


def is_punctuation(letter: str) -> bool:
    """As BERT has it: every ASCII sign, and Unicode's classes P."""
    ascii_sign = letter.isascii() and letter.isprintable() and not letter.isalnum()
    return (ascii_sign and letter != " ") or unicodedata.category(letter).startswith("P")


def is_ideograph(letter: str) -> bool:
    code = ord(letter)
    ranges = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0xF900, 0xFAFF))
    return any(low <= code <= high for low, high in ranges)


def written_words(text: str) -> Iterator[tuple[int, int]]:
    """The words `[start, end)` that BERT cuts a text into before WordPiece."""
    start = None
    for place, letter in enumerate(text):
        alone = is_punctuation(letter) or is_ideograph(letter)
        if start is not None and (alone or letter.isspace()):
            yield start, place
            start = None
        if alone:
            yield place, place + 1
        elif start is None and not letter.isspace():
            start = place
    if start is not None:
        yield start, len(text)


def pieces_of(
    text: str, start: int, end: int, parts: tuple[int, ...], vocabulary: dict[str, int]
) -> list[tuple[str, int]]:
    """WordPiece: the longest entry first, none across a place in `parts`; each with its start."""
    found: list[tuple[str, int]] = []
    at = start
    while at < end and end - start <= LONGEST_WORD:
        limit = min([end, *(part for part in parts if part > at)])
        mark = "##" if at > start else ""
        lengths = range(limit - at, 0, -1)
        longest = next((n for n in lengths if mark + text[at : at + n] in vocabulary), None)
        if longest is None:
            break
        found.append((mark + text[at : at + longest], at))
        at += longest
    return found if at == end else []


def tokens_of(
    text: str, parts: tuple[int, ...], vocabulary: dict[str, int]
) -> list[tuple[str, int]]:
    """The tokens of a text, each with the place where it starts."""
    found: list[tuple[str, int]] = []
    for start, end in written_words(text):
        pieces = pieces_of(text, start, end, parts, vocabulary)
        if pieces:
            found += pieces
            continue
        # One unknown for the whole word, but what is parted is looked up by itself.
        inside = [start, *(part for part in parts if start < part < end), end]
        for first, last in itertools.pairwise(inside):
            alone = pieces_of(text, first, last, (), vocabulary) if len(inside) > 2 else []
            found += alone or [("[UNK]", first)]
    return found


def window(left: int, masks: int, right: int, first: tuple[int, int], room: int) -> Any:
    """Start and end of the longest window that holds the masks and the first mention, or None."""
    total = left + masks + right
    if total <= room:
        return 0, total
    holds = [
        start
        for start in range(total - room + 1)
        if start <= first[0] and left + masks <= start + room
    ]
    # The masks in the middle, one more token before them than behind where the number is odd.
    wanted = left - math.ceil((room - masks) / 2)
    return min(((abs(s - wanted), s, s + room) for s in holds), default=None, key=lambda w: w[:1])


def spelling(pieces: list[str]) -> tuple[bool, str]:
    """What pieces spell, and whether it goes on from the word before."""
    return pieces[0].startswith("##"), "".join(piece.removeprefix("##") for piece in pieces)


class Reader:
    """Answers samples with one checkpoint."""

    def __init__(self, checkpoint: str, seq_len: int | None) -> None:
        import torch
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.model = AutoModelForMaskedLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
        self.vocabulary = self.tokenizer.get_vocab()
        self.names = {index: name for name, index in self.vocabulary.items()}
        self.seq_len = seq_len or self.model.config.max_position_embeddings

    def answer(self, sample: dict[str, Any]) -> dict[str, Any]:
        text, (start, end) = sample["text"], sample["second"]
        plain = [name for name, _ in tokens_of(text, (), self.vocabulary)]
        assert plain == self.tokenizer.tokenize(text), f"not this tokenizer's tokens: {text}"
        tokens = tokens_of(text, (start, end), self.vocabulary)
        noun = [place for place, (_, at) in enumerate(tokens) if start <= at < end]
        names = [name for name, _ in tokens]
        wanted = names[noun[0] : noun[-1] + 1]
        if "[UNK]" in wanted:
            return {"skipped": "answer_not_in_vocabulary"}
        mention = [
            place
            for place, (_, at) in enumerate(tokens)
            if at < sample["first"][1]
            and (place + 1 == len(tokens) or tokens[place + 1][1] > sample["first"][0])
        ]
        seen = window(
            noun[0], len(noun), len(tokens) - noun[-1] - 1,
            (mention[0], mention[-1] + 1), self.seq_len - 2,
        )  # fmt: skip
        if seen is None:
            return {"skipped": "first_mention_out_of_window"}
        low, high = seen[-2:]
        left = ["[CLS]", *names[low : noun[0]]]
        right = [*names[noun[-1] + 1 : high], "[SEP]"]
        beam = self.fill(left, len(noun), right)
        words: dict[tuple[bool, str], float] = defaultdict(float)
        for score, pieces in beam:
            words[spelling(pieces)] += math.exp(score)
        ranked = sorted(words, key=lambda word: -words[word])
        answer = spelling(wanted)
        rank = 1 + ranked.index(answer) if answer in ranked else None
        return {
            "hits": {str(k): rank is not None and rank <= k for k in KS},
            "tokens": wanted,
            "parted": names != plain,
            "words": [("##" if went_on else "") + word for went_on, word in ranked[: max(KS)]],
            "probabilities": [words[word] for word in ranked[: max(KS)]],
        }  # fmt: skip

    def fill(self, left: list[str], masks: int, right: list[str]) -> list[tuple[float, list[str]]]:
        beam: list[tuple[float, list[str]]] = [(0.0, [])]
        for step in range(masks):
            rows = [[*left, *pieces, *["[MASK]"] * (masks - step), *right] for _, pieces in beam]
            ids = self.torch.tensor([[self.vocabulary[name] for name in row] for row in rows])
            with self.torch.inference_mode():
                logits = self.model(input_ids=ids).logits[:, len(left) + step].double()
            logprobs = logits.log_softmax(-1)
            longer = [
                (score + value, [*pieces, self.names[index]])
                for (score, pieces), row in zip(beam, logprobs, strict=True)
                for value, index in zip(*(part.tolist() for part in row.topk(BEAM)), strict=True)
            ]
            beam = sorted(longer, key=lambda each: -each[0])[:BEAM]
        return beam


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoint")
    parser.add_argument("samples", type=Path)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--seq-len", type=int)
    chosen = parser.parse_args()
    _, *lines = chosen.samples.read_text(encoding="utf-8").splitlines()
    reader = Reader(chosen.checkpoint, chosen.seq_len)
    answers = {row["id"]: reader.answer(row) for row in map(json.loads, lines)}
    with chosen.outcomes.open("w", encoding="utf-8") as file:
        for name, answer in answers.items():
            file.write(json.dumps({"id": name, **answer}, ensure_ascii=False) + "\n")
    asked = [answer["hits"] for answer in answers.values() if "hits" in answer]
    for k in KS:
        hits = sum(each[str(k)] for each in asked)
        print(f"real@{k} {hits / len(asked):.2%} ({hits} of {len(asked)})")


if __name__ == "__main__":
    main()
