"""The unpaired tests: two numbers measured on samples that cannot be matched.

Two shares, each with its n, are tested exactly and unconditionally: the p-value is the largest
probability, over the share that both sides might have in common, of a result at least as extreme.
Numbers that only have standard errors are tested by Welch's t.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .lattice import binomial, likely_range
from .permutation_test import PValues

# The common share is looked for in an interval that misses it with this probability, which is
# added to p (Berger and Boos 1994): far from the pooled share extreme results are meaningless.
_MISSED = 1e-6
_COMMON_SHARES = 65
# With so many samples on both sides the exact critical score is the normal quantile.
_NORMAL_FROM = 500


def suissa_shuster_test(now: float, now_n: float, then: float, then_n: float) -> PValues:
    """Test whether the share `now` of `now_n` samples is lower, or higher, than `then` of `then_n`.

    Suissa and Shuster's (1985) unconditional test, ordered by the score statistic

        z = (now - then) / sqrt(m (1 - m) (1/now_n + 1/then_n)),   m the pooled share,

    and maximised over Berger and Boos' (1994) interval of the common share, so that the false-alarm
    rate is at most alpha for every true share and any two n. Nothing is drawn; the cost grows with
    the root of n (1 ms at n = 200, 10 ms at 14,000).

    Args:
        now: share of this run, 0 to 1.
        now_n: samples of this run; of clustered samples n divided by the design effect. Rounded
            down to a whole number, at least 1.
        then: share of the baseline.
        then_n: the same of the baseline.

    Returns:
        One-sided p-values and twice the smaller, at most 1; never 0.

    Raises:
        ValueError: a share outside 0 to 1, or an n below 1.
    """
    if not (0 <= now <= 1 and 0 <= then <= 1):
        raise ValueError(f"shares lie between 0 and 1, not {now} and {then}")
    if now_n < 1 or then_n < 1:
        raise ValueError(f"a share needs at least one sample, not {now_n} and {then_n}")
    a, b = int(now_n), int(then_n)
    worse = p_of_lower(now, a, then, b)
    # Of misses instead of passes the question is the same with the sign turned.
    better = p_of_lower(1 - now, a, 1 - then, b)
    return PValues(worse, better, min(1.0, 2 * min(worse, better)))


def welch_test(
    now: float,
    now_error: float,
    now_degrees: float,
    then: float,
    then_error: float,
    *,
    then_n: float | None = None,
) -> PValues:
    """Welch's t test of two numbers with standard errors (Welch 1947).

    Degrees of freedom by Welch and Satterthwaite; a baseline without n counts as if its error
    were known exactly. Errors that are both 0 decide nothing.

    Args:
        now: this run's value, in any unit, of which more is better.
        now_error: its standard error, in the same unit.
        now_degrees: degrees of freedom of `now_error`, such as clusters - 1.
        then: the baseline's value.
        then_error: the baseline's standard error.
        then_n: samples of the baseline, if known.
    """
    from scipy import special  # type: ignore[import-untyped]

    variance = now_error**2 + then_error**2
    if not variance:
        return PValues(0.5, 0.5, 1.0)
    degrees = welch_degrees(now_error, now_degrees, then_error, then_n)
    t = (now - then) / sqrt(variance)
    worse, better = float(special.stdtr(degrees, t)), float(special.stdtr(degrees, -t))
    return PValues(worse, better, min(1.0, 2 * min(worse, better)))


def welch_degrees(
    now_error: float, now_degrees: float, then_error: float, then_n: float | None
) -> float:
    """Welch and Satterthwaite's degrees of freedom of a difference, at least 1."""
    spread = now_error**4 / max(now_degrees, 1.0)
    if then_n is not None:
        spread += then_error**4 / max(then_n - 1, 1.0)
    return max(1.0, (now_error**2 + then_error**2) ** 2 / spread) if spread else 1e9


def share_error(value: float, n: float) -> float:
    """The smallest standard error that a share of n samples can have.

    `sqrt(p (1-p) / n)`, with p the share itself or, where that is larger, the share with one
    passed and one missed sample added (Agresti and Caffo 2000): 100% of two samples is not
    known exactly.
    """
    plain = value * (1 - value) / n
    added = (value * n + 1) / (n + 2)
    return sqrt(max(plain, added * (1 - added) / (n + 2)))


