"""Every message of the reports has a Korean one, and results are the same in both languages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from string import Formatter
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Environment, nodes

import ckptbench
from ckptbench._util.language import counted, listed, of_locale, spoken, stored, tr
from ckptbench._util.text import width
from ckptbench.analysis.conclude import conclude
from ckptbench.api.answer_kinds import answer_text
from ckptbench.api.requests import (
    FillMask,
    Generate,
    LogLikelihood,
    LogLikelihoodRolling,
    SingleRequest,
)
from ckptbench.gate.units import NO_DROP
from ckptbench.gate.verdict import WORDS
from ckptbench.reports import conclusion, rows
from ckptbench.reports.github import job_summary, workflow_commands
from ckptbench.reports.html import page
from ckptbench.reports.languages import catalogue
from ckptbench.reports.overview import NOISE_LEGEND
from ckptbench.reports.plots import figures
from ckptbench.reports.terminal import terminal_lines
from ckptbench.reports.verdict_text import detail_of, verdict_p
from ckptbench.results.as_json import summary_as_json
from ckptbench.results.summary import Summary

PLUGIN = Path(ckptbench.__file__).parent
KOREAN = catalogue("ko")
# Messages that are looked up by a name.
NAMED = {
    *WORDS,
    *rows.SCORE,
    *rows.COMPARISON,
    *rows.VERDICT,
    *conclusion.EXITS.values(),
    *page.LEVEL_WORDS.values(),
    *("epoch", "step", "checkpoint", "lost", "won"),
    *("significant", "not significant", "yes", "no", "cannot tell"),
    NO_DROP,
    NOISE_LEGEND,
}


def messages() -> Iterator[str]:
    """Those of the code, the templates and the page's script."""
    yield from NAMED
    for file in PLUGIN.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
                if node.func.id == "tr" and isinstance(node.args[0], ast.Constant):
                    yield str(texts[0])
                if node.func.id == "counted" and translated(file):
                    yield f"{{n}} {texts[0]}"
    for file in PLUGIN.rglob("*.j2"):
        for call in Environment().parse(file.read_text(encoding="utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "tr":
                first = call.args[0]
                if isinstance(first, nodes.Const):
                    yield first.value
    for file in PLUGIN.rglob("*.js"):
        yield from page.SAID.findall(file.read_text(encoding="utf-8"))


def translated(file: Path) -> bool:
    """Whether a module's counts are those that reports translate."""
    return bool(re.search(r"language import .*\bcounted\b", file.read_text(encoding="utf-8")))


def fields(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name is not None}


def test_every_message_is_in_the_catalogue_and_none_is_left_over() -> None:
    found = set(messages())
    assert len(found) > 200
    assert found - KOREAN.shown.keys() == set()
    assert KOREAN.shown.keys() - found == set()


@pytest.mark.parametrize("section", KOREAN._fields)
def test_translations_have_the_fields_of_their_message(section: str) -> None:
    for english, korean in getattr(KOREAN, section).items():
        assert fields(english) == fields(korean), english
        assert korean.strip(), english


def test_the_scripts_messages_are_whole() -> None:
    """A message in another kind of quotes would not be found."""
    script = (PLUGIN / "reports/html/script.js").read_text(encoding="utf-8")
    assert len(re.findall(r"\btr\(", script)) == len(page.SAID.findall(script))


def test_the_p_of_a_verdict_is_the_one_it_used(make: SimpleNamespace) -> None:
    better = make.verdict("improved", make.paired("real@1", 0.7, 0.6), "", 0.0001)
    worse = make.verdict("regressed", make.paired("real@1", 0.6, 0.7), "", 0.00001)
    assert verdict_p(better) == "p better, Holm = 0.0001"
    assert verdict_p(worse) == "p worse, Holm < 0.0001"


def test_the_summary_in_korean(regressed: Summary) -> None:
    with spoken(KOREAN):
        shown = [line.text for line in terminal_lines(regressed)]
    assert shown == [
        "checkpoint-655: real/whole-word; 12.3초, 새로 생성한 답 400개, 재사용한 답 0개; "
        "기준선 baselines/best.json",
        "  지표      점수    n    95% 신뢰구간  기준선      차이  판정",
        "  real@1  63.55%  200  [56.55, 69.55]  67.75%  -4.20 pp  성능 저하",
        "  real@5  82.44%  200  [75.44, 88.44]  82.44%  +0.00 pp  변화 없음",
        "real/whole-word: 201개 중 200개 채점, 1개 건너뜀 (1 first_mention_out_of_window)",
        "참고: real@500 제외: 후보가 그만큼 있는 답이 없음",
        "성능 저하: real@1 4.20 pp 하락 (저하 p(Holm) = 0.0003): 종료 코드 1",
    ]


def test_results_are_the_same_in_both_languages(regressed: Summary, incomplete: Summary) -> None:
    for summary in (regressed, incomplete):
        english = json.dumps(summary_as_json(summary))
        with spoken(KOREAN):
            terminal_lines(summary, verbose=True)
            assert json.dumps(summary_as_json(summary)) == english


def test_reasons_are_made_of_the_verdicts_figures(make: SimpleNamespace) -> None:
    fallen = make.paired("real@1", 0.63, 0.68)
    worse = make.verdict("regressed", fallen, "in English", 0.0106)
    small = make.verdict("inconclusive", make.paired("real@1", 0.68, 0.68), "in English", 0.4)
    blind = replace(small, detail="no difference; a drop of 5.00 pp would not have been found: MDE")
    bare = make.verdict("inconclusive", make.point("real@1", 0.63, 0.68), "in English")
    assert detail_of(worse) == "in English"
    with spoken(KOREAN):
        assert detail_of(worse) == (
            "5.00 pp 나빠짐, 허용 범위 1.00 pp, 200개 중 정답→오답 12개, 오답→정답 3개, "
            "저하 p(Holm) = 0.0106"
        )
        assert detail_of(small) == "차이 없음, 저하 p(Holm) = 0.4000, MDE 2.41 pp (n = 200)"
        assert detail_of(blind) == (
            "차이 없음, 저하 p(Holm) = 0.4000, 5.00 pp 하락을 검출할 수 없음, MDE 2.41 pp (n = 200)"
        )
        assert detail_of(bare) == (
            "5.00 pp 나빠짐, 허용 범위 1.00 pp, 검정하지 않음: 기준선에 n도 표준오차도 없음"
        )


def test_reasons_without_figures_are_known_by_their_text(make: SimpleNamespace) -> None:
    setting = "temperature 0 in the baseline, 0.8 here"
    verdict = make.verdict("incomparable", "real@1", setting)
    assert detail_of(verdict) == setting
    with spoken(KOREAN):
        assert detail_of(verdict) == "temperature: 기준선 0, 이번 실행 0.8"
        several = f"{setting}; top-p 1 in the baseline, 0.9 here"
        assert stored(several) == (
            "temperature: 기준선 0, 이번 실행 0.8; top-p: 기준선 1, 이번 실행 0.9"
        )
        nested = "there is no composite: lambada@1 was not measured"
        assert stored(nested) == "종합 점수 없음: lambada@1 지표를 측정하지 않음"
        assert stored("something that nobody translated") == "something that nobody translated"


@pytest.mark.parametrize("request_kind", [FillMask, Generate, LogLikelihood, LogLikelihoodRolling])
def test_why_a_checkpoint_is_skipped_has_no_english_word(request_kind: type[SingleRequest]) -> None:
    kind = "causal" if request_kind.model_kind == "masked" else "masked"
    why = f"a {kind} language model cannot {request_kind.work}"
    with spoken(KOREAN):
        shown = stored(f"problems was skipped for checkpoint-100: {why}")
    assert shown.startswith("problems: checkpoint-100에서는 실행하지 않음 (")
    assert re.findall("[A-Za-z]+", shown) == ["problems", "checkpoint"]


def test_the_rank_of_an_answer_that_is_not_shown() -> None:
    filled = {"kind": "filled", "candidates": ["가"], "logprobs": [-1.0], "rank": 10}
    assert answer_text(filled) == "1. 가 36.79%   (correct answer: rank 10)"
    with spoken(KOREAN):
        assert answer_text(filled) == "1. 가 36.79%   (정답은 10위)"


def test_why_the_baselines_answers_are_not_available() -> None:
    with spoken(KOREAN):
        absent = "b.answers.jsonl.gz does not exist, and results has no run of that checkpoint"
        assert stored(f"baseline answers not available: {absent}") == (
            "기준선의 답을 찾을 수 없음: b.answers.jsonl.gz 파일이 없고, "
            "results에 그 체크포인트의 실행이 없음"
        )
        other = "x.gz holds the answers of another baseline, and r has no run of that checkpoint"
        assert stored(f"baseline answers not available: {other}") == (
            "기준선의 답을 찾을 수 없음: x.gz 파일은 다른 기준선의 답임, "
            "r에 그 체크포인트의 실행이 없음"
        )


def test_wide_characters_keep_tables_aligned(regressed: Summary) -> None:
    with spoken(KOREAN):
        header, *lines = [line.text for line in terminal_lines(regressed)][1:4]
    ends = [
        width(text[: text.index(cell) + len(cell)])
        for text, cell in zip([header, *lines], ["차이", "-4.20 pp", "+0.00 pp"], strict=True)
    ]
    assert len(set(ends)) == 1


def test_github_reads_the_same_sentences(regressed: Summary) -> None:
    with spoken(KOREAN):
        summary = job_summary(regressed, "results/x")
        commands = workflow_commands(regressed)
    assert "| 체크포인트" in summary
    assert "**성능 저하: real@1 4.20 pp 하락" in summary
    assert commands[0].startswith("::error title=checkpoint-655%3A real@1 성능 저하::")


def test_the_first_variable_that_is_set_decides() -> None:
    assert of_locale({"LANG": "ko_KR.UTF-8"}) == "ko"
    assert of_locale({"LC_ALL": "ko_KR.UTF-8", "LANG": "en_US.UTF-8"}) == "ko"
    assert of_locale({"LC_ALL": "", "LC_MESSAGES": "C", "LANG": "ko_KR.UTF-8"}) == "en"
    assert of_locale({}) == "en"


def test_what_is_not_translated_is_english_and_a_language_ends() -> None:
    with spoken(KOREAN):
        assert counted(3, "error") == "오류 3건"
        assert listed("abcd") == "a, b, c 외 1개"
        assert tr("{n} unheard of", n=2) == "2 unheard of"
        assert counted(2, "kiwi") == "2 kiwis"
    assert counted(3, "error") == "3 errors"
    assert listed("abcd") == "a, b, c and 1 more"


def test_conclusions_on_several_checkpoints_in_korean(rising: Any) -> None:
    with spoken(KOREAN):
        sentences = conclude(rising.conclusions.runs[0].measurements).sentences
    assert sentences[0].startswith("run: 현재까지 추천: checkpoint-300 (스텝 300), real@1 최고; ")
    best = "run: real@1 최고: 마지막 체크포인트, 스텝 300 (checkpoint-300, 95.00%), "
    assert sentences[1].startswith(best)


def test_the_page_in_korean(fallen: Any) -> None:
    with spoken(KOREAN):
        text = page.html_report(*fallen.both, ())
    assert '<html lang="ko">' in text
    assert '<span class="word regressed">성능 저하</span>' in text
    assert "<strong>실패</strong>" in text
    assert "{n}쪽" in text
    shown = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
    sentences = [m for m in KOREAN.shown if len(m) > 12 and "{" not in m]
    assert [m for m in sentences if m in shown] == []


def test_charts_in_korean(sweep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sweep({"checkpoint-1": [1, 2, 2], "checkpoint-2": [1, 1, 2]}, against=[1, 1, 1])
    english = figures.drawn_charts(*run.both)
    with spoken(KOREAN):
        monkeypatch.setattr(figures, "_korean_fonts", list)
        drawn = figures.drawn_charts(*run.both)
        said = tr("The PNG files are in English: no font of this language is installed here.")
        assert said in page.html_report(*run.both, drawn)
        monkeypatch.setattr(figures, "_korean_fonts", lambda: ["DejaVu Sans"])
        assert said not in page.html_report(*run.both, drawn)
        drawable = figures.drawn_charts(*run.both)
    assert [each.png for each in drawn] == [each.png for each in english]
    assert [each.png for each in drawable] != [each.png for each in english]
    assert [each.name for each in drawn] == [each.name for each in english]
    words = set(re.findall(r">([^<>]*[A-Za-z]{3}[^<>]*)</text>", "".join(d.svg for d in drawn)))
    assert {word for word in words if not re.search("[가-힣]", word)} <= {"real@1", "real@5", "run"}
    svg = drawn[0].svg
    for shown in ("점수, % (띠: 95% 신뢰구간)", "기준선, 70.00%", ">스텝<"):
        assert shown in svg
    assert "차이, pp (선: 95% 신뢰구간)" in drawn[-1].svg


def test_the_korean_readme_has_the_words_of_the_verdicts() -> None:
    table = (Path(__file__).parents[3] / "README.ko.md").read_text(encoding="utf-8")
    for word in WORDS:
        assert f"| {KOREAN.shown[word]} (`{word}`) |" in table
