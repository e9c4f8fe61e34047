"""The end of a session: outcomes become a summary, the summary becomes files and an exit status."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError, one_line
from .._util.jsonio import pretty
from .._util.version import __version__
from ..config.eval_config import EvalPlan
from ..gate.verdict import Gate, fails
from ..readers.baseline import write as write_baseline
from ..reports.conclusion import gated_verdicts, nothing_compared
from ..reports.lacking import lacking_note
from ..reports.lm_eval_format import task_results
from ..reports.run_files import write_reports
from ..results.environment import describe_environment, hide_secrets
from ..results.layout import safe_name
from ..results.summary import Given, Summary
from ..runs.fold import FoldedRun, fold_run
from ..runs.write import write_files
from .scope import scope_of

if TYPE_CHECKING:
    from .session import BenchSession

# Options that decide which items there are and what they ask: a pasted node id needs them again.
_REMADE_BY = (
    "checkpoint",
    "checkpoint-pattern",
    "from-step",
    "k",
    "protocol",
    "data-dir",
    "real-data",
    "lambada-data",
    "humaneval-data",
    "mbpp-data",
    "codecontests-data",
    "codecontests-tests",
    "tasks",
    "include-path",
    "num-fewshot",
    "eval-config",
    "limit",
    "seq-len",
    "max-length",
    "gpu",
    "device",
    "dtype",
    "seed",
    "num-samples",
    "temperature",
    "top-p",
    "max-tokens",
    "exec-timeout",
    "exec-memory",
    "exec-libraries",
)
# Options that decide how answers are drawn.
_DRAWN_BY = ("seed", "num_samples", "temperature", "top_p", "max_tokens")


def conclude_session(bench: BenchSession, exit_status: int, others_failed: bool) -> Summary:
    """Fold, write the run's files and decide the exit status.

    Args:
        exit_status: what pytest would exit with; only 0 and 1 are decided anew.
        others_failed: whether a test that is no sample item failed, so that 1 stays 1.

    Raises:
        CkptbenchError: a file cannot be written; what was written stays.
    """
    folded = fold_run(
        bench.store,
        bench.outcomes.by_nodeid,
        bench.options,
        bench.baseline,
        created=bench.started_iso,
        version=__version__,
        amend=bench.amend,
        scope=scope_of(bench.config, bench.options),
    )
    summary = Summary(
        run_id=bench.options.run_id,
        started=bench.started_iso,
        seconds=round(time.time() - bench.started, 3),
        complete=all(b.coverage.complete for c in folded.checkpoints for b in c.benchmarks),
        exit_status=exit_status,
        gate=bench.options.gate,
        checkpoints=folded.checkpoints,
        environment=_environment(bench),
        notes=tuple(dict.fromkeys([*folded.notes, *bench.store.notes(), *_notes(bench)])),
        rerun_options=tuple(_rerun_options(bench.config.invocation_params.args)),
        given=_given(bench),
        drawing={name: getattr(bench.options, name) for name in _DRAWN_BY},
    )
    summary, refusal = _update_baseline(bench, folded, summary)
    if exit_status in (0, 1):
        verdicts = [verdict for _, verdict in gated_verdicts(summary)]
        # Whoever writes a new baseline has accepted what the old one says of this run.
        gate: Gate = "off" if summary.baseline_written else bench.options.gate  # type: ignore[assignment]
        failed = others_failed or bool(refusal) or fails(verdicts, gate, summary.complete)
        failed |= gate != "off" and nothing_compared(summary)
        summary = replace(summary, exit_status=int(failed))
    outcomes = bench.outcomes.by_nodeid
    write_files(bench.run_folder, bench.store, outcomes, folded, summary, bench.official)
    _write_copies(bench, summary)
    summary = _report(bench, summary)
    return _track(bench, summary)


def _report(bench: BenchSession, summary: Summary) -> Summary:
    """Conclude what several checkpoints say together, and write the report that was asked for.

    Neither may lose the run: what goes wrong is said, and a report that is missing fails it.
    """
    options = bench.options
    several = len(summary.checkpoints) > 1
    if not several and not options.report:
        return summary
    later = f"`ckptbench report {bench.run_folder}` makes it of what is on disk"
    if summary.exit_status not in (0, 1):
        note = f"no report of an interrupted run was written: {later}"
        return replace(summary, notes=(*summary.notes, note)) if options.report else summary
    from ..reports import write_sweep as report

    try:
        result, conclusions = report.concluded(
            bench.run_folder, alpha=options.alpha, tolerance=options.tolerance, seed=options.seed
        )
        bench.conclusions = conclusions if several else None
        if options.report:
            bench.reports = report.write(result, conclusions, bench.run_folder, options.report)
        return summary
    except Exception as error:
        why = str(error).partition("\n")[0]
        if not isinstance(error, CkptbenchError):
            why = f"{type(error).__name__}: {one_line(error)}"
            atomic_write_text(bench.run_folder / "report_error.log", traceback.format_exc())
        if options.report:
            told = f"the report was not written: {why}; {later}"
            summary = replace(summary, unwritten=(*summary.unwritten, told), exit_status=1)
        else:
            told = f"nothing is concluded of the checkpoints together: {why}"
            summary = replace(summary, notes=(*summary.notes, told))
        write_reports(bench.run_folder, summary, bench.official)
        return summary


def _track(bench: BenchSession, summary: Summary) -> Summary:
    """Send what is on disk to MLflow if that was asked for, and say how it went.

    The sentence is for who is looking: the files stay as they were sent.
    """
    if not bench.options.mlflow:
        return summary
    from ..tracking.mlflow import track_or_say

    told = track_or_say(bench.run_folder, bench.options.mlflow)
    return replace(summary, notes=(*summary.notes, told))


def _given(bench: BenchSession) -> dict[str, Given]:
    """The options that somebody chose, and where; a credential in one is hidden."""
    options = bench.options
    found = {}
    for name, source in sorted(options.sources.items()):
        value = getattr(options, name)
        if isinstance(value, EvalPlan):
            value = value.path
        elif isinstance(value, tuple):
            value = ",".join(map(str, value))
        plain = value if isinstance(value, str | int | float | bool) else str(value)
        (shown,) = hide_secrets([f"--{name.replace('_', '-')}={plain}"])
        hidden = isinstance(plain, str) and not shown.endswith(f"={plain}")
        found[name] = Given(shown.partition("=")[2] if hidden else plain, source)
    return found


def _notes(bench: BenchSession) -> tuple[str, ...]:
    missed = (each.reason for each in bench.outcomes.by_nodeid.values() if each.status == "missed")
    lack = lacking_note(missed)
    return (*bench.notes, lack) if lack else bench.notes


def _environment(bench: BenchSession) -> dict[str, str]:
    """This process's environment, and the accelerators of those that answered."""
    invocation = bench.config.invocation_params
    found = describe_environment(invocation.args, invocation.dir)
    for engine in bench.store.engines().values():
        found.update(engine.get("accelerator", {}))
    return found


