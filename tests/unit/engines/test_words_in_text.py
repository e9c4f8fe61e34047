"""A word's tokens are those of its own text: every kind of tokenizer, every kind of neighbour."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from ckptbench.api.protocol import RequestContext
from ckptbench.api.requests import FillMask
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets import lambada, real_k
from ckptbench.fixtures.engines.masked.masking import Gap, Masker
from ckptbench.fixtures.engines.masked.requests import EncodedRequest, RequestEncoder
from ckptbench.fixtures.engines.masked.vocabulary import Vocabulary

CORPUS = (
    "오래된 시장 골목에는 국수 가게가 많다. 시장은 넓고 시장이 붐빈다.",
    "대시장(시장)과 '시장', \"시장\" 그리고 시장·국수, 시장/국수, 시장-국수 시장~국수.",
    "국수를 삶는 동안 손님은 시장을 구경한다. 「국수」 《국수》 ‘국수’ “국수”",
    "제1시장, KBS시장, ₩10 + 20 = 30; 100%의 시장! 시장? #시장 @시장 & 시장*시장",
    "강을 따라 걷는 길은 도시의 자랑이다. 도시에서 강까지 버스로 십 분이 걸린다.",
    "The old café sells noodles, the market is loud (market) [market] market's.",
)
NOUNS = ("시장", "국수", "Café", "도시")

# Each class of what may stand before a word, and after it.
LEFT = {
    "start": "",
    "space": "오래된 ",
    "two spaces": "오래된  ",
    "tab": "오래된\t",
    "line": "오래된\n",
    "no-break space": "오래된\u00a0",
    "ideographic space": "오래된\u3000",
    "zero-width": "오래된\u200b",
    "syllable": "오래된대",
    "Latin letter": "오래된 KBS",
    "accented letter": "오래된 é",
    "ideograph": "오래된 大",
    "digit": "제1",
    "quoted": '그는 "',
    "quoted at the start": "'",
    "two signs": "오래된 ('",
    **{sign: f"오래된 시{sign}" for sign in "_-–(「《[{)」]‘“«’”»\"'·/!,.#%&*@\\:;?…、。"},
    **{sign: f"오래된 {sign}" for sign in "~+<=|^`$₩©°☃→(「-·/\"'"},
}
RIGHT = {
    "end": "",
    "space": " 골목에는",
    "particle": "에서 국수를",
    "short particle": "은 넓다",
    "closing": ")은 넓다",
    "quote": "'라고",
    "digit": "1은",
    "dot": "·국수",
}
# Signs that WordPiece has no entry for, and that BERT does not part from a word either.
UNKNOWN = frozenset("©°☃→")
CLASSES_OF_SIGNS = {"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"}


# Some reach across an end of a noun; the rest are what it is made of.
ENTRIES = (
    "시장",
    "도시",
    "국",
    "##시장",
    "##국수",
    "시장은",
    "##시장은",
    "국수를",
    "대시",
    "제1",
    "오래",
)


def wordpiece(lowercase: bool, strip_accents: bool) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    texts = [
        *CORPUS,
        *NOUNS,
        *RIGHT.values(),
        *(LEFT[name] for name in LEFT if name not in UNKNOWN),
    ]
    letters = sorted({letter for each in texts for letter in normalizer.normalize_str(each)})
    entries = [normalizer.normalize_str(entry) for entry in ENTRIES]
    names = ["[UNK]", "[MASK]", *letters, *(f"##{letter}" for letter in letters), *entries]
    vocabulary = {name: index for index, name in enumerate(dict.fromkeys(names))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def byte_bpe(prefix_space: bool, trim_offsets: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=["<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS * 3, trainer)
    return made


def unigram(prepend: str, split: bool = True) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend, split=split)
    trainer = trainers.UnigramTrainer(
        vocab_size=230, special_tokens=["<unk>", "<mask>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(CORPUS * 3, trainer)
    return made


def ended_bpe() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<unk>", "<mask>"],
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    made.train_from_iterator(CORPUS * 3, trainer)
    return made


KINDS: dict[str, Callable[[], Any]] = {
    "WordPiece, cased": lambda: wordpiece(False, False),
    "WordPiece, lower case": lambda: wordpiece(True, False),
    "WordPiece, accents stripped": lambda: wordpiece(True, True),
    "byte-level BPE": lambda: byte_bpe(False, True),
    "byte-level BPE, offsets with the space": lambda: byte_bpe(True, False),
    "Unigram": lambda: unigram("always"),
    "Unigram, first word marked": lambda: unigram("first"),
    "Unigram across spaces": lambda: unigram("always", split=False),
    "BPE with </w>": ended_bpe,
}
made = cache(lambda kind: KINDS[kind]())


def opened(tokenizer: Any, left: str, word: str, right: str) -> tuple[list[int], ...]:
    (found,) = Masker(tokenizer).open([Gap(left, right, words=(word,))])
    assert not isinstance(found, Exception)
    context, words = found
    return context.left, words[0], context.right


def own_tokens(tokenizer: Any, text: str, start: int, end: int) -> tuple[range, bool, list[int]]:
    """The tokens of `[start, end)` by the offsets of its text, and whether they part there."""
    encoded = tokenizer.encode(text, add_special_tokens=False)
    spans = encoded.offsets
    over = [n for n, (first, last) in enumerate(spans) if last > start and first < end]
    assert over, (text, encoded.tokens)
    first, behind = over[0], over[-1] + 1
    begins = not text[spans[first][0] : start].strip()
    begins = begins and (first == 0 or spans[first - 1][1] <= start)
    # The space before a word is its own where it is a token: it is how such a word begins.
    spaced = text[max(0, start - 1) : start] == " " and encoded.tokens[first][0] not in "▁Ġ"
    if spaced and first and encoded.tokens[first - 1] in ("▁", "Ġ"):
        first -= 1
        begins = begins and (first == 0 or spans[first - 1][1] < start)
    ends = spans[behind - 1][1] <= end and (behind == len(spans) or spans[behind][0] >= end)
    return range(first, behind), begins and ends, encoded.ids


def test_the_neighbours_are_of_every_class_of_signs() -> None:
    assert {unicodedata.category(left[-1]) for left in LEFT.values() if left} >= CLASSES_OF_SIGNS


@pytest.mark.parametrize("kind", KINDS)
def test_a_words_tokens_are_those_of_its_own_text(kind: str) -> None:
    """Where the text's own tokens part at the word, they are the word's and its context's."""
    tokenizer = made(kind)
    parted = dict.fromkeys(LEFT, 0)
    for (name, left), word, right in itertools.product(LEFT.items(), NOUNS, RIGHT.values()):
        text = left + word + right
        own, parts, ids = own_tokens(tokenizer, text, len(left), len(left) + len(word))
        before, tokens, behind = opened(tokenizer, left, word, right)
        if parts:
            parted[name] += 1
            assert tokens == ids[own.start : own.stop], text
            assert [*before, *tokens, *behind] == ids, text
        else:
            # A token reaches across an end of the word; see the tests below.
            assert spells(tokenizer, tokens, word), text
    assert min(parted[name] for name in LEFT if name not in UNKNOWN) >= 12
    assert sum(parted.values()) > 0.9 * len(LEFT) * len(NOUNS) * len(RIGHT)


