"""The report for a pull request: GitHub's Markdown, the verdict in its first line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .._util import text as words
from .._util.language import counted, stored, tr
from .._util.markdown import inline, markdown_table, shortened, table_line
from ..analysis.conclusions import Conclusions
from ..gate.verdict import DOUBTFUL
from ..readers.result import Result
from . import phrases
from .conclusion import gate_conclusions, summaries_of
from .flips import BASELINE_MODEL, FlipGroup, FlippedSample, flip_groups
from .overview import NOISE_LEGEND, CheckpointRow, Overview, mismatch_rows, noise_rows, overview
from .rows import MetricRow
from .sample_texts import expected_text, question_text, said_text

LONGEST = 65_536  # characters that GitHub takes in a comment or a pull request's description
SENTENCES_SHOWN = 5  # of what is concluded; the others are folded
FLIPS_SHOWN = 10  # for each change of a checkpoint in a benchmark
FIELD_CHARS = 240  # characters of a field
_ROOM = 200  # characters reserved for the last line, which counts what was left out


def markdown_report(results: Sequence[Result], conclusions: Conclusions) -> str:
    """The whole report, at most `LONGEST` characters; a last line counts what does not fit.

    Whole parts are left out from the end: the flips of the last checkpoints first, then the last
    rows of the table. The verdict is never left out.
    """
    text = ""
    left_out = 0
    for part in _parts(results, conclusions, overview(results, conclusions)):
        if not left_out and len(text) + len(part) <= LONGEST - _ROOM:
            text += part
        else:
            left_out += 1
    if left_out:
        sentence = tr(
            "{parts} of this report left out: a comment on GitHub has at most {n} characters.",
            parts=counted(left_out, "part"),
            n=words.count(LONGEST),
        )
        text += f"\n{sentence}\n"
    return text


def verdict_line(results: Sequence[Result], conclusions: Conclusions) -> str:
    """One line: the gate's sentences, or without a baseline the first conclusion."""
    sentences = [each.text for each, _ in gate_conclusions(results)] or conclusions.sentences[:1]
    return shortened("; ".join(sentences) or tr("these results allow no conclusion"), 2_000)


def _parts(results: Sequence[Result], conclusions: Conclusions, table: Overview) -> Iterator[str]:
    first = verdict_line(results, conclusions)
    yield f"**{inline(first)}**\n\n"
    others = [f"- {inline(sentence)}\n" for sentence in conclusions.sentences if sentence != first]
    yield from others[:SENTENCES_SHOWN]
    if len(others) > SENTENCES_SHOWN:
        rest = "".join(others[SENTENCES_SHOWN:])
        count = len(others) - SENTENCES_SHOWN
        yield f"\n<details><summary>{tr('{n} more', n=count)}</summary>\n\n{rest}\n</details>\n"
    yield from _score_table(table)
    yield from _noise(conclusions)
    if rows := mismatch_rows(conclusions):
        heading = tr(
            "{composites} that differ from their parts",
            composites=counted(len(rows) - 1, "reported composite"),
        )
        lines = markdown_table([(inline(name), *others) for name, *others in rows])
        yield _details(heading, lines, "\n</details>\n\n")
    noise = (note for each in summaries_of(results) for note in phrases.noise_notes(each))
    yield from (f"- {inline(stored(note))}\n" for note in (*conclusions.notes, *noise))
    for group in flip_groups(results, conclusions, 2 * FLIPS_SHOWN * max(1, len(table.rows))):
        if group.regressions or group.improvements:
            yield _folded(group)


def _score_table(table: Overview) -> Iterator[str]:
    epochs = any(row.measurement.epoch is not None for row in table.rows)
    verdict = [tr("verdict")] if table.compared else []
    numbers = [*([tr("epoch")] if epochs else []), *table.metrics]
    alignment = ["---", *("--:" for _ in numbers), *("---" for _ in verdict)]
    names = map(inline, [tr("checkpoint"), *numbers, *verdict])
    yield f"\n{table_line(names)}\n{table_line(alignment)}\n"
    for row in table.rows:
        yield table_line(_cells(row, epochs, table.compared)) + "\n"
    legend = tr("Scores with 95% intervals in per cent.")
    if table.compared:
        legend = tr(
            "Scores with 95% intervals in per cent; below them the difference from the baseline."
        )
    yield f"\n{legend}\n"


