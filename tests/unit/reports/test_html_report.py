"""The HTML page, as text. What it does in a browser is `tests/e2e/test_html_in_chromium.py`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.analysis.conclude import conclude
from ckptbench.analysis.conclusions import Conclusions
from ckptbench.gate.measurement import BenchmarkMeasurement, Measurement
from ckptbench.readers.result import Result, SampleRow
from ckptbench.reports.html import flips_json as embedded
from ckptbench.reports.html import page as html_page
from ckptbench.reports.plots.figures import Drawing, drawings
from ckptbench.reports.plots.series import charts
from ckptbench.reports.sample_texts import flip_texts
from ckptbench.results.summary import Summary


class Page(HTMLParser):
    """A page's start tags, and what stands in its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.closed_wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in {"meta", "link", "input", "br", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.closed_wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def flips(self) -> Any:
        return json.loads(self.scripts[1])


def html_report(
    results: Sequence[Result], conclusions: Conclusions, drawn: Sequence[Drawing] | None = None
) -> str:
    """The page with all of its charts, or with some."""
    if drawn is None:
        drawn = drawings(*charts(results, conclusions))
    return html_page.html_report(results, conclusions, drawn)


@pytest.fixture
def page(rising: Any) -> Page:
    return Page(html_report(*rising.both, ()))


@pytest.fixture
def page_with_charts(rising: Any) -> Page:
    return Page(html_report(*rising.both))


def test_it_is_well_formed_and_asks_for_nothing_outside_itself(
    page_with_charts: Page,
) -> None:
    assert page_with_charts.closed_wrong == []
    assert page_with_charts.open == []
    for _, attributes in page_with_charts.tags:
        for name in ("src", "href", "srcset", "action", "data"):
            assert re.match(r"#|data:,$", attributes.get(name) or "#")
    assert not any("@import" in script or "fetch(" in script for script in page_with_charts.scripts)


def test_its_policy_allows_its_own_scripts_and_no_others(page: Page) -> None:
    policies = [a["content"] for a in page.named("meta") if "http-equiv" in a]
    assert len(policies) == 1
    parts = dict(part.split(" ", 1) for part in (policies[0] or "").split("; "))
    allowed = re.findall(r"'sha256-([^']+)'", parts["script-src"])
    assert re.fullmatch(r"'sha256-[^']+'", parts["style-src-elem"])
    assert "unsafe-inline" not in parts["script-src"]
    runs = [page.scripts[0], page.scripts[2]]  # the one between them is data
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in runs]
    assert allowed == hashes
    assert (policies[0] or "").startswith("default-src 'none'")


def test_the_verdict_stands_before_everything_else(fallen: Any) -> None:
    text = html_report(*fallen.both, ())
    body = text[text.index("<main") :]
    banner = body.index('<p class="banner bad">')
    assert banner < body.index("<li") < body.index("<table")
    assert "regressed: real@1 fell by" in body[banner : body.index("<table")]


def test_without_a_baseline_the_first_thing_concluded_stands_first(rising: Any) -> None:
    text = html_report(*rising.both, ())
    body = text[text.index("<main") :]
    first = rising.conclusions.sentences[0]
    assert body.index('<p class="banner plain">') < body.index(first) < body.index("<table")
    assert body.count(first) == 1


def test_every_table_has_a_caption_and_every_header_says_what_it_heads(
    page_with_charts: Page,
) -> None:
    tables = [place for place, (tag, _) in enumerate(page_with_charts.tags) if tag == "table"]
    assert len(tables) >= 5
    assert all(page_with_charts.tags[place + 1][0] == "caption" for place in tables)
    for header in page_with_charts.named("th"):
        assert header.get("scope") in ("row", "col") or header.get("aria-hidden") == "true"


def test_every_chart_has_a_title_a_description_and_the_same_values_as_a_table(
    page_with_charts: Page,
) -> None:
    charts = [svg for svg in page_with_charts.named("svg") if svg.get("role") == "img"]
    assert len(charts) == 2  # real@1 and real@5
    known = {a.get("id") for _, a in page_with_charts.tags}
    for chart in charts:
        assert {chart["aria-labelledby"], chart["aria-describedby"]} <= known
    others = [svg for svg in page_with_charts.named("svg") if svg.get("role") != "img"]
    assert all(svg.get("aria-hidden") == "true" for svg in others)


def test_the_scores_stand_with_their_intervals_and_can_be_sorted(rising: Any) -> None:
    text = html_report(*rising.both, ())
    assert '<button type="button" class="sort">real@1' in text
    assert 'data-sort="0.95"' in text
    assert re.search(r"95\.00%</span>\s*<span class=\"interval\">\[\d", text)


