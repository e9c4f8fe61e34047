"""Writes the files of a run whose scores are decided, and shown: none of it can lose them."""

from __future__ import annotations

import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError
from .._util.jsonio import pretty
from .._util.overwrite import REMOVE, RESULTS_COPY, check_output
from ..readers.baseline import write as write_baseline
from ..readers.baseline_answers import write_answers
from ..readers.run import SUMMARY
from ..reports.run_files import write_reports
from ..results import log as runlog
from ..results.lm_eval_format import results_file, task_results
from ..results.summary import Summary
from ..runs.fold import FoldedRun
from ..runs.write import write_files
from .copies import place_of_copy
from .finish import later, reason_of
from .run import Run, RunResult
from .signals import INTERRUPTED


def write_run(run: Run, directory: Path, folded: FoldedRun, result: RunResult) -> RunResult:
    """Write the run's files; what cannot be written fails the run, and is named in the summary.

    Args:
        directory: pytest's invocation directory, which the options' paths are relative to.
        result: as it was shown.
    """
    summary = result.summary
    assert summary is not None
    unwritten: list[str] = []
    if summary.baseline_written:
        with _noted(unwritten):
            (baseline,) = folded.baselines.values()
            write_baseline(baseline, directory / summary.baseline_written)
        if unwritten:
            summary = replace(summary, baseline_written="")
    return replace(result, summary=_write(run, directory, folded, summary, unwritten))


def write_reports_of(run: Run, directory: Path, result: RunResult) -> RunResult:
    """Write the requested reports of a run whose files are written, and send it to MLflow.

    Neither is done for a run that was ended: whoever ends it may not wait.
    """
    summary = result.summary
    assert summary is not None
    if summary.unwritten:
        return result
    summary, reports = _report(run, summary)
    # The files are written, so notes on what is done with them are only shown.
    notes = [*summary.notes, *_keep_answers(directory, run, summary)]
    if run.options.mlflow:
        notes.append(_tracked(run, summary))
    return replace(result, summary=replace(summary, notes=tuple(notes)), reports=reports)


def _keep_answers(directory: Path, run: Run, summary: Summary) -> Iterator[str]:
    """Keep the answers beside the baseline if one was written; where, or why not.

    The comparison needs none of them, so that a file that cannot be written is a note.
    """
    if not summary.baseline_written:
        return
    baseline = directory / summary.baseline_written
    try:
        name = write_answers(baseline, run.folder, summary.checkpoints[0]).name
        yield f"the answers of the baseline's samples, which reports show, are kept in {name}"
    except (CkptbenchError, OSError) as error:
        yield f"the baseline's answers are not kept beside it: {reason_of(error)}"


def _tracked(run: Run, summary: Summary) -> str:
    if summary.exit_status in INTERRUPTED:
        return f"MLflow: not tracked, the run was ended; `ckptbench mlflow {run.folder}` sends it"
    from ..tracking.mlflow import tracking_message

    return tracking_message(run.folder, run.options.mlflow)


def _write(
    run: Run, directory: Path, folded: FoldedRun, summary: Summary, unwritten: list[str]
) -> Summary:
    if not run.store.path.exists():
        unwritten.append(
            f"{run.folder}: the run's folder was removed while it ran: nothing is kept"
        )
        return _failed(summary, unwritten)
    with _noted(unwritten):
        write_files(
            run.folder, run.store, run.outcomes.by_nodeid, folded, summary, run.task_results
        )
        _write_copies(run, directory, summary)
    if unwritten:
        # What was written says that all is well. The disk may have room for less than before.
        summary = _failed(summary, unwritten)
        try:
            write_reports(run.folder, summary, run.task_results)
        except CkptbenchError:
            with suppress(OSError):
                (run.folder / SUMMARY).unlink(missing_ok=True)
    return summary


@contextmanager
def _noted(unwritten: list[str]) -> Iterator[None]:
    """Note a file that cannot be written: the others are written all the same."""
    try:
        yield
    except (CkptbenchError, OSError, sqlite3.Error) as error:
        reason = f"{error.where}: {error.what}" if isinstance(error, CkptbenchError) else str(error)
        runlog.LOG.error("%s", reason)
        unwritten.append(f"{reason}; the answers are stored: run again with the same --run-id")


def _failed(summary: Summary, unwritten: list[str]) -> Summary:
    status = summary.exit_status or 1
    return replace(summary, unwritten=tuple(unwritten), exit_status=status)


def _report(run: Run, summary: Summary) -> tuple[Summary, tuple[Path, ...]]:
    """Write the requested reports; one that is missing fails the run."""
    options, folder = run.options, run.folder
    if not options.report or summary.exit_status not in (0, 1):
        return summary, ()
    from ..reports.write import concluded, write_report

    try:
        found, conclusions = concluded(
            folder, alpha=options.alpha, tolerance=options.tolerance, seed=options.seed
        )
        return summary, write_report([found], conclusions, folder, options.report)
    except Exception as error:
        if not isinstance(error, CkptbenchError):
            atomic_write_text(folder / "report_error.log", traceback.format_exc())
        fault = f"the report was not written: {reason_of(error)}; {later(folder)}"
        summary = _failed(summary, [*summary.unwritten, fault])
        write_reports(folder, summary, run.task_results)
        return summary, ()


def _write_copies(run: Run, directory: Path, summary: Summary) -> None:
    """Write the copies of result files that the configuration wants elsewhere."""
    measured = {checkpoint.name: checkpoint for checkpoint in summary.checkpoints}
    for group in run.store.groups():
        checkpoint = measured.get(group.checkpoint)
        if not group.output_path or not group.primary or checkpoint is None:
            continue
        content = task_results(
            summary, checkpoint, group.benchmark, run.task_results.get(checkpoint.name)
        )
        path, is_file = place_of_copy(directory, group.output_path, len(summary.checkpoints))
        if not is_file:
            path /= results_file(checkpoint, group.benchmark, alone=False)
        check_output(path, RESULTS_COPY, remedy=REMOVE)
        atomic_write_text(path, pretty(content))
