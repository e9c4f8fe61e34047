"""The last line of a run: what happened, the exit status, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from .._util import text as words
from .._util.language import counted, listed, stored, tr
from ..gate import units
from ..gate.verdict import DOUBTFUL, WORDS, Gate, Verdict, Word, fails
from ..readers.result import Result
from ..results.summary import CheckpointResult, Summary
from .verdict_text import verdict_p

Level = Literal["good", "warning", "bad", "plain"]

EXITS = {
    2: "interrupted",
    129: "SIGHUP",
    130: "interrupted twice",
    143: "SIGTERM",
    3: "internal error",
    4: "usage error",
    5: "no tests were collected",
}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The gate's sentence.

    Attributes:
        level: `bad` when the gate failed the run, `warning` when the run needs attention, `plain`
            where no gate decided.
        text: one sentence.
    """

    level: Level
    text: str


def summaries_of(results: Iterable[Result]) -> tuple[Summary, ...]:
    """The summaries of the results that are runs of ours."""
    return tuple(result.summary for result in results if result.summary is not None)


def gate_conclusions(results: Iterable[Result]) -> tuple[tuple[Conclusion, str], ...]:
    """`(the gate's sentence, run)` of the runs that have a baseline, failed, or are incomplete."""
    return tuple(
        (conclude(summary), summary.run_id)
        for summary in summaries_of(results)
        if any(gated_verdicts(summary))
        or any(c.baseline for c in summary.checkpoints)
        or not summary.complete
        or summary.exit_status
    )


def gated_verdicts(summary: Summary) -> Iterator[tuple[CheckpointResult, Verdict]]:
    """The verdicts that decide the exit status, in order; what is only in the baseline last."""
    for checkpoint in summary.checkpoints:
        primary = (verdict for r in checkpoint.benchmarks if r.primary for verdict in r.verdicts)
        gated = (verdict for verdict in primary if verdict.gated)
        yield from ((checkpoint, verdict) for verdict in (*gated, *checkpoint.missing))


def nothing_compared(summary: Summary) -> bool:
    """Whether nothing could be compared with a given baseline, which fails the run."""
    compared = {c.name for c, verdict in gated_verdicts(summary) if verdict.comparison is not None}
    return any(c.baseline and c.name not in compared for c in summary.checkpoints)


def conclude(summary: Summary) -> Conclusion:
    """The last sentence of every report."""
    found = {verdict.word for _, verdict in gated_verdicts(summary)}
    levels = {WORDS[word].level for word in found}
    shown = found if summary.complete else found | {"incomplete"}
    # Beside a clear failure, inconclusive metrics are left to the tables.
    if "bad" in levels or not summary.complete:
        shown = shown - {"inconclusive"}
    clauses = [_clause(summary, word) for word in DOUBTFUL if word in shown]
    failed = _gate_failed(summary)
    level: Level = "good"
    if failed or summary.exit_status not in (0, 1):
        level = "bad"
    elif not found or levels & {"bad", "warning"}:
        level = "warning"
    text = "; ".join([*(clauses or [_calm(summary, found)]), *_how_many(summary)])
    return Conclusion(level, text + _exit(summary, levels, failed) + _next(summary, found))


def _clause(summary: Summary, word: Word) -> str:
    """The clause on the metrics with one verdict: `regressed: real@1 fell by 2.00 pp`."""
    if word == "incomplete":
        return _incomplete(summary)
    if word in ("incomparable", "missing"):
        # Several metrics for one reason share a sentence.
        details = (v.detail for _, v in gated_verdicts(summary) if v.word == word and v.detail)
        return f"{tr(word)}: {listed(dict.fromkeys(map(stored, details)))}"
    describe = _inconclusive if word == "inconclusive" else _change
    return f"{tr(word)}: " + _described(summary, word, describe)


def _how_many(summary: Summary) -> Iterator[str]:
    """`1 of 3 metrics of the baseline compared`, when it was not all of them."""
    found = {(c.compared, c.in_baseline) for c in summary.checkpoints if c.in_baseline}
    for compared, total in sorted(found):
        if compared < total:
            yield tr(
                "{n} of {of} metrics of the baseline compared",
                n=words.count(compared),
                of=words.count(total),
            )


def _incomplete(summary: Summary) -> str:
    coverages = [r.coverage for c in summary.checkpoints for r in c.benchmarks]
    errors, not_run = sum(c.errors for c in coverages), sum(c.not_run for c in coverages)
    parts = [counted(errors, "error")] if errors else []
    parts += [tr("{n} not run", n=words.count(not_run))] if not_run else []
    if not coverages:
        parts = [tr("nothing was scored")]
    elif not parts:
        details = [v.detail for _, v in gated_verdicts(summary) if v.word == "incomplete"]
        detail = details[0] if details else ""
        parts = [stored(detail) if detail else tr("samples are missing")]
    return f"{tr('incomplete')}: " + ", ".join(parts)


