"""An engine is told of the last block of its checkpoint, before it is asked it."""

from __future__ import annotations

import pytest

SUITE = """
import pytest
from ckptbench import EvalProtocol, Filled, FillMask, Sample, samples, top_k

ROWS = [Sample(f"s{i}", {"text": f"a{i}"}) for i in range(3)]


def asked(name):
    return EvalProtocol(name, lambda sample, how: FillMask(sample["text"], (0, 1), "x"))


class Told:
    settings = {}

    def __init__(self, name):
        self.fingerprint = self.name = name

    def last_block(self):
        self.note("last")

    def answer(self, requests):
        self.note(len(requests))
        for place, request in enumerate(requests):
            yield place, Filled((request.word,), (0.0,), 1, 1)

    def note(self, what):
        with open("told.txt", "a") as file:
            print(self.name, what, file=file)


@pytest.fixture(scope="session")
def checkpoint(request):
    return request.param


@pytest.fixture(scope="session")
def engine(checkpoint):
    return Told(checkpoint.name)


@samples(ROWS, protocol=asked("one/plain"), score=top_k(1))
def test_one(response, k):
    assert response.within(k)


@samples(ROWS[:2], protocol=asked("two/plain"), score=top_k(1))
def test_two(response, k):
    assert response.within(k)
"""
CHECKPOINTS = ("--checkpoint=demo-mlm/checkpoint-100", "--checkpoint=demo-mlm/checkpoint-6000")


@pytest.mark.parametrize(
    ("option", "blocks"),
    [
        ("--gate=off", ["3", "last", "2"]),
        ("--batch-size=2", ["2", "1", "2"]),  # the last block may be asked in several calls
    ],
)
def test_the_last_block_of_each_checkpoint_is_announced(
    pytester: pytest.Pytester, option: str, blocks: list[str]
) -> None:
    pytester.makepyfile(test_told=SUITE)
    result = pytester.runpytest_inprocess(*CHECKPOINTS, option, "-p", "no:randomly")
    result.assert_outcomes(passed=10)
    told = [line.rpartition(" ") for line in (pytester.path / "told.txt").read_text().splitlines()]
    for step in ("checkpoint-100", "checkpoint-6000"):
        assert [what for name, _, what in told if name.endswith(step)] == blocks
