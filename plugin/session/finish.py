"""The end of a session: outcomes become a summary, the summary becomes files and an exit status."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError, one_line
from .._util.extensions import hooks
from .._util.jsonio import pretty
from .._util.overwrite import REMOVE, RESULTS_COPY, check_output
from .._util.text import counted
from ..config.eval_config import EvalPlan
from ..config.options import Options, remaking_options, sampling_options
from ..gate.baseline import Baseline
from ..gate.scope import Scope
from ..readers.baseline import write as write_baseline
from ..readers.run import SUMMARY
from ..reports.phrases import missing_packages_note
from ..reports.run_files import write_reports
from ..results import log as runlog
from ..results.environment import describe_environment, hide_secrets
from ..results.lm_eval_format import results_file, task_results
from ..results.summary import Given, Summary
from ..runs.fold import FoldedRun, fold_run
from ..runs.write import gate_fails, write_files
from .run import Run, RunContext, RunResult

# pytest's own options that leave items out, by their destination.
_SELECTING = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--lf",
    "stepwise": "--stepwise",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
}


def conclude_run(
    run: Run, config: pytest.Config, baseline: Baseline | None, exit_status: int
) -> RunResult:
    """Fold, write the run's files and decide the exit status.

    Args:
        exit_status: what pytest would exit with; only 0 and 1 are decided anew.

    Raises:
        CkptbenchError: the store cannot be read.
    """
    options, outcomes, context = run.options, run.outcomes.by_nodeid, RunContext(run)
    folded = fold_run(
        run.store,
        outcomes,
        options,
        baseline,
        created=run.started_iso,
        amend=lambda result: hooks().pytest_ckptbench_result(context=context, result=result),
        scope=scope_of(config, options),
        looks=run.early.looks if run.early is not None else None,
    )
    environment = describe_environment(config.invocation_params.args, config.invocation_params.dir)
    for engine in run.store.engines().values():
        environment |= engine.get("accelerator", {})
    missed = (each.detail for each in outcomes.values() if each.status == "missed")
    notes = [*folded.notes, *run.store.notes(), *run.notes, missing_packages_note(missed)]
    notes += _notes_on_parts(run)
    if stored := run.store.unreported(outcomes):
        notes.append(f"{counted(stored, 'answer')} stored and not reported: not asked again")
    summary = Summary(
        run_id=options.run_id,
        started=run.started_iso,
        seconds=round(run.seconds, 3),
        complete=folded.complete,
        exit_status=exit_status,
        gate=options.gate,
        checkpoints=folded.checkpoints,
        environment=environment,
        notes=tuple(dict.fromkeys(filter(None, notes))),
        rerun_options=tuple(_rerun_options(config.invocation_params.args)),
        given=_given(options),
        drawing={name: getattr(options, name) for name in sampling_options()},
    )
    unwritten: list[str] = []
    refusal = ""
    with _noted(unwritten):
        summary, refusal = _update_baseline(options, config.invocation_params.dir, folded, summary)
    if exit_status in (0, 1):
        # Writing a new baseline accepts the differences from the old one.
        gate = "off" if summary.baseline_written else options.gate
        failed = run.outcomes.others_failed or bool(refusal) or gate_fails(summary, gate)
        summary = replace(summary, exit_status=int(failed))
    result = _write(run, config.invocation_params.dir, folded, summary, unwritten)
    if options.mlflow and result.summary is not None and not unwritten:
        from ..tracking.mlflow import tracking_message

        # The files are sent as they are, so a note of the result is only shown.
        note = tracking_message(run.folder, options.mlflow)
        shown = replace(result.summary, notes=(*result.summary.notes, note))
        return replace(result, summary=shown)
    return result


def _write(
    run: Run, directory: Path, folded: FoldedRun, summary: Summary, unwritten: list[str]
) -> RunResult:
    """Write the run's files; what cannot be written fails the run, and is named."""
    if not run.store.path.exists():
        unwritten.append(
            f"{run.folder}: the run's folder was removed while it ran: nothing is kept"
        )
        return RunResult(_failed(summary, unwritten))
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
        return RunResult(summary)
    return _report(run, summary)


def _notes_on_parts(run: Run) -> list[str]:
    """That not all samples were to be asked, which the samples that were do not tell."""
    notes = run.early.notes() if run.early is not None else []
    if run.options.shard is not None:
        notes.append(f"shard {run.options.shard} of the samples: ckptbench merge makes the whole")
    return notes


@contextmanager
def _noted(unwritten: list[str]) -> Iterator[None]:
    """Note a file that cannot be written: the scores are shown all the same."""
    try:
        yield
    except (CkptbenchError, OSError) as error:
        reason = f"{error.where}: {error.what}" if isinstance(error, CkptbenchError) else str(error)
        runlog.LOG.error("%s", reason)
        unwritten.append(f"{reason}; the answers are stored: run again with the same --run-id")


def _failed(summary: Summary, unwritten: list[str]) -> Summary:
    status = summary.exit_status or 1
    return replace(summary, unwritten=tuple(unwritten), exit_status=status)


