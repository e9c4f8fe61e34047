"""Merges the parts of a watched run, one for each checkpoint, into one run's folder.

A part is a run of one checkpoint, so its node ids do not name it. In the merged run they do, as in
a session of several checkpoints: a node id pasted from it runs the same item.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from .._util.atomic import atomic_write_text, atomic_writer
from .._util.names import with_checkpoint
from ..readers.run import read_summary
from ..reports.run_files import write_reports
from ..results.layout import PARTS, safe_name
from ..results.lm_eval_format import read_official, united
from ..results.summary import CheckpointResult, Summary

_NODE_ID = re.compile(r'("nodeid": "[^"\[]*\[)')


def join(folder: Path, names: Sequence[str], notes: Sequence[str] = ()) -> Summary:
    """Write the run's folder anew from its parts, `<folder>/parts/<name>`.

    Each part keeps its own verdicts: it was compared with the baseline when it was evaluated.

    Args:
        names: of the parts that belong to the run, in the order of their training.
        notes: further notes of the run.

    Raises:
        CkptbenchError: a part cannot be read, or a file cannot be written.
    """
    summaries = {folder / PARTS / name: read_summary(folder / PARTS / name) for name in names}
    several = len(summaries) > 1
    whole = _joined(folder.name, list(summaries.values()), notes)
    official = {
        checkpoint: united(found.values())
        for part, summary in summaries.items()
        for checkpoint, found in read_official(part, summary).items()
    }
    write_reports(folder, whole, official)
    errors = []
    for part, summary in summaries.items():
        for checkpoint in summary.checkpoints:
            _copy_samples(part, folder, checkpoint.name, several)
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


def _joined(run_id: str, summaries: Sequence[Summary], notes: Sequence[str]) -> Summary:
    """One summary of all parts; what they have in common is the newest's."""
    newest = max(summaries, key=lambda summary: datetime.fromisoformat(summary.started))
    checkpoints = [c for summary in summaries for c in summary.checkpoints]
    others = [o for o in newest.rerun_options if not re.match(r"--(ckpt-)?checkpoint=", o)]
    return replace(
        newest,
        run_id=run_id,
        started=min((s.started for s in summaries), key=datetime.fromisoformat),
        seconds=round(sum(summary.seconds for summary in summaries), 3),
        complete=all(summary.complete for summary in summaries),
        exit_status=max(summary.exit_status for summary in summaries),
        checkpoints=tuple(map(_named, checkpoints) if len(summaries) > 1 else checkpoints),
        notes=tuple(dict.fromkeys([*(n for s in summaries for n in s.notes), *notes])),
        unwritten=tuple(dict.fromkeys(name for s in summaries for name in s.unwritten)),
        rerun_options=(*(f"--checkpoint={c.spec}" for c in checkpoints), *others),
    )


def _named(checkpoint: CheckpointResult) -> CheckpointResult:
    """A checkpoint whose node ids name it."""

    def named(nodeid: str) -> str:
        return with_checkpoint(nodeid, checkpoint.name)

    benchmarks = (
        replace(
            bench,
            flips=tuple(replace(flip, nodeid=named(flip.nodeid)) for flip in bench.flips),
            errors=tuple(map(named, bench.errors)),
        )
        for bench in checkpoint.benchmarks
    )
    return replace(checkpoint, benchmarks=tuple(benchmarks))


def _copy_samples(part: Path, folder: Path, checkpoint: str, several: bool) -> None:
    samples = Path("samples", safe_name(checkpoint))
    for file in sorted((part / samples).glob("*.jsonl")):
        with (
            file.open(encoding="utf-8") as lines,
            atomic_writer(folder / samples / file.name) as copy,
        ):
            copy.writelines(
                _NODE_ID.sub(rf"\g<1>{checkpoint}/", line, count=1) if several else line
                for line in lines
            )
