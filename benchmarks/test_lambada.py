"""LAMBADA@1: the word that only the whole passage can tell."""

from __future__ import annotations

from collections.abc import Sequence

from ckptbench import Filled, Sample, samples, top_k
from ckptbench.fixtures.datasets import ko_lambada, lambada_protocols
from ckptbench.options import Options


def passages(options: Options) -> Sequence[Sample]:
    """The rows of `--lambada-data`, or those shipped."""
    return ko_lambada.load(options.lambada_data)


@samples(passages, protocol=lambada_protocols.PROTOCOLS, score=top_k(1))
def test_lambada(response: Filled, k: int) -> None:
    """The blank's word is the model's first choice."""
    assert response.within(k)