def spells(tokenizer: Any, tokens: Sequence[int], word: str) -> bool:
    """Whether the tokens write the word and nothing else, or say that they cannot."""
    vocabulary = Vocabulary(tokenizer, tokenizer.get_vocab_size())
    unknown = {tokenizer.token_to_id("[UNK]"), tokenizer.token_to_id("<unk>")}
    return bool(unknown & {*tokens}) or vocabulary.text(tokens) == vocabulary.normalized(word)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", ["", "오래된 ", "오래된 (", "오래된 '", "제1", "오래된 대"])
def test_a_context_is_the_same_whatever_stands_between(kind: str, left: str) -> None:
    """Nothing of it tells the answer: not where the text's own tokens reach across its ends."""
    right = "은 넓다"
    found = [opened(made(kind), left, word, right) for word in NOUNS]
    contexts = {(tuple(before), tuple(behind)) for before, _, behind in found}
    assert len(contexts) == 1


def names(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    return [tokenizer.id_to_token(index) for index in ids]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "WordPiece" in kind])
@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("오래된 (", ")은", ["시장"]),
        ("오래된 ‘", "’", ["시장"]),
        ("오래된 시·", "·국수", ["시장"]),
        ("오래된시-", "", ["시장"]),
        ("", "", ["시장"]),
        ("제2", "", ["##시장"]),
        ("KBS", "", ["##시장"]),
        # `제1`, `대시` and `시장은` are entries; the last two reach across an end of the word.
        ("제1", "", ["##시장"]),
        ("오래된 대", "", ["##시장"]),
        ("오래된 ", "은 넓다", ["시장"]),
        ("오래된 대", "은 넓다", ["##시장"]),
        ("오래된 (", "은 넓다", ["시장"]),
        # An unknown sign makes all of `시장☃는` unknown, but not the noun by itself.
        ("오래된 ", "☃는 많다", ["시장"]),
    ],
)
def test_wordpiece_marks_a_word_as_its_place_does(
    kind: str, left: str, right: str, expected: list[str]
) -> None:
    tokenizer = made(kind)
    normalized = [tokenizer.normalizer.normalize_str(name) for name in expected]
    _, tokens, behind = opened(tokenizer, left, "시장", right)
    assert names(tokenizer, tokens) == normalized
    if right.startswith("은"):
        particle = "".join(names(tokenizer, behind)).split("넓", 1)[0].replace("##", "")
        assert particle.startswith(tokenizer.normalizer.normalize_str("은"))


