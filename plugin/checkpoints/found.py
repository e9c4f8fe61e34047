"""Checkpoints that were found: their step and epoch in training, and their names in a session."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._util.jsonio import Scalar, is_number
from .._util.names import Natural, epoch_in, natural_key, step_in

STATE_FILE = "trainer_state.json"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Found:
    """One checkpoint of a session.

    Attributes:
        spec: the `--checkpoint` that would mean this one alone.
        path: the folder or file, absolute; None for what is not on this machine's disk.
        run: name of the training run: of the folder it is in.
        step: optimizer steps it was trained for, of its name or its trainer's state.
        epoch: passes over the training data, of its trainer's state or its name.
        facts: what else its trainer records: `val_loss` is the `eval_loss` of this very step,
            because that of an earlier one is another checkpoint's; `train_loss` is the last `loss`
            logged up to this step, as trainers do not log at every step.
        fault: why its trainer's state could not be read; empty when it could, or when there is
            none.
    """

    spec: str
    path: Path | None = None
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""

    def order(self) -> tuple[Natural, float, float, Natural]:
        """Runs in natural order, and a run's checkpoints by step; those without one come last."""
        folder = str(self.path.parent) if self.path else ""
        return (
            natural_key(folder),
            float("inf") if self.step is None else self.step,
            float("inf") if self.epoch is None else self.epoch,
            natural_key(self.path.name if self.path else self.spec),
        )


def found_at(spec: str, path: Path) -> Found:
    """What is known of the checkpoint at a path that exists."""
    found = _with_trainer_state(Found(spec, path), path / STATE_FILE)
    step, epoch = step_in(path.name), epoch_in(path.name)
    return replace(
        found,
        step=found.step if step is None else step,
        epoch=epoch if found.epoch is None else found.epoch,
    )


def found_elsewhere(spec: str) -> Found:
    """What the name alone tells of a checkpoint that is no path: `NAME@step1000` of the hub."""
    name, at, revision = spec.partition("@")
    if not at or "://" in spec:
        return Found(spec)
    return Found(spec, run=name, step=step_in(revision), epoch=epoch_in(revision))


def _with_trainer_state(found: Found, path: Path) -> Found:
    """With what the file beside its weights says, or why it cannot be read."""
    if not path.is_file():
        return found
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return replace(found, fault=f"{path} cannot be read: {error}")
    if not isinstance(content, dict):
        return replace(found, fault=f"{path} holds no JSON object")
    step = _number(content.get("global_step"))
    history = content.get("log_history")
    history = [e for e in history if isinstance(e, dict)] if isinstance(history, list) else []
    facts: dict[str, float] = {}
    if step is not None:
        losses = [(_number(entry.get("step")), entry) for entry in history]
        of_step = [_number(entry.get("eval_loss")) for at, entry in losses if at == step]
        if known := [loss for loss in of_step if loss is not None]:
            facts["val_loss"] = known[-1]
        logged = [
            (at, loss)
            for at, entry in losses
            if at is not None and at <= step and (loss := _number(entry.get("loss"))) is not None
        ]
        if logged:
            facts["train_loss"] = max(logged, key=lambda pair: pair[0])[1]
    step = None if step is None else int(step)
    return replace(found, step=step, epoch=_number(content.get("epoch")), facts=facts)


def _number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def with_runs(found: Sequence[Found]) -> list[Found]:
    """The same with the names of their runs: of the folder above, longer where two are alike."""
    folders = dict.fromkeys(each.path.parent for each in found if each.path is not None)
    parts = {folder: [part for part in folder.parts if part != os.sep] for folder in folders}
    names: dict[Path, str] = {}
    for depth in range(1, max(map(len, parts.values()), default=0) + 1):
        names = {folder: "/".join(each[-depth:]) for folder, each in parts.items()}
        if len(set(names.values())) == len(names):
            break
    return [
        replace(each, run=names.get(each.path.parent, "")) if each.path else each for each in found
    ]


@dataclass(frozen=True, slots=True)
class CheckpointParam:
    """One `--checkpoint` of the session.

    Attributes:
        index: among them, from 0.
        name: short and unique, of `[A-Za-z0-9_.-]`.
        spec: what was given, or one match of a pattern.
        run, step, epoch, facts: as far as they are known before it is loaded; see `Found`.
    """

    index: int
    name: str
    spec: str
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict, hash=False)


def named(found: Sequence[Found]) -> tuple[CheckpointParam, ...]:
    """The session's parameters for found checkpoints; each spec is there once."""
    params = checkpoint_params([each.spec for each in found])
    return tuple(
        replace(param, run=each.run, step=each.step, epoch=each.epoch, facts=each.facts)
        for param, each in zip(params, found, strict=True)
    )


def checkpoint_params(specs: Sequence[str]) -> tuple[CheckpointParam, ...]:
    """Name the session's checkpoints: by the last part of the path, longer where two are alike."""
    unique = list(dict.fromkeys(specs))
    parts = [_parts(spec) for spec in unique]
    for depth in range(1, max((len(p) for p in parts), default=1) + 1):
        names = [
            _NOT_IN_NAMES.sub("-", "_".join(p[-depth:])).strip("-.") or "checkpoint" for p in parts
        ]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{name}-{i}" for i, name in enumerate(names)]
    return tuple(CheckpointParam(i, names[i], spec) for i, spec in enumerate(unique))


def _parts(spec: str) -> list[str]:
    """The parts of a path, of the absolute one where the last part is no name; or a host."""
    if "://" in spec:
        return [re.sub(r"(/v1)?(/chat)?(/completions)?/*$", "", spec.partition("://")[2]) or spec]
    path = Path(spec)
    if path.name in ("", "..") and path.exists():
        path = path.resolve()
    return [part for part in re.split(r"[/\\]+", str(path)) if part not in ("", ".")] or [spec]
