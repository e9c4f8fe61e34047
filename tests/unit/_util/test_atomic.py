"""A file is written whole or not at all."""

from __future__ import annotations

import json
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptbench._util.atomic import atomic_write_text, atomic_writer
from ckptbench._util.errors import CkptbenchError


def test_writes_utf8_with_unix_newlines_and_makes_the_folders(tmp_path: Path) -> None:
    target = tmp_path / "results" / "run-1" / "summary.json"
    atomic_write_text(target, "가나다\nline\n")
    assert target.read_bytes() == "가나다\nline\n".encode()
    assert os.listdir(target.parent) == ["summary.json"]


def test_the_old_content_is_there_until_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_writer(target) as file:
        file.write("new")
        file.flush()
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_whoever_has_the_old_file_open_goes_on_reading_it_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    os.link(target, tmp_path / "second name")
    with target.open() as reader:
        atomic_write_text(target, "new")
        assert reader.read() == "old"
    assert (tmp_path / "second name").read_text() == "old"
    assert target.read_text() == "new"


def test_a_block_that_raises_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def lines() -> Iterator[str]:
        yield "half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), atomic_writer(target) as file:
        file.writelines(lines())
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_disk_that_takes_no_more_is_an_error_naming_file_and_reason(tmp_path: Path) -> None:
    # A limit on the size of files stands in for a full disk: the system refuses the write.
    target = tmp_path / "samples.jsonl"
    target.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(CkptbenchError) as caught:
            atomic_write_text(target, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value) == (
        f"{target}: cannot be written: File too large\n"
        "  Free space or choose a writable folder; an earlier file of that name is unchanged."
    )
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["samples.jsonl"]


def test_a_folder_that_cannot_be_made_is_an_error_naming_the_file(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where a folder should be")
    target = tmp_path / "results" / "summary.json"
    with pytest.raises(CkptbenchError, match=r"summary\.json: cannot be written"):
        atomic_write_text(target, "{}")


def test_a_folder_or_a_device_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(CkptbenchError, match="is not a regular file"):
        atomic_write_text(tmp_path, "{}")
    with pytest.raises(CkptbenchError, match="is not a regular file"):
        atomic_write_text("/dev/null", "{}")


def test_a_file_that_the_block_fails_to_read_is_not_blamed_on_the_target(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_writer(tmp_path / "a.txt") as file:
        file.write((tmp_path / "missing" / "input.txt").read_text())
    assert os.listdir(tmp_path) == []


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "v2.json").write_text("old")
    (tmp_path / "best.json").symlink_to("v2.json")
    atomic_write_text(tmp_path / "best.json", "new")
    assert (tmp_path / "best.json").is_symlink()
    assert (tmp_path / "v2.json").read_text() == "new"


def test_the_longest_file_name_a_disk_takes_can_be_written(tmp_path: Path) -> None:
    name = "n" * 255
    atomic_write_text(tmp_path / name, "text")
    assert os.listdir(tmp_path) == [name]


def test_half_a_character_in_an_answer_reads_back_from_json(tmp_path: Path) -> None:
    broken = "가\ud83d나"
    atomic_write_text(tmp_path / "a.json", json.dumps(broken, ensure_ascii=False))
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == broken


def test_writers_at_the_same_time_leave_one_whole_content(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    contents = [letter * 50_000 for letter in "abcd"]
    threads = [threading.Thread(target=atomic_write_text, args=(target, c)) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in contents
    assert os.listdir(tmp_path) == ["a.txt"]