def test_flips_without_a_baseline_are_against_the_best_and_show_both_responses(page: Page) -> None:
    groups = [group[:2] + group[4:8] for group in page.flips["groups"]]
    assert groups == [
        ["checkpoint-100", "real", "checkpoint-300", 30, 2, 32],
        ["checkpoint-200", "real", "checkpoint-300", 10, 2, 12],
    ]
    lost = next(row for row in page.flips["rows"] if row[1] == 0)
    assert lost[4] == "1. 틀림   2. 궁궐"
    assert lost[5] == "1. 궁궐"
    assert {group[8] for group in page.flips["groups"]} == {"checkpoint-300"}


def test_flips_against_a_baseline_are_those_of_the_summary(fallen: Any) -> None:
    data = Page(html_report(*fallen.both, ())).flips
    assert data["groups"] == [
        ["checkpoint-655", "real", "real/whole-word", "real@1", "baselines/best.json", 8, 2, 10,
         "the baseline's model"]
    ]  # fmt: skip
    assert [row[1] for row in data["rows"]] == [0] * 8 + [1] * 2
    assert all(row[5] is None for row in data["rows"])  # a baseline holds no responses


def test_a_text_is_stored_once_however_many_checkpoints_flipped_it(page: Page) -> None:
    data = page.flips
    assert len(data["rows"]) == 44
    texts = [texts[0][1] for _, texts in data["samples"]]
    assert len(texts) == len(set(texts)) == 32


def test_the_place_that_is_asked_for_is_marked_in_its_text(page: Page) -> None:
    _, texts = page.flips["samples"][0]
    assert [text[0] for text in texts] == ["question", "expected"]
    assert texts[0][2] == [[6, 9, "second"]]


HOSTILE = "</script><script>alert(1)</script><!-- <b>&amp;\u2028\u2029 ' \" \\ \x00"


def test_no_sample_can_end_the_script_it_stands_in(sweep: Callable[..., Any]) -> None:
    run = sweep({"checkpoint-1": [1, 2], "checkpoint-2": [1, 1]}, text=HOSTILE)
    text = html_report(*run.both, ())
    page = Page(text)
    assert len(page.scripts) == 3
    assert HOSTILE in page.flips["samples"][0][1][0][1]
    data = page.scripts[1]
    assert not set("<>&\u2028\u2029") & set(data)


def test_half_a_broken_character_of_a_response_has_a_form_too() -> None:
    text = embedded.script_json(["\ud800"])
    assert text.encode() == b'["\\ud800"]'
    assert json.loads(text) == ["\ud800"]


def test_names_are_shown_as_they_are(rising: Any) -> None:
    name = "<img src=x onerror=alert(1)>"
    result = replace(
        rising.result,
        measurements=tuple(replace(m, run=name) for m in rising.result.measurements),
        notes=(f"note {name}",),
    )
    runs = tuple(replace(run, run=name) for run in rising.conclusions.runs)
    conclusions = replace(rising.conclusions, runs=runs, sentences=(name,))
    text = html_report([result], conclusions)
    assert name not in text
    assert Page(text).named("img") == []
    assert "&lt;img src=x" in text


def test_a_text_too_long_is_cut_around_its_mark_and_the_page_says_so(
    sweep: Callable[..., Any],
) -> None:
    run = sweep({"checkpoint-1": [1, 2], "checkpoint-2": [1, 1]}, text="가" * 5_000)
    page = html_report(*run.both, ())
    label, text, marks, cut = Page(page).flips["samples"][0][1][0]
    assert (label, len(text), cut) == ("question", 1_500, 3_506)
    assert marks == [[6, 9, "second"]]
    assert "Fields longer than 1,500 characters are cut" in page


def test_what_does_not_fit_is_left_out_evenly_and_the_page_says_so(
    sweep: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "ROW_BYTES", 4_000)
    monkeypatch.setattr(embedded, "TEXT_BYTES", 30_000)
    run = sweep(
        {"checkpoint-1": [2] * 90 + [1] * 10, "checkpoint-2": [2] * 10 + [1] * 90,
         "checkpoint-3": [1] * 100},
        text="가" * 1_200,
    )  # fmt: skip
    page = html_report(*run.both, ())
    data = Page(page).flips
    shown = [group[7] for group in data["groups"]]
    assert shown[0] == pytest.approx(9 * shown[1], abs=9)
    assert len(data["rows"]) == sum(shown)
    assert f"{sum(shown)} of 100 flips are listed" in page
    assert "Fields longer than 100 characters are cut" in page


