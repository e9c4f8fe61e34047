"""Shows on pytest's terminal a run's result, also in GitHub's job, or what a session would do."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.errors import CkptbenchError
from .._util.language import stored, tr
from .._util.text import aligned
from ..api.requests import parts_of
from ..reports.github import FLIPS_SHOWN as GITHUB_FLIPS
from ..reports.github import report_to_github
from ..reports.lost_samples import LostSample
from ..reports.terminal import conclusion_line, folded, terminal_lines
from ..reports.terminal_details import RED, Line
from ..results import log as runlog
from ..results.outcome import ATTRIBUTE, status_of
from ..results.summary import Summary
from .estimate import Wanted, expected_time
from .fixtures import NO_ENGINE, kind_of_error
from .run import RunResult
from .worker import visible_gpus

if TYPE_CHECKING:
    from .group import Group
    from .session import BenchSession

ERRORS_SHOWN = 10
PIPE_COLUMNS = 80  # what pytest takes for the width of a file
# Characters of a token in English prose; Korean has about two, so this is a lower bound there.
CHARACTERS_A_TOKEN = 4


@contextmanager
def repeated_errors_hidden(reporter: Any) -> Iterator[None]:
    """Keep all but the first errors of sample items out of pytest's list while it is printed.

    A model that fails would list thousands, one that cannot be loaded the same for each sample.
    pytest still counts them.
    """
    errors = reporter.stats.get("error", [])
    ours = [report for report in errors if status_of(report) == "error"]
    first: dict[object, Any] = {}
    for report in ours:
        reason = getattr(report, ATTRIBUTE)[2]
        without_engine = reason.startswith(NO_ENGINE)
        first.setdefault(kind_of_error(reason) if without_engine else id(report), report)
    shown = set(map(id, list(first.values())[:ERRORS_SHOWN]))
    hidden = [report for report in ours if id(report) not in shown]
    if hidden:
        gone = set(map(id, hidden))
        errors[:] = [report for report in errors if id(report) not in gone]
    yield
    if hidden:
        errors.extend(hidden)


def show_run(reporter: Any, bench: BenchSession) -> None:
    """Print a run's result, once; write its files, and print where they lie."""
    if bench.shown:
        return
    bench.shown, result, folder = True, bench.result, bench.run.folder
    try:
        lost = show_scores(reporter, result, folder)
    finally:  # the terminal may be closed
        bench.write()
    show_files(reporter, result, bench.result, folder, lost)


def show_scores(reporter: Any, result: RunResult, folder: Path) -> list[LostSample]:
    """Print a run's result before anything is written, so that no fault in writing costs it.

    Returns:
        The samples that the baseline got right, as many as GitHub shows.
    """
    quiet = reporter.verbosity < 0
    if result.failure:
        if not quiet:
            reporter.section("ckptbench", red=True, bold=True)
        reporter.write_line(result.failure, red=True)
        reporter.write_line(tr("Nothing measured is lost: run again with the same --run-id."))
    summary = result.summary
    if summary is None:
        return []
    reporter.ensure_newline()
    lost = _lost(result, summary, folder)
    if quiet:
        lines = [conclusion_line(summary)]
    else:
        reporter.section("ckptbench")
        columns, verbose = reporter._tw.fullwidth, reporter.verbosity > 0
        lines = terminal_lines(summary, columns, result.conclusions, verbose=verbose, lost=lost)
    _write_lines(reporter, lines)
    reporter.flush()  # whatever ends the process while it writes
    return lost


def show_files(
    reporter: Any, shown: RunResult, result: RunResult, folder: Path, lost: Sequence[LostSample]
) -> None:
    """Print what writing changed in what was shown, and where the files lie; report to GitHub."""
    summary, before = result.summary, shown.summary
    if summary is None or before is None:
        return
    lines = [Line(sentence, RED) for sentence in summary.unwritten]
    new = (stored(each) for each in summary.notes if each not in before.notes)
    lines += [Line(tr("note: {note}", note=note)) for note in new]
    if summary.unwritten:
        lines.append(conclusion_line(summary))
    if reporter.verbosity >= 0:
        if summary.baseline_written:
            lines.append(Line(tr("baseline: {file} was written", file=summary.baseline_written)))
        lines.append(Line(f"results: {_shown(folder)}"))
        if result.reports:
            paths = (path if path.parent == folder else path.parent for path in result.reports)
            lines.append(Line(f"report: {', '.join(map(_shown, dict.fromkeys(paths)))}"))
    _write_lines(reporter, lines)
    try:
        report_to_github(summary, os.environ, reporter.write_line, folder=_shown(folder), lost=lost)
    except CkptbenchError as error:
        reporter.write_line(str(error), red=True)


def _lost(result: RunResult, summary: Summary, folder: Path) -> list[LostSample]:
    from ..reports.read_lost_samples import lost_samples

    try:
        return lost_samples(summary, folder, result.samples, GITHUB_FLIPS)
    except Exception as error:  # whatever it is: without their texts the result is the same
        runlog.LOG.error("no texts of lost samples: %s: %s", type(error).__name__, error)
        return []


def _write_lines(reporter: Any, lines: Iterable[Line]) -> None:
    columns = reporter._tw.fullwidth
    # Whoever searches a file finds a sentence on one line; what can be pasted is never broken.
    narrow = bool(reporter.isatty) or columns < PIPE_COLUMNS
    broken = narrow and reporter.verbosity <= 0
    for text, markup in folded(lines, columns) if broken else lines:
        reporter.write_line(text, **markup)


