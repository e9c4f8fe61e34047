"""The Real@K builder: which nouns of which texts are asked for, and where exactly they stand."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import NamedTuple

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets import korean as morphology
from ckptbench.fixtures.datasets import real_k
from ckptbench.fixtures.datasets.io import sample_file
from ckptbench.fixtures.datasets.io.sample_file import SampleFile
from ckptbench.fixtures.datasets.real_k_builder import Built, Counts, RepeatedNoun, build, targets

APPLE = "🍎 사과는 달다. 그 집 마당의 사과가 빨갛게 익었다. 시장에서도 사과를 판다."
LIGHTHOUSE = "등대는 바다를 비춘다. 배는 등대를 보고 바다를 건넌다."
LIBRARY = (
    "도서관에는 책이 많다. 학생은 도서관에서 책을 읽는다. 선생님은 학생을 돕고 도서관 문을 닫는다. "
    "선생님은 늦게 퇴근한다. 퇴근 시간은 늦다. 시간이 빠르다."
)
PRONOUN = "나는 우산을 샀다. 우산은 튼튼하다."
HEADLINES = ("코스피 소폭 상승 마감", "태풍 북상에 항공편 줄줄이 결항", "내일 전국 맑고 쌀쌀")


def answers(built: Built) -> list[str]:
    return [sample["answer"] for sample in built.samples]


class Morpheme(NamedTuple):
    form: str
    tag: str
    start: int
    end: int


def morphemes(text: str, *words: tuple[str, str]) -> list[Morpheme]:
    """Tagged words at their places in a text, in order."""
    found, place = [], 0
    for form, tag in words:
        place = text.index(form, place)
        found.append(Morpheme(form, tag, place, place + len(form)))
        place += len(form)
    return found


def test_the_second_mention_is_asked_for_and_the_first_is_remembered() -> None:
    (sample,) = build([APPLE], name="a").samples
    assert sample.fields == {
        "text": APPLE,
        "answer": "사과",
        "first": (2, 4),
        "second": (18, 20),
    }


def test_what_follows_the_noun_stays_in_the_text() -> None:
    (sample,) = build([APPLE], name="a").samples
    start, end = sample["second"]
    assert sample["text"][end:].startswith("가 빨갛게")
    assert sample["text"][:start].endswith("마당의 ")


@pytest.mark.parametrize("prefix", ["", "😀😀 ", "𠮷 ", "👩‍👩‍👧 ", "é ", "\u200b"])
def test_offsets_are_exact_in_characters_whatever_stands_before(prefix: str) -> None:
    built = build([prefix + LIGHTHOUSE], name="a")
    assert answers(built) == ["등대", "바다"]
    for sample in built.samples:
        for start, end in (sample["first"], sample["second"]):
            assert sample["text"][start:end] == sample["answer"]


def test_a_text_with_a_pronoun_is_dropped() -> None:
    built = build([PRONOUN, APPLE], name="a")
    assert answers(built) == ["사과"]
    assert built.counts.pronoun == 1


def test_one_character_nouns_are_no_targets() -> None:
    text = "강은 흐른다. 강은 깊다."
    assert targets(text, morphemes(text, ("강", "NNG"), ("강", "NNG"))) == []


def test_only_common_and_proper_nouns_are_targets() -> None:
    text = "하나와 하나, 마리와 마리, 서울과 서울, 바다와 바다"
    tagged = morphemes(
        text,
        *[("하나", "NR")] * 2,
        *[("마리", "NNB")] * 2,
        *[("서울", "NNP")] * 2,
        *[("바다", "NNG")] * 2,
    )
    assert [target.answer for target in targets(text, tagged)] == ["서울", "바다"]


def test_a_mention_counts_as_a_token_not_as_a_string() -> None:
    """`바다` inside the token `겨울바다` is no mention."""
    text = "겨울바다는 춥다. 바다는 넓다. 바다는 깊다."
    tagged = morphemes(text, ("겨울바다", "NNG"), ("바다", "NNG"), ("바다", "NNG"))
    assert targets(text, tagged) == [RepeatedNoun("바다", (10, 12), (18, 20))]


def test_a_noun_tagged_now_common_now_proper_is_one_noun() -> None:
    text = "한강은 길다. 한강은 넓다."
    tagged = morphemes(text, ("한강", "NNP"), ("한강", "NNG"))
    assert [target.answer for target in targets(text, tagged)] == ["한강"]


def test_a_form_that_is_not_written_there_is_no_target() -> None:
    text = "콜오브듀티는 게임이다. 콜오브듀티는 유명하다."
    tagged = [Morpheme("콜 오브 듀티", "NNP", 0, 5), Morpheme("콜 오브 듀티", "NNP", 13, 18)]
    assert targets(text, tagged) == []


def test_invisible_characters_are_no_noun() -> None:
    text = "\u200b\u200b 강 \u200b\u200b"
    tagged = morphemes(text, *[("\u200b\u200b", "NNG")] * 2)
    assert targets(text, tagged) == []


def test_three_targets_a_text_are_those_whose_second_mention_comes_first() -> None:
    built = build([LIBRARY], name="a")
    assert answers(built) == ["도서관", "학생", "선생"]
    seconds = [sample["second"] for sample in built.samples]
    assert seconds == sorted(seconds)
    assert answers(build([LIBRARY], name="a", per_text=1)) == ["도서관"]
    assert answers(build([LIBRARY], name="a", per_text=9)) == [
        "도서관",
        "학생",
        "선생",
        "퇴근",
        "시간",
    ]


@pytest.mark.slow
def test_ids_name_the_text_and_the_target_and_the_text_is_the_cluster() -> None:
    built = build([PRONOUN, LIGHTHOUSE, APPLE], name="sea")
    assert [(sample.id, sample.cluster) for sample in built.samples] == [
        ("sea-00002-1", "sea-00002"),
        ("sea-00002-2", "sea-00002"),
        ("sea-00003-1", "sea-00003"),
    ]


def test_the_same_text_is_used_once_whatever_its_white_space_and_form() -> None:
    spaced = "  " + LIGHTHOUSE.replace(" ", "  ") + "\n"
    decomposed = unicodedata.normalize("NFD", LIGHTHOUSE)
    built = build([LIGHTHOUSE, spaced, decomposed], name="a")
    assert answers(built) == ["등대", "바다"]
    assert built.counts.duplicate == 2


def test_decomposed_syllables_are_composed() -> None:
    (sample, _) = build([unicodedata.normalize("NFD", LIGHTHOUSE)], name="a").samples
    assert sample["text"] == LIGHTHOUSE


def test_every_text_read_is_counted_once() -> None:
    counts = build([APPLE, APPLE, PRONOUN, " ", *HEADLINES, LIGHTHOUSE], name="a").counts
    assert counts == Counts(read=8, blank=1, duplicate=1, pronoun=1, no_repeat=3, used=2, samples=3)
    parts = (counts.blank, counts.duplicate, counts.pronoun, counts.no_repeat, counts.used)
    assert sum(parts) == counts.read


def test_building_twice_gives_the_same_file_however_the_texts_are_tagged() -> None:
    """Numbering makes the texts distinct and the corpus longer than what is tagged at once."""
    corpus = [f"{text} {n}." for n in range(300) for text in (APPLE, PRONOUN, LIGHTHOUSE)]
    together = build(corpus, name="a")
    assert together == build(iter(corpus), name="a")
    one_by_one = [build([text], name="a").samples for text in (corpus[0], corpus[2])]
    assert [s.hash for few in one_by_one for s in few] == [s.hash for s in together.samples[:3]]


def test_progress_is_told_while_it_lasts() -> None:
    told: list[Counts] = []
    corpus = [f"{APPLE} {n}." for n in range(600)]
    built = build(corpus, name="a", progress=told.append)
    assert len(told) > 1
    assert [counts.read for counts in told] == sorted({counts.read for counts in told})
    assert told[-1] == built.counts


def test_headlines_give_nothing_and_the_error_says_so_with_the_counts() -> None:
    with pytest.raises(CkptbenchError) as caught:
        build(HEADLINES, name="a")
    assert "gives no samples" in caught.value.what
    assert "3 texts read: 0 used, 0 with a pronoun, 3 without a repeated noun" in caught.value.what
    assert "headlines" in caught.value.remedy


def test_an_empty_corpus_is_told_as_such() -> None:
    with pytest.raises(CkptbenchError, match="0 texts read"):
        build([], name="a")


@pytest.mark.parametrize(
    ("counts", "sparse"),
    [
        (Counts(read=100, no_repeat=96, used=4), True),
        (Counts(read=100, no_repeat=95, used=5), False),
        (Counts(read=100, duplicate=96, used=4), False),
    ],
)
def test_a_corpus_that_hardly_repeats_nouns_is_sparse(counts: Counts, sparse: bool) -> None:
    assert counts.sparse is sparse


def test_what_is_built_is_written_and_loaded(tmp_path: Path) -> None:
    built = build([APPLE, LIGHTHOUSE, LIBRARY], name="a")
    header = {"dataset": "real-k", "name": "a", "source": "", "licence": "", "builder": ""}
    sample_file.write(tmp_path / "a.jsonl", SampleFile.of(built.samples, **header))
    assert real_k.load(tmp_path / "a.jsonl").samples == built.samples


def test_without_kiwi_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    with pytest.raises(CkptbenchError, match="kiwipiepy") as caught:
        morphology.kiwi.__wrapped__()
    assert caught.value.remedy == "pip install 'ckptbench[korean]'"
