"""`trainer_state.json` tells how far a checkpoint had come; a damaged one says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench.checkpoints.found import STATE_FILE, Found, found_at


def stated(folder: Path, content: Any) -> Found:
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / STATE_FILE).write_text(content if isinstance(content, str) else json.dumps(content))
    return found_at("spec", model)


def test_step_and_epoch(tmp_path: Path) -> None:
    found = stated(tmp_path, {"global_step": 655, "epoch": 0.5})
    assert found == Found("spec", tmp_path / "model", step=655, epoch=0.5)


def test_the_loss_of_this_very_step_is_the_validation_loss(tmp_path: Path) -> None:
    history = [
        {"step": 100, "loss": 2.5},
        {"step": 100, "eval_loss": 2.25},
        {"step": 200, "eval_loss": 2.0},
    ]
    state = stated(tmp_path, {"global_step": 200, "log_history": history})
    assert state.facts == {"val_loss": 2.0, "train_loss": 2.5}


def test_the_loss_of_an_earlier_step_is_another_checkpoints(tmp_path: Path) -> None:
    history = [{"step": 100, "eval_loss": 2.25}]
    assert stated(tmp_path, {"global_step": 200, "log_history": history}).facts == {}


def test_the_training_loss_is_the_last_one_logged_up_to_this_step(tmp_path: Path) -> None:
    history = [{"step": 300, "loss": 1.0}, {"step": 150, "loss": 1.5}, {"step": 100, "loss": 2.5}]
    found = stated(tmp_path, {"global_step": 200, "log_history": history})
    assert found.facts == {"train_loss": 1.5}
    assert stated(tmp_path, {"log_history": history}).facts == {}


def test_a_file_and_a_folder_without_a_state_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.pt").touch()
    for path in (tmp_path, tmp_path / "model.pt"):
        assert found_at("spec", path) == Found("spec", path)


@pytest.mark.parametrize("content", ['{"epoch": 1', "[]", "\x00"])
def test_a_damaged_state_is_told(tmp_path: Path, content: str) -> None:
    state = stated(tmp_path, content)
    assert (state.step, state.epoch) == (None, None)
    assert str(tmp_path / "model" / STATE_FILE) in state.fault


@pytest.mark.parametrize("epoch", ["2", True, None, float("nan"), [1]])
def test_what_is_no_number_is_no_epoch(tmp_path: Path, epoch: Any) -> None:
    found = stated(tmp_path, {"global_step": 5, "epoch": epoch})
    assert (found.step, found.epoch) == (5, None)
