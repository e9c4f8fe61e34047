"""What is sent to MLflow: a record and a few small files for the session and each checkpoint.

MLflow takes letters, digits, `_`, `-`, `.`, space and `/` in the names of metrics, params and
tags. `real@1` becomes `real_at_1`; every other character that is not allowed becomes `_`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from .._util.csv_file import write_rows
from .._util.names import step_in
from ..gate.verdict import SEVERITY
from ..reports.conclusion import conclude
from ..results.layout import safe_name
from ..results.summary import CheckpointResult, Summary
from ..scores.score import Score

RUN_ID = "ckptbench.run_id"
CHECKPOINT = "ckptbench.checkpoint"
FIRST_SAMPLES = 20
_REPORTS = ("report.*", "*.svg", "*.png")
MOST_CHARACTERS = 250
MOST_PARAM_CHARACTERS = 500  # 6,000 of newer servers, 500 of older ones
MOST_TAG_CHARACTERS = 5000
_FORBIDDEN = re.compile(r"[^\w. /-]+")


@dataclass(frozen=True, slots=True)
class Record:
    """One run of MLflow.

    Attributes:
        name: its name.
        params: what it was measured with; MLflow never lets one be changed.
        points: values by metric and step.
        tags: what may be changed later; `RUN_ID` and `CHECKPOINT` identify the run.
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
    """The position of each checkpoint on MLflow's axis.

    The training step where that of every checkpoint is known, else the index in the session.
    """
    steps = {c.name: _step(c) for c in summary.checkpoints}
    known = {name: step for name, step in steps.items() if step is not None}
    return known if len(known) == len(steps) else {n: index for index, n in enumerate(steps)}


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
    # The parent's metrics are curves only where no two checkpoints have the same step.
    steps = [{step for _, step in child.points} for child in children if child.points]
    curve = points if len(set().union(*steps)) == len(steps) else {}
    shared = _shared_params(summary, [child.params for child in children])
    return Record(summary.run_id, shared, curve, _legal(tags), summary.complete)


def _shared_params(summary: Summary, params: list[Mapping[str, str]]) -> dict[str, str]:
    """Params that are the same for every checkpoint and do not describe a single one."""
    own = {"checkpoint", "spec", "fingerprint", "run", "step", "epoch"}
    own |= {legal_name(name) for checkpoint in summary.checkpoints for name in checkpoint.facts}
    return {
        name: value
        for name, value in (params[0] if params else {}).items()
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
    if (composite := checkpoint.composite) is not None:
        _add(points, composite.score, metric_name(composite.score.metric), step)
    val_loss = checkpoint.facts.get("val_loss")
    if isinstance(val_loss, int | float):
        points["val_loss", step] = float(val_loss)
    for name, number in _bill(checkpoint).items():
        if number is not None:
            points[f"bill/{name}", step] = float(number)
    complete = all(bench.coverage.complete for bench in checkpoint.benchmarks)
    tags["ckptbench.complete"] = _spelled(complete)
    legal = _legal({name: text for name, text in tags.items() if text})
    return Record(checkpoint.name, _params(summary, checkpoint), points, legal, complete)


def _bill(checkpoint: CheckpointResult) -> dict[str, float | None]:
    """What the answers cost, where a run recorded it; None for a number that is not known."""
    spent = checkpoint.spent
    if spent is None:
        return {}
    return {
        "seconds": spent.seconds,
        "gpu_seconds": spent.gpu_seconds,
        "tokens_read": spent.tokens_read,
        "tokens_written": spent.tokens_written,
        "answers_computed": checkpoint.asked,
        "answers_reused": checkpoint.reused,
        "samples_not_needed": sum(bench.coverage.not_needed for bench in checkpoint.benchmarks),
    }


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
    for key, value in ((name, score.value), (f"{name}_se", score.standard_error)):
        if score.value is not None and value is not None:
            points[key, step] = value


def _verdict(checkpoints: Sequence[CheckpointResult]) -> str:
    words = {v.word for c in checkpoints for b in c.benchmarks if b.primary for v in b.verdicts}
    words |= {verdict.word for checkpoint in checkpoints for verdict in checkpoint.missing}
    return next((word for word in SEVERITY if word in words), "not compared")


def _legal(tags: Mapping[str, str]) -> dict[str, str]:
    return {legal_name(name): cut(text, MOST_TAG_CHARACTERS) for name, text in tags.items()}


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def legal_name(name: str) -> str:
    """A name with the forbidden characters replaced, as a path of at most 250 characters."""
    spelled = _FORBIDDEN.sub("_", name.replace("@", "_at_"))
    # MLflow wants paths in their shortest form: no empty, `.` or `..` parts.
    parts = [part for part in spelled.split("/") if part.strip(". ")]
    return "/".join(parts)[:MOST_CHARACTERS].rstrip("/ ") or "_"


def metric_name(metric: str, protocol: str = "") -> str:
    """`real_at_1`, or `real/single-mask/real_at_1` with a protocol that is not the first."""
    return legal_name(f"{protocol}/{metric}" if protocol else metric)


def cut(text: str, most: int) -> str:
    """A text that fits, its end replaced by `...` where it does not."""
    return text if len(text) <= most else text[: most - 3] + "..."


def gather_session(folder: Path, summary: Summary, steps: dict[str, int], into: Path) -> None:
    """Copy what belongs to the whole session: summary, reports, plots; make a CSV a benchmark."""
    for pattern in ("summary.json", *_REPORTS):
        for path in filter(Path.is_file, folder.glob(pattern)):
            shutil.copy2(path, into)
    if (folder / "plots").is_dir():
        shutil.copytree(folder / "plots", into / "plots", dirs_exist_ok=True)
    for benchmark in dict.fromkeys(n for c in summary.checkpoints for n in c.benchmark_names):
        path = into / f"{safe_name(benchmark)}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            write_rows(file, _scores(summary, benchmark, steps))


def gather_checkpoint(folder: Path, checkpoint: CheckpointResult, into: Path) -> None:
    """Copy what belongs to one checkpoint: its few numbers, and its first samples."""
    name = safe_name(checkpoint.name)
    if (numbers := folder / f"{name}_eval_results.json").exists():
        shutil.copy2(numbers, into)
    for path in sorted((folder / "samples" / name).glob("*.jsonl")):
        (into / "samples").mkdir(exist_ok=True)
        with path.open("rb") as whole, (into / "samples" / path.name).open("wb") as part:
            part.writelines(islice(whole, FIRST_SAMPLES))


def _scores(summary: Summary, benchmark: str, steps: dict[str, int]) -> Iterator[list[Any]]:
    """The rows of a benchmark's CSV, the header first."""
    yield [
        *("checkpoint", "step", "protocol", "metric"),
        *("value", "standard_error", "low", "high", "n", "verdict"),
    ]
    for checkpoint in summary.checkpoints:
        for result in checkpoint.benchmarks:
            if result.benchmark != benchmark:
                continue
            verdicts = {verdict.metric: verdict.word for verdict in result.verdicts}
            for score in result.scores:
                low, high = score.interval or (None, None)
                about = [checkpoint.name, steps[checkpoint.name], result.protocol, score.metric]
                figures = [score.value, score.standard_error, low, high, score.n]
                yield [*about, *figures, verdicts.get(score.metric, "")]
