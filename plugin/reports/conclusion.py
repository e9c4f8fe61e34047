"""The last line of a run: what happened, what it exits with, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from ..gate.decide import fails
from ..gate.verdict import Gate, Verdict
from ..results import CheckpointResult, Summary
from . import words

Level = Literal["good", "warning", "bad"]

_EXITS = {2: "interrupted", 3: "internal error", 4: "usage error", 5: "no tests were collected"}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The gate's sentence.

    Attributes:
        level: `bad` when the gate failed the run, `warning` when somebody should look.
        text: one sentence.
    """

    level: Level
    text: str


def gated_verdicts(summary: Summary) -> Iterator[tuple[CheckpointResult, Verdict]]:
    """The verdicts that the gate decides on, in order."""
    for checkpoint in summary.checkpoints:
        for result in checkpoint.benchmarks:
            if result.primary:
                for verdict in result.verdicts:
                    yield checkpoint, verdict


def conclude(summary: Summary) -> Conclusion:
    """The sentence that stands last in every report."""
    verdicts = [verdict.word for _, verdict in gated_verdicts(summary)]
    incomplete = not summary.complete or "incomplete" in verdicts
    clauses = [_incomplete(summary)] if incomplete else []
    if "regressed" in verdicts:
        clauses.append("regressed: " + _told(summary, "regressed", _change))
    # What may be a fall is not worth a word beside what is one: the tables show it.
    if not clauses:
        clauses += [clause(summary) for word, clause in _DOUBTS if word in verdicts]
    if not clauses:
        clauses = [_calm(summary, verdicts)]
    failed = _gate_failed(summary)
    level: Level = "good"
    if failed or summary.exit_status not in (0, 1):
        level = "bad"
    elif not summary.complete or not verdicts or set(verdicts) - {"unchanged", "improved"}:
        level = "warning"
    return Conclusion(level, "; ".join(clauses) + _exit(summary, verdicts, failed) + _next(summary))


def _inconclusive(summary: Summary) -> str:
    return "inconclusive: " + _told(summary, "inconclusive", _unseen)


_DOUBTS: tuple[tuple[str, Callable[[Summary], str]], ...] = (("inconclusive", _inconclusive),)


def _incomplete(summary: Summary) -> str:
    coverages = [r.coverage for c in summary.checkpoints for r in c.benchmarks]
    errors = sum(facts.errors for facts in coverages)
    not_run = sum(facts.not_run for facts in coverages)
    parts = [words.counted(errors, "error")] if errors else []
    parts += [f"{words.count(not_run)} not run"] if not_run else []
    if not coverages:
        parts = ["nothing was scored"]
    elif not parts:
        details = [v.detail for _, v in gated_verdicts(summary) if v.word == "incomplete"]
        parts = [details[0] if details and details[0] else "samples are missing"]
    return "incomplete: " + ", ".join(parts)


def _calm(summary: Summary, verdicts: Sequence[str]) -> str:
    baselines = dict.fromkeys(c.baseline for c in summary.checkpoints if c.baseline)
    if not verdicts and not baselines:
        if summary.baseline_written:
            return "no baseline to compare with yet"
        return "no baseline: give --baseline=FILE to compare, --update-baseline to write one"
    against = words.listed(baselines) or "the baseline"
    if not verdicts:
        return f"nothing was compared: no score of this run is in {against}"
    if "improved" in verdicts:
        return f"improved: {_told(summary, 'improved', _change)}; nothing fell below {against}"
    told = words.counted(len(verdicts), "metric")
    return f"unchanged: {told} compared with {against}, none fell by more than its tolerance"


def _told(summary: Summary, word: str, say: Callable[[Verdict], str]) -> str:
    several = len(summary.checkpoints) > 1
    return words.listed(
        (f"{checkpoint.name} " if several else "") + say(verdict)
        for checkpoint, verdict in gated_verdicts(summary)
        if verdict.word == word
    )


def _change(verdict: Verdict) -> str:
    figures = verdict.comparison
    if figures is None:
        return verdict.metric
    way = "fell" if figures.difference < 0 else "rose"
    if verdict.p_adjusted is not None and way == "fell":
        doubt = words.probability(verdict.p_adjusted)
    elif figures.p_value is not None:
        doubt = words.probability(figures.p_value)
    else:
        doubt = "not tested"
    return f"{verdict.metric} {way} by {words.size(figures.difference)} ({doubt})"


def _unseen(verdict: Verdict) -> str:
    figures = verdict.comparison
    if figures is None or figures.mde is None:
        return _change(verdict)
    return f"{_change(verdict)}, and only {words.size(figures.mde)} would be seen here"


def _how_to_conclude(summary: Summary) -> str:
    doubtful = [v.comparison for _, v in gated_verdicts(summary) if v.word == "inconclusive"]
    if all(figures is not None and figures.p_value is None for figures in doubtful):
        return "a baseline that holds samples can be tested"
    return "ask more samples to see less"


def _gate_failed(summary: Summary) -> bool:
    verdicts = (verdict for _, verdict in gated_verdicts(summary))
    gate = cast(Gate, summary.gate)
    return summary.exit_status == 1 and fails(verdicts, gate, summary.complete)


def _exit(summary: Summary, verdicts: Sequence[str], failed: bool) -> str:
    status = summary.exit_status
    if status in _EXITS:
        return f": exit {status} ({_EXITS[status]})"
    if status == 1 and not failed:
        why = "the report was not written" if summary.unwritten else "other tests failed"
        return f": exit 1, because {why}"
    if status == 0 and summary.gate == "off" and set(verdicts) - {"unchanged", "improved"}:
        return ": exit 0 (--gate=off)"
    if failed and summary.complete and not {"regressed", "incomplete"} & set(verdicts):
        return ": exit 1 (--gate=strict)"
    return f": exit {status}"


def _next(summary: Summary) -> str:
    """What to do, where the sentence has not said it yet."""
    verdicts = {verdict.word for _, verdict in gated_verdicts(summary)}
    if summary.baseline_written:
        return f"; {summary.baseline_written} was written"
    if not summary.complete and summary.checkpoints:
        return f"; the same command with --run-id={summary.run_id} asks only what is missing"
    if verdicts & {"regressed", "incomplete"}:
        return ""
    if "inconclusive" in verdicts:
        return "; " + _how_to_conclude(summary)
    if "improved" in verdicts:
        return "; --update-baseline makes this the baseline"
    return ""
