"""The interval of a weighted sum of estimates, from their own intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .intervals import Floats, Interval, Partition

METHOD = "mover"


def mover(
    estimates: Floats,
    intervals: Sequence[Interval],
    weights: Floats,
    correlations: Floats | None = None,
) -> Interval:
    """Interval of `sum(w x)` by the method of variance estimates recovery.

    Zou and Donner 2008, "Construction of confidence limits about effect measures"; with
    correlations Zou 2007. How far each interval reaches below its estimate stands for the standard
    error there, and above it for the one there:

        low = sum(w x) - sqrt(sum_ij r_ij d_i d_j),  d_i how far w_i x_i can fall

    A difference has the weights 1 and -1, and from two intervals of shares this is Newcombe's.
    A correlation that makes the terms cancel counts as 0: the sum is never surer than its parts
    would be if they were independent, and its interval never has zero width.

    Args:
        estimates: `[m]`.
        intervals: m of them, each around its estimate.
        weights: `[m]`, of any sign.
        correlations: `[m, m]`, of the estimates; independent when None.
    """
    signs = np.where(weights < 0, -1.0, 1.0)
    r = np.eye(len(weights)) if correlations is None else correlations * np.outer(signs, signs)
    r = np.maximum(r, 0.0)
    bounds = np.array(intervals, dtype=np.float64) * weights[:, None]
    terms = estimates * weights
    down, up = terms - bounds.min(axis=1), bounds.max(axis=1) - terms
    center = float(terms.sum())
    return center - float(np.sqrt(down @ r @ down)), center + float(np.sqrt(up @ r @ up))


def correlations_of_means(values: NDArray[np.float64], groups: Partition) -> Floats:
    """Correlations of the means of m columns over the same samples, by cluster.

    A column that does not vary between clusters shows no correlation with any other. It counts as
    1, the cautious choice, since answers to the same samples go together.

    Args:
        values: `[n, m]`.

    Returns:
        `[m, m]`, 1 on the diagonal.
    """
    centered = values - values.mean(axis=0)
    sums = np.stack([groups.sums(column) for column in centered.T])
    products = sums @ sums.T
    lengths = np.sqrt(np.diag(products))
    flat = lengths <= 1e-12 * max(1.0, float(np.abs(values).max()))
    scale = np.where(flat, 1.0, lengths)
    found = np.clip(products / np.outer(scale, scale), -1.0, 1.0)
    found[flat, :] = found[:, flat] = 1.0
    np.fill_diagonal(found, 1.0)
    return found


def block_diagonal(blocks: Sequence[Floats]) -> Floats:
    """Square blocks along the diagonal, 0 elsewhere: correlations of independent tables."""
    size = sum(len(block) for block in blocks)
    whole = np.zeros((size, size))
    start = 0
    for block in blocks:
        end = start + len(block)
        whole[start:end, start:end] = block
        start = end
    return whole
