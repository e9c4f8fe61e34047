"""The interval of a weighted sum of estimates, from their own intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .intervals import Floats, Interval, Partition

METHOD = "mover"
_ROUNDING = 1e-12


def mover(
    estimates: Sequence[float],
    intervals: Sequence[Interval],
    weights: Sequence[float],
    correlations: Floats | None = None,
) -> Interval:
    """Interval of `sum(w x)` from m estimates x and their intervals; see `mover_bounds`.

    Args:
        correlations: `[m, m]`, of the estimates; they are independent when None.
    """
    bounds = np.array(intervals, dtype=np.float64)
    r = np.eye(len(weights)) if correlations is None else correlations
    low, high = mover_bounds(np.array(estimates), bounds[:, 0], bounds[:, 1], np.array(weights), r)
    return float(low), float(high)


def mover_bounds(
    estimates: Floats, lows: Floats, highs: Floats, weights: Floats, correlations: Floats
) -> tuple[Floats, Floats]:
    """Bounds of `sum(w x)` by the method of variance estimates recovery.

    Zou and Donner 2008, "Construction of confidence limits about effect measures"; with
    correlations Zou 2007. How far each interval reaches below its estimate stands for the standard
    error there, and above it for the one there:

        low = sum(w x) - sqrt(sum_ij r_ij d_i d_j),  d_i how far w_i x_i can fall

    A difference has the weights 1 and -1, and from two intervals of shares this is Newcombe's.
    Terms that would cancel count as independent, so the interval never has zero width.

    Args:
        estimates: `[..., m]`.
        lows: `[..., m]`, not above the estimates; `highs` not below.
        weights: `[m]`, of any sign.
        correlations: `[..., m, m]`, of the estimates.

    Returns:
        Low and high, `[...]` each.
    """
    signs = np.where(weights < 0, -1.0, 1.0)
    r = np.maximum(correlations * np.outer(signs, signs), 0.0)
    terms = estimates * weights
    down = terms - np.minimum(lows * weights, highs * weights)
    up = np.maximum(lows * weights, highs * weights) - terms
    center = terms.sum(axis=-1)
    low: Floats = center - np.sqrt(np.einsum("...i,...ij,...j->...", down, r, down))
    high: Floats = center + np.sqrt(np.einsum("...i,...ij,...j->...", up, r, up))
    return low, high


def correlations_of_means(values: Floats, groups: Partition) -> Floats:
    """`correlations_of_sums` of m columns over the same samples, `[n, m]`, as `[m, m]`."""
    sums = np.stack([groups.sums(column) for column in values.T])
    return correlations_of_sums(sums, groups.sizes)


def correlations_of_sums(sums: Floats, sizes: Floats) -> Floats:
    """Correlations of the means of m metrics over the same samples, by cluster.

    A metric that does not vary between clusters shows no correlation with any other. It counts as
    1, the cautious choice, since answers to the same samples go together.

    Args:
        sums: `[..., m, g]`, sums of the values within clusters.
        sizes: `[g]`, samples in each cluster.

    Returns:
        `[..., m, m]`, 1 on the diagonal.
    """
    means = sums.sum(axis=-1, keepdims=True) / sizes.sum()
    deviations = sums - sizes * means
    products = deviations @ np.swapaxes(deviations, -1, -2)
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    flat = squares <= (_ROUNDING * np.abs(sums).max(axis=-1)) ** 2 * len(sizes)
    lengths = np.sqrt(np.where(flat, 1.0, squares))
    scaled = products / (lengths[..., :, None] * lengths[..., None, :])
    unknown = flat[..., :, None] | flat[..., None, :] | np.eye(sums.shape[-2], dtype=bool)
    return np.where(unknown, 1.0, np.clip(scaled, -1.0, 1.0))


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
