"""What is shown of a sample that the baseline got right: its question and its answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckptbench.reports.github import job_summary
from ckptbench.reports.lost_samples import LostSample
from ckptbench.reports.sample_texts import expected_text, one_line, question_text
from ckptbench.reports.terminal import terminal_lines
from ckptbench.results.summary import Flip, Summary

PASSAGE = "경복궁은 조선의 궁궐이다. " + "사람이 많다. " * 30 + "관광객이 궁궐을 찾는다."


@pytest.mark.parametrize(
    ("fields", "question", "expected"),
    [
        (
            {
                "text": "물레가 돌자 물레 위에 흙",
                "answer": "물레",
                "first": [0, 2],
                "second": [7, 9],
            },
            "물레가 돌자 [MASK] 위에 흙",
            "물레",
        ),
        (
            {"text": "차오르자 _는 목을 축였다.", "answer": "까마귀"},
            "차오르자 _는 목을 축였다.",
            "까마귀",
        ),
        (
            {
                "prompt": "def add(a, b):\n    '''Sum.'''\n",
                "canonical_solution": "    return a + b\n",
            },
            "def add(a, b): '''Sum.'''",
            "    return a + b\n",
        ),
        (
            {
                "task": "t",
                "doc_id": 3,
                "doc": {"question": "2 + 2?", "choices": ["3", "4"]},
                "target": 1,
            },
            "2 + 2?",
            "1",
        ),
        ({"doc": {"goal": "boil water", "id": "7"}, "target": 0}, "boil water", "0"),
        ({"number": 3}, '{"number": 3}', ""),
    ],
)
def test_the_question_and_the_right_answer(
    fields: dict[str, object], question: str, expected: str
) -> None:
    assert question_text(fields, 70) == question  # type: ignore[arg-type]
    assert expected_text(fields) == expected  # type: ignore[arg-type]


def test_of_a_long_text_the_part_around_the_blank_is_shown() -> None:
    start = PASSAGE.rindex("궁궐")
    fields = {"text": PASSAGE, "answer": "궁궐", "second": [start, start + 2]}
    shown = question_text(fields, 70)  # type: ignore[arg-type]
    assert shown.startswith("…")
    assert shown.endswith("관광객이 [MASK]을 찾는다.")
    assert len(shown) <= 72


def test_what_a_model_wrote_cannot_move_the_cursor() -> None:
    assert one_line("a\x1b[2J\nb\ud800", 60) == "a\ufffd[2J b\ufffd"


@pytest.fixture
def lost() -> list[LostSample]:
    return [
        LostSample(
            "checkpoint-655", f"s-{i}", "Who | what?", "x", "y (fail: `no`)", "x" if i else ""
        )
        for i in range(12)
    ]


def test_three_stand_on_the_terminal_before_the_verdict(
    make: SimpleNamespace, lost: list[LostSample]
) -> None:
    run = one_run(make)
    lines = [line.text for line in terminal_lines(run, lost=lost)]
    assert lines[-8:-1] == [
        "samples that the baseline got right, 3 of 12:",
        "  s-0: Who | what?",
        "    expected x; said y (fail: `no`)",
        "  s-1: Who | what?",
        "    expected x; said y (fail: `no`); baseline said x",
        "  s-2: Who | what?",
        "    expected x; said y (fail: `no`); baseline said x",
    ]


def test_ten_are_rows_of_the_job_summary(make: SimpleNamespace, lost: list[LostSample]) -> None:
    markdown = job_summary(one_run(make), "results/x", lost)
    assert "samples that the baseline got right, 10 of 12:\n" in markdown
    assert r"| checkpoint-655 | s-0 | Who \| what? | x | y (fail: \`no\`) |  |" in markdown
    assert markdown.count(r"Who \| what?") == 10
    assert markdown.index("| s-9 |") < markdown.index("**no baseline") < markdown.index("results/x")


def one_run(make: SimpleNamespace) -> Summary:
    flips = tuple(Flip(f"t.py::t[s-{i}]", "lost") for i in range(12))
    result = make.result("real/whole-word", make.score("real@1", 0.5), flips=flips)
    summary: Summary = make.summary(make.checkpoint(result))
    return summary
