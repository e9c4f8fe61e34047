"""What of a run is sent to MLflow, as plain values: one record a session, one a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from .._util.names import step_in
from ..gate.verdict import SEVERITY
from ..reports.conclusion import conclude
from ..results.summary import CheckpointResult, Summary
from ..scores.score import Score
from .names import (
    MOST_PARAM_CHARACTERS,
    MOST_TAG_CHARACTERS,
    cut,
    legal_name,
    metric_name,
    standard_error_name,
)

RUN_ID = "ckptbench.run_id"
CHECKPOINT = "ckptbench.checkpoint"


@dataclass(frozen=True, slots=True)
class Record:
    """One run of MLflow.

    Attributes:
        name: its name.
        params: what it was measured with; MLflow never lets one be changed.
        points: values by metric and step.
        tags: what may be changed later; `RUN_ID` and `CHECKPOINT` find it again.
        complete: whether it is FINISHED rather than FAILED.
    """

    name: str
    params: Mapping[str, str]
    points: Mapping[tuple[str, int], float]
    tags: Mapping[str, str]
    complete: bool


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: the parent, whose metrics are curves, and a child for each checkpoint.

    Attributes:
        started_ms: when the session began, milliseconds since 1970.
        ended_ms: when it ended.
    """

    parent: Record
    children: tuple[Record, ...]
    started_ms: int
    ended_ms: int


def record_of(summary: Summary) -> SessionRecord:
    """What is sent of a session."""
    steps = steps_of(summary)
    children = tuple(
        _child(summary, checkpoint, steps[checkpoint.name]) for checkpoint in summary.checkpoints
    )
    started_ms = int(datetime.fromisoformat(summary.started).timestamp() * 1000)
    ended_ms = started_ms + int(summary.seconds * 1000)
    return SessionRecord(_parent(summary, children), children, started_ms, ended_ms)


def steps_of(summary: Summary) -> dict[str, int]:
    """Where each checkpoint stands on MLflow's axis.

    Its training step where every checkpoint's is known, else its place in the session: an axis of
    both would order nothing. Checkpoints of one step (of several runs) share a place.
    """
    steps = {c.name: _step(c) for c in summary.checkpoints}
    if all(step is not None for step in steps.values()):
        return {name: step for name, step in steps.items() if step is not None}
    return {name: place for place, name in enumerate(steps)}


def _step(checkpoint: CheckpointResult) -> int | None:
    return step_in(checkpoint.name) if checkpoint.step is None else checkpoint.step


def _parent(summary: Summary, children: tuple[Record, ...]) -> Record:
    tags = {
        RUN_ID: summary.run_id,
        "mlflow.note.content": cut(conclude(summary).text, MOST_TAG_CHARACTERS),
        "ckptbench.checkpoints": str(len(children)),
        "ckptbench.exit_status": str(summary.exit_status),
        "ckptbench.gate": summary.gate,
        "ckptbench.complete": _spelled(summary.complete),
        "ckptbench.verdict": _verdict(summary.checkpoints),
        **{f"environment.{name}": value for name, value in summary.environment.items()},
    }
    points: dict[tuple[str, int], float] = {}
    for child in children:
        points.update(child.points)
    shared = _shared([child.params for child in children], _own_params(summary))
    curve = points if _one_line(children) else {}
    return Record(summary.run_id, shared, curve, _legal(tags), summary.complete)


def _one_line(children: Iterable[Record]) -> bool:
    """Whether the checkpoints stand on one line: no two of them at one step."""
    steps = [{step for _, step in child.points} for child in children if child.points]
    return len(set().union(*steps)) == len(steps)


def _own_params(summary: Summary) -> frozenset[str]:
    """Names of params that are about one checkpoint, even where it is the only one."""
    facts = {legal_name(name) for checkpoint in summary.checkpoints for name in checkpoint.facts}
    return frozenset({"checkpoint", "spec", "fingerprint", "run", "step", "epoch"} | facts)


def _shared(params: list[Mapping[str, str]], own: frozenset[str]) -> dict[str, str]:
    """What is the same for every checkpoint, and not about one of them."""
    first = params[0] if params else {}
    return {
        name: value
        for name, value in first.items()
        if name not in own and all(other.get(name) == value for other in params)
    }


def _child(summary: Summary, checkpoint: CheckpointResult, step: int) -> Record:
    points: dict[tuple[str, int], float] = {}
    tags = {
        RUN_ID: summary.run_id,
        CHECKPOINT: checkpoint.name,
        "ckptbench.verdict": _verdict([checkpoint]),
        "ckptbench.baseline": checkpoint.baseline,
    }
    for bench in checkpoint.benchmarks:
        protocol = "" if bench.primary else bench.protocol
        for score in bench.scores:
            _add(points, score, metric_name(score.metric, protocol), step)
        for verdict in bench.verdicts:
            tags[f"verdict.{metric_name(verdict.metric, protocol)}"] = verdict.word
    if checkpoint.composite is not None:
        score = checkpoint.composite.score
        _add(points, score, metric_name(score.metric), step)
    val_loss = checkpoint.facts.get("val_loss")
    if isinstance(val_loss, int | float):
        points["val_loss", step] = float(val_loss)
    complete = all(bench.coverage.complete for bench in checkpoint.benchmarks)
    tags["ckptbench.complete"] = _spelled(complete)
    return Record(
        checkpoint.name,
        _params(summary, checkpoint),
        points,
        _legal({name: text for name, text in tags.items() if text}),
        complete,
    )


def _params(summary: Summary, checkpoint: CheckpointResult) -> dict[str, str]:
    benches = checkpoint.benchmarks
    known = {
        "checkpoint": checkpoint.name,
        "spec": checkpoint.spec,
        "fingerprint": checkpoint.fingerprint,
        "run": checkpoint.run,
        "step": _step(checkpoint),
        "epoch": checkpoint.epoch,
        "dataset": ", ".join(dict.fromkeys(f"{b.dataset.name}@{b.dataset.hash}" for b in benches)),
        "protocol": ", ".join(dict.fromkeys(bench.protocol for bench in benches)),
        **summary.drawing,
        **checkpoint.facts,
        **checkpoint.settings,
    }
    return {
        legal_name(name): cut(_spelled(value), MOST_PARAM_CHARACTERS)
        for name, value in known.items()
        if value is not None and value != ""
    }


def _add(points: dict[tuple[str, int], float], score: Score, name: str, step: int) -> None:
    if score.value is None:
        return
    points[name, step] = score.value
    if score.standard_error is not None:
        points[standard_error_name(name), step] = score.standard_error


def _verdict(checkpoints: Iterable[CheckpointResult]) -> str:
    """The most severe word of the gated verdicts."""
    words = {
        verdict.word
        for checkpoint in checkpoints
        for bench in checkpoint.benchmarks
        if bench.primary
        for verdict in bench.verdicts
    }
    words |= {verdict.word for checkpoint in checkpoints for verdict in checkpoint.missing}
    return next((word for word in SEVERITY if word in words), "not compared")


def _legal(tags: Mapping[str, str]) -> dict[str, str]:
    return {legal_name(name): cut(text, MOST_TAG_CHARACTERS) for name, text in tags.items()}


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
