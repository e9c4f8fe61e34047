"""A run as the test cases of JUnit XML: one for each metric, and one for the gate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..gate.verdict import WORDS
from ..results.summary import BenchmarkResult, Summary
from . import phrases
from .conclusion import conclude
from .rows import MetricRow, benchmark_rows, composite_row, missing_rows


@dataclass(frozen=True, slots=True)
class Case:
    """A test case.

    Attributes:
        classname: the checkpoint and the protocol, such as `checkpoint-700/real/whole-word`.
        name: of the metric.
        properties: the score and the comparison as text, values and differences in the metric's
            unit (a share is a fraction).
        failure: why it fails the run; empty where it does not.
        skipped: why there is no score in a run that passes; empty where there is one.
    """

    classname: str
    name: str
    properties: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    skipped: str = ""


def junit_cases(summary: Summary) -> Iterator[Case]:
    """A case for each metric, which fails where it fails the gate; the gate itself last.

    So a run that passes its gate has no failure, and one that fails it has at least one.
    """
    # As for the exit status: writing a new baseline accepts the differences from the old one.
    gate = "off" if summary.baseline_written else summary.gate
    for checkpoint in summary.checkpoints:
        for result in checkpoint.benchmarks:
            classname = f"{checkpoint.name}/{result.protocol}"
            for row in benchmark_rows(result):
                yield _case(classname, row, gate if result.primary and row.gated else "off", result)
        for row in missing_rows(checkpoint):
            yield _case(f"{checkpoint.name}/in the baseline only", row, gate)
        if checkpoint.composite is not None:
            yield _case(checkpoint.name, composite_row(checkpoint.composite), "off")
    conclusion = conclude(summary)
    failed = conclusion.level == "bad" or bool(summary.unwritten)
    failure = "; ".join([conclusion.text, *summary.unwritten]) if failed else ""
    yield Case("ckptbench", "gate", {"conclusion": conclusion.text}, failure)


def _case(classname: str, row: MetricRow, gate: str, result: BenchmarkResult | None = None) -> Case:
    verdict, missing = row.verdict, result.coverage.missing if result else ""
    failure = skipped = ""
    if verdict is not None and gate in WORDS[verdict.word].fails:
        failure = f"{row.metric} {verdict.word}: {verdict.detail}"
    elif missing:
        failure = f"{row.metric} incomplete: {missing}"
    elif row.score.value is None:
        skipped = row.remark or row.score.reason or "there is no such score"
    return Case(classname, row.metric, dict(_properties(row, gate, result)), failure, skipped)


def _properties(
    row: MetricRow, gate: str, result: BenchmarkResult | None
) -> Iterator[tuple[str, str]]:
    score, verdict = row.score, row.verdict
    if score.value is not None:
        yield from (("score", repr(score.value)), ("unit", score.unit), ("n", str(score.n)))
    if score.interval is not None:
        yield from zip(("interval low", "interval high"), map(repr, score.interval), strict=True)
    if result is not None:
        yield "samples", phrases.coverage(result.coverage)
    if verdict is not None:
        if (figures := verdict.comparison) is not None:
            yield from (("baseline", repr(figures.baseline)), ("diff", repr(figures.difference)))
        yield from (("verdict", verdict.word), ("detail", verdict.detail))
        yield "gated", "no" if gate == "off" else "yes"
