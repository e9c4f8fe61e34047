"""The summary on a terminal: what fits on a screen, or with `-v` all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .._util import text as words
from .._util.language import listed, stored, tr
from ..results.summary import Summary
from . import phrases
from .conclusion import conclude
from .essentials import caveats, essential_rows, worst_verdict
from .lost_samples import LostSample, lost_heading, lost_notes
from .rows import CHANGE, SCORE, VERDICT, MetricRow
from .terminal_details import (
    BOLD,
    BY_KIND,
    BY_LEVEL,
    BY_VERDICT,
    PLAIN,
    RED,
    Line,
    aligned_rows,
    detailed_lines,
)

if TYPE_CHECKING:
    from ..analysis.conclusions import Conclusions

_PROTOCOLS_NAMED = 3
LOST_SHOWN = 3


def terminal_lines(
    summary: Summary,
    columns: int = 100,
    conclusions: Conclusions | None = None,
    *,
    verbose: bool = False,
    lost: Sequence[LostSample] = (),
) -> list[Line]:
    """The report on a run; the gate's sentence is the last line.

    A row for each gated metric, then what could make a wrong number look normal. Several
    checkpoints have a row each, and what is concluded of them together.

    Args:
        columns: width of the terminal. Where a row does not fit, it is a few lines that do; node
            ids and sentences are not cut (see `folded`).
        conclusions: those on several checkpoints.
        verbose: every protocol, metric and comparison of each checkpoint too.
        lost: samples that the baseline got right; the first few are shown.
    """
    lines: list[Line] = []
    if conclusions is not None:
        lines += _together(summary, conclusions, columns, verbose=verbose)
    if verbose:
        lines += [*([Line("")] if lines else []), *detailed_lines(summary, columns)]
        lines += [Line(tr("note: {note}", note=stored(note))) for note in summary.notes]
        lines += [Line(sentence, RED) for sentence in summary.unwritten]
    else:
        if conclusions is None:
            lines += _apart(summary, columns)
        lines += [Line(sentence, BY_KIND[kind]) for kind, sentence in caveats(summary)]
    lines += _lost(summary, lost if verbose else lost[:LOST_SHOWN])
    return [*lines, conclusion_line(summary)]


def conclusion_line(summary: Summary) -> Line:
    """The gate's sentence, in its colour."""
    conclusion = conclude(summary)
    return Line(conclusion.text, {**BY_LEVEL[conclusion.level], "bold": True})


def folded(lines: Iterable[Line], columns: int) -> Iterator[Line]:
    """Lines broken between words where they are too wide; a longer word stays whole."""
    for line in lines:
        yield from (Line(part, line.markup) for part in words.folded(line.text, columns))


def _lost(summary: Summary, shown: Sequence[LostSample]) -> Iterator[Line]:
    if not shown:
        return
    yield Line(lost_heading(summary, shown))
    several = len(summary.checkpoints) > 1
    for sample in shown:
        of = f"{sample.checkpoint}/{sample.id}" if several else sample.id
        yield Line(f"  {of}: {sample.question}")
        yield Line(f"    {sample.answers}")
    yield from (Line(f"  {note}") for note in lost_notes(shown))


def _apart(summary: Summary, columns: int) -> Iterator[Line]:
    for checkpoint in summary.checkpoints:
        names = (result.protocol for result in checkpoint.benchmarks if result.primary)
        protocols = listed(names, _PROTOCOLS_NAMED)
        known = checkpoint.baseline
        baseline = tr("baseline {name}", name=known) if known else ""
        about = "; ".join(filter(None, [protocols, phrases.answering(checkpoint), baseline]))
        yield Line(f"{checkpoint.name}: {about}", BOLD)
        yield from _table(essential_rows(checkpoint), columns)


def _table(rows: tuple[MetricRow, ...], columns: int) -> Iterator[Line]:
    """A header and a line for each row, or where one is too wide a few lines for each."""
    compared = any(row.word for row in rows)
    header, *lines = aligned_rows(rows, SCORE, *((CHANGE, VERDICT) if compared else ()))
    wide = max(map(words.width, [header, *lines])) > columns
    if not wide:
        yield Line(header)
    for row, line in zip(rows, lines, strict=True):
        markup = BY_VERDICT.get(row.word, PLAIN) if row.gated else PLAIN
        shown = words.folded(_sentence(row), columns) if wide else [line]
        yield from (Line(each, markup) for each in shown)


def _sentence(row: MetricRow) -> str:
    """A row as text: `  real@1: 63.55% [56.55, 69.55], n=200; regressed: -4.20 pp from 67.75%`."""
    interval = f" {row.interval}" if row.score.interval else ""
    verdict = f"; {row.verdict_label}" if row.word else ""
    change = ""
    if row.comparison:
        change = tr(
            ": {difference} from {baseline}", difference=row.difference, baseline=row.baseline
        )
    return f"  {row.label}: {row.value}{interval}, n={row.n}{verdict}{change}"


def _together(
    summary: Summary, conclusions: Conclusions, columns: int, *, verbose: bool
) -> Iterator[Line]:
    from .terminal_sweep import curve_lines

    answering = phrases.answering(*summary.checkpoints)
    baselines = dict.fromkeys(c.baseline for c in summary.checkpoints if c.baseline)
    about = [answering]
    about += [tr("baseline {name}", name=listed(baselines))] if baselines else []
    count = len(summary.checkpoints)
    heading = tr("{n} checkpoints: {about}; * best; -v shows each", n=count, about="; ".join(about))
    yield Line(heading, BOLD)
    worst = {checkpoint.name: worst_verdict(checkpoint) for checkpoint in summary.checkpoints}
    verdicts = {name: phrase for name, (_, phrase) in worst.items()}
    lines = curve_lines(
        conclusions, columns=columns, verbose=verbose, brief=not verbose, verdicts=verdicts
    )
    for line in lines:
        word = worst.get(line.split()[0], ("", ""))[0] if line.startswith("  ") else ""
        yield Line(line, BY_VERDICT.get(word, PLAIN))
    if verbose:
        yield from map(Line, phrases.noise_floors_together(summary))
