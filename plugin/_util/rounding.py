"""Log probabilities of answers, rounded so that they do not depend on the batch.

A batch of another shape sums in another order, which changes the last digits. Engines whose answers
must not depend on the batch compute those near the boundary between two rounded values again, alone
or in higher precision.
"""

from __future__ import annotations

from math import floor, inf, isfinite

# Nats for each token: far less than samples differ by.
STEP = 0.01


def rounded(logprob: float, tokens: int) -> float | None:
    """A log probability as a multiple of `STEP x tokens`; None when it is no finite number.

    Args:
        logprob: natural-log probability, summed over the tokens.
        tokens: how many tokens it was summed over.
    """
    if not isfinite(logprob) or tokens < 1:
        return None
    step = STEP * tokens
    # The second rounding removes the error of binary fractions.
    return round(floor(logprob / step + 0.5) * step, 6)


def rounding_gap(logprob: float, tokens: int) -> float:
    """Distance of a log probability from the nearest rounding boundary, in nats a token.

    Infinity where nothing is rounded.
    """
    if not isfinite(logprob) or tokens < 1:
        return inf
    steps = logprob / (STEP * tokens)
    return abs(steps - floor(steps) - 0.5) * STEP
