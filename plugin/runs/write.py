"""Writes what a run leaves beside its store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._util.atomic import atomic_write_text
from ..readers.baseline import write as write_baseline
from ..reports.problems_csv import write_problems
from ..reports.run_files import sample_line, write_reports, write_samples
from ..results.group import GroupMetadata
from ..results.layout import safe_name
from ..results.outcome import Recorded
from ..results.store import RunStore
from ..results.summary import Summary
from ..scores.reducers import value_names
from ..scores.registry import reducer_of
from .fold import FoldedRun


def write_files(
    folder: Path,
    store: RunStore,
    outcomes: Mapping[str, Recorded],
    folded: FoldedRun,
    summary: Summary,
    official: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write what a run leaves beside its store.

    Args:
        outcomes: what items came to, by node id.
        official: by checkpoint, what lm-eval made of its answers to lm-eval's tasks.

    Raises:
        CkptbenchError: a file cannot be written; those written before it stay.
    """
    write_reports(folder, summary, official)
    for name, baseline in folded.baselines.items():
        write_baseline(baseline, folder / f"{safe_name(name)}_baseline.json")
    if folded.errors:
        atomic_write_text(folder / "errors.log", "\n".join(folded.errors) + "\n")
    files: dict[tuple[str, str], list[tuple[int, GroupMetadata]]] = {}
    for number, group in enumerate(store.groups()):
        files.setdefault((group.checkpoint, group.benchmark), []).append((number, group))
    for (checkpoint, benchmark), groups in sorted(files.items()):
        write_samples(folder, checkpoint, benchmark, _sample_lines(store, outcomes, groups))
    write_problems(folder, store, outcomes)


def _sample_lines(
    store: RunStore, outcomes: Mapping[str, Recorded], groups: list[tuple[int, GroupMetadata]]
) -> Iterator[str]:
    for number, group in groups:
        metrics = value_names(reducer_of(group.reducer), group.benchmark)
        for item, fields, response in store.answered(number):
            recorded = outcomes.get(item.nodeid, _NOT_RUN)
            yield sample_line(
                protocol=group.protocol,
                item=item,
                status=recorded.status,
                values=dict(zip(metrics, recorded.values, strict=False)),
                fields=fields,
                response=response,
                reason=recorded.reason,
                seconds=recorded.seconds,
            )


_NOT_RUN = Recorded("not_run")
