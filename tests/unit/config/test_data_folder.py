"""A folder of datasets: which file is which benchmark's, and what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.config.data_folder import NAMES, find_data
from ckptbench.config.options import OPTIONS


def filled(folder: Path, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def found(folder: Path) -> dict[str, str]:
    return {n: str(f.relative_to(folder)) for n, f in find_data(folder).items()}


def test_every_option_with_data_is_looked_for() -> None:
    options = {o.name.removesuffix("-data") for o in OPTIONS if o.name.endswith("-data")}
    assert set(NAMES) == options


def test_folders_of_processed_splits(tmp_path: Path) -> None:
    folder = filled(
        tmp_path,
        *(f"mbpp/processed/{name}.jsonl" for name in ("train", "validation", "test")),
        "mbpp/processed/schema.json",
        "humaneval/processed/test.jsonl",
        "humaneval/stats/summary.json",
        "codecontests/processed/test.jsonl",
        "codecontests/processed/test_eval.jsonl",
        "codecontests/processed/test_metadata.json",
        "gsm8k/processed/test.jsonl",
    )
    assert found(folder) == {
        "humaneval": "humaneval/processed/test.jsonl",
        "mbpp": "mbpp/processed/test.jsonl",
        "codecontests": "codecontests/processed/test_eval.jsonl",
    }


@pytest.mark.parametrize(
    ("file", "benchmark"),
    [
        ("HumanEval.jsonl.gz", "humaneval"),
        ("humaneval/HumanEval.jsonl.gz", "humaneval"),
        ("openai_humaneval/test-00000-of-00001.parquet", "humaneval"),
        ("mbpp/full/../data/test-00000-of-00001.parquet", "mbpp"),
        ("MBPP/mbpp.jsonl", "mbpp"),
        ("code_contests/raw/test.jsonl.gz", "codecontests"),
        ("code-contests/mine.csv", "codecontests"),
        ("ko-lambada/rows.tsv", "lambada"),
        ("ko_lambada.jsonl", "lambada"),
        ("real_k/nouns.jsonl", "real"),
    ],
)
def test_a_dataset_is_a_folder_or_a_file_with_its_name(
    tmp_path: Path, file: str, benchmark: str
) -> None:
    (tmp_path / "mbpp/full").mkdir(parents=True)
    folder = filled(tmp_path, file)
    assert {n: f.resolve() for n, f in find_data(folder).items()} == {
        benchmark: (folder / file).resolve()
    }


def test_of_one_split_in_several_forms_one_is_taken(tmp_path: Path) -> None:
    folder = filled(tmp_path, "mbpp/test.parquet", "mbpp/test.jsonl", "mbpp/test.csv")
    assert found(folder) == {"mbpp": "mbpp/test.jsonl"}


@pytest.mark.parametrize(
    "files",
    [
        ("mbpp/first.jsonl", "mbpp/second.jsonl"),
        ("mbpp/test-00000-of-00002.parquet", "mbpp/test-00001-of-00002.parquet"),
    ],
)
def test_several_files_that_could_be_one_dataset_are_named(
    tmp_path: Path, files: tuple[str, ...]
) -> None:
    folder = filled(tmp_path, *files)
    with pytest.raises(CkptbenchError, match="several files could be mbpp") as caught:
        find_data(folder)
    assert all(Path(file).name in caught.value.what for file in files)
    assert "--mbpp-data" in caught.value.remedy


def test_a_folder_without_any_of_them_is_refused_by_name(tmp_path: Path) -> None:
    filled(tmp_path, "gsm8k/test.jsonl", "mbpp/README.md")
    with pytest.raises(CkptbenchError, match="real, lambada, humaneval, mbpp, codecontests"):
        find_data(tmp_path)
    with pytest.raises(CkptbenchError, match="no such folder"):
        find_data(tmp_path / "absent")
    assert find_data(tmp_path, ["mbpp"], any_of_them=False) == {}
