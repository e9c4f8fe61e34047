"""The demo: small, enough of it, sound, and trained on other text than it is asked about."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ckptbench.benchmarks
from ckptbench.api.sample import Sample
from ckptbench.benchmarks.demo import grammar, tokenizer, train_demo_mlm
from ckptbench.fixtures.datasets import korean as morphology
from ckptbench.fixtures.datasets import lambada, real_k, real_k_builder

ROOT = Path(next(iter(ckptbench.benchmarks.__path__)))
SAMPLES = ROOT / "samples"
CHECKPOINTS = sorted(
    (ROOT / "demo" / "demo-mlm").glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[1])
)
checkpoints = pytest.mark.parametrize("folder", CHECKPOINTS, ids=lambda folder: folder.name)


@cache
def passages() -> tuple[str, ...]:
    return tuple((SAMPLES / "passages_ko.txt").read_text(encoding="utf-8").splitlines())


@cache
def rows() -> tuple[Sample, ...]:
    return tuple(lambada.load_blanks())


def filled(row: Sample) -> str:
    return str(row["text"]).replace("_", row["answer"])


def sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in re.split(r"(?<=[.?!])\s+", text) if sentence.strip()]


def load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def test_there_is_enough_to_ask() -> None:
    assert len(passages()) >= 80
    assert len(real_k.load()) >= 150
    assert len(rows()) >= 80


def test_no_text_stands_twice() -> None:
    texts = [*passages(), *(filled(row) for row in rows())]
    assert len(set(texts)) == len(texts)


def test_the_shipped_real_k_samples_are_what_the_builder_makes_of_the_passages() -> None:
    pytest.importorskip("kiwipiepy")
    built = real_k_builder.build(passages(), name="passages")
    shipped = real_k.load()
    if morphology.version() not in shipped.header.builder:
        pytest.skip(f"built with {shipped.header.builder}, here is {morphology.version()}")
    assert [sample.fields for sample in built.samples] == [sample.fields for sample in shipped]


def test_the_shipped_rows_are_those_of_the_table() -> None:
    table = lambada.load_blanks(SAMPLES / "ko_lambada.tsv")
    assert [row.fields for row in table] == [row.fields for row in rows()]


def test_every_passage_is_used_and_none_has_a_pronoun() -> None:
    pytest.importorskip("kiwipiepy")
    texts = [*passages(), *(filled(row) for row in rows())]
    tagged = morphology.tag(texts)
    with_pronoun = [
        text
        for text, morphemes in zip(texts, tagged, strict=True)
        if real_k_builder.has_pronoun(morphemes)
    ]
    assert with_pronoun == []
    assert len({sample.cluster for sample in real_k.load()}) == len(passages())


def test_every_row_has_one_blank_and_two_different_words_for_it() -> None:
    for row in rows():
        assert row["text"].count("_") == 1, row.id
        assert row["answer"] != row["candidate"], row.id


def test_the_josa_behind_the_blank_does_not_give_the_answer_away() -> None:
    def forms(word: str) -> list[str]:
        return [grammar.with_josa(word, josa).removeprefix(word) for josa in ("은", "이", "을")]

    for row in rows():
        assert forms(row["answer"]) == forms(row["candidate"]), row.id


@pytest.mark.slow
def test_the_training_text_holds_no_sentence_of_the_benchmarks() -> None:
    asked = [*passages(), *(filled(row) for row in rows())]
    asked_sentences = {sentence for text in asked for sentence in sentences(text)}
    assert len(asked_sentences) > 400
    short, full = train_demo_mlm.training_passages(train_demo_mlm.Plan())
    trained = {sentence for passage in (*short, *full) for sentence in sentences(passage.text)}
    assert asked_sentences & trained == set()


def test_training_text_is_the_same_every_time_and_marks_its_nouns() -> None:
    plan = train_demo_mlm.Plan(short_passages=50, passages=50)
    short, full = train_demo_mlm.training_passages(plan)
    assert (short, full) == train_demo_mlm.training_passages(plan)
    for passage in (*short, *full):
        assert passage.text.endswith(".")
        for start, end in passage.mentions:
            assert re.fullmatch(r"[가-힣]+", passage.text[start:end])
            assert start == 0 or passage.text[start - 1] == " "


@pytest.mark.parametrize(
    ("noun", "josa", "expected"),
    [
        ("감자", "은", "감자는"),
        ("수박", "은", "수박은"),
        ("바다", "로", "바다로"),
        ("연필", "로", "연필로"),
        ("부산", "로", "부산으로"),
        ("수박", "에서", "수박에서"),
    ],
)
def test_josa_follows_the_last_sound(noun: str, josa: str, expected: str) -> None:
    assert grammar.with_josa(noun, josa) == expected


def test_the_tokenizer_knows_every_syllable_that_is_asked_about() -> None:
    pytest.importorskip("transformers")
    words = tokenizer.build(512)
    texts = [*passages(), *(filled(row) for row in rows()), *(row["candidate"] for row in rows())]
    encoded = words(texts, add_special_tokens=False)["input_ids"]
    unknown = sum(ids.count(words.unk_token_id) for ids in encoded)
    assert unknown == 0
    assert max(map(len, encoded)) <= 510


def test_the_demo_checkpoints_are_few_and_small() -> None:
    assert 3 <= len(CHECKPOINTS) <= 4
    files = [file for folder in CHECKPOINTS for file in folder.iterdir()]
    assert max(file.stat().st_size for file in files) < 4_000_000
    assert sum(file.stat().st_size for file in files) < 8_000_000


@checkpoints
def test_a_demo_checkpoint_is_an_ordinary_hugging_face_folder(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "trainer_state.json",
    }
    assert load(folder / "config.json")["architectures"] == ["ModernBertForMaskedLM"]
    state = load(folder / "trainer_state.json")
    assert state["global_step"] == int(folder.name.split("-")[1])
    assert state["log_history"][-1]["step"] == state["global_step"]


@checkpoints
def test_a_demo_checkpoint_has_the_tokenizer_of_its_script(folder: Path) -> None:
    pytest.importorskip("transformers")
    vocabulary = load(folder / "tokenizer.json")["model"]["vocab"]
    assert sorted(vocabulary, key=vocabulary.__getitem__) == tokenizer.vocabulary()


def test_the_loss_falls_over_the_training() -> None:
    logs = [load(folder / "trainer_state.json")["log_history"] for folder in CHECKPOINTS]
    losses = [log[-1]["loss"] for log in logs]
    assert losses == sorted(losses, reverse=True)
