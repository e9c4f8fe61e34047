"""The metadata of a group of items: everything that aggregating their outcomes needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .._util.jsonio import Scalar

VERSION = 1


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """One benchmark under one protocol for one checkpoint, as the run store keeps it.

    Attributes:
        checkpoint: its name; `spec` is what `--checkpoint` named.
        run, step, epoch, facts: its position in training, as far as its name and files give it.
        primary: whether the protocol is the first of its benchmark's.
        reducer: how outcomes become scores; see `scores.reducers.reducer_of`.
        dataset, source, licence: of the dataset.
        own_checkpoint: whether the suite's own fixture loads the checkpoint.
        left_out: ids of samples that the dataset left out for `--limit`.
        settings: what affects the outcomes besides the engine, such as the time limit of programs.
        metrics: the metrics that a configuration file requests; None for all.
        asked: settings of the configuration file and options: `{"value": ..., "source": ...}`.
        output_path: where a copy of the result goes; empty without one.
        log_samples: whether that copy lists every document.
        identity: settings that two results must share to be compared; see `gate.identity`.
        version: of this record.
    """

    checkpoint: str
    benchmark: str
    protocol: str
    primary: bool
    reducer: Mapping[str, Any]
    spec: str = ""
    run: str = ""
    step: int | None = None
    epoch: float | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    dataset: str = ""
    source: str = ""
    licence: str = ""
    own_checkpoint: bool = False
    left_out: tuple[str, ...] = ()
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    metrics: tuple[str, ...] | None = None
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    output_path: str = ""
    log_samples: bool = False
    identity: Mapping[str, Scalar] = field(default_factory=dict)
    version: int = VERSION

    @property
    def key(self) -> tuple[str, str]:
        """Checkpoint and protocol: groups of two parts of a run that have it are one."""
        return self.checkpoint, self.protocol

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> GroupMetadata:
        """The record of its fields as JSON; those that an earlier version lacks have defaults."""
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        for name in ("left_out", "metrics"):
            if known.get(name) is not None:
                known[name] = tuple(known[name])
        return cls(**known)