def _cells(row: CheckpointRow, epochs: bool, compared: bool) -> Iterator[str]:
    by = tr("recommended by {metric}", metric=inline(row.recommended))
    yield inline(row.label) + (f"<br>{by}" if row.recommended else "")
    if epochs:
        epoch = row.measurement.epoch
        yield words.MISSING if epoch is None else f"{epoch:g}"
    yield from map(_score, row.cells)
    if compared:
        metrics: dict[str, list[str]] = {}
        for cell in row.cells:
            if cell.word:
                metrics.setdefault(cell.word, []).append(cell.metric)
        yield "<br>".join(
            f"{f'**{tr(word)}**' if word in DOUBTFUL else tr(word)}: {inline(', '.join(names))}"
            for word, names in metrics.items()
        )


def _score(cell: MetricRow) -> str:
    score = cell.score
    if score.value is None:
        return words.MISSING
    value = f"**{cell.value}**" if cell.best else cell.value
    interval = f" {cell.interval}" if score.interval else ""
    return value + interval + (f"<br>{cell.change}" if cell.comparison else "")


def _noise(conclusions: Conclusions) -> Iterator[str]:
    for run in conclusions.runs:
        known = [each for each in run.noise if each.step is not None]
        if known:
            heading = tr("Step-to-step noise")
            if run.run:
                heading = tr("Step-to-step noise of {run}", run=run.run)
            rows = [list(map(inline, cells)) for cells in noise_rows(run, known)]
            end = f"\n{tr(NOISE_LEGEND)}.\n\n</details>\n\n"
            yield _details(inline(heading), markdown_table(rows, left=2), end)


def _details(heading: str, lines: Iterable[str], end: str) -> str:
    """Lines behind one that opens them; both are Markdown already."""
    return "\n".join([f"\n<details><summary>{heading}</summary>\n", *lines, end])


def _folded(group: FlipGroup) -> str:
    """A group's flips behind a line that opens them, those of each change up to a number."""
    heading = tr(
        "{checkpoint}, {protocol}: {lost} lost, {won} won at {metric} against {reference}",
        checkpoint=group.checkpoint,
        protocol=group.protocol,
        lost=words.count(group.regressions),
        won=words.count(group.improvements),
        metric=group.metric,
        reference=group.reference,
    )
    if group.missing:
        missing = tr("Without texts: {reason}", reason=inline(group.missing))
        return _details(inline(heading), [missing], "\n</details>\n")
    model = tr("the baseline") if group.model == BASELINE_MODEL else inline(group.model)
    header = [tr("change"), tr("sample"), tr("question"), tr("expected")]
    header.append(tr("{model} said", model=model))
    rows: list[Sequence[str]] = [[*header, tr("{model} says", model=inline(group.checkpoint))]]
    for change in ("lost", "won"):
        flips = [flip for flip in group.samples if flip.change == change]
        rows += map(_flip_cells, flips[:FLIPS_SHOWN])
    lines = list(markdown_table(rows, left=len(rows[0])))
    if rest := group.regressions + group.improvements - len(rows) + 1:
        more = tr("{n} more are in summary.json and the sample files.", n=words.count(rest))
        lines.append(f"\n{more}")
    if group.note:
        lines.append(f"\n{inline(stored(group.note))}")
    return _details(inline(heading), lines, "\n</details>\n")


def _flip_cells(flip: FlippedSample) -> list[str]:
    fields, then = flip.row.fields, flip.reference
    texts = [flip.row.id, question_text(fields, FIELD_CHARS), expected_text(fields)]
    texts += [said_text(then) if then is not None else words.MISSING, said_text(flip.row)]
    return [tr(flip.change), *(inline(shortened(text, FIELD_CHARS)) for text in texts)]
