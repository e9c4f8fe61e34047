"""The paired test of sampled answers: pass@k with equal or unequal numbers of trials.

With equal numbers the signs of the problems' differences are flipped. With unequal numbers a
problem's difference is not symmetric around zero when nothing changed (one trial against twenty
of a hard problem: rarely much better, mostly a little worse), and sign flips reject too often:
12.7% at alpha 5%, 20 trials against 1, 20 problems, a weak model. Permuting the trials' labels
within each problem is exact when nothing changed, but calls a reshuffle of the problems'
strengths a regression. So both are computed, and the larger p counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..scores.reducers import estimate_pass_at_k
from .lattice import Summand, common_unit
from .permutation_test import DRAWS, NO_DIFFERENCE, PValues, exact_p_values, sign_flip_test

Counts = NDArray[np.int64]
Trials = tuple[Counts, Counts]
"""`[g]` each: how many trials of each problem passed, and how many there were, at least k."""
# What the difference of each of so many problems can be when its trials' labels are permuted,
# above the least there can be, `[s]`, ascending; and the probabilities, hypergeometric, `[s]`.
_Labels = tuple[NDArray[np.float64], NDArray[np.float64], int]

# A multinomial draw costs about as much as this many uniform ones for each of its values.
_ALIKE = 15


def pass_at_k(passed: Counts, trials: Counts, k: int) -> NDArray[np.float64]:
    """`[g]`: the unbiased estimate of pass@k of each problem.

    Raises:
        ValueError: a problem has fewer than k trials, or more passes than trials.
    """
    pairs, inverse = np.unique(np.stack([passed, trials]), axis=1, return_inverse=True)
    values = [estimate_pass_at_k(int(n), int(c), k) for c, n in pairs.T.tolist()]
    if None in values:
        raise ValueError(f"pass@{k} does not exist with {int(trials.min())} trials")
    return np.array(values, dtype=np.float64)[inverse.ravel()]


def trials_test(now: Trials, then: Trials, k: int, *, draws: int = DRAWS, seed: int = 0) -> PValues:
    """Test the difference in pass@k over the same problems, whatever the numbers of trials.

    Args:
        now: this run's trials.
        then: the baseline's, of the same problems.
        k: of pass@k.
        draws: random draws, where the distribution is too large to be computed.
        seed: of the random draws.

    Returns:
        With equal numbers of trials the p-values of `sign_flip_test`; otherwise the larger of
        those and the ones of `label_permutation_test`, each of the three by itself.

    Raises:
        ValueError: a problem has fewer than k trials, or more passes than trials.
    """
    signs = sign_flip_test(pass_at_k(*now, k) - pass_at_k(*then, k), draws=draws, seed=seed)
    if (now[1] == then[1]).all():
        return signs
    labels = label_permutation_test(now, then, k, draws=draws, seed=seed)
    return PValues(*(max(pair) for pair in zip(signs, labels, strict=True)))


def label_permutation_test(
    now: Trials, then: Trials, k: int, *, draws: int = DRAWS, seed: int = 0
) -> PValues:
    """Permute within each problem which trials are this run's and which the baseline's.

    Of a problem's passes, this run has a hypergeometric number. The sum of the differences is
    computed by convolution where its values are multiples of one unit and not too many (always
    for pass@1), and drawn at random otherwise; the data counts as one more draw then.

    Args and raises as in `trials_test`.
    """
    seen = float((pass_at_k(*now, k) - pass_at_k(*then, k)).sum())
    problems = np.stack([now[0] + then[0], now[1], then[1]])
    kinds, counts = np.unique(problems, axis=1, return_counts=True)
    labels: list[_Labels] = []
    for kind, count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        differences, probabilities = _differences(*kind, k=k)
        seen -= count * float(differences[0])
        if len(differences) > 1:
            labels.append((differences - differences[0], probabilities, count))
    if not labels:
        return NO_DIFFERENCE
    unit = common_unit(np.concatenate([steps for steps, _, _ in labels]))
    if unit is not None:
        summands = [Summand(np.rint(s / unit).astype(np.int64), p, n) for s, p, n in labels]
        exact = exact_p_values(summands, round(seen / unit))
        if exact is not None:
            return exact
    return _drawn(labels, seen, draws, np.random.default_rng(seed))


def _differences(
    passed: int, now_trials: int, then_trials: int, *, k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the difference of a problem can be, of whose trials `passed` passed, with its odds."""
    from scipy import special  # type: ignore[import-untyped]

    most = min(passed, now_trials)
    now = np.arange(max(0, passed - then_trials), most + 1)
    differences = pass_at_k(now, np.full_like(now, now_trials), k) - pass_at_k(
        passed - now, np.full_like(now, then_trials), k
    )
    ways = special.binom(now_trials, now) * special.binom(then_trials, passed - now)
    values, inverse = np.unique(np.round(differences, 12), return_inverse=True)
    return values, np.bincount(inverse, weights=ways / ways.sum()).astype(np.float64)


def _drawn(labels: Sequence[_Labels], seen: float, draws: int, rng: np.random.Generator) -> PValues:
    """The same by random draws: the inverse of each problem's distribution function."""
    totals = np.zeros(draws)
    for step, probabilities, problems in labels:
        bounds = np.cumsum(probabilities)[:-1]
        if problems > _ALIKE * len(step):
            # How many of them have each value: fewer draws than one for each problem.
            totals += rng.multinomial(problems, probabilities, size=draws) @ step
            continue
        for _ in range(problems):
            totals += step[np.searchsorted(bounds, rng.random(draws), side="right")]
    equal = 1e-9  # sums that tie differ in their last digits, others by much more
    tied = int((np.abs(totals - seen) <= equal).sum()) + 1
    below, above = int((totals < seen - equal).sum()), int((totals > seen + equal).sum())
    floor = 1 / (draws + 1)
    worse, better = (max((side + tied / 2) / (draws + 1), floor) for side in (below, above))
    smaller = min(worse, better)
    return PValues(
        worse,
        better,
        min(1.0, 2 * (min(below, above) + tied) / (draws + 1)),
        sqrt(smaller * (1 - smaller) / draws),
    )
