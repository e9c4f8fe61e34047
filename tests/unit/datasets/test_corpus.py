"""Texts for the builder: from plain text, from a field of rows, from a dataset folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench._util.jsonio import JSON
from ckptbench.fixtures.datasets.io.hub import HubDataset, hub_rows, hub_texts
from ckptbench.fixtures.datasets.io.rows import DataRow, column_texts, line_texts


def row(values: Mapping[str, JSON], line: int = 1) -> DataRow:
    return DataRow(f"a.jsonl:{line}", values)


def test_plain_text_is_a_text_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff강은 길다.\r\n\r\n산은 높다.".encode())
    assert list(line_texts(path)) == ["강은 길다.", "산은 높다."]


def test_a_column_holds_the_texts() -> None:
    assert list(column_texts([row({"t": "강"}), row({"t": ""})], "t")) == ["강", ""]


def test_a_record_without_the_field_is_named_with_the_fields_there_are() -> None:
    texts = column_texts([row({"Text": "강", "ID": 1}), row({"ID": 2}, line=2)], "Text")
    assert next(texts) == "강"
    with pytest.raises(CkptbenchError, match="no field 'Text'") as caught:
        next(texts)
    assert caught.value.where == "a.jsonl:2"
    assert "It holds: ID." in caught.value.remedy


@pytest.mark.parametrize(
    ("column", "meant"), [("text", "Text"), ("Txet", "Text"), ("TEXT", "Text")]
)
def test_a_mistyped_column_gets_the_nearest(column: str, meant: str) -> None:
    with pytest.raises(CkptbenchError, match=f"did you mean '{meant}'"):
        list(column_texts([row({"Text": "강"})], column))


@pytest.mark.parametrize("value", [None, 3, ["강"], "\udc00"])
def test_a_field_that_is_no_text_is_named(value: JSON) -> None:
    with pytest.raises(CkptbenchError) as caught:
        list(column_texts([row({"t": value}, line=7)], "t"))
    assert caught.value.where == "a.jsonl:7, field 't'"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset as `load_dataset` finds it in a folder: one file a split."""
    (tmp_path / "train.jsonl").write_text('{"text": "강"}\n{"text": "산"}\n', encoding="utf-8")
    (tmp_path / "test.jsonl").write_text('{"text": "들"}\n', encoding="utf-8")
    return tmp_path


def test_a_dataset_is_streamed_in_its_order(folder: Path) -> None:
    assert list(hub_texts(HubDataset(str(folder)))) == ["강", "산"]
    assert list(hub_texts(HubDataset(str(folder), split="test"))) == ["들"]


def test_a_parquet_dataset_is_streamed_too(tmp_path: Path) -> None:
    import datasets

    titles = datasets.Dataset.from_dict({"title": ["강", "산"]})
    titles.to_parquet(str(tmp_path / "train.parquet"))
    assert list(hub_texts(HubDataset(str(tmp_path)), "title")) == ["강", "산"]


def test_a_missing_column_of_a_dataset_names_the_record(folder: Path) -> None:
    with pytest.raises(CkptbenchError, match="no field 'title'") as caught:
        list(hub_texts(HubDataset(str(folder)), "title"))
    assert caught.value.where == f"{folder}@train, record 1"


def test_a_split_that_is_not_there_is_told_with_those_that_are(folder: Path) -> None:
    with pytest.raises(CkptbenchError, match="train") as caught:
        list(hub_rows(HubDataset(str(folder), split="validation")))
    assert caught.value.where == f"{folder}@validation"


@pytest.mark.parametrize("name", ["klue", "klue/klue"])
def test_klue_asks_for_a_subset_with_running_text(name: str) -> None:
    with pytest.raises(CkptbenchError, match="several subsets") as caught:
        hub_texts(HubDataset(name))
    assert "mrc, nli, sts, re, dp, ner, ynat" in caught.value.remedy


def test_a_mistyped_subset_of_klue_gets_the_nearest() -> None:
    with pytest.raises(CkptbenchError, match=r"no subset 'ynta' \(did you mean 'ynat'"):
        hub_texts(HubDataset("klue", "ynta"))


