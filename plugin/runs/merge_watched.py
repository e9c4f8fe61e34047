"""The parts of a watched run, one for each checkpoint, as one run's folder.

A part is a run of one checkpoint, so its items do not name it. In the whole they do, as in a
session of several checkpoints: a node id pasted from it asks the same item.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from .._util.atomic import atomic_write_text, atomic_writer
from ..readers.run import read_summary
from ..reports.run_files import write_reports
from ..results.layout import safe_name
from ..results.lm_eval_format import read_official, united
from ..results.store import PARTS
from ..results.summary import CheckpointResult, Summary

_NODE_ID = re.compile(r'("nodeid": "[^"\[]*\[)')


def join(folder: Path, names: Sequence[str], notes: Sequence[str] = ()) -> Summary:
    """Write the run's folder anew from its parts, `<folder>/parts/<name>`.

    Args:
        names: of the parts that belong to the run, in the order of their training.
        notes: what else the reader must know.

    Raises:
        CkptbenchError: a part cannot be read, or a file cannot be written.
    """
    parts = [folder / PARTS / name for name in names]
    summaries = [read_summary(part) for part in parts]
    several = len(parts) > 1
    newest = max(summaries, key=lambda summary: datetime.fromisoformat(summary.started))
    specs = [f"--checkpoint={c.spec}" for summary in summaries for c in summary.checkpoints]
    whole = replace(
        newest,
        run_id=folder.name,
        started=min((s.started for s in summaries), key=datetime.fromisoformat),
        seconds=round(sum(summary.seconds for summary in summaries), 3),
        complete=all(summary.complete for summary in summaries),
        exit_status=max(summary.exit_status for summary in summaries),
        checkpoints=tuple(
            _named(held, several) for summary in summaries for held in summary.checkpoints
        ),
        notes=tuple(dict.fromkeys([*(n for s in summaries for n in s.notes), *notes])),
        unwritten=tuple(dict.fromkeys(told for s in summaries for told in s.unwritten)),
        rerun_options=(*specs, *_without_checkpoint(newest.rerun_options)),
    )
    official = {
        checkpoint: united(found.values())
        for part, summary in zip(parts, summaries, strict=True)
        for checkpoint, found in read_official(part, summary).items()
    }
    write_reports(folder, whole, official)
    errors = []
    for part, summary in zip(parts, summaries, strict=True):
        for checkpoint in summary.checkpoints:
            _copy_samples(part, folder, checkpoint, several)
        for pattern in ("*_baseline.json", "*.csv"):
            for file in part.glob(pattern):
                shutil.copy2(file, folder)
        if (part / "errors.log").exists():
            errors.append((part / "errors.log").read_text(encoding="utf-8"))
    if errors:
        atomic_write_text(folder / "errors.log", "".join(errors))
    else:
        (folder / "errors.log").unlink(missing_ok=True)
    return whole


def _named(checkpoint: CheckpointResult, several: bool) -> CheckpointResult:
    """A checkpoint whose items name it, where there are several."""
    if not several:
        return checkpoint

    def named(nodeid: str) -> str:
        return nodeid.replace("[", f"[{checkpoint.name}/", 1)

    return replace(
        checkpoint,
        benchmarks=tuple(
            replace(
                bench,
                flips=tuple(replace(flip, nodeid=named(flip.nodeid)) for flip in bench.flips),
                errors=tuple(map(named, bench.errors)),
            )
            for bench in checkpoint.benchmarks
        ),
    )


def _copy_samples(part: Path, folder: Path, checkpoint: CheckpointResult, several: bool) -> None:
    place = Path("samples", safe_name(checkpoint.name))
    for file in sorted((part / place).glob("*.jsonl")):
        with (
            file.open(encoding="utf-8") as lines,
            atomic_writer(folder / place / file.name) as copy,
        ):
            copy.writelines(
                _NODE_ID.sub(rf"\g<1>{checkpoint.name}/", line, count=1) if several else line
                for line in lines
            )


def _without_checkpoint(options: Sequence[str]) -> Iterator[str]:
    for option in options:
        if not re.match(r"--(ckpt-)?checkpoint=", option):
            yield option
