"""What a session would do: the benchmarks there are, what would be asked, where it would lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..api.requests import parts_of

if TYPE_CHECKING:
    from .group import Group
    from .session import BenchSession

# Characters of a token in English prose; Korean has about two, so this is a lower bound there.
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Work:
    """What one group would ask.

    Attributes:
        samples: questions.
        requests: what the model is asked: a question may need several, and be asked several times.
        read: tokens that the model reads, estimated from the characters.
        written: tokens that it generates at most.
    """

    checkpoint: str
    protocol: str
    samples: int
    requests: int
    read: int
    written: int


def show(reporter: Any, bench: BenchSession) -> None:
    """Print what the session was asked to say of itself."""
    if bench.refused or (bench.pytest_session is not None and bench.pytest_session.testsfailed):
        return
    reporter.section("ckptbench")
    options = bench.options
    lines: list[str] = []
    if options.validate_config and options.eval_config is not None:
        lines.append(f"{options.eval_config.path}: no mistakes")
    if options.list_benchmarks:
        lines += benchmark_lines(bench)
    if options.dry_run:
        lines += dry_run_lines(bench)
    lines += [f"note: {note}" for note in dict.fromkeys(bench.run.notes)]
    for line in lines:
        reporter.write_line(line)


def benchmark_lines(bench: BenchSession) -> Iterator[str]:
    """The table of `--list-benchmarks`: name, whether it runs, tasks, samples, description."""
    counts: dict[str, int] = {}
    for group in bench.groups:
        if group.primary and group.checkpoint in (None, *bench.checkpoints[:1]):
            name = group.benchmark.name
            counts[name] = counts.get(name, 0) + _samples(bench, group)
    plan = bench.options.eval_config
    if plan is None:
        rows = [(n, "yes", n, f"{count:,}", _described(bench, n)) for n, count in counts.items()]
    else:
        asked_as = {
            group.benchmark.name: group.benchmark.configured_as or group.benchmark.name
            for group in bench.groups
        }
        rows = []
        for each in plan.listed:
            names = plan.asked_by(each)
            n = sum(count for name, count in counts.items() if asked_as[name] in names)
            enabled = bool(names)
            rows.append(
                (
                    each.name,
                    "yes" if enabled else "no",
                    ", ".join(each.tasks),
                    # A benchmark that is asked has samples: these could not be read.
                    (f"{n:,}" if n else "?") if enabled else "-",
                    each.description,
                )
            )
    yield from _table(("name", "enabled", "tasks", "samples", "description"), rows)


def dry_run_lines(bench: BenchSession) -> Iterator[str]:
    """The table of `--dry-run`: checkpoints x benchmarks, and the folder of the results."""
    works = [work_of(bench, group) for group in _in_running_order(bench)]
    rows = [
        (
            work.checkpoint,
            work.protocol,
            f"{work.samples:,}",
            f"{work.requests:,}",
            f"{work.read:,}",
            f"{work.written:,}",
        )
        for work in works
    ]
    heads = ("checkpoint", "protocol", "samples", "requests", "tokens read", "written at most")
    yield from _table(heads, rows)
    total = sum(work.requests for work in works)
    read, written = sum(w.read for w in works), sum(w.written for w in works)
    yield ""
    yield (
        f"{total:,} requests, about {read:,} tokens read (characters / {CHARACTERS_A_TOKEN}), "
        f"{written:,} generated at most; answers of earlier runs are not asked again"
    )
    if not bench.checkpoints:
        yield "no --checkpoint is given"
    yield f"results would lie in {bench.run.folder}"
    for path in dict.fromkeys(g.asked.output_path for g in bench.groups if g.asked.output_path):
        yield f"and in {path}"


def work_of(bench: BenchSession, group: Group) -> Work:
    """What a group would ask, in figures."""
    requests = read = written = samples = 0
    for item in bench.items_of(group):
        samples += item.trial == 0
        try:
            request = group.protocol.ask(item.sample, group.context(item.trial))
        except Exception:
            continue  # the sample's own error, told when it is asked
        for part in parts_of(request):
            requests += 1
            # A protocol and an engine of one's own may have requests of their own.
            read += getattr(part, "characters", 0)
            written += getattr(part, "most_tokens", 0)
    return Work(
        group.checkpoint_name,
        group.protocol.name,
        samples,
        requests,
        read // CHARACTERS_A_TOKEN,
        written,
    )


def _in_running_order(bench: BenchSession) -> list[Group]:
    """Groups that have items left, by their first one."""
    session = bench.pytest_session
    places = [id(getattr(item, "group", None)) for item in (session.items if session else ())]
    own = {id(group): group for group in bench.groups}
    return [own[place] for place in dict.fromkeys(places) if place in own]


def _samples(bench: BenchSession, group: Group) -> int:
    return sum(1 for item in bench.items_of(group) if item.trial == 0)


def _described(bench: BenchSession, name: str) -> str:
    """The first line of the docstring of the benchmark's function."""
    for group in bench.groups:
        if group.benchmark.name == name:
            return (group.function.__doc__ or "").strip().partition("\n")[0]
    return ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    whole = [heads, *rows]
    widths = [max(len(row[column]) for row in whole) for column in range(len(heads))]
    for row in whole:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
