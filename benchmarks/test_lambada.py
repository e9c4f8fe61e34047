"""LAMBADA@1: the word that only the whole passage can tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckptbench import Filled, Likelihood, Options, Sample, samples, top_k
from ckptbench.fixtures.datasets import lambada


def passages(_: Options, file: Path | None) -> Sequence[Sample]:
    """The rows of the data file, or those shipped: with blanks, for masked models."""
    return lambada.load(file)


@samples(passages, protocol=lambada.PROTOCOLS, score=top_k(1))
def test_lambada(response: Filled | Likelihood, k: int) -> None:
    """The missing word is the model's first choice."""
    assert response.within(k)
