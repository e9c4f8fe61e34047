"""What a `.pt` file states of its training, as numbers by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ckptbench.fixtures.checkpoints.torch_file import read_torch_file


@pytest.mark.parametrize(
    ("content", "stated"),
    [
        ({}, {}),
        ({"epoch": 3}, {"epoch": 3.0}),
        ({"epoch": 3, "global_step": 655}, {"epoch": 3.0, "step": 655}),
        ({"val_metrics": {"loss": 2.5, "acc": 0.5}}, {"val_loss": 2.5, "val_acc": 0.5}),
        ({"val_metrics": {"val_loss": 2.5}}, {"val_loss": 2.5}),
        ({"train_metrics": {"loss": torch.tensor(1.5)}}, {"train_loss": 1.5}),
        ({"val_loss": 2.25}, {"val_loss": 2.25}),
        ({"epoch": "three", "val_loss": float("nan"), "step": 1.5}, {}),
    ],
)
def test_epoch_step_and_losses(tmp_path: Path, content: Any, stated: dict[str, float]) -> None:
    path = tmp_path / "checkpoint.pt"
    torch.save({"model_state_dict": {"weight": torch.zeros(1)}, **content}, path)
    assert read_torch_file(path).numbers == stated