def _report(run: Run, summary: Summary) -> RunResult:
    """Draw conclusions from several checkpoints, and write the requested report."""
    # Neither may lose the run: an error becomes a note, and a report that is missing fails it.
    options, folder = run.options, run.folder
    several = len(summary.checkpoints) > 1
    if not several and not options.report:
        return RunResult(summary)
    later = f"`ckptbench report {folder}` makes it of what is on disk"
    if summary.exit_status not in (0, 1):
        if options.report:
            note = f"no report of an interrupted run was written: {later}"
            summary = replace(summary, notes=(*summary.notes, note))
        return RunResult(summary)
    from ..reports.write import concluded, write_report

    try:
        found, conclusions = concluded(
            folder, alpha=options.alpha, tolerance=options.tolerance, seed=options.seed
        )
        files = write_report([found], conclusions, folder, options.report) if options.report else ()
        return RunResult(summary, "", conclusions if several else None, tuple(files))
    except Exception as error:
        reason = str(error).partition("\n")[0]
        if not isinstance(error, CkptbenchError):
            reason = f"{type(error).__name__}: {one_line(error)}"
            atomic_write_text(folder / "report_error.log", traceback.format_exc())
        if options.report:
            fault = f"the report was not written: {reason}; {later}"
            summary = replace(summary, unwritten=(*summary.unwritten, fault), exit_status=1)
        else:
            note = f"nothing is concluded of the checkpoints together: {reason}"
            summary = replace(summary, notes=(*summary.notes, note))
        write_reports(folder, summary, run.task_results)
        return RunResult(summary)


def _given(options: Options) -> dict[str, Given]:
    """The options that are no defaults, and their sources; credentials are hidden."""
    found = {}
    for name, source in sorted(options.sources.items()):
        value = getattr(options, name)
        if isinstance(value, EvalPlan):
            value = value.path
        elif name == "data":
            value = ",".join(f"{benchmark}={file}" for benchmark, file in value.items())
        elif isinstance(value, tuple):
            value = ",".join(map(str, value))
        plain = value if isinstance(value, str | int | float | bool) else str(value)
        (shown,) = hide_secrets([f"--{name.replace('_', '-')}={plain}"])
        hidden = isinstance(plain, str) and not shown.endswith(f"={plain}")
        found[name] = Given(shown.partition("=")[2] if hidden else plain, source)
    return found


def _update_baseline(
    options: Options, directory: Path, folded: FoldedRun, summary: Summary
) -> tuple[Summary, str]:
    """Write the baseline file if requested; the summary, and why it was not written."""
    if not options.update_baseline or options.baseline is None:
        return summary, ""
    refusal = ""
    if len(folded.checkpoints) != 1:
        refusal = f"a baseline holds one checkpoint, this session has {len(folded.checkpoints)}"
    elif not folded.baselines:
        refusal = "the run is incomplete"
    if refusal:
        note = f"{options.baseline} was not written: {refusal}"
        return replace(summary, notes=(*summary.notes, note)), refusal
    (baseline,) = folded.baselines.values()
    write_baseline(baseline, directory / options.baseline)
    return replace(summary, baseline_written=str(options.baseline)), ""


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
        path = directory / group.output_path
        if path.suffix != ".json" or len(summary.checkpoints) > 1:
            name = results_file(checkpoint, group.benchmark, alone=False)
            path = path.with_suffix("") / name
        check_output(path, RESULTS_COPY, remedy=REMOVE)
        atomic_write_text(path, pretty(content))


def _rerun_options(arguments: tuple[str, ...]) -> Iterator[str]:
    """The options of a command line that make the same items again."""
    wanted = {f"--{prefix}{name}" for name in remaking_options() for prefix in ("", "ckpt-")}
    shown = iter(hide_secrets(arguments))
    for argument in shown:
        name, equals, _ = argument.partition("=")
        if name in wanted:
            yield argument if equals else f"{argument}={next(shown, '')}"


def scope_of(config: pytest.Config, options: Options) -> Scope:
    """What the gate compares, and what the user left out on purpose."""
    plan = options.eval_config
    settings = plan.settings if plan is not None else ()
    limited = ["--limit"] if options.limit is not None else []
    if options.shard is not None:
        limited.append("--shard")
    if any(each.values.get("limit") for each in settings):
        limited.append("limit in --eval-config")
    in_file = (n for each in settings if "metrics" in each.values for n in each.names)
    return Scope(
        selection=tuple(dict.fromkeys(_selection(config))),
        limited=tuple(limited),
        chosen_metrics={
            **dict.fromkeys(in_file, "metrics in --eval-config"),
            **dict.fromkeys(options.k, "--k"),
        },
        allowed=frozenset(options.allow_mismatch),
        gate_on=frozenset(options.gate_on),
        tolerance=options.tolerance,
    )


def _selection(config: pytest.Config) -> Iterator[str]:
    for destination, name in _SELECTING.items():
        if config.getoption(destination, None):
            yield name
    for argument in config.args:
        if "::" in argument:
            yield "node ids"
        elif config.getoption("pyargs", False) and not Path(argument).exists():
            if argument.rpartition(".")[2].startswith("test_"):
                yield "a file argument"
        elif not Path(argument).is_dir():
            yield "a file argument"
