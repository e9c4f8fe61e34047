"""The end of a session: outcomes become a summary and an exit status."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .._util.errors import CkptbenchError, one_line
from .._util.extensions import hooks
from .._util.text import counted
from ..config.eval_config import EvalPlan
from ..config.options import Options, sampling_options
from ..gate.baseline import Baseline
from ..gate.scope import Scope
from ..reports.phrases import missing_packages_note
from ..results import log as runlog
from ..results.environment import describe_environment, hide_secrets
from ..results.summary import Given, Summary
from ..runs.fold import FoldedRun, fold_run
from ..runs.in_memory import measurements, stored_rows
from ..runs.write import gate_fails
from .rerun import rerun_options, rerun_paths
from .run import Run, RunContext, RunResult

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions

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
) -> tuple[RunResult, FoldedRun]:
    """Fold, conclude and decide the exit status, in memory: nothing is written.

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
    refusal = _no_baseline_because(options, folded)
    if refusal:
        notes.append(f"{options.baseline} was not written: {refusal}")
    interrupted = exit_status not in (0, 1)
    if options.report and interrupted:
        notes.append(f"no report of an interrupted run was written: {later(run.folder)}")
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
        baseline_written=str(options.baseline) if options.update_baseline and not refusal else "",
        rerun_options=tuple(rerun_options(config)),
        rerun_paths=rerun_paths(config, (item.nodeid for item in run.store.plan())),
        given=_given(options),
        drawing={name: getattr(options, name) for name in sampling_options()},
    )
    conclusions = None
    if not interrupted:
        # Writing a new baseline accepts the differences from the old one.
        gate = "off" if summary.baseline_written else options.gate
        failed = run.outcomes.others_failed or bool(refusal) or gate_fails(summary, gate)
        summary, conclusions = _together(run, folded, replace(summary, exit_status=int(failed)))
    return RunResult(summary, "", conclusions, stored_rows(run.store, outcomes)), folded


def later(folder: Path) -> str:
    """How a report that was not written is made."""
    return f"`ckptbench report {folder}` makes it of what is on disk"


def _notes_on_parts(run: Run) -> list[str]:
    """That not all samples were to be asked, which the samples that were do not tell."""
    notes = run.early.notes() if run.early is not None else []
    if run.options.shard is not None:
        shard = run.options.shard
        notes.append(f"covers shard {shard} only; combine all shards with `ckptbench merge`")
    return notes


def _no_baseline_because(options: Options, folded: FoldedRun) -> str:
    """Why no baseline is written though one was requested; empty where one is, or none was."""
    if not options.update_baseline or options.baseline is None:
        return ""
    return "" if folded.baselines else "the run is incomplete"


def _together(run: Run, folded: FoldedRun, summary: Summary) -> tuple[Summary, Conclusions | None]:
    """Draw conclusions from several checkpoints; one that fails is a note, and loses no score."""
    if len(summary.checkpoints) < 2:
        return summary, None
    from ..analysis.conclude import conclude

    options = run.options
    try:
        found = measurements(run.folder, folded, summary)
        alpha, tolerance, seed = options.alpha, options.tolerance, options.seed
        return summary, conclude(found, alpha=alpha, tolerance=tolerance, seed=seed)
    except Exception as error:
        note = f"nothing is concluded of the checkpoints together: {reason_of(error)}"
        runlog.LOG.error("%s\n%s", note, traceback.format_exc())
        return replace(summary, notes=(*summary.notes, note)), None


def reason_of(error: Exception) -> str:
    """The first line on an error, whosever it is."""
    if isinstance(error, CkptbenchError):
        return str(error).partition("\n")[0]
    return f"{type(error).__name__}: {one_line(error)}"


def _given(options: Options) -> dict[str, Given]:
    """The options that are no defaults, and their sources; credentials are hidden.

    Without the language, so that results are the same in all.
    """
    found = {}
    for name, source in sorted(options.sources.items()):
        if name == "lang":
            continue
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
        chosen_protocols=dict.fromkeys(options.protocol, "--protocol"),
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
