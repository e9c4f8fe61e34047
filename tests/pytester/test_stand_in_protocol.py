"""Samples that a benchmark's own protocols cannot ask are asked by one on request."""

from __future__ import annotations

from typing import Any

import pytest

BENCHMARK = """
from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

ROWS = [Sample(f"s-{i}", {"text": f"right {i}"}) for i in range(3)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


def solved(sample):
    return "shots" in sample.fields


@samples(
    ROWS,
    protocol=EvalProtocol("word/shots", ask, covers=solved),
    on_request=[
        EvalProtocol("word/more-shots", ask, covers=solved),
        EvalProtocol("word/bare", ask),
        EvalProtocol("word/other", ask),
    ],
    score=top_k(1),
)
def test_word(response, k):
    assert response.within(k)
"""
NOTE = "word: word/shots can ask none of these samples, so they are asked by word/bare"


@pytest.fixture
def lacking(project: Any) -> Any:
    project.write()
    project.file("test_word.py", BENCHMARK)
    return project


def test_the_first_on_request_that_can_ask_stands_in(lacking: Any) -> None:
    result = lacking.run("test_word.py")
    assert NOTE in result.stdout.str()
    assert lacking.result["protocol"] == "word/bare"
    assert lacking.scores == {"word@1": 1.0}


def test_nothing_stands_in_for_a_protocol_that_was_chosen(lacking: Any) -> None:
    result = lacking.run("test_word.py", "--protocol=word=shots", "--collect-only")
    assert "word/bare" not in result.stdout.str()
    result = lacking.run("test_word.py", "--protocol=word=other")
    assert NOTE not in result.stdout.str()
    assert lacking.result["protocol"] == "word/other"


def test_nothing_stands_in_where_one_sample_can_be_asked(lacking: Any) -> None:
    one = 'ROWS.append(Sample("x", {"text": "right x", "shots": "1"}))\n\n\ndef ask('
    lacking.file("test_word.py", BENCHMARK.replace("def ask(", one))
    result = lacking.run("test_word.py")
    assert NOTE not in result.stdout.str()
    assert lacking.result["protocol"] == "word/shots"
    assert lacking.coverage["scored"] == 1
