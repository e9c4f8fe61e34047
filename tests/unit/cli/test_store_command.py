"""`ckptbench store`: lists, verifies and removes stored answers."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ckptbench import Generated
from ckptbench.cli import main
from ckptbench.results.answers import Key, encode
from ckptbench.results.layout import STORE
from ckptbench.results.store import RunStore


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in ("nightly", "old", "watched/parts/step-1"):
        store = RunStore(tmp_path / name)
        keys = [Key(f"d{n}", "f", "p", "s", 0, 0) for n in range(3)]
        store.add([(key, encode(Generated("a text", 2, "eos"))) for key in keys])
        store.close()
    then = time.time() - 40 * 86_400
    os.utime(tmp_path / "old" / STORE, (then, then))
    return tmp_path


def answers(results: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    capsys.readouterr()
    assert main(["store", "ls", str(results)]) == 0
    lines = (line.split("  ") for line in capsys.readouterr().out.splitlines())
    return {Path(name).name: int(number.split()[0]) for name, number, *_ in lines}


def test_runs_are_listed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answers(results, capsys) == {"nightly": 3, "old": 3, "step-1": 3}


def test_damage_is_named_and_decides_the_exit_status(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "verify", str(results)]) == 0
    store = results / "old" / STORE
    store.write_bytes(store.read_bytes().replace(b"a text", b"a test", 1))
    (results / "nightly" / STORE).write_bytes(b"nothing of a store" * 99)
    capsys.readouterr()
    assert main(["store", "verify", str(results)]) == 1
    said = capsys.readouterr()
    assert f"{store}: 1 answers differ from their checksums" in said.out
    assert f"{results / 'nightly' / STORE}: cannot be read: file is not a database" in said.out
    assert "step-1/store.sqlite: intact" in said.out
    assert "2 stores damaged" in said.err


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        (["--older-than", "30"], {"nightly": 3, "old": 0, "step-1": 3}),
        (["--except", "watched"], {"nightly": 0, "old": 0, "step-1": 3}),
        (["--older-than", "30", "--except", "old"], {"nightly": 3, "old": 3, "step-1": 3}),
    ],
)
def test_only_the_selected_answers_are_removed(
    results: Path, capsys: pytest.CaptureFixture[str], chosen: list[str], left: dict[str, int]
) -> None:
    assert main(["store", "prune", str(results), *chosen]) == 0
    assert answers(results, capsys) == left
    assert not list(results.rglob("*-wal"))


def test_without_a_selection_nothing_is_removed(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "prune", str(results)]) == 2
    assert "--older-than" in capsys.readouterr().err
    assert answers(results, capsys) == {"nightly": 3, "old": 3, "step-1": 3}


def test_a_folder_without_runs_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "verify", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
