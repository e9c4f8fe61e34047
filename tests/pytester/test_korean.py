"""`--lang` and the locale decide what people read, and nothing that programs read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

WORDS = [f"right {i:02}" for i in range(40)]
BASELINE = "--baseline=base.json"
# Of the time, and what was typed.
VOLATILE = re.compile(r'"(?:started|seconds|run_id|command)": [^\n]*')


@pytest.fixture
def worse(project: Any) -> Iterator[Any]:
    """A baseline that the next run is worse than."""
    project.write(WORDS, by_hand="")
    assert project.run(BASELINE, "--update-baseline", "--run-id=old").ret == 0
    with project.spoiled(*WORDS[20:]):
        yield project


def measured(project: Any, run: str, *options: str) -> tuple[Any, str]:
    """A run that answers anew, and its summary.json without what time decides."""
    result = project.run(BASELINE, "--no-resume", f"--run-id={run}", *options)
    text = (project.path / "results" / run / "summary.json").read_text(encoding="utf-8")
    return result, VOLATILE.sub("", text).replace(f'"value": "{run}"', "")


def test_the_summary_is_korean_and_the_results_are_the_same(worse: Any) -> None:
    english, before = measured(worse, "a1")
    korean, after = measured(worse, "a2", "--lang=ko")
    assert english.ret == korean.ret
    assert before == after
    assert any("exit" in line for line in english.outlines)
    assert any(f"종료 코드 {int(korean.ret)}" in line for line in korean.outlines)
    assert any(line.split()[:2] == ["지표", "점수"] for line in korean.outlines)
    assert f"results: results{os.sep}a2" in korean.outlines


def test_the_locale_is_asked_where_no_option_is_given(
    worse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert "종료 코드" in worse.run(BASELINE).stdout.str()
    assert "종료 코드" not in worse.run(BASELINE, "--lang=en").stdout.str()


def test_a_language_that_there_is_not_is_refused(worse: Any) -> None:
    result = worse.run(BASELINE, "--lang=de")
    assert result.ret == 4
    assert "expected en or ko" in result.stderr.str().replace("one of ", "").replace(", ", " or ")
