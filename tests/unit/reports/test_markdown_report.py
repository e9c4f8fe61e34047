"""The report for pull requests, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ckptbench._util.markdown import inline
from ckptbench.reports.markdown import FLIPS_SHOWN, LONGEST, markdown_report


def table_rows(text: str, start: str) -> list[list[str]]:
    """The cells of the table whose header starts so; a cell ends at a bar that is not escaped."""
    lines = text[text.index(start) :].split("\n\n")[0].splitlines()
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]


def test_the_verdict_is_the_first_line(fallen: Any) -> None:
    first = markdown_report(*fallen.both).splitlines()[0]
    assert first.startswith("**regressed: real@1 fell by ")
    assert first.endswith(": exit 1**")


def test_without_a_baseline_the_first_line_is_what_is_concluded(rising: Any) -> None:
    first, _, rest = markdown_report(*rising.both).partition("\n")
    assert first == f"**{inline(rising.conclusions.sentences[0])}**"
    assert first.strip("*") not in rest  # it is said once


def test_a_row_holds_a_checkpoint_with_its_scores_their_intervals_and_the_verdict(
    fallen: Any,
) -> None:
    rows = table_rows(markdown_report(*fallen.both), "| checkpoint |")
    assert [cell.strip() for cell in rows[0]] == ["checkpoint", "real@1", "real@5", "verdict"]
    name, first, second, verdict = (cell.strip() for cell in rows[2])
    assert name == "checkpoint-655"
    assert re.fullmatch(r"60\.00% \[.+, .+\]<br>-10\.00 pp \[.+, .+\]", first)
    assert re.fullmatch(r"100\.00% \[.+, .+\]", second)
    assert verdict == "**regressed**: real@1"


def test_the_best_is_bold_and_the_recommended_one_is_named(rising: Any) -> None:
    rows = table_rows(markdown_report(*rising.both), "| checkpoint |")
    assert len(rows) == 5
    assert "**95.00%**" in rows[4][1]
    assert "recommended by real@1" in rows[4][0]


def test_flips_are_folded_and_told_apart(fallen: Any) -> None:
    text = markdown_report(*fallen.both)
    assert text.count("<details>") == text.count("</details>") == 1
    assert (
        "<summary>checkpoint-655, real/whole-word: 8 lost, 2 won at real@1 against "
        "baselines/best.json</summary>" in text
    )
    rows = table_rows(text, "| change |")[2:]
    assert [row[0].strip() for row in rows] == ["lost"] * 8 + ["won"] * 2
    assert rows[0][1].strip() == "s-0"
    assert rows[0][2].strip() == r"0000: \[MASK\]은 조선의 궁궐이다. 관광객이 궁궐을 찾는다."
    assert [cell.strip() for cell in rows[0][3:]] == ["궁궐", "-", "1. 틀림 2. 틀림 3. 궁궐"]
    assert "| the baseline said | checkpoint-655 says |" in text
    assert "baseline answers not available: baselines/best.json: there is no such" in text


def test_of_many_flips_the_first_are_shown_and_the_rest_counted(sweep: Callable[..., Any]) -> None:
    text = markdown_report(*sweep({"c-1": [2] * 70, "c-2": [1] * 70}).both)
    assert len(table_rows(text, "| change |")) == 2 + FLIPS_SHOWN
    assert f"{70 - FLIPS_SHOWN} more are in summary.json and the sample files." in text


def test_a_text_cannot_break_out_of_its_cell(sweep: Callable[..., Any]) -> None:
    text = "xyz a | b\n\n</details> <img src=x> `code` **bold** [link](http://x.y) \\| # head"
    report = markdown_report(*sweep({"c-1": [2, 1], "c-2": [1, 1]}, text=text).both)
    assert [len(row) for row in table_rows(report, "| change |")] == [6, 6, 6]
    assert report.count("</details>") == 1
    assert "<img" not in report
    shown = table_rows(report, "| change |")[2][2]
    assert r"a \| b &lt;/details> &lt;img src=x> \`code\` \*\*bold\*\* \[link\]" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@user", "@\u200buser"),
        ("(@org/team)", "(@\u200borg/team)"),
        ("fixes #12", "fixes \\#\u200b12"),
        ("GH-12", "GH-\u200b12"),
        ("http://a.b", "http://\u200ba.b"),
        ("www.a.b", "www\u200b.a.b"),
        ("real@1", "real@1"),
        ("a_b", "a\\_b"),
        ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
    ],
)
def test_nobody_is_called_and_nothing_is_linked(text: str, shown: str) -> None:
    assert inline(text) == shown


def test_it_fits_in_a_comment_and_says_what_does_not(sweep: Callable[..., Any]) -> None:
    ranks = {f"checkpoint-{n}": [1 + (n + i) % 2 for i in range(60)] for n in range(60)}
    text = markdown_report(*sweep(ranks, text="가|" * 300).both)
    assert len(text) <= LONGEST
    assert re.search(r"\d+ parts of this report left out", text)
    assert text.count("<details>") == text.count("</details>") > 0
    assert len(table_rows(text, "| checkpoint |")) == 62
