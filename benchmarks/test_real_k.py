"""Real@K: a masked language model names a noun that the text has named before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckptbench import Filled, Options, Sample, samples, top_k
from ckptbench.fixtures.datasets import real_k


def passages(_: Options, file: Path | None) -> Sequence[Sample]:
    """The samples of the data file, or those shipped."""
    return real_k.load(file)


@samples(passages, protocol=real_k.PROTOCOLS, score=top_k(1, 5))
def test_real_k(response: Filled, k: int) -> None:
    """The masked second mention is among the model's first k words."""
    assert response.within(k)