def test_samples_that_cannot_be_read_cost_their_texts_and_not_the_report(
    sweep: Callable[..., Any],
) -> None:
    def gone(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        raise CkptbenchError("there is no such file", where="samples/real.jsonl")

    run = sweep({"checkpoint-1": [1, 2], "checkpoint-2": [1, 1]}, rows=gone)
    page = html_report(*run.both, ())
    assert "Without texts: samples/real.jsonl: there is no such file." in page
    assert 'id="filters"' not in page


def test_one_checkpoint_alone_has_scores_and_no_charts(sweep: Callable[..., Any]) -> None:
    page = html_report(*sweep({"checkpoint-1": [1, 1, 2, 2]}).both)
    assert "50.00%" in page
    assert "Learning curves" not in page
    assert 'id="flips"' not in page


def test_nothing_at_all_is_a_page_too(rising: Any) -> None:
    page = html_report([replace(rising.result, measurements=())], Conclusions(()))
    assert "no conclusion: nothing was measured" in page


def test_a_blank_is_marked_and_the_right_answer_is_named() -> None:
    fields: dict[str, Any] = {"text": "차오르자 _는 목을 축였다.", "answer": "까마귀", "more": "x"}
    texts = flip_texts(fields, 100)
    assert [text.label for text in texts] == ["question", "expected", "more"]
    assert texts[0].marks == ((5, 6, "blank"),)
    prompt = flip_texts({"doc": {"question": "2 + 2?"}, "target": 1}, 100)
    assert [(text.label, text.text) for text in prompt[:2]] == [
        ("question", "2 + 2?"),
        ("expected", "1"),
    ]


def test_the_title_names_the_model_the_samples_and_the_date(fallen: Any, rising: Any) -> None:
    title = "<title>{} · ckptbench</title>".format
    assert title("checkpoint-655 of run: 40 samples, 2025-01-02") in html_report(*fallen.both, ())
    assert title("3 checkpoints of run: 40 samples, 2025-01-02") in html_report(*rising.both, ())


def test_the_recommended_checkpoint_stands_above_the_scores_once(rising: Any) -> None:
    text = html_report(*rising.both, ())
    (sentence,) = re.findall(r"Recommended checkpoint:</strong> ([^<]*)<", text)
    assert sentence == "checkpoint-300, the best real@1: 95.00%"
    assert text.index(sentence) < text.index("<table")
    assert text.count('<span class="tag">recommended') == 1


def test_every_protocol_is_there_with_its_n_and_only_gated_verdicts_look_gated(
    make: SimpleNamespace, regressed: Summary
) -> None:
    (measured,) = regressed.checkpoints
    gated, beside = measured.benchmarks
    free = replace(gated.verdicts[1], gated=False)
    gated = replace(gated, verdicts=(gated.verdicts[0], free))
    beside = replace(beside, verdicts=(make.verdict("regressed", "real@1"),))
    summary = replace(regressed, checkpoints=(replace(measured, benchmarks=(gated, beside)),))
    parts = tuple(
        BenchmarkMeasurement(b.benchmark, b.protocol, b.primary, b.scores) for b in (gated, beside)
    )
    measurement = Measurement(measured.name, benchmarks=parts, source="results/x")
    result = Result(Path("results/x"), "ckptbench", (measurement,), summary)
    text = html_report([result], conclude([measurement]), ())
    matrix, every = re.findall(r"<table.*?</table>", text, re.DOTALL)[:2]
    assert "real/whole-word, n = 200" in matrix
    assert "unchanged (not gated)" in matrix
    assert re.findall(r'scope="row"[^>]*>([^<]*)<', every) == [
        "real/whole-word", "real/whole-word", "real/single-mask (not gated)",
    ]  # fmt: skip
    assert re.findall(r'data-label="n"[^>]*>([^<]*)<', every) == ["200"] * 3
    words = re.findall(r'data-label="verdict".*?<span class="word ([\w-]+)">([^<]*)<', every)
    assert words == [
        ("regressed", "regressed"),
        ("unchanged", "unchanged (not gated)"),
        ("regressed", "regressed (not gated)"),
    ]


def test_many_metrics_are_several_tables_that_fit(sweep: Callable[..., Any]) -> None:
    run = sweep({"checkpoint-1": [1, 2], "checkpoint-2": [1, 1]})
    (result,), _ = run.both
    metrics = [f"m{number}" for number in range(8)]
    measurements = [
        replace(m, benchmarks=(replace(b, scores=tuple(replace(b.scores[0], metric=metric)
                                                       for metric in metrics)),))
        for m in result.measurements for b in m.benchmarks
    ]  # fmt: skip
    concluded = replace(
        run.conclusions.runs[0], measurements=tuple(measurements), by="", recommended=""
    )
    result = replace(result, measurements=tuple(measurements), summary=None)
    text = html_report([result], Conclusions((concluded,)), ())
    tables = re.findall(r'<table class="scores.*?</table>', text, re.DOTALL)
    assert [re.findall(r'class="sort">(m\d)', table) for table in tables] == [
        metrics[:6], metrics[6:],
    ]  # fmt: skip


def test_a_run_whose_baseline_compares_nothing_says_so_on_top(make: SimpleNamespace) -> None:
    checked = make.checkpoint(make.result("x/y", make.score("x@1", 0.5)), baseline="other.json")
    summary = make.summary(checked, exit_status=1)
    result = Result(Path("results/x"), "ckptbench", (), summary)
    text = html_report([result], Conclusions(()), ())
    assert '<p class="banner bad">' in text
    assert "no score of this run is in other.json" in text


def test_the_same_results_give_the_same_page(rising: Any) -> None:
    assert html_report(*rising.both) == html_report(*rising.both)