def _calm(summary: Summary, found: Collection[str]) -> str:
    baselines = dict.fromkeys(c.baseline for c in summary.checkpoints if c.baseline)
    if not found and not baselines:
        if summary.baseline_written:
            return tr("no baseline to compare with yet")
        return tr("no baseline: give --baseline=FILE to compare, --update-baseline to write one")
    against = listed(baselines) or tr("the baseline")
    if not found:
        return tr("nothing was compared: no score of this run is in {baseline}", baseline=against)
    count = counted(sum(1 for _ in gated_verdicts(summary)), "metric")
    if "improved" in found:
        return f"{tr('improved')}: {_described(summary, 'improved', _change)}"
    if found == {"identical"}:
        return tr(
            "identical: {metrics} compared with {baseline}, every outcome is the same",
            metrics=count,
            baseline=against,
        )
    return tr(
        "unchanged: {metrics} compared with {baseline}, none worse by more than its tolerance",
        metrics=count,
        baseline=against,
    )


def _described(summary: Summary, word: str, describe: Callable[[Verdict], str]) -> str:
    several = len(summary.checkpoints) > 1
    return listed(
        (f"{checkpoint.name} " if several else "") + describe(verdict)
        for checkpoint, verdict in gated_verdicts(summary)
        if verdict.word == word
    )


def _change(verdict: Verdict) -> str:
    figures = verdict.comparison
    if figures is None:
        return verdict.metric
    p = verdict_p(verdict) or tr("not tested")
    remark = f", {stored(verdict.remark)}" if verdict.remark else ""
    by = units.size(figures.difference, figures.unit)
    what = tr("is the same")
    if figures.difference:
        what = tr("fell by {by}", by=by) if figures.difference < 0 else tr("rose by {by}", by=by)
    return f"{verdict.metric} {what} ({p}){remark}"


def _inconclusive(verdict: Verdict) -> str:
    figures = verdict.comparison
    if figures is None or figures.p_worse is None:
        return _change(verdict)
    if figures.mde is None:
        return tr(
            "{change}, and this comparison could not detect a drop of any size",
            change=_change(verdict),
        )
    return f"{_change(verdict)}, {tr('MDE {size}', size=units.size(figures.mde, figures.unit))}"


def _gate_failed(summary: Summary) -> bool:
    verdicts = (verdict for _, verdict in gated_verdicts(summary))
    gate = cast(Gate, summary.gate)
    failed = fails(verdicts, gate, summary.complete)
    return summary.exit_status == 1 and (failed or (gate != "off" and nothing_compared(summary)))


def _exit(summary: Summary, levels: Collection[str], failed: bool) -> str:
    status = summary.exit_status
    if status in EXITS:
        return tr(": exit {status}", status=status) + f" ({tr(EXITS[status])})"
    if status == 1 and not failed:
        report = any(each.startswith("the report") for each in summary.unwritten)
        lacking = tr("the report was not written") if report else tr("files were not written")
        others = tr("items are missing") if summary.absent else tr("other tests failed")
        why = lacking if summary.unwritten else others
        return tr(": exit 1, because {why}", why=why)
    if status == 0 and summary.gate == "off" and {"bad", "warning"} & {*levels}:
        return tr(": exit {status}", status=status) + " (--gate=off)"
    if failed and summary.complete and "bad" not in levels and not nothing_compared(summary):
        return tr(": exit {status}", status=status) + " (--gate=strict)"
    return tr(": exit {status}", status=status)


def _next(summary: Summary, found: Collection[Word]) -> str:
    """What to do next, where the sentence does not say so yet."""
    if summary.baseline_written:
        return tr("; {file} becomes the new baseline", file=summary.baseline_written)
    if not summary.complete and summary.checkpoints:
        return tr(
            "; the same command with --run-id={run} runs only what is missing", run=summary.run_id
        )
    if any(WORDS[word].level == "bad" for word in found):
        return ""
    if "inconclusive" in found:
        doubtful = [v.comparison for _, v in gated_verdicts(summary) if v.word == "inconclusive"]
        if all(figures is not None and figures.p_value is None for figures in doubtful):
            return tr("; a baseline with samples allows a test")
        return tr("; more samples make the MDE smaller")
    if "improved" in found:
        return tr("; --update-baseline makes this the baseline")
    return ""