def p_of_lower(now: float, now_n: int, then: float, then_n: int) -> float:
    """The one-sided p of `suissa_shuster_test`: is `now` lower than `then`?

    Shares of whole numbers of samples; the passes need not be whole.
    """
    from scipy import special  # type: ignore[import-untyped]

    seen = float(_score(np.array(now * now_n), now_n, np.array(then * then_n), then_n))
    common = _common_shares(now * now_n + then * then_n, now_n + then_n)
    # Counts of the baseline that can occur under one of the common shares at all.
    low, high = likely_range(then_n, common[0])[0], likely_range(then_n, common[-1])[1]
    counts = np.arange(low, high + 1)
    bounds = _largest_extreme(seen, now_n, counts, then_n)
    counts, bounds = counts[bounds >= 0], bounds[bounds >= 0]
    shares = common[:, None]
    extreme = binomial(counts, then_n, shares) * special.bdtr(bounds, now_n, shares)
    return min(1.0, float(extreme.sum(axis=1).max()) + _MISSED)


def _score(
    now_counts: NDArray[np.float64], now_n: int, then_counts: NDArray[np.float64], then_n: int
) -> NDArray[np.float64]:
    """The score statistic of counts of passes; 0 where all pass or all miss."""
    pooled = (now_counts + then_counts) / (now_n + then_n)
    spread = pooled * (1 - pooled) * (1 / now_n + 1 / then_n)
    difference = now_counts / now_n - then_counts / then_n
    z = np.where(spread > 1e-15, difference / np.sqrt(np.maximum(spread, 1e-15)), 0.0)
    return np.asarray(z, dtype=np.float64)


def _largest_extreme(
    seen: float, now_n: int, then_counts: NDArray[np.int64], then_n: int
) -> NDArray[np.int64]:
    """`[m]`: the most passes of this run that are as extreme as `seen`, -1 where none is.

    The score grows with this run's passes while the baseline's stay, so it is a bisection, over
    all of the baseline's counts at once.
    """
    low = np.full(len(then_counts), -1)
    high = np.full(len(then_counts), now_n + 1)
    baseline = then_counts.astype(np.float64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        extreme = _score(middle.astype(np.float64), now_n, baseline, then_n) <= seen + 1e-9
        low, high = np.where(extreme, middle, low), np.where(extreme, high, middle)
    return low


def _common_shares(passed: float, n: int) -> NDArray[np.float64]:
    """`[65]`: an even grid, in the arc sine of the root, over Clopper and Pearson's interval."""
    from scipy import special  # type: ignore[import-untyped]

    half = _MISSED / 2
    low = float(special.betaincinv(passed, n - passed + 1, half)) if passed > 0 else 0.0
    high = float(special.betaincinv(passed + 1, n - passed, 1 - half)) if passed < n else 1.0
    angles = np.linspace(np.arcsin(sqrt(low)), np.arcsin(sqrt(high)), _COMMON_SHARES)
    shares = np.sin(angles) ** 2
    return np.asarray(np.clip(shares, 1e-12, 1 - 1e-12), dtype=np.float64)


def critical_score(now_n: int, then_n: int, then: float, alpha: float) -> float:
    """The score, negative, up to which a difference is significant at level alpha.

    That at the baseline's share `then`: it lies between the score of the last count of this run
    that is significant and that of the first one that is not.
    """
    from scipy import special  # type: ignore[import-untyped]

    critical = -float(special.ndtri(1 - alpha))
    if min(now_n, then_n) >= _NORMAL_FROM:
        return critical
    baseline = np.array([then * then_n])
    last, first = -1, now_n + 1
    while first - last > 1:
        middle = (last + first) // 2
        if p_of_lower(middle / now_n, now_n, then, then_n) <= alpha:
            last = middle
        else:
            first = middle
    counts = np.array([max(last, 0), first], dtype=np.float64)
    between = float(_score(counts, now_n, baseline, then_n).mean())
    # Where not even no pass at all is significant, nothing is.
    return between if last >= 0 else between - 1.0


def power_of_shares(
    now: float, now_n: int, then: float, then_n: int, critical: float, tolerance: float
) -> float:
    """How often a share `now` is found worse than `then`, by more than the tolerance.

    Args:
        then: above 0.
        critical: the score up to which a difference is significant.
    """
    from scipy import special  # type: ignore[import-untyped]

    low, high = likely_range(then_n, then)
    counts = np.arange(low, high + 1)
    weights = binomial(counts, then_n, then)
    bounds = _largest_extreme(critical, now_n, counts, then_n)
    most = np.ceil((counts / then_n - tolerance - 1e-9) * now_n) - 1
    bounds = np.minimum(bounds, most)
    possible = bounds >= 0
    found = special.bdtr(bounds[possible], now_n, now)
    return float(weights[possible] @ found)
