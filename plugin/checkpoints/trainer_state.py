"""What a trainer wrote beside a checkpoint about how far it had come."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE_NAME = "trainer_state.json"


@dataclass(frozen=True, slots=True)
class TrainerState:
    """The parts of `trainer_state.json` that place a checkpoint in its training.

    Attributes:
        step: `global_step`.
        epoch: passes over the training data.
        facts: what was measured while training, by name: `val_loss` is the `eval_loss` of this
            very step, because that of an earlier one is another checkpoint's; `train_loss` is the
            last `loss` logged up to this step, which trainers log at steps of their own.
        fault: why the file could not be read; empty when it could, or when there is none.
    """

    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""


def read_trainer_state(checkpoint: Path) -> TrainerState:
    """The state beside a checkpoint's weights; an empty one where the folder holds none.

    A file that is damaged says nothing, and why: the checkpoint can still be asked.
    """
    path = checkpoint / FILE_NAME
    if not path.is_file():
        return TrainerState()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return TrainerState(fault=f"{path} cannot be read: {error}")
    if not isinstance(content, dict):
        return TrainerState(fault=f"{path} holds no JSON object")
    step = _number(content.get("global_step"))
    history = _entries(content.get("log_history"))
    losses = [_number(e.get("eval_loss")) for e in history if step == _number(e.get("step"))]
    stated = [loss for loss in losses if loss is not None and step is not None]
    return TrainerState(
        step=int(step) if step is not None else None,
        epoch=_number(content.get("epoch")),
        facts={**({"val_loss": stated[-1]} if stated else {}), **_training_loss(history, step)},
    )


def _training_loss(history: list[dict[str, Any]], step: float | None) -> dict[str, float]:
    """`train_loss`, of the last entry with a `loss` up to the step; nothing without one."""
    logged = [
        (at, loss)
        for entry in history
        if (at := _number(entry.get("step"))) is not None
        and (loss := _number(entry.get("loss"))) is not None
        and step is not None
        and at <= step
    ]
    return {"train_loss": max(logged, key=lambda pair: pair[0])[1]} if logged else {}


def _entries(history: Any) -> list[dict[str, Any]]:
    return [e for e in history if isinstance(e, dict)] if isinstance(history, list) else []


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