def _shown(folder: Path) -> str:
    try:
        return str(folder.relative_to(Path.cwd()))
    except ValueError:
        return str(folder)


def show_plan(reporter: Any, bench: BenchSession) -> None:
    """Print what a session was asked to show instead of running anything."""
    if bench.refused or (bench.pytest_session is not None and bench.pytest_session.testsfailed):
        return
    reporter.section("ckptbench")
    options = bench.options
    lines: list[str] = []
    if options.validate_config and options.eval_config is not None:
        lines.append(f"{options.eval_config.path}: no mistakes")
    if options.list_benchmarks:
        lines += _benchmark_lines(bench)
    if options.dry_run:
        lines += _dry_run_lines(bench)
    lines += [f"note: {note}" for note in dict.fromkeys(bench.run.notes)]
    for line in lines:
        reporter.write_line(line)


def _benchmark_lines(bench: BenchSession) -> Iterator[str]:
    """The table of `--list-benchmarks`."""
    counts: Counter[str] = Counter()
    functions: dict[str, Any] = {}
    asked_as: dict[str, str] = {}
    for group in bench.collected.groups:
        name = group.benchmark.name
        functions.setdefault(name, group.function)
        asked_as[name] = group.benchmark.configured_as or name
        if group.primary and group.checkpoint in (None, *bench.checkpoints[:1]):
            counts[name] += sum(item.trial == 0 for item in bench.items_of(group))
    rows: list[tuple[str, ...]] = [("name", "enabled", "tasks", "samples", "description")]
    plan = bench.options.eval_config
    if plan is None:
        for name, count in counts.items():
            description = (functions[name].__doc__ or "").strip().partition("\n")[0]
            rows.append((name, "yes", name, f"{count:,}", description))
    else:
        for each in plan.listed:
            names = plan.asked_by(each)
            n = sum(count for name, count in counts.items() if asked_as[name] in names)
            # A benchmark that is asked has samples: these could not be read.
            samples = (f"{n:,}" if n else "?") if names else "-"
            enabled = "yes" if names else "no"
            rows.append((each.name, enabled, ", ".join(each.tasks), samples, each.description))
    yield from _table(rows)


def _dry_run_lines(bench: BenchSession) -> Iterator[str]:
    """The table of `--dry-run`: checkpoints x benchmarks, and the folder of the results."""
    heads = ("checkpoint", "protocol", "samples", "requests", "tokens read", "written at most")
    rows: list[tuple[str, ...]] = [heads]
    works = {group: _work_of(bench, group) for group in _in_running_order(bench)}
    for group, work in works.items():
        numbers = (work.samples, work.requests, work.read, work.written)
        rows.append((group.checkpoint_name, group.protocol.name, *(f"{n:,}" for n in numbers)))
    yield from _table(rows)
    requests, read, written = (
        sum(getattr(work, name) for work in works.values())
        for name in ("requests", "read", "written")
    )
    yield ""
    yield (
        f"{requests:,} requests, about {read:,} tokens read (characters / {CHARACTERS_A_TOKEN}), "
        f"{written:,} generated at most; answers of earlier runs are not asked again"
    )
    yield from _machines_and_time(bench, works)
    yield f"results would lie in {bench.run.folder}"
    for path in dict.fromkeys(group.asked.output_path for group in bench.collected.groups):
        if path:
            yield f"and in {path}"


def _machines_and_time(bench: BenchSession, works: Mapping[Group, _Work]) -> Iterator[str]:
    workers = len(bench.config.getoption("tx", None) or ()) or 1  # of pytest-xdist
    gpus: float = 0 if bench.options.device == "cpu" else min(workers, len(visible_gpus()))
    if not bench.checkpoints:
        yield "no --checkpoint is given"
    elif bench.collected.resolver is not None and (on := bench.collected.resolver.runs_on()):
        machines, gpus = on
        yield machines
    wanted = [
        Wanted(
            group.checkpoint_name,
            group.checkpoint.run if group.checkpoint is not None else "",
            group.protocol.name,
            work.answers,
        )
        for group, work in works.items()
    ]
    if wanted:
        yield expected_time(bench.run.folder, wanted, gpus)


@dataclass(slots=True)
class _Work:
    """What a group would ask; `read` is estimated from characters, `written` is the most."""

    answers: int = 0
    samples: int = 0
    requests: int = 0
    read: int = 0
    written: int = 0


def _work_of(bench: BenchSession, group: Group) -> _Work:
    work, characters = _Work(), 0
    for item in bench.items_of(group):
        work.samples += item.trial == 0
        try:
            request = group.protocol.ask(item.sample, group.context(item.trial))
        except Exception:
            continue  # the sample's own error, reported when it is asked
        work.answers += 1
        for part in parts_of(request):
            work.requests += 1
            # A protocol and an engine of one's own may have requests of their own.
            characters += getattr(part, "characters", 0)
            work.written += getattr(part, "most_tokens", 0)
    work.read = characters // CHARACTERS_A_TOKEN
    return work


def _in_running_order(bench: BenchSession) -> list[Group]:
    """Groups that have items left, by their first one."""
    session = bench.pytest_session
    asked = [id(getattr(item, "group", None)) for item in (session.items if session else ())]
    own = {id(group): group for group in bench.collected.groups}
    return [own[each] for each in dict.fromkeys(asked) if each in own]


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    return (line[2:] for line in aligned(rows, len(rows[0])))
