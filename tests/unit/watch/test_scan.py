"""When a checkpoint is ready: whole, and still for the settling time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ckptbench.watch.scan import Scanner, is_meant, signature_of


class Clock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scanner(tmp_path: Path, clock: Clock) -> Scanner:
    return Scanner(tmp_path, clock, settle_s=10)


def test_a_checkpoint_must_lie_still_for_the_settling_time(
    scanner: Scanner, clock: Clock, tmp_path: Path, checkpoint_folder: Any
) -> None:
    checkpoint_folder(tmp_path / "checkpoint-1")
    assert scanner.look().unready == {"checkpoint-1": "still being written"}
    clock.now += 9
    assert scanner.look().ready == ()
    clock.now += 1
    (ready,) = scanner.look().ready
    assert (ready.name, ready.path) == ("checkpoint-1", tmp_path / "checkpoint-1")


def test_a_file_that_comes_or_grows_or_is_touched_starts_the_time_anew(
    scanner: Scanner, clock: Clock, tmp_path: Path, checkpoint_folder: Any
) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1")
    scanner.look()
    for change in (
        lambda: (folder / "optimizer.pt").write_bytes(b"1"),
        lambda: (folder / "optimizer.pt").write_bytes(b"12"),
        lambda: os.utime(folder / "config.json", ns=(1, 1)),
    ):
        clock.now += 9
        change()
        assert scanner.look().changed
        clock.now += 9
        assert scanner.look().ready == ()
    clock.now += 1
    assert len(scanner.look().ready) == 1


def test_what_is_still_but_not_whole_says_what_it_lacks(
    scanner: Scanner, clock: Clock, tmp_path: Path, checkpoint_folder: Any
) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1")
    (folder / "model.safetensors").write_bytes(b"")
    scanner.look()
    clock.now += 100
    (why,) = scanner.look().unready.values()
    assert why == "model.safetensors is cut off in its header"


def test_a_deleted_checkpoint_is_gone_once(
    scanner: Scanner, clock: Clock, tmp_path: Path, checkpoint_folder: Any
) -> None:
    checkpoint_folder(tmp_path / "checkpoint-1")
    scanner.look()
    shutil.rmtree(tmp_path / "checkpoint-1")
    snapshot = scanner.look()
    assert snapshot.gone == ("checkpoint-1",)
    assert snapshot.changed
    assert scanner.look().gone == ()


def test_a_checkpoint_written_over_is_another_one(tmp_path: Path, checkpoint_folder: Any) -> None:
    folder = checkpoint_folder(tmp_path / "checkpoint-1")
    before = signature_of(folder)
    assert signature_of(folder) == before
    (folder / "model.safetensors").touch()
    assert signature_of(folder) != before


def test_the_same_files_elsewhere_have_the_same_signature(
    tmp_path: Path, checkpoint_folder: Any
) -> None:
    before = signature_of(checkpoint_folder(tmp_path / "a/checkpoint-1"))
    (tmp_path / "a").rename(tmp_path / "b")
    assert signature_of(tmp_path / "b/checkpoint-1") == before


def test_a_folder_that_is_not_there_yet_holds_nothing(tmp_path: Path, clock: Clock) -> None:
    snapshot = Scanner(tmp_path / "later", clock).look()
    assert (snapshot.ready, snapshot.unready, snapshot.changed) == ((), {}, False)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("checkpoint-100", True),
        ("checkpoint_epoch_3.pt", True),
        ("checkpoint_best.pth", True),
        ("epoch=3-step=655.ckpt", True),
        ("last.ckpt", True),
        ("last.ckpt.part", False),
        ("logs", False),
        ("tmp-checkpoint-100", False),
        ("checkpoint-100.tmp", False),
        ("checkpoint-100.tmp-4f2a", False),
        ("checkpoint-100.part", False),
        (".checkpoint-100", False),
    ],
)
def test_names_of_checkpoints(name: str, meant: bool) -> None:
    assert is_meant(name) is meant


def test_a_temporary_name_is_left_alone_whatever_the_pattern() -> None:
    assert is_meant("epoch3", ("*",))
    assert not is_meant("tmp-epoch3", ("*",))
