"""Populations of clusters whose truth is known, and how often an interval holds it.

A population is what a cluster can come to (a few numbers, such as the hits of three samples) and
how probable each is. So the truth is known exactly, and a run of g clusters is one multinomial draw
of how many came to what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ckptbench.scores.intervals import korn_graubard_interval

Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]

LEAST, MOST = 0.93, 0.975
_NUMBERS_IN_MEMORY = 4_000_000
_FEW_LEVELS = 30


@dataclass(frozen=True)
class Population:
    """What one cluster can come to.

    Attributes:
        levels: `[j, d]`, sums of a cluster's samples in each of d metrics.
        chances: `[j]`.
        size: samples in a cluster.
    """

    levels: Floats
    chances: Floats
    size: int = 1

    def means(self) -> Floats:
        """`[d]`: the true mean of each metric, by sample."""
        return self.chances @ self.levels / self.size

    def rows(self, counts: NDArray[np.int64]) -> Floats:
        """`[rows, d, g]`: sums of g clusters, `counts[i, j]` of which came to level j.

        Their order is that of the levels: it is without meaning, and no interval may depend on it.
        """
        g = int(counts[0].sum())
        which = np.repeat(np.tile(np.arange(len(self.levels)), len(counts)), counts.ravel())
        return np.moveaxis(self.levels[which.reshape(-1, g)], -1, 1)


@dataclass(frozen=True)
class Cell:
    """One population, one n.

    Attributes:
        kind: of interval, a row of the table.
        name: what is measured.
        coverage: share of runs whose interval holds the truth.
        error: standard error of `coverage`; 0 when it was enumerated.
        middle: whether the upper bound is asked of it.
        narrowest: the smallest width of an interval.
    """

    kind: str
    name: str
    coverage: float
    error: float
    middle: bool
    narrowest: float

    @property
    def wrong(self) -> bool:
        """Whether the cell is out of bounds."""
        return (
            self.narrowest <= 0
            or self.coverage < LEAST - 3 * self.error
            or (self.middle and self.coverage > MOST + 3 * self.error)
        )


Interval = Callable[[Floats, Floats], Bounds]


def simulate(
    kind: str,
    name: str,
    truth: float,
    populations: Sequence[Population],
    g: int,
    bounds: Callable[[Sequence[Floats]], Bounds],
    *,
    runs: int,
    middle: bool = False,
) -> Cell:
    """Draw g clusters of each population so many times, and count the intervals with the truth.

    Args:
        bounds: of so many rows of each population's sums, `[rows, d, g]` each.
    """
    rng = np.random.default_rng(20_240_601)
    drawn = [rng.multinomial(g, each.chances, size=runs) for each in populations]
    joint = np.concatenate(drawn, axis=1)
    times = np.ones(runs)
    if joint.shape[1] <= _FEW_LEVELS:
        # The same counts have the same interval, which is made once.
        joint, times = np.unique(joint, axis=0, return_counts=True)
    edges = np.cumsum([len(each.chances) for each in populations])[:-1]
    numbers = g * sum(each.levels.shape[1] for each in populations)
    block = max(1, _NUMBERS_IN_MEMORY // numbers)
    held, narrowest = 0.0, np.inf
    for start in range(0, len(joint), block):
        counts = np.split(joint[start : start + block], edges, axis=1)
        pairs = zip(populations, counts, strict=True)
        low, high = bounds([population.rows(count) for population, count in pairs])
        held += float(((low <= truth) & (truth <= high)) @ times[start : start + block])
        narrowest = min(narrowest, float((high - low).min()))
    # As if one more run of either sort had been seen: no cell is known without error.
    smoothed = (held + 1) / (runs + 2)
    error = sqrt(smoothed * (1 - smoothed) / runs)
    return Cell(kind, name, held / runs, error, middle, narrowest)


def one_metric(
    kind: str, name: str, population: Population, g: int, interval: Interval, runs: int
) -> Cell:
    """Coverage of the interval of the population's only metric over g clusters."""
    truth = float(population.means()[0])
    sizes = np.full(g, float(population.size))
    middle = (
        interval is korn_graubard_interval and 0.2 <= truth <= 0.8 and g * population.size >= 100
    )

    def bounds(rows: Sequence[Floats]) -> Bounds:
        return interval(rows[0][:, 0], sizes)

    return simulate(kind, name, truth, [population], g, bounds, runs=runs, middle=middle)


def hits_of_a_cluster(share: float, correlation: float, size: int = 3) -> Population:
    """How many of a cluster's samples are hit: beta-binomial."""
    if correlation:
        concentration = (1 - correlation) / correlation
        law = stats.betabinom(size, share * concentration, (1 - share) * concentration)
    else:
        law = stats.binom(size, share)
    levels = np.arange(size + 1.0)
    return Population(levels[:, None], law.pmf(levels), size)


def in_clusters(population: Population, correlation: float, size: int = 3) -> Population:
    """Clusters whose samples are all alike with probability `correlation`, else independent."""
    together = population.levels * size
    pairs: dict[tuple[float, ...], float] = {}
    for places in product(range(len(population.levels)), repeat=size):
        key = tuple(population.levels[list(places)].sum(axis=0).tolist())
        chance = float(np.prod(population.chances[list(places)])) * (1 - correlation)
        pairs[key] = pairs.get(key, 0.0) + chance
    for level, chance in zip(together.tolist(), population.chances.tolist(), strict=True):
        pairs[tuple(level)] = pairs.get(tuple(level), 0.0) + chance * correlation
    return Population(np.array(list(pairs)), np.array(list(pairs.values())), size)


def flips(share: float, change: float) -> Population:
    """A sample is lost, won, or stays what it was."""
    chances = [(share - change) / 2, (share + change) / 2, 1 - share]
    return Population(np.array([[-1.0], [1.0], [0.0]]), np.array(chances))