def _update_baseline(
    bench: BenchSession, folded: FoldedRun, summary: Summary
) -> tuple[Summary, str]:
    """Write the baseline file if that was asked for; the summary, and why it was not written."""
    options = bench.options
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
    path = bench.config.invocation_params.dir / options.baseline
    if path.is_dir():
        raise CkptbenchError(
            "is a folder", where=str(path), remedy="--update-baseline needs a file"
        )
    write_baseline(baseline, path)
    return replace(summary, baseline_written=str(options.baseline)), ""


def _write_copies(bench: BenchSession, summary: Summary) -> None:
    """Write the result files that the configuration wants in a further place."""
    measured = {checkpoint.name: checkpoint for checkpoint in summary.checkpoints}
    for facts in bench.store.groups():
        checkpoint = measured.get(facts["checkpoint"])
        if not facts["output_path"] or not facts["primary"] or checkpoint is None:
            continue
        content = task_results(
            summary, checkpoint, facts["benchmark"], bench.official.get(checkpoint.name)
        )
        path = bench.config.invocation_params.dir / facts["output_path"]
        if path.suffix != ".json" or len(summary.checkpoints) > 1:
            name = f"{safe_name(checkpoint.name)}_{safe_name(facts['benchmark'])}_results.json"
            path = path.with_suffix("") / name
        atomic_write_text(path, pretty(content))


def _rerun_options(arguments: tuple[str, ...]) -> Iterator[str]:
    """The options of a command line that make the same items again."""
    wanted = {f"--{prefix}{name}" for name in _REMADE_BY for prefix in ("", "ckpt-")}
    words = iter(hide_secrets(arguments))
    for word in words:
        name, equals, _ = word.partition("=")
        if name in wanted:
            yield word if equals else f"{word}={next(words, '')}"
