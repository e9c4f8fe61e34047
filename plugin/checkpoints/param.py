"""The session's checkpoints by name, as parameters of its items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.jsonio import Scalar

if TYPE_CHECKING:
    from .found import Found

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .found import Found


_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class CheckpointParam:
    """One `--checkpoint` of the session.

    Attributes:
        index: its place among them, from 0.
        name: short and unique, of `[A-Za-z0-9_.-]`.
        spec: what was given, or one match of a pattern.
        run, step, epoch, facts: its place in its training, as far as that is known before it is
            loaded; see `sweep.found.Found`.
    """

    index: int
    name: str
    spec: str
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict, hash=False)


def named(found: Sequence[Found]) -> tuple[CheckpointParam, ...]:
    """The checkpoints of a session with their names and places; each spec is there once."""
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
        names = [_NAME.sub("-", "_".join(p[-depth:])).strip("-.") or "checkpoint" for p in parts]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{name}-{i}" for i, name in enumerate(names)]
    return tuple(CheckpointParam(i, names[i], spec) for i, spec in enumerate(unique))


def _parts(spec: str) -> list[str]:
    """The parts of a path; of the absolute one where the last part says nothing.

    An address is named by its host: every one of them ends alike.
    """
    if "://" in spec:
        return [re.sub(r"(/v1)?(/chat)?(/completions)?/*$", "", spec.partition("://")[2]) or spec]
    path = Path(spec)
    if path.name in ("", "..") and path.exists():
        path = path.resolve()
    return [part for part in re.split(r"[/\\]+", str(path)) if part not in ("", ".")] or [spec]
