"""The page does not contradict itself: the sentence on top, the badge, tables, the recommendation.

Random runs are written to `summary.json`, read back and shown; both the parsed page and the values
that it is made of are held beside the run.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptbench.analysis.conclude import conclude
from ckptbench.gate.verdict import DOUBTFUL, SEVERITY, WORDS, Comparison, Verdict
from ckptbench.readers.run import read_run
from ckptbench.reports.html.page import html_report
from ckptbench.reports.overview import overview
from ckptbench.reports.run_files import write_reports
from ckptbench.results.summary import (
    BenchmarkResult,
    CheckpointResult,
    CompositeResult,
    Coverage,
    DatasetInfo,
    Summary,
)
from ckptbench.runs.write import gate_fails
from ckptbench.scores.score import Score

lxml_html = pytest.importorskip("lxml.html")

METRICS = {
    "real/whole-word": ("real@1", "real@5"),
    "real/single-mask": ("real@1",),
    "lambada/mlm-whole-word": ("lambada@1",),
}
CALM = ("unchanged", "identical", "improved")


@st.composite
def verdicts(draw: Any, metric: str, value: float, partial: bool) -> Verdict:
    if partial:
        return Verdict(metric, "incomplete", "samples are errors", 0.01, 0.05)
    word = draw(
        st.sampled_from([word for word in SEVERITY if word not in ("missing", "incomplete")])
    )
    if word == "incomparable":
        return Verdict(metric, word, "temperature differs", 0.01, 0.05)
    size = 0.0 if word == "identical" else draw(st.floats(0.001, 0.4))
    difference = -size if word == "regressed" else size
    compared = Comparison(
        metric, "paired", value, value - difference, 60, difference,
        interval=(difference - 0.01, difference + 0.01), p_value=0.03, p_worse=0.02, mde=0.04,
    )  # fmt: skip
    return Verdict(metric, word, "why", 0.01, 0.05, 0.02, compared, gated=draw(st.booleans()))


@st.composite
def benchmarks(draw: Any, protocol: str, baseline: bool) -> BenchmarkResult:
    errors, not_run = draw(st.sampled_from([(0, 0)] * 6 + [(2, 0), (0, 5), (1, 1)]))
    partial = bool(errors or not_run)
    scores = []
    for metric in METRICS[protocol]:
        value = draw(st.integers(0, 60)) / 60
        # Also where it is incomplete: whoever wrote the file, it is no number of all samples.
        scores.append(Score(metric, value, 60 - errors - not_run, 60, 0.03, (value, value)))
    found = [draw(verdicts(s.metric, s.value, partial)) for s in scores] if baseline else []
    return BenchmarkResult(
        protocol.partition("/")[0],
        protocol,
        protocol != "real/single-mask",
        DatasetInfo("d", "h"),
        Coverage(60, 60 - errors - not_run, errors=errors, not_run=not_run),
        tuple(scores),
        tuple(found),
    )


@st.composite
def summaries(draw: Any) -> Summary:
    baseline = draw(st.booleans())
    protocols = draw(st.lists(st.sampled_from(list(METRICS)), min_size=1, unique=True))
    weights = {"real@1": 0.5, "lambada@1": 0.5}
    checkpoints = []
    for step in range(1, draw(st.integers(1, 20)) + 1):
        measured = [draw(benchmarks(protocol, baseline)) for protocol in protocols]
        if not any(bench.primary for bench in measured):
            measured = [replace(bench, primary=True) for bench in measured]
        parts = {s.metric: s.value for b in measured if b.primary and b.coverage.complete
                 for s in b.scores}  # fmt: skip
        whole = all(name in parts for name in weights)
        mean = sum(parts[name] * weight for name, weight in weights.items()) if whole else None
        score = Score("score", mean, 120 if whole else 0, 60, reason="" if whole else "no part")
        gone = Verdict("mbpp@1", "missing", "the run has no mbpp@1", 0.01, 0.05)
        checkpoints.append(
            CheckpointResult(
                f"checkpoint-{step}",
                f"runs/x/checkpoint-{step}",
                f"f{step}",
                {},
                tuple(measured),
                CompositeResult(weights, score) if draw(st.booleans()) else None,
                baseline="best.json" if baseline else "",
                run="x",
                step=step,
                missing=(gone,) if baseline and draw(st.integers(0, 9)) == 0 else (),
            )
        )
    gate = draw(st.sampled_from(["regress", "strict", "off"]))
    complete = all(b.coverage.complete for c in checkpoints for b in c.benchmarks)
    made = Summary("r", "2026-01-02T03:04:05+00:00", 1.0, complete, 0, gate, tuple(checkpoints))
    return replace(made, exit_status=int(gate_fails(made, gate)))


def text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


class Page:
    """What a reader sees."""

    def __init__(self, page: str) -> None:
        body = lxml_html.fromstring(page)
        (banner,) = body.find_class("banner")
        self.level = banner.get("class").split()[1]
        self.badge, self.sentence = (text_of(part) for part in banner)
        self.recommended = [text_of(each) for each in body.find_class("recommended")]
        self.rows: dict[str, dict[str, tuple[str, str]]] = {}
        self.tags: dict[str, str] = {}
        for row in body.xpath("//table[contains(@class, 'scores')]/tbody/tr"):
            name = row[0].get("data-sort")
            self.tags[name] = " ".join(map(text_of, row[0].find_class("tag")))
            self.rows[name] = {
                cell.get("data-label"): (cell.find_class("value")[0].text_content().split()[-1],
                                         " ".join(map(text_of, cell.find_class("word"))))
                for cell in row[1:] if cell.find_class("value")
            }  # fmt: skip
        self.every: dict[str, list[dict[str, str]]] = {}
        for details in body.find_class("metrics"):
            name = text_of(details[0]).removeprefix("Every protocol and metric of ")
            self.every[name] = [
                {"protocol": text_of(row[0]), **{c.get("data-label"): text_of(c) for c in row[1:]}}
                for row in details.xpath(".//tbody/tr")
            ]

    def gated(self) -> Iterator[tuple[str, str]]:
        """`(checkpoint, verdict)` of each row of the verdict tables that can fail the run."""
        for name, rows in self.every.items():
            for row in rows:
                word = row.get("verdict", "")
                if word and "not gated" not in word and "not gated" not in row["protocol"]:
                    yield name, word


@lru_cache(maxsize=1)
def folder() -> Path:
    return Path(tempfile.mkdtemp()) / "r"


def check(summary: Summary) -> None:
    write_reports(folder(), summary)
    result = read_run(folder())
    conclusions = conclude(result.measurements)
    table = overview([result], conclusions)
    page = Page(html_report([result], conclusions, ()))
    check_decision(summary, page)
    check_recommended(page, conclusions.runs[0].recommended, conclusions.sentences)
    shown = [row.label for row in table.rows if row.recommended]
    assert shown == [name for name, tag in page.tags.items() if "recommended" in tag]
    for row in table.rows:
        for cell in row.cells:
            value, word = page.rows[row.label][cell.metric]
            assert (value, word) == (cell.value, cell.verdict_label if cell.word else "")
    for checkpoint in summary.checkpoints:
        check_numbers(checkpoint, page)


def check_decision(summary: Summary, page: Page) -> None:
    words = {word for _, word in page.gated()}
    levels = {WORDS[word].level for word in words}  # type: ignore[index]
    if not summary.checkpoints[0].baseline and summary.complete:
        assert page.level == "plain"
        assert words == set()
        return
    assert page.sentence.count(f"exit {summary.exit_status}") == 1
    assert (page.level == "bad") == (page.badge == "Failed") == (summary.exit_status == 1)
    if page.level == "good":
        assert words <= set(CALM)
        assert words
        assert summary.complete
    if "bad" in levels and summary.gate != "off":
        assert page.level == "bad"
    for word in ("regressed", "incomparable", "missing"):
        assert (f"{word}:" in page.sentence) == (word in words)
    assert ("incomplete:" in page.sentence) == ("incomplete" in words or not summary.complete)
    for word in CALM:
        if page.sentence.startswith(f"{word}:"):
            assert not words & set(DOUBTFUL)


def check_recommended(page: Page, name: str, sentences: tuple[str, ...]) -> None:
    assert len(page.recommended) == bool(name)
    if not name:
        return
    found = re.fullmatch(
        r"Recommended checkpoint: (\S+), the best (\S+): (\S+?)(?:; against the baseline: (.+))?",
        page.recommended[0],
    )
    assert found is not None
    shown, metric, value, verdict = found.groups()
    assert shown == name
    assert f" {name} " in sentences[0]
    assert page.rows[name][metric][0] == value
    values = [cells[metric][0] for cells in page.rows.values() if cells[metric][0] != "-"]
    assert value == max(values, key=lambda text: float(text.rstrip("%")))
    words = [word for checkpoint, word in page.gated() if checkpoint == name]
    worst = next((word for word in SEVERITY if word in words), None)
    same = words.count(worst or "")
    expected = worst if same == len(words) else f"{worst} ({same} of {len(words)})"
    assert verdict == expected


def check_numbers(checkpoint: CheckpointResult, page: Page) -> None:
    """What is incomplete has no number anywhere; what is complete has its own."""
    rows = {(r["protocol"].removesuffix(" (not gated)"), r["metric"]): r
            for r in page.every[checkpoint.name]}  # fmt: skip
    partial = [b for b in checkpoint.benchmarks if not b.coverage.complete]
    assert ("incomplete" in page.tags[checkpoint.name]) == bool(partial)
    for bench in checkpoint.benchmarks:
        for score in bench.scores:
            row = rows[bench.protocol, score.metric]
            number = f"{100 * (score.value or 0):.2f}%"
            if bench.coverage.complete:
                assert row["score"].startswith(number)
            else:
                assert row["score"] == "-"
            if bench.primary:
                value, word = page.rows[checkpoint.name][score.metric]
                assert word == row.get("verdict", "")
                assert value == (number if bench.coverage.complete else "-")


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(summaries())
def test_the_page_does_not_contradict_itself_or_its_run(summary: Summary) -> None:
    check(summary)


def test_a_run_of_each_kind_agrees(
    make: SimpleNamespace, regressed: Summary, incomplete: Summary, no_baseline: Summary
) -> None:
    for summary in (regressed, incomplete, no_baseline):
        result_folder = folder()
        write_reports(result_folder, summary)
        result = read_run(result_folder)
        page = Page(html_report([result], conclude(result.measurements), ()))
        check_decision(summary, page)
        for checkpoint in summary.checkpoints:
            check_numbers(checkpoint, page)
