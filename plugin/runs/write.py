"""The files of a run beside its store, and whether its gate fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._util.atomic import atomic_write_text
from ..gate.verdict import fails
from ..readers.baseline import write as write_baseline
from ..reports.conclusion import gated_verdicts, nothing_compared
from ..reports.problems_csv import write_problems
from ..reports.run_files import sample_line, write_reports, write_samples
from ..results.layout import safe_name
from ..results.outcome import Outcome
from ..results.store import RunStore
from ..results.stored_run import GroupMetadata
from ..results.summary import Summary
from ..scores.reducers import reducer_of, value_names
from .fold import NOT_RUN, FoldedRun


def write_files(
    folder: Path,
    store: RunStore,
    outcomes: Mapping[str, Outcome],
    folded: FoldedRun,
    summary: Summary,
    official: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write the files of a run beside its store.

    Args:
        outcomes: of the items, by node id.
        official: by checkpoint, lm-eval's own results of its tasks.

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
        write_samples(folder, checkpoint, benchmark, sample_lines(store, outcomes, groups))
    write_problems(folder, store, outcomes)


def gate_fails(summary: Summary, gate: str) -> bool:
    """Whether a run fails its gate: by a verdict, incomplete, or because nothing was compared."""
    verdicts = [verdict for _, verdict in gated_verdicts(summary)]
    failed = fails(verdicts, gate, summary.complete)  # type: ignore[arg-type]
    return failed or (gate != "off" and nothing_compared(summary))


def sample_lines(
    store: RunStore, outcomes: Mapping[str, Outcome], groups: list[tuple[int, GroupMetadata]]
) -> Iterator[str]:
    """The lines of a sample file; each group with its index in the plan."""
    for number, group in groups:
        metrics = value_names(reducer_of(group.reducer), group.benchmark)
        for item, fields, response in store.answered(number):
            recorded = outcomes.get(item.nodeid, NOT_RUN)
            yield sample_line(
                protocol=group.protocol,
                item=item,
                status=recorded.status,
                values=dict(zip(metrics, recorded.values, strict=False)),
                fields=fields,
                response=response,
                reason=recorded.detail,
                seconds=recorded.seconds,
            )
