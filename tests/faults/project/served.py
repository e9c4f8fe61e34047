"""Forty texts that a server writes on: the number that it ends them with."""

from __future__ import annotations

from ckptbench import EvalProtocol, Generate, Sample, mean, samples

ROWS = [Sample(f"t-{i:02}", {"prompt": f"text {i:02}"}) for i in range(40)]


def ask(sample, asking):
    return Generate(sample["prompt"], max_tokens=16)


@samples(ROWS, protocol=(EvalProtocol("t/served", ask),), score=mean())
def test_served(response):
    return int(response.text) / 999
