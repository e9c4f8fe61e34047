"""Two checkpoints side by side, as text, as Markdown and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from .._util import text as words
from .._util.jsonio import JSON
from .._util.markdown import inline, markdown_table
from ..analysis.side_by_side import Average, SideBySide, Task
from ..gate import units
from ..gate.measurement import Measurement
from ..gate.verdict import SEVERITY, Verdict
from ..results.as_json import as_json
from ..scores.metric import Unit
from ..scores.score import Score
from .rows import MetricRow

FORMAT = "ckptbench.comparison/1"
_HEADER = ("metric", "before", "after", "diff", "relative", "se", "p worse, Holm", "n", "verdict")


def compared_lines(compared: SideBySide) -> Iterator[str]:
    """The comparison for a terminal."""
    before, after = described(compared.before), described(compared.after)
    yield from (f"before: {before}", f"after:  {after}", "")
    rows = list(_rows(compared))
    lines = iter(list(words.aligned([_HEADER, *(cells for _, cells in rows)], words_last=True)))
    yield next(lines)
    heading = None
    for (task, _), line in zip(rows, lines, strict=True):
        if task is not heading and task is not None:
            yield _title(task)
            yield from (f"  {note}" for note in task.notes)
        elif task is None and heading is not None:
            yield "together (not gated)"
        heading = task
        yield line
    if conclusions := list(_conclusions(compared)):
        yield from ("", *conclusions)


def compared_markdown(compared: SideBySide, conclusion: str) -> Iterator[str]:
    """The comparison for a pull request, with its conclusion as the first line."""
    before, after = (inline(described(side)) for side in (compared.before, compared.after))
    yield from (f"**{inline(conclusion)}**", "", f"before: {before}  ", f"after: {after}", "")
    rows = [(_title(task) if task else "together", *cells) for task, cells in _rows(compared)]
    yield from markdown_table([list(map(inline, r)) for r in [("task", *_HEADER), *rows]], left=2)
    yield ""
    yield from (f"- {inline(line)}" for line in _conclusions(compared))
    for task in compared.tasks:
        yield from (f"- {inline(task.protocol or task.benchmark)}: {inline(n)}" for n in task.notes)


def compared_json(compared: SideBySide) -> dict[str, JSON]:
    """The comparison as data: fractions, null where something is not known."""
    return {
        "before": _side(compared.before),
        "after": _side(compared.after),
        "tasks": [
            {
                "benchmark": task.benchmark,
                "protocol": task.protocol,
                "gated": task.gated,
                "notes": list(task.notes),
                "verdicts": [_verdict(verdict) for verdict in task.verdicts],
            }
            for task in compared.tasks
        ],
        "composite": _verdict(compared.composite) if compared.composite else None,
        "average": as_json(compared.average),
        "only_before": list(compared.only_before),
        "only_after": list(compared.only_after),
        "missing": [_verdict(verdict) for verdict in compared.missing],
        "in_baseline": compared.in_baseline,
        "compared": compared.compared,
    }


def described(measurement: Measurement) -> str:
    """A checkpoint and its source."""
    name = measurement.name or "a checkpoint"
    return f"{name} ({measurement.source})" if measurement.source else name


def _side(side: Measurement) -> dict[str, JSON]:
    return {"checkpoint": side.name, "source": side.source, "fingerprint": side.fingerprint}


def _verdict(verdict: Verdict) -> dict[str, JSON]:
    found: dict[str, JSON] = as_json(verdict)
    known = verdict.comparison
    found["relative"] = as_json(_relative(known.baseline, known.difference)) if known else None
    return found


def _rows(compared: SideBySide) -> Iterator[tuple[Task | None, Sequence[str]]]:
    for task in compared.tasks:
        for verdict in task.verdicts:
            yield task, _cells(verdict, gated=verdict.gated or not task.gated)
    if compared.composite is not None:
        yield None, _cells(compared.composite)
    if compared.average is not None:
        yield None, _average_cells(compared.average)


def _cells(verdict: Verdict, *, gated: bool = True) -> tuple[str, ...]:
    metric, figures = verdict.metric, verdict.comparison
    if figures is None:
        row = MetricRow(metric, Score(metric, None, 0, 0), verdict, gated)
        return (metric, *("",) * (len(_HEADER) - 2), row.verdict_label)
    n, unit, better = figures.n or 0, figures.unit, figures.higher_is_better
    now = Score(metric, figures.current, n, 0, unit=cast(Unit, unit), higher_is_better=better)
    row = MetricRow(metric, now, verdict, gated)
    error = units.size(figures.standard_error, unit).removesuffix(" pp")
    relative = _percent_change(figures.baseline, figures.difference)
    about = (row.label, row.baseline, row.value, row.difference, relative, error, row.p)
    return (*about, row.n if figures.n else words.MISSING, row.verdict_label)


def _average_cells(average: Average) -> tuple[str, ...]:
    difference = average.after - average.before
    return (
        f"average of {words.counted(average.tasks, 'task')}",
        *(words.percent(average.before), words.percent(average.after), units.points(difference)),
        _percent_change(average.before, difference),
        units.size(average.standard_error).removesuffix(" pp"),
        *("", "", ""),
    )


def _title(task: Task) -> str:
    name = task.protocol or task.benchmark
    return name if task.gated else f"{name} (not gated)"


def _relative(before: float, difference: float) -> float | None:
    return difference / before if before else None


def _percent_change(before: float, difference: float) -> str:
    relative = _relative(before, difference)
    # Rounding first and adding zero keeps a tiny negative number from printing as -0.0.
    return words.MISSING if relative is None else f"{round(relative * 100, 1) + 0.0:+.1f}%"


def _conclusions(compared: SideBySide) -> Iterator[str]:
    gated = [(t, v) for t in compared.tasks if t.gated for v in t.verdicts if v.gated]
    for word in SEVERITY[:-2]:
        for task, verdict in gated:
            if verdict.word == word:
                name = task.protocol or task.benchmark
                named = "" if verdict.metric.startswith(name) else f"{name} "
                remark = f"; {verdict.remark}" if verdict.remark else ""
                yield f"{word}: {named}{verdict.metric}: {verdict.detail}{remark}"
    yield from (f"missing: {v.metric}: {v.detail}" for v in compared.missing)
    for side, metrics in (("before", compared.only_before), ("after", compared.only_after)):
        if metrics:
            yield f"only {side}: {words.listed(metrics, 5)}"
