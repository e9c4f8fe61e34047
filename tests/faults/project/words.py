"""Four benchmarks of 40 samples: of words that a mask hides, and of a number for each."""

from __future__ import annotations

from ckptbench import EvalProtocol, FillMask, Sample, mean, samples, top_k


def rows(name: str) -> list[Sample]:
    return [Sample(f"{name}-{i:02}", {"text": f"{name} {i:02}"}) for i in range(40)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


@samples(rows("red"), protocol=(EvalProtocol("red/words", ask),), score=top_k(1, 5))
def test_red(response, k):
    assert response.within(k)


@samples(rows("blue"), protocol=(EvalProtocol("blue/words", ask),), score=top_k(1, 5))
def test_blue(response, k):
    assert response.within(k)


@samples(rows("green"), protocol=(EvalProtocol("green/numbers", ask),), score=mean())
def test_green(response):
    return -response.logprobs[0] / 4


@samples(rows("black"), protocol=(EvalProtocol("black/numbers", ask),), score=mean())
def test_black(response):
    return -response.logprobs[1] / 12