@pytest.mark.parametrize("kind", ["Unigram", "Unigram, first word marked", "Unigram across spaces"])
def test_an_entry_of_a_word_and_its_particle_is_parted_at_the_word(kind: str) -> None:
    """As if the text ended with the word: the particle stays where it stands."""
    from tokenizers import Tokenizer, models

    described = made(kind)
    entries = {
        "<unk>": 0.0,
        "<mask>": 0.0,
        "▁시장은": -1.0,
        "▁시장": -3.0,
        "시장": -3.5,
        "(시장": -1.0,
        "은": -4.0,
        "▁": -5.0,
        "(": -5.0,
        "▁(": -5.5,
        "▁넓다": -2.0,
    }
    tokenizer = Tokenizer(models.Unigram(list(entries.items()), 0, False))
    tokenizer.normalizer, tokenizer.pre_tokenizer = described.normalizer, described.pre_tokenizer
    whole = tokenizer.encode("시장은 넓다 시장은", add_special_tokens=False).tokens
    assert whole == ["▁시장은", "▁넓다", "▁시장은"]
    before, tokens, behind = opened(tokenizer, "시장은 넓다 ", "시장", "은")
    assert names(tokenizer, before) == ["▁시장은", "▁넓다"]
    assert names(tokenizer, tokens) == ["▁시장"]
    assert names(tokenizer, behind) == ["은"]
    assert "(시장" in tokenizer.encode("넓다 (시장", add_special_tokens=False).tokens
    before, tokens, behind = opened(tokenizer, "시장은 넓다 (", "시장", " 넓다")
    assert names(tokenizer, before)[-1].endswith("(")
    assert names(tokenizer, tokens) == ["시장"]
    assert names(tokenizer, behind) == ["▁넓다"]


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta"])
def test_both_benchmarks_ask_for_the_tokens_of_the_text(family: str, load: Any) -> None:
    """Real@K's second mention and LAMBADA's blank, with `lambada/choice`'s two options."""
    loaded = load(family, seq_len=60)
    preparation = RequestEncoder(loaded, len(loaded.tokenizer))
    asked_of = dict.fromkeys(("real", "lambada"), 0)
    for left in LEFT.values():
        before = f"시장. {left}"
        text, span = f"{before}시장 골목", (len(before), len(before) + 2)
        own, parts, ids = own_tokens(loaded.tokenizer.backend_tokenizer, text, *span)
        if not parts:
            continue
        masks = [loaded.tokenizer.mask_token_id] * len(own)
        for request in requests(text, span):
            (asked,) = preparation.prepare([request])
            assert isinstance(asked, EncodedRequest), asked
            assert list(asked.answer) == ids[own.start : own.stop], text
            seen = [*asked.blank.before, *masks, *asked.blank.behind]
            assert seen[1:-1] == [*ids[: own.start], *masks, *ids[own.stop :]], text
            asked_of["real" if request.keep else "lambada"] += 1
    # The little BERT has no entry for some letters, so that a whole written word is unknown.
    assert asked_of["real"] >= 50
    assert asked_of["lambada"] >= 100


def requests(text: str, span: tuple[int, int]) -> Iterator[FillMask]:
    """What the protocols ask about a word of a text, where their rows can hold it."""
    start, end = span
    fields = {"text": text, "answer": text[start:end], "first": [0, 2], "second": [start, end]}
    yield real_k.WHOLE_WORD.ask(Sample("real", fields), RequestContext())
    if lambada.BLANK not in text:
        row = {"text": f"{text[:start]}_{text[end:]}", "answer": text[start:end]}
        sample = Sample("lambada", {**row, "candidate": "국수"})
        for protocol in (lambada.MLM_WHOLE_WORD, lambada.CHOICE):
            yield protocol.ask(sample, RequestContext())
