"""How far the heads of multi-token prediction agree with the first one, and what that saves.

A model with n heads predicts the next n tokens at once (Gloeckle et al. 2024, "Better & Faster
Large Language Models via Multi-token Prediction"). Its first head writes; the others matter where
it decodes its own drafts (self-speculatively; blockwise parallel decoding, Stern et al. 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from .intervals import BOUNDED_METHOD, Floats, korn_graubard_interval, partition, squared_error
from .metric import Metric
from .score import Score

ACCEPTED_LENGTH = "mtp_accepted_length"
_AGREEMENT = Metric(gated=False)
_LENGTH = Metric("", gated=False)


@dataclass(frozen=True, slots=True, order=True)
class HeadCounts:
    """What was counted in one generated text.

    Attributes:
        sample: content hash of its sample.
        cluster: name of the sample's cluster.
        tokens: how many were generated.
        agreed: for each head behind the first, the places of the text where its first choice is
            that of the first head there; empty where it was not counted. The head of the k-th
            next token predicts all places but the first k - 1.
        passes: forward passes that self-speculative greedy decoding takes for them.
    """

    sample: str
    cluster: str
    tokens: int
    agreed: tuple[int, ...]
    passes: int


def multi_token_scores(texts: Sequence[HeadCounts], heads: int) -> tuple[Score, ...]:
    """`mtp_agreement@2` to `mtp_agreement@n`, and `mtp_accepted_length`; nothing without texts.

    Each is a ratio of sums over all texts, and its standard error and interval are those of a
    clustered share: of the places that a head predicted, which lie in clusters, and of the
    places that a pass can gain, n - 1 each.

    Args:
        heads: n, how many the model has, the first included.
    """
    if not texts or heads < 2:
        return ()
    texts = sorted(texts)  # sums differ in their last digits with the order of addition
    names = [f"mtp_agreement@{number}" for number in range(2, heads + 1)]
    lacking = sum(len(text.agreed) != heads - 1 for text in texts)
    if lacking:
        reason = f"it was not counted in {lacking:,} of {len(texts):,} texts"
        shares = [Score(name, None, 0, 0, reason=reason) for name in (*names, ACCEPTED_LENGTH)]
    else:
        counts = np.array([(*text.agreed, text.tokens, text.passes) for text in texts], np.float64)
        tokens, passes = counts[:, -2], counts[:, -1]
        shares = [
            _share(name, counts[:, index], np.maximum(tokens - index - 1, 0), texts)
            for index, name in enumerate(names)
        ]
        gained = _share(ACCEPTED_LENGTH, (tokens - passes) / (heads - 1), passes, texts)
        shares.append(_stretched(gained, heads - 1))
    return (*(share.of(_AGREEMENT) for share in shares[:-1]), shares[-1].of(_LENGTH))


def _share(name: str, parts: Floats, wholes: Floats, texts: Sequence[HeadCounts]) -> Score:
    """The ratio of the sums of parts and wholes, `[texts]`, over the texts that have a whole."""
    used = np.flatnonzero(wholes).tolist()
    n = len({texts[row].sample for row in used})
    if not n:
        return Score(name, None, 0, 0, reason="no text is long enough")
    groups = partition([texts[row].cluster for row in used])
    sums, sizes = groups.sums(parts[used]), groups.sums(wholes[used])
    value = sums.sum() / sizes.sum()
    score = Score(name, float(value), n, groups.clusters)
    if groups.clusters < 2:
        return replace(score, reason="no standard error (only one cluster)")
    low, high = korn_graubard_interval(sums, sizes)
    return replace(
        score,
        standard_error=sqrt(float(squared_error(sums, sizes, value))),
        interval=(float(low), float(high)),
        method=BOUNDED_METHOD,
    )


def _stretched(share: Score, most: int) -> Score:
    """The accepted length of a share of the `most` tokens that a pass can gain beside its own."""
    if share.value is None:
        return share
    error, interval = share.standard_error, share.interval
    return replace(
        share,
        value=1 + most * share.value,
        standard_error=None if error is None else most * error,
        interval=None if interval is None else (1 + most * interval[0], 1 + most * interval[1]),
    )
