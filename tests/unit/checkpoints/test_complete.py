"""A checkpoint is whole when its configuration and all its weights are there to the last byte."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from ckptbench.checkpoints.kind import why_incomplete

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("shards", [1, 3])
def test_a_whole_folder_lacks_nothing(checkpoint_folder: Any, tmp_path: Path, shards: int) -> None:
    assert why_incomplete(checkpoint_folder(tmp_path / "checkpoint-1", shards)) == ""


def test_a_folder_that_a_library_wrote_lacks_nothing() -> None:
    for checkpoint in (ROOT / "benchmarks/demo/demo-mlm").glob("checkpoint-*"):
        assert why_incomplete(checkpoint) == ""


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_file_that_is_not_there_yet(checkpoint_folder: Any, tmp_path: Path, missing: str) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1")
    (folder / missing).unlink()
    assert missing in why_incomplete(folder)


def test_shards_without_their_index(checkpoint_folder: Any, tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1", 3)
    (folder / "model.safetensors.index.json").unlink()
    assert why_incomplete(folder) == "model.safetensors.index.json is not there, 3 of 3 shards are"


def test_an_index_that_is_cut_off(checkpoint_folder: Any, tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1", 2)
    index = folder / "model.safetensors.index.json"
    index.write_text(index.read_text()[:-5])
    assert why_incomplete(folder) == "model.safetensors.index.json is cut off"


def test_a_shard_that_the_index_names_and_nobody_has_written(
    checkpoint_folder: Any, tmp_path: Path
) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1", 3)
    (folder / "model-00003-of-00003.safetensors").unlink()
    told = why_incomplete(folder)
    assert told == "model-00003-of-00003.safetensors is not there (1 of 3 shards)"


@pytest.mark.parametrize("shards", [1, 2])
def test_weights_are_refused_until_their_last_byte(
    checkpoint_folder: Any, tmp_path: Path, shards: int
) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1", shards)
    last = max(folder.glob("*.safetensors"))
    content = last.read_bytes()
    for end in range(len(content)):
        last.write_bytes(content[:end])
        assert last.name in why_incomplete(folder), f"{end} of {len(content)} bytes pass"
    last.write_bytes(content)
    assert why_incomplete(folder) == ""


def test_bytes_after_the_end_are_another_file(checkpoint_folder: Any, tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1")
    weights = folder / "model.safetensors"
    size = weights.stat().st_size
    weights.write_bytes(weights.read_bytes() + b"x")
    assert why_incomplete(folder) == f"model.safetensors has {size + 1:,} of {size:,} bytes"


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ckpt"])
def test_an_archive_is_refused_until_its_last_byte(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"checkpoint_epoch_1{suffix}"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 100)
    content = file.read_bytes()
    for end in range(len(content)):
        file.write_bytes(content[:end])
        assert end < 4 or "cut off" in why_incomplete(file), f"{end} of {len(content)} bytes pass"
    file.write_bytes(content)
    assert why_incomplete(file) == ""


def test_an_empty_archive_file_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "checkpoint_1.pt").touch()
    assert why_incomplete(tmp_path / "checkpoint_1.pt") == "checkpoint_1.pt is empty"


def test_what_is_deleted_while_it_is_looked_at_lacks_something(tmp_path: Path) -> None:
    assert "cannot be read" in why_incomplete(tmp_path / "checkpoint_1.pt")
