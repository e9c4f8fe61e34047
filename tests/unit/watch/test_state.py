"""What a watch leaves for the next one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.watch.state import FILE, read_state, sole_watch

ARGUMENTS = ["benchmarks", "--limit=20"]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    run, watched = tmp_path / "run", tmp_path / "runs"
    state = read_state(run, watched, ARGUMENTS)
    state.evaluated["checkpoint-1"] = "abc"
    state.missed["checkpoint-2"] = "was deleted before it was evaluated"
    state.write(run)
    again = read_state(run, watched, ARGUMENTS)
    assert again == state
    assert again.notes() == [
        "checkpoint-2 was deleted before it was evaluated: it is not in this run"
    ]


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    arguments = ["benchmarks", "--api-key=geheim"]
    read_state(tmp_path, tmp_path, arguments).write(tmp_path)
    assert "geheim" not in (tmp_path / FILE).read_text()
    assert read_state(tmp_path, tmp_path, arguments).arguments == ["benchmarks", "--api-key=***"]


def test_parts_that_were_asked_otherwise_are_no_whole(tmp_path: Path) -> None:
    state = read_state(tmp_path, tmp_path, ARGUMENTS)
    state.write(tmp_path)
    assert read_state(tmp_path, tmp_path, ["benchmarks"]).arguments == ["benchmarks"]
    state.evaluated["checkpoint-1"] = "abc"
    state.write(tmp_path)
    with pytest.raises(CkptbenchError, match="other arguments for pytest: benchmarks --limit=20"):
        read_state(tmp_path, tmp_path, ["benchmarks"])


def test_another_folders_run_is_refused(tmp_path: Path) -> None:
    read_state(tmp_path, tmp_path / "a", ARGUMENTS).write(tmp_path)
    with pytest.raises(CkptbenchError, match="is of another folder"):
        read_state(tmp_path, tmp_path / "b", ARGUMENTS)


def test_a_run_of_pytests_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(CkptbenchError, match="was not watched"):
        read_state(tmp_path, tmp_path, ARGUMENTS)


@pytest.mark.parametrize("text", ["{", "[]", '{"folder": "x"}', json.dumps({"no": 1})])
def test_a_broken_state_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(CkptbenchError, match=r"watch\.json: cannot be read"):
        read_state(tmp_path, tmp_path, ARGUMENTS)


def test_one_watch_at_a_time_writes_a_run(tmp_path: Path) -> None:
    for _ in range(2):  # the lock is given back
        with (
            sole_watch(tmp_path),
            pytest.raises(CkptbenchError, match="another watch writes this run"),
            sole_watch(tmp_path),
        ):
            pass


def test_a_run_whose_folder_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(CkptbenchError, match=r"file/run: cannot be written"),
        sole_watch(tmp_path / "file/run"),
    ):
        pass
