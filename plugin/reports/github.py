"""GitHub Actions: a job summary in Markdown, and annotations beside the job.

The formats are GitHub's "workflow commands": https://docs.github.com/actions, "Workflow commands".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from .._util import text as words
from .._util.errors import CkptbenchError
from .._util.language import stored, tr
from .._util.markdown import first_line, inline, markdown_table
from ..gate.verdict import DOUBTFUL, WORDS
from ..results.summary import BenchmarkResult, CheckpointResult, Summary
from . import phrases
from .conclusion import conclude, gated_verdicts
from .essentials import caveats, essential_rows
from .lost_samples import LostSample, lost_heading, lost_notes
from .rows import (
    CHANGE,
    COMPARISON,
    SCORE,
    VERDICT,
    Columns,
    MetricRow,
    benchmark_remarks,
    checkpoint_rows,
    composite_row,
    doubts,
    missing_rows,
    titles,
)
from .verdict_text import detail_of

FLIPS_SHOWN = 10
COMMANDS_SHOWN = 50  # a job summary may have 1 MiB; twenty checkpoints stay well below


def report_to_github(
    summary: Summary,
    environment: Mapping[str, str],
    write_line: Callable[[str], None],
    *,
    folder: str = "",
    lost: Sequence[LostSample] = (),
) -> None:
    """Write what the environment variables of GitHub Actions request; elsewhere nothing.

    Args:
        environment: `os.environ`; only `GITHUB_ACTIONS` and `GITHUB_STEP_SUMMARY` are read.
        write_line: writes a line to the job's standard output, where GitHub reads commands.
        folder: where the results lie.
        lost: samples that the baseline got right.

    Raises:
        CkptbenchError: the job summary cannot be written; the annotations are written before it.
    """
    if environment.get("GITHUB_ACTIONS") == "true":
        for command in workflow_commands(summary):
            write_line(command)
    path = environment.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(job_summary(summary, folder, lost))
        except OSError as error:
            raise CkptbenchError(
                f"cannot be written: {error.strerror or error}",
                where=path,
                remedy="GITHUB_STEP_SUMMARY names this file; unset it to write no job summary.",
            ) from error


def workflow_commands(summary: Summary) -> list[str]:
    """An error for each metric that fails the gate; a warning for others that need attention."""
    commands = []
    found = [each for each in gated_verdicts(summary) if each[1].word in DOUBTFUL]
    for checkpoint, verdict in found:
        severity = "error" if WORDS[verdict.word].level == "bad" else "warning"
        title = f"{checkpoint.name}: {verdict.metric} {tr(verdict.word)}"
        commands.append(_command(severity, title, detail_of(verdict) or conclude(summary).text))
    if not summary.complete and all(verdict.word != "incomplete" for _, verdict in found):
        commands.append(_command("warning", tr("run incomplete"), conclude(summary).text))
    return commands


def job_summary(summary: Summary, folder: str = "", lost: Sequence[LostSample] = ()) -> str:
    """The run in GitHub's Markdown, in the order of the terminal; details are folded.

    Args:
        folder: where the results lie.
        lost: samples that the baseline got right; the first are shown.
    """
    return "\n".join(_markdown(summary, folder, lost[:FLIPS_SHOWN])) + "\n"


def _markdown(summary: Summary, folder: str, lost: Sequence[LostSample]) -> Iterator[str]:
    yield from ("## ckptbench", "")
    yield from _essential_table(summary)
    yield ""
    if sentences := [first_line(sentence) for _, sentence in caveats(summary)]:
        yield from (*(f"- {sentence}" for sentence in sentences), "")
    yield from _lost_table(summary, lost)
    yield f"**{first_line(conclude(summary).text)}**"
    yield from ("", tr("results: {folder}", folder=first_line(folder))) if folder else ()
    yield from ("", f"<details><summary>{tr('details')}</summary>")
    for checkpoint in summary.checkpoints:
        yield from _checkpoint(summary, checkpoint)
    if summary.notes:
        yield ""
        yield from (f"- {first_line(stored(note))}" for note in summary.notes)
    yield from ("", "</details>", "")


def _essential_table(summary: Summary) -> Iterator[str]:
    found = [(c.name, row) for c in summary.checkpoints for row in essential_rows(c)]
    compared = any(row.word for _, row in found)
    header = titles(SCORE, CHANGE, VERDICT) if compared else titles(SCORE)
    rows = [_cells(name, row, CHANGE if compared else None) for name, row in found]
    yield from markdown_table([[tr("checkpoint"), *header], *rows], left=2, words_last=compared)


def _lost_table(summary: Summary, lost: Sequence[LostSample]) -> Iterator[str]:
    if not lost:
        return
    header = [tr("checkpoint"), tr("sample"), tr("question"), tr("expected"), tr("said")]
    rows = [[*header, tr("baseline said")]]
    for each in lost:
        texts = (each.checkpoint, each.id, each.question, each.expected, each.said, each.before)
        rows.append([inline(text) for text in texts])
    yield from (lost_heading(summary, lost), "")
    yield from (*markdown_table(rows, left=len(rows[0])), "")
    yield from (line for note in lost_notes(lost) for line in (first_line(note), ""))


def _checkpoint(summary: Summary, checkpoint: CheckpointResult) -> Iterator[str]:
    yield from ("", f"### {first_line(checkpoint.name)}", "")
    about = [checkpoint.spec, phrases.settings(checkpoint.settings), phrases.answering(checkpoint)]
    if checkpoint.baseline:
        about.append(tr("baseline {name}", name=checkpoint.baseline))
    yield first_line("; ".join(filter(None, about)))
    yield ""
    yield from _table(checkpoint)
    yield ""
    for result in checkpoint.benchmarks:
        yield f"- {first_line(result.protocol)}: {first_line(phrases.coverage(result.coverage))}"
        yield from (f"- {first_line(sentence)}" for _, sentence in benchmark_remarks(result))
    yield from (f"- {first_line(sentence)}" for _, sentence in doubts(missing_rows(checkpoint)))
    if checkpoint.composite is not None:
        remark = composite_row(checkpoint.composite).remark
        yield from [f"- {first_line(remark)}"] if remark else []
    for result in checkpoint.benchmarks:
        yield from _folded_flips(summary, result)


def _table(checkpoint: CheckpointResult) -> Iterator[str]:
    labelled = list(checkpoint_rows(checkpoint))
    compared = any(row.word for _, row in labelled)
    header = titles(SCORE, COMPARISON, VERDICT) if compared else titles(SCORE)
    change = COMPARISON if compared else None
    rows = [[tr("protocol"), *header], *(_cells(label, row, change) for label, row in labelled)]
    yield from markdown_table(rows, left=2, words_last=compared)


def _cells(label: str, row: MetricRow, change: Columns | None) -> list[str]:
    cells = [first_line(label), first_line(row.label), *row.cells(SCORE)[1:]]
    if change is None:
        return cells
    marked = row.gated and row.word in DOUBTFUL
    return [*cells, *row.cells(change), f"**{tr(row.word)}**" if marked else row.verdict_label]


def _folded_flips(summary: Summary, result: BenchmarkResult) -> Iterator[str]:
    if not result.flips or not result.primary:
        return
    heading = first_line(f"{result.protocol}: {phrases.flips_heading(result)}")
    yield from ("", f"<details><summary>{heading}</summary>", "", "```shell")
    for flip in result.flips[:COMMANDS_SHOWN]:
        yield f"{phrases.rerun_command(summary, flip.nodeid)}  # {tr(flip.change)}"
    if len(result.flips) > COMMANDS_SHOWN:
        yield "# " + tr(
            "{n} more in summary.json", n=words.count(len(result.flips) - COMMANDS_SHOWN)
        )
    yield from ("```", "", "</details>")


def _command(severity: str, title: str, message: str) -> str:
    title = _data(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{severity} title={title}::{_data(message)}"


def _data(value: str) -> str:
    """The escapes of a workflow command's message; `%` first, as all of them contain one."""
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
