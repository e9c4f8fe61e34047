"""Looks at a comparison before all samples are asked, with an error rate that is kept over all.

Each look spends a part of the significance level (Lan and DeMets, "Discrete sequential boundaries
for clinical trials", Biometrika 1983), little at first and most at the end, much as O'Brien and
Fleming's boundary does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

from .._util.hashing import hashed_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOOKS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Shares of a benchmark's clusters after which it is looked at; the last one is all of them."""

_NODES = 96
_FAR = 8.0
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Look:
    """A comparison with a baseline, made when a share of the samples had been asked.

    Attributes:
        fraction: this share, in (0, 1].
        p_worse: one-sided p of "is it worse?", as if no other look were taken.
        p_better: likewise of "is it better?".
        p_excluded: likewise of "is the drop smaller than the one that must be seen?".
    """

    fraction: float
    p_worse: float | None
    p_better: float | None
    p_excluded: float | None


def stage_of(cluster: str, seed: int) -> int:
    """The index of the first look that includes a cluster of samples.

    By its hash: the samples before each look are a random part, whichever others were selected.
    """
    place = hashed_share(cluster, f"stage {seed}")
    return next(index for index, share in enumerate(LOOKS) if place < share)


def spent(alpha: float, fraction: float) -> float:
    """The part of a one-sided level that the looks up to a share of the samples have spent.

    `2 - 2 Phi(z(1 - alpha / 2) / sqrt(fraction))`, the O'Brien-Fleming-like function of Lan and
    DeMets.
    """
    from scipy import special  # type: ignore[import-untyped]

    return float(2 * special.ndtr(special.ndtri(alpha / 2) / sqrt(fraction)))


@lru_cache(maxsize=4096)
def nominal_levels(fractions: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """The level of each look's own test, such that together they keep `alpha`.

    By recursive integration over the paths that crossed no boundary (Armitage, McPherson and Rowe,
    "Repeated significance tests on accumulating data", 1969) of a normal process with independent
    increments.

    Args:
        fractions: shares at which looks were taken, ascending.
        alpha: one-sided level of all looks together, below 1.
    """
    import numpy as np
    from scipy import optimize, special

    points, weights = np.polynomial.legendre.leggauss(_NODES)
    levels: list[float] = []
    at: Floats = np.zeros(1)
    mass: Floats = np.ones(1)  # of the paths that go on, at the places `at`
    before = before_spent = 0.0
    for fraction in fractions:
        spread, total = sqrt(fraction - before), spent(alpha, fraction)
        share = total - before_spent

        def above(
            bound: float, at: Floats = at, mass: Floats = mass, spread: float = spread
        ) -> float:
            return float(mass @ special.ndtr((at - bound) / spread))

        low, high = -_FAR * sqrt(fraction), _FAR * sqrt(fraction)
        if above(high) >= share:
            bound = high
        elif above(low) <= share:
            bound = low
        else:
            bound = float(optimize.brentq(lambda b, s=share: above(b) - s, low, high, xtol=1e-10))
        levels.append(float(special.ndtr(-bound / sqrt(fraction))))
        places = low + (bound - low) * (points + 1) / 2
        steps = (places[:, None] - at) / spread
        density = np.exp(-steps * steps / 2) @ mass / (spread * sqrt(2 * np.pi))
        at, mass = places, density * weights * (bound - low) / 2
        before, before_spent = fraction, total
    return tuple(levels)


def sequential_p(p_values: Sequence[float | None], fractions: Sequence[float]) -> float | None:
    """The p value of several looks: the smallest level at which one of them would have rejected.

    Liu and Anderson, "On adaptive extensions of group sequential trials", 2008. It is at most
    alpha exactly where a look's own p is at most its nominal level, so Holm's correction over
    several metrics keeps its meaning.

    Args:
        p_values: one for each look; None was not tested.
        fractions: shares of the looks, ascending.

    Raises:
        ValueError: two are equal.
    """
    if any(before >= after for before, after in pairwise(fractions)):
        raise ValueError(f"shares of looks must ascend: {tuple(fractions)}")
    looks = [(p, f) for p, f in zip(p_values, fractions, strict=True) if p is not None]
    if not looks:
        return None
    if len(looks) == 1 and looks[0][1] >= 1.0:
        return looks[0][0]
    own, shares = [p for p, _ in looks], tuple(f for _, f in looks)

    def rejects(alpha: float) -> bool:
        return any(p <= a for p, a in zip(own, nominal_levels(shares, alpha), strict=True))

    low, high = _TINY, 1.0 - 1e-9
    if not rejects(high):
        return 1.0
    while high - low > 1e-4 * high:
        middle = sqrt(low * high)
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return high