def test_the_dialogues_of_klue_are_no_running_text() -> None:
    with pytest.raises(CkptbenchError, match="dialogues"):
        hub_texts(HubDataset("klue", "wos"))


@pytest.mark.parametrize(
    ("subset", "record", "text"),
    [
        ("mrc", {"title": "제목", "context": "강은 길다."}, "강은 길다."),
        ("nli", {"premise": "강은 길다.", "hypothesis": "아니다."}, "강은 길다."),
        ("sts", {"sentence1": "강은 길다.", "sentence2": "강이 길다."}, "강은 길다."),
        ("re", {"sentence": "강은 길다."}, "강은 길다."),
        ("dp", {"sentence": "강은 길다."}, "강은 길다."),
        ("ner", {"sentence": "<강:LC>은 길다.", "tokens": list("강은 길다.")}, "강은 길다."),
        ("ynat", {"title": "강 범람"}, "강 범람"),
    ],
)
def test_the_text_of_each_subset_of_klue_is_known(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    subset: str,
    record: dict[str, JSON],
    text: str,
) -> None:
    """A local folder named `klue`, whose README declares the subset, stands for the hub's."""
    import datasets

    folder = tmp_path / "klue"
    folder.mkdir()
    datasets.Dataset.from_list([record]).to_parquet(str(folder / "rows.parquet"))
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: {subset}\n  data_files: rows.parquet\n---\n"
    )
    monkeypatch.chdir(tmp_path)
    assert list(hub_texts(HubDataset("klue", subset))) == [text]


def test_wikipedia_is_korean_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    folder = tmp_path / "wikimedia" / "wikipedia"
    folder.mkdir(parents=True)
    for name, text in (("20231101.ko", "강은 길다."), ("20231101.en", "A river.")):
        datasets.Dataset.from_list([{"text": text}]).to_parquet(str(folder / f"{name}.parquet"))
    (folder / "README.md").write_text(
        "---\nconfigs:\n"
        "- config_name: 20231101.en\n  data_files: 20231101.en.parquet\n"
        "- config_name: 20231101.ko\n  data_files: 20231101.ko.parquet\n---\n"
    )
    monkeypatch.chdir(tmp_path)
    assert list(hub_texts(HubDataset("wikimedia/wikipedia"))) == ["강은 길다."]
    assert list(hub_texts(HubDataset("wikimedia/wikipedia", "20231101.en"))) == ["A river."]


def test_a_hub_that_cannot_be_reached_is_one_message(tmp_path: Path) -> None:
    code = (
        "from ckptbench._util.errors import CkptbenchError\n"
        "from ckptbench.fixtures.datasets.io.hub import HubDataset, hub_texts\n"
        "try: list(hub_texts(HubDataset('klue', 'mrc')))\n"
        "except CkptbenchError as error: print(error)\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("klue/mrc@train: cannot be read: ")
    assert "https://huggingface.co can be reached" in done.stdout.replace("\n", " ")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("spec", "dataset"),
    [
        ("owner/rows", HubDataset("owner/rows", "", "test")),
        ("owner/rows@train", HubDataset("owner/rows", "", "train")),
        ("owner/rows:ko@train", HubDataset("owner/rows", "ko", "train")),
        ("owner/rows:ko", HubDataset("owner/rows", "ko", "test")),
    ],
)
def test_a_dataset_is_named_in_one_word(spec: str, dataset: HubDataset) -> None:
    assert HubDataset.parse(spec, split="test") == dataset


@pytest.mark.slow
def test_without_the_network_a_dataset_is_read_from_the_cache(tmp_path: Path) -> None:
    repository = tmp_path / "hub/datasets--maker--texts"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text("a" * 40)
    (repository / "snapshots" / ("a" * 40)).mkdir(parents=True)
    rows = repository / "snapshots" / ("a" * 40) / "test.jsonl"
    rows.write_text('{"text": "강은 길다."}\n', encoding="utf-8")
    code = (
        "from ckptbench.fixtures.datasets.io.hub import HubDataset, hub_rows\n"
        "for row in hub_rows(HubDataset('maker/texts', split='test')): print(row.values['text'])\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    environment |= {"PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.stdout == "강은 길다.\n", done.stderr
