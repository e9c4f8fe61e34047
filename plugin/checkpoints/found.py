"""A checkpoint that was found, and its place in its training."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .._util.names import Natural, epoch_in, natural_key, step_in
from .trainer_state import read_trainer_state


@dataclass(frozen=True, slots=True)
class Found:
    """One checkpoint of a session.

    Attributes:
        spec: what is resolved to it, as if it had been given alone.
        path: the folder or file, absolute; None for what is no place on this machine's disk.
        run: name of the training run: of the folder it lies in.
        step: optimizer steps it was trained for, of its name or its trainer's state.
        epoch: passes over the training data, of its trainer's state or its name.
        facts: what else its trainer states, scalars by name.
        fault: why its trainer's state could not be read; empty when it could.
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
    state = read_trainer_state(path)
    named_step, named_epoch = step_in(path.name), epoch_in(path.name)
    return Found(
        spec=spec,
        path=path,
        step=named_step if named_step is not None else state.step,
        epoch=state.epoch if state.epoch is not None else named_epoch,
        facts=state.facts,
        fault=state.fault,
    )


def with_runs(found: Sequence[Found]) -> list[Found]:
    """The same with the names of their runs: of the folder above, longer where two are alike."""
    folders = list(dict.fromkeys(each.path.parent for each in found if each.path is not None))
    names = _names_of(folders)
    return [
        each if each.path is None else replace(each, run=names[each.path.parent]) for each in found
    ]


def _names_of(folders: Sequence[Path]) -> dict[Path, str]:
    parts = {folder: [part for part in folder.parts if part != os.sep] for folder in folders}
    longest = max(map(len, parts.values()), default=1)
    names: dict[Path, str] = {}
    for depth in range(1, max(longest, 1) + 1):
        names = {folder: "/".join(held[-depth:]) for folder, held in parts.items()}
        if len(set(names.values())) == len(names):
            break
    return names
