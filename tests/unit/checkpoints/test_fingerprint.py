import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.checkpoints.fingerprint import Digests, fingerprint, hash_of_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "checkpoint-1")


def written(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text(f"contents of {name}")
    return folder


def test_it_is_a_sha256_of_the_contents(folder: Path) -> None:
    assert len(fingerprint(folder)) == 64
    assert int(fingerprint(folder), 16) >= 0


def test_it_does_not_depend_on_place_or_time(folder: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copytree(folder, tmp_path / "moved" / "under another name")
    (elsewhere / "config.json").touch()
    assert fingerprint(elsewhere) == fingerprint(folder)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"]
)
def test_a_byte_of_weights_config_or_tokenizer_changes_it(folder: Path, name: str) -> None:
    before = fingerprint(folder)
    with (folder / name).open("a") as file:
        file.write(" ")
    assert fingerprint(folder) != before


@pytest.mark.parametrize("name", ["optimizer.pt", "trainer_state.json", "training_args.bin"])
def test_what_training_leaves_behind_does_not(folder: Path, name: str) -> None:
    before = fingerprint(folder)
    (folder / name).write_text("state")
    assert fingerprint(folder) == before


def test_files_that_change_places_change_it(folder: Path) -> None:
    before = fingerprint(folder)
    one, other = folder / "tokenizer.json", folder / "tokenizer_config.json"
    contents = one.read_text(), other.read_text()
    one.write_text(contents[1])
    other.write_text(contents[0])
    assert fingerprint(folder) != before


def test_every_shard_counts(save: Callable[..., Path]) -> None:
    folder = save(shard="4KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    before = fingerprint(folder)
    shards[-1].write_bytes(shards[-1].read_bytes()[:-1] + b"\x01")
    assert fingerprint(folder) != before


def test_a_folder_without_weights_has_none(tmp_path: Path) -> None:
    with pytest.raises(CkptbenchError, match="no weights"):
        fingerprint(tmp_path)


def test_files_may_be_hashed_before_they_are_asked_for(tmp_path: Path) -> None:
    files = {}
    for name, size in {"empty": 0, "small": 3, "large": 2**20 + 1}.items():
        files[name] = tmp_path / name
        files[name].write_bytes(bytes(size))
    with Digests() as digests:
        digests.begin(*files.values())
        for file in files.values():
            assert digests.of(file) == hashlib.sha256(file.read_bytes()).hexdigest()
        assert hash_of_files(files, digests) == hash_of_files(files)
        with pytest.raises(FileNotFoundError):
            digests.of(tmp_path / "gone")


def test_hashing_ends_when_nobody_waits_for_it() -> None:
    with Digests() as digests:
        digests.begin(Path("/dev/zero"))
