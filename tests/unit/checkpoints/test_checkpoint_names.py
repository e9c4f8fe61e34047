"""Checkpoints of a session get short names that tell them apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckptbench.checkpoints.found import checkpoint_params


def names(*specs: str) -> list[str]:
    return [param.name for param in checkpoint_params(specs)]


def test_the_last_part_of_the_path_is_the_name() -> None:
    assert names("runs/x/checkpoint-655", "runs/x/checkpoint-700/") == [
        "checkpoint-655",
        "checkpoint-700",
    ]


def test_alike_last_parts_get_the_parts_before() -> None:
    assert names("runs/x/checkpoint-1", "runs/y/checkpoint-1") == [
        "x_checkpoint-1",
        "y_checkpoint-1",
    ]


def test_a_checkpoint_given_twice_is_one() -> None:
    params = checkpoint_params(["a/b", "c", "a/b"])
    assert [(p.index, p.name, p.spec) for p in params] == [(0, "b", "a/b"), (1, "c", "c")]


@pytest.mark.parametrize("spec", ["모델/체크포인트 1", "https://host:80/v1", "a+adapter=b", "x y"])
def test_names_hold_only_what_node_ids_may(spec: str) -> None:
    (name,) = names(spec)
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", name)


def test_names_that_stay_alike_are_numbered() -> None:
    found = names("가", "나")
    assert len(set(found)) == 2


@pytest.mark.parametrize("specs", [["a", "./a"], ["a/b", "a//b"], ["/a/b", "a/b"], ["x y", "x_y"]])
def test_names_are_unique_whatever_is_given(specs: list[str]) -> None:
    assert len(set(names(*specs))) == 2


def test_a_root_or_dot_has_a_name_too() -> None:
    assert all(names(".", "/", ".."))


def test_the_folder_one_stands_in_has_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkpoint-3").mkdir()
    monkeypatch.chdir(tmp_path / "checkpoint-3")
    assert names(".") == ["checkpoint-3"]


def test_none_given_none_named() -> None:
    assert checkpoint_params([]) == ()
