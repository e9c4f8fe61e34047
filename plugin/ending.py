"""The end of a session: outcomes become a summary, the summary becomes files and an exit status."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from . import __version__
from .atomic import atomic_write_text
from .errors import CkptbenchError
from .folding import FoldedRun, fold_run
from .gate.baseline_file import write as write_baseline
from .gate.decide import Gate, fails
from .outcomes import Recorded
from .reports.conclusion import gated_verdicts
from .reports.environment import describe_environment, hide_secrets
from .reports.files import safe_name, sample_line, write_reports, write_samples
from .results import Summary
from .scores.registry import reducer_of

if TYPE_CHECKING:
    from .session import BenchSession

# Options that decide which items there are and what they ask: a pasted node id needs them again.
_REMADE_BY = (
    "checkpoint",
    "k",
    "protocol",
    "real-data",
    "lambada-data",
    "humaneval-data",
    "mbpp-data",
    "codecontests-data",
    "limit",
    "seq-len",
    "device",
    "dtype",
    "seed",
    "num-samples",
    "temperature",
    "top-p",
    "max-tokens",
)
_NOT_RUN = Recorded("not_run")


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
        notes=tuple(dict.fromkeys([*folded.notes, *bench.store.notes(), *bench.notes])),
        rerun_options=tuple(_rerun_options(bench.config.invocation_params.args)),
    )
    summary, refusal = _update_baseline(bench, folded, summary)
    if exit_status in (0, 1):
        verdicts = [verdict for _, verdict in gated_verdicts(summary)]
        # Whoever writes a new baseline has accepted what the old one says of this run.
        gate: Gate = "off" if summary.baseline_written else bench.options.gate  # type: ignore[assignment]
        failed = others_failed or bool(refusal) or fails(verdicts, gate, summary.complete)
        summary = replace(summary, exit_status=int(failed))
    _write_files(bench, folded, summary)
    return summary


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


def _write_files(bench: BenchSession, folded: FoldedRun, summary: Summary) -> None:
    folder = bench.run_folder
    write_reports(folder, summary)
    for name, baseline in folded.baselines.items():
        write_baseline(baseline, folder / f"{safe_name(name)}_baseline.json")
    if folded.errors:
        atomic_write_text(folder / "errors.log", "\n".join(folded.errors) + "\n")
    groups = sorted(
        enumerate(bench.store.groups()), key=lambda g: (g[1]["checkpoint"], g[1]["benchmark"])
    )
    for (checkpoint, benchmark), members in groupby(
        groups, key=lambda g: (g[1]["checkpoint"], g[1]["benchmark"])
    ):
        write_samples(folder, checkpoint, benchmark, _sample_lines(bench, list(members)))


def _sample_lines(bench: BenchSession, groups: list[tuple[int, dict[str, Any]]]) -> Iterator[str]:
    for number, facts in groups:
        metrics = reducer_of(facts["reducer"]).metrics(facts["benchmark"])
        for item, fields, response in bench.store.answered(number):
            recorded = bench.outcomes.by_nodeid.get(item.nodeid, _NOT_RUN)
            yield sample_line(
                protocol=facts["protocol"],
                item=item,
                status=recorded.status,
                values=dict(zip(metrics, recorded.values, strict=False)),
                fields=fields,
                response=response,
                reason=recorded.reason,
                seconds=recorded.seconds,
            )


def _rerun_options(arguments: tuple[str, ...]) -> Iterator[str]:
    """The options of a command line that make the same items again."""
    wanted = {f"--{prefix}{name}" for name in _REMADE_BY for prefix in ("", "ckpt-")}
    words = iter(hide_secrets(arguments))
    for word in words:
        name, equals, _ = word.partition("=")
        if name in wanted:
            yield word if equals else f"{word}={next(words, '')}"
