"""LAMBADA's rows: whole passages for causal models, rows with a blank for masked ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets import lambada
from ckptbench.fixtures.datasets.io import sample_file

PASSAGES = ["It rained, and she had no umbrella", "He was tired and went to bed"]
BLANKS = {"text": "비가 와서 _을 폈다.", "answer": "우산"}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_without_an_answer_is_a_whole_passage(tmp_path: Path) -> None:
    loaded = lambada.load(written(tmp_path / "test.jsonl", *({"text": t} for t in PASSAGES)))
    assert [sample.id for sample in loaded] == ["test-00001", "test-00002"]
    assert [sample["text"] for sample in loaded] == PASSAGES
    assert loaded.header.dataset == "lambada"


def test_other_columns_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path / "test.jsonl", {"text": PASSAGES[0], "domain": "novel"})
    assert dict(lambada.load(path)[0].fields) == {"text": PASSAGES[0]}


def test_a_row_with_an_answer_has_a_blank(tmp_path: Path) -> None:
    path = written(tmp_path / "test.jsonl", BLANKS)
    assert lambada.load(path) == lambada.load_blanks(path)


def test_a_mistyped_answer_is_no_whole_passage(tmp_path: Path) -> None:
    path = written(tmp_path / "test.jsonl", {"text": BLANKS["text"], "anwser": "우산"})
    with pytest.raises(CkptbenchError, match="did you mean 'answer'"):
        lambada.load(path)


def test_those_shipped_have_blanks() -> None:
    assert lambada.load() == lambada.load_blanks()


def test_a_sample_file_says_itself_of_which_kind_it_is(tmp_path: Path) -> None:
    for source in ({"text": PASSAGES[0]}, BLANKS):
        loaded = lambada.load(written(tmp_path / "rows.jsonl", source))
        sample_file.write(tmp_path / "samples.jsonl", loaded)
        assert lambada.load(tmp_path / "samples.jsonl").samples == loaded.samples


def test_a_dataset_of_the_hub(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path / "lambada_openai"
    folder.mkdir()
    written(folder / "test.jsonl", *({"text": text} for text in PASSAGES))
    assert [s.id for s in lambada.load(f"hub:{folder}")] == [
        "lambada_openai-00001",
        "lambada_openai-00002",
    ]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"text": "umbrella"}, "has no last word"),
        ({"text": " umbrella"}, "has no last word"),
        ({"text": "no umbrella "}, "has no last word"),
        ({"text": ""}, "is empty"),
        ({"txt": "no umbrella"}, "is missing"),
    ],
)
def test_a_flaw_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], what: str) -> None:
    path = written(tmp_path / "test.jsonl", {"text": PASSAGES[0]}, row)
    with pytest.raises(CkptbenchError, match=what) as caught:
        lambada.load(path)
    assert caught.value.where.startswith(f"{path}:2")


def test_a_passage_that_is_there_again_is_a_sample_of_the_same_cluster(tmp_path: Path) -> None:
    """LAMBADA's own file has some twice, and lm-eval counts both."""
    rows = [{"text": PASSAGES[i]} for i in (0, 1, 0, 0)]
    loaded = lambada.load(written(tmp_path / "test.jsonl", *rows))
    once = lambada.load(written(tmp_path / "once.jsonl", *rows[:2]))
    assert [sample["text"] for sample in loaded] == [PASSAGES[i] for i in (0, 1, 0, 0)]
    assert [sample.hash for sample in loaded][:2] == [sample.hash for sample in once]
    assert len({sample.hash for sample in loaded}) == 4
    assert [sample.cluster for sample in loaded] == [loaded[i].cluster for i in (0, 1, 0, 0)]
    assert loaded.notes == ("2 of 4 passages repeat an earlier one: each counts",)
    assert once.notes == ()
