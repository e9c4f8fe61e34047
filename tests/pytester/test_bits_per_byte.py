"""Bits per byte of the right answer beside the share of right answers, in a session."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

SCORED = "else:\n            yield index, Filled(('x', 'y'), (-0.1, -2.0), rank, 1, LOGPROB)\n"


def with_answer(project: Any, logprob: str) -> None:
    """A protocol that names its answer, and an engine that gives `logprob` for it."""
    project.write()
    project.change(
        "test_bench.py", '"word/plain", ask, read)', '"word/plain", ask, read, answer=ANSWER)'
    )
    project.change(
        "test_bench.py", "PROTOCOL = ", "ANSWER = lambda sample: sample['text']\nPROTOCOL = "
    )
    project.change(
        "conftest.py",
        'else:\n            yield index, Filled(("x", "y"), (-0.1, -2.0), rank, 1)\n',
        SCORED.replace("LOGPROB", logprob),
    )


def test_they_are_a_metric_of_their_own_beside_the_shares(project: Any) -> None:
    with_answer(project, repr(-8 * log(2)))
    result = project.run()
    assert result.ret == 0
    scores = project.latest.scores
    assert list(scores) == ["word@1", "word@5", "word_bits_per_byte"]
    assert scores["word@1"]["value"] == 0.5
    # 8 bits for each text, of 8 bytes
    assert scores["word_bits_per_byte"]["value"] == pytest.approx(1.0)
    assert scores["word_bits_per_byte"]["unit"] == "bits_per_byte"
    assert not scores["word_bits_per_byte"]["gated"]
    (line,) = [line for line in result.outlines if "word_bits_per_byte ↓" in line]
    assert "1.0000" in line
    assert "%" not in line


def test_each_sample_has_its_own_in_the_files(project: Any) -> None:
    with_answer(project, repr(-4 * log(2)))
    project.run()
    values = [row["values"] for row in project.latest.samples()]
    assert [each["bits_per_byte"] for each in values] == pytest.approx([0.5] * 4)


@pytest.mark.parametrize("logprob", ["None", "None if rank == 2 else -1.0"], ids=["none", "one"])
def test_without_a_likelihood_the_metric_has_no_value_and_says_why(
    project: Any, logprob: str
) -> None:
    """The share stays as it is, and nothing fails."""
    with_answer(project, logprob)
    assert project.run().ret == 0
    scores = project.latest.scores
    assert scores["word@1"]["value"] == 0.5
    assert scores["word_bits_per_byte"]["value"] is None
    missing = 1 if "rank" in logprob else 4
    assert scores["word_bits_per_byte"]["reason"] == (
        f"word_bits_per_byte does not exist for {missing} of 4 samples: "
        "their responses hold no likelihood of the right answer"
    )
    assert project.coverage["errors"] == 0


def test_a_likelihood_that_is_no_number_is_an_error_and_no_miss(project: Any) -> None:
    with_answer(project, "float('-inf')")
    assert project.run().ret == 1
    assert project.coverage["errors"] == 4
    assert project.latest.scores["word@1"]["value"] is None


def test_a_baseline_holds_them_and_the_gate_does_not_judge_them(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_answer(project, "-3.0")
    assert project.run("--update-baseline", "--baseline=b.json").ret == 0
    assert "word_bits_per_byte" in (project.path / "b.json").read_text()
    project.change("conftest.py", "rank, 1, -3.0", "rank, 1, -30.0")
    monkeypatch.setenv("FINGERPRINT", "less sure")
    assert project.run("--baseline=b.json").ret == 0
    assert project.latest.scores["word_bits_per_byte"]["value"] > 5


def test_a_continued_run_has_the_same(project: Any) -> None:
    """What was stored holds the likelihood too: nothing is asked again."""
    with_answer(project, "-3.0")
    project.run("--run-id=a")
    before = project.latest.scores
    project.forget_asked()
    project.run("--run-id=b")
    assert project.asked == []
    assert project.latest.scores == before
