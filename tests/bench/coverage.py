"""How often the 95% intervals hold the truth: every kind of interval, by simulation.

    python tests/bench/coverage.py [--runs 17000] [--kind WORDS] [--worst 3]

Prints a Markdown table and the worst cells of each kind, and exits with 1 when a cell is out of
bounds:

- at least 93% everywhere;
- at most 97.5% for shares, means and composites between 0.2 and 0.8 with n of 100 or more;
- no interval of zero width.

Shares of independent samples, and differences of two of them, are enumerated: these figures are
exact. The others come from `--runs` runs a cell; bounds are widened by three standard errors of the
simulation, which is 0.6 percentage points with 17,000 runs. `populations.py` draws them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from math import comb
from time import perf_counter

import numpy as np
from populations import (  # beside this file, where Python looks first for a script's modules
    Bounds,
    Cell,
    Floats,
    Interval,
    Population,
    flips,
    hits_of_a_cluster,
    in_clusters,
    one_metric,
    simulate,
)
from scipy import special, stats

from ckptbench.gate.difference_intervals import bonett_price_interval
from ckptbench.scores.composite import DEFAULT_WEIGHTS
from ckptbench.scores.intervals import hall_t_interval, korn_graubard_interval, share_interval
from ckptbench.scores.mover import correlations_of_sums, mover_bounds

RUNS = 17_000
SIZES = (28, 164, 600, 1_600, 5_000, 14_000)
SHARES = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
TRIALS = 20
# Beta distributed strengths of problems: most unsolvable, spread out, most solved, all alike.
MODELS = {"weak": (0.15, 3.0), "middle": (0.7, 0.9), "strong": (3.0, 0.15), "even": (20.0, 20.0)}


# Shares


@cache
def share_bounds(n: int) -> Bounds:
    """Bounds of the n + 1 shares that n samples can have."""
    bounds = np.array([share_interval(hits / n, n) for hits in range(n + 1)])
    return bounds[:, 0], bounds[:, 1]


def independent_shares(
    sizes: Iterable[int] = SIZES, shares: Iterable[float] = ()
) -> Iterator[Cell]:
    """Exact, over the shares of the grid and 400 between them, as coverage jumps with the share."""
    given = tuple(shares) or (*SHARES, *np.geomspace(0.01, 0.5, 200), *np.linspace(0.5, 0.99, 200))
    for n in sizes:
        low, high = share_bounds(n)
        hits = np.arange(n + 1)
        for share in given:
            chances = stats.binom.pmf(hits, n, share)
            coverage = float(chances[(low <= share) & (share <= high)].sum())
            middle = 0.2 <= share <= 0.8 and n >= 100
            width = float((high - low).min())
            yield Cell("share", f"n {n:,}, share {share:.3f}", coverage, 0.0, middle, width)


def clustered_shares(
    runs: int, sizes: Iterable[int] = SIZES, shares: Iterable[float] = SHARES
) -> Iterator[Cell]:
    for n, correlation, share in product(sizes, (0.0, 0.3), shares):
        g = round(n / 3)
        name = f"n {3 * g:,}, share {share}, correlation {correlation}"
        population = hits_of_a_cluster(share, correlation)
        yield one_metric("share, clusters of 3", name, population, g, korn_graubard_interval, runs)


# Bounded values


def strengths(model: str, levels: int = 1_000) -> Floats:
    """Equally probable chances that a trial of a problem passes."""
    a, b = MODELS[model]
    found: Floats = special.betaincinv(a, b, (np.arange(levels) + 0.5) / levels)
    return found


def passes(chance: Floats) -> Floats:
    """`[levels, TRIALS + 1]`: the probability of each number of passed trials."""
    found: Floats = stats.binom.pmf(np.arange(TRIALS + 1), TRIALS, chance[:, None])
    return found


def pass_at(k: int) -> Floats:
    """`[TRIALS + 1]`: pass@k of a problem by the number of its passed trials."""
    return np.array([1 - comb(TRIALS - c, k) / comb(TRIALS, k) for c in range(TRIALS + 1)])


def pass_at_k(
    runs: int, problems: Iterable[int] = (20, *SIZES[:4]), models: Iterable[str] = MODELS
) -> Iterator[Cell]:
    for g, model, k in product(problems, models, (1, 5, 10)):
        population = Population(pass_at(k)[:, None], passes(strengths(model)).mean(axis=0))
        name = f"{g:,} problems, {model}, pass@{k} = {population.means()[0]:.3f}"
        yield one_metric("pass@k, 20 trials", name, population, g, korn_graubard_interval, runs)


# Chances of 0 and of 1; what lies between is beta distributed.
GRADES = {"mostly 0": (0.85, 0.03), "mixed": (0.3, 0.3), "mostly 1": (0.02, 0.9), "no ends": (0, 0)}


def grades(kind: str) -> Population:
    """A graded answer, such as F1."""
    none, all_ = GRADES[kind]
    between = special.betaincinv(2.0, 3.0, (np.arange(40) + 0.5) / 40)
    levels = np.concatenate([[0.0, 1.0], between])
    chances = np.concatenate([[none, all_], np.full(40, (1 - none - all_) / 40)])
    return Population(levels[:, None], chances)


def graded(runs: int, sizes: Iterable[int] = SIZES[:4]) -> Iterator[Cell]:
    for n, kind in product((20, *sizes), GRADES):
        name = f"n {n:,}, {kind}"
        yield one_metric("graded value", name, grades(kind), n, korn_graubard_interval, runs)


# Values without bounds


def surprisal(law: str) -> Population:
    """A log likelihood's shape: 400 equally probable values of a skewed distribution."""
    quantiles = (np.arange(400) + 0.5) / 400
    laws = {
        "normal": stats.norm(),
        "gamma 2": stats.gamma(2),
        "exponential": stats.expon(),
        "gamma 1/2": stats.gamma(0.5),
        "gamma 1/4": stats.gamma(0.25),
        "lognormal 1": stats.lognorm(1.0),
    }
    return Population(laws[law].ppf(quantiles)[:, None], np.full(400, 1 / 400))


LAWS = ("normal", "gamma 2", "exponential", "gamma 1/2", "gamma 1/4", "lognormal 1")


def unbounded(
    runs: int, sizes: Iterable[int] = SIZES[:4], largest: Iterable[int] = SIZES[-1:]
) -> Iterator[Cell]:
    """Every law at each of `sizes`; at `largest`, where a cell takes its time, the most skewed."""
    for n, law in (*product(sizes, LAWS), *product(largest, ["gamma 1/4"])):
        name = f"n {n:,}, {law}"
        yield one_metric("unbounded value", name, surprisal(law), n, hall_t_interval, runs)


# Paired differences

# Share of samples that flip, and the true difference; in the first all flips are losses.
FLIPS = ((0.02, -0.02), (0.03, 0.0), (0.03, -0.02), (0.06, -0.02), (0.12, 0.0), (0.12, -0.02))


def paired_shares(runs: int, sizes: Iterable[int] = SIZES) -> Iterator[Cell]:
    for n, (share, change) in product((28, 30, *tuple(sizes)[1:]), FLIPS):
        name = f"n {n:,}, {share:.0%} flip, truth {100 * change:+g} pp"
        population = flips(share, change)
        yield one_metric("paired 0/1", name, population, n, bonett_price_interval, runs)


def paired_clusters(runs: int, sizes: Iterable[int] = SIZES) -> Iterator[Cell]:
    for n, correlation, (share, change) in product(sizes, (0.0, 0.3), FLIPS):
        g = round(n / 3)
        population = in_clusters(flips(share, change), correlation)
        name = (
            f"n {3 * g:,}, {share:.0%} flip, truth {100 * change:+g} pp, correlation {correlation}"
        )
        kind = "paired 0/1, clusters of 3"
        yield one_metric(kind, name, population, g, bonett_price_interval, runs)


def changed(chance: Floats, change: str) -> list[tuple[float, Floats]]:
    """Probability and new strengths of the ways in which problems change."""
    odds = chance / np.maximum(1 - chance, 1e-300)
    weaker = odds * np.exp(-0.25) / (1 + odds * np.exp(-0.25))
    ways = {
        "unchanged": [(1.0, chance)],
        "all weaker": [(1.0, weaker)],
        "3% break": [(0.97, chance), (0.03, np.zeros_like(chance))],
    }
    return ways[change]


def paired_pass_at_k(
    runs: int, problems: Iterable[int] = (28, 164, 600), models: Iterable[str] = MODELS
) -> Iterator[Cell]:
    for model, change in product(models, ("unchanged", "all weaker", "3% break")):
        before = strengths(model)
        joint = sum(
            weight * np.einsum("li,lj->ij", passes(after), passes(before)) / len(before)
            for weight, after in changed(before, change)
        )
        for k, g in product((1, 5, 10), problems):
            moves = pass_at(k)[:, None] - pass_at(k)[None, :]
            population = Population(moves.reshape(-1, 1), np.asarray(joint).ravel())
            truth = 100 * float(population.means()[0])
            name = f"{g:,} problems, {model}, {change}, pass@{k}, truth {truth:+.1f} pp"
            yield one_metric("paired pass@k", name, population, g, bonett_price_interval, runs)


def paired_unbounded(runs: int, sizes: Iterable[int] = SIZES[:4]) -> Iterator[Cell]:
    """A tenth of the samples lose or gain a skewed amount, the others next to nothing."""
    quantiles = (np.arange(40) + 0.5) / 40
    for n, size in product(sizes, (0.5, 1.0, 2.0)):
        jumps = stats.gamma(size).ppf(quantiles)
        small = 0.2 * stats.norm.ppf(quantiles)
        levels = np.concatenate([small, small + jumps, small - jumps])
        chances = np.concatenate([np.full(40, w / 40) for w in (0.6, 0.3, 0.1)])
        name = f"n {n:,}, jumps gamma {size:g}"
        population = Population(levels[:, None], chances)
        yield one_metric("paired unbounded", name, population, n, hall_t_interval, runs)


# Unpaired


def unpaired(
    sizes: Iterable[tuple[int, int]] = ((20, 200), (200, 20), (28, 164), (164, 164), (232, 2_400)),
) -> Iterator[Cell]:
    """Exact: every pair of outcomes."""
    shares = (*SHARES, 0.02, 0.1, 0.35, 0.65, 0.9, 0.98)
    for n, m in sizes:
        mine, theirs = np.arange(n + 1) / n, np.arange(m + 1) / m
        estimates = np.stack(np.broadcast_arrays(mine[:, None], theirs[None, :]), axis=-1)
        lows, highs = (
            np.stack(np.broadcast_arrays(a[:, None], b[None, :]), axis=-1)
            for a, b in zip(share_bounds(n), share_bounds(m), strict=True)
        )
        low, high = mover_bounds(estimates, lows, highs, np.array([1.0, -1.0]), np.eye(2))
        for now, then in product(shares, shares):
            truth = now - then
            holds = (low <= truth) & (truth <= high)
            first = stats.binom.pmf(np.arange(n + 1), n, now)
            second = stats.binom.pmf(np.arange(m + 1), m, then)
            middle = min(n, m) >= 100 and min(now, then) >= 0.2 and max(now, then) <= 0.8
            name = f"n {n} and {m:,}, shares {now} and {then}"
            coverage = float(first @ holds @ second)
            yield Cell("unpaired shares", name, coverage, 0.0, middle, float((high - low).min()))


# Composites

# Real@1, Real@5 and LAMBADA@1.
LEVELS = {
    "none": (0.01, 0.01, 0.01),
    "weak": (0.02, 0.05, 0.02),
    "low": (0.25, 0.4, 0.1),
    "middle": (0.67, 0.82, 0.37),
    "strong": (0.95, 0.98, 0.95),
}
WEIGHTS = np.array([DEFAULT_WEIGHTS[name] for name in ("real@1", "real@5", "lambada@1")])


def weighted_sum(
    real: Population, lambada: Population, texts: int, interval: Interval
) -> Callable[[Sequence[Floats]], Bounds]:
    """Bounds of the composite of two metrics of one table and one of another."""
    sizes = np.full(texts, float(real.size)), np.full(texts, float(lambada.size))

    def bounds(rows: Sequence[Floats]) -> Bounds:
        parts = [interval(rows[0][:, i], sizes[0]) for i in range(2)]
        parts.append(interval(rows[1][:, 0], sizes[1]))
        means = [rows[i].sum(axis=-1) / sizes[i].sum() for i in range(2)]
        correlations = np.broadcast_to(np.eye(3), (len(rows[0]), 3, 3)).copy()
        correlations[:, :2, :2] = correlations_of_sums(rows[0], sizes[0])
        return mover_bounds(
            np.concatenate(means, axis=1),
            np.stack([low for low, _ in parts], axis=-1),
            np.stack([high for _, high in parts], axis=-1),
            WEIGHTS,
            correlations,
        )

    return bounds


def composites(
    runs: int, texts: Iterable[int] = (10, 30, 100, 800), levels: Iterable[str] = LEVELS
) -> Iterator[Cell]:
    for g, level, correlation in product(texts, levels, (0.0, 0.3)):
        first, fifth, word = LEVELS[level]
        states = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        sample = Population(states, np.array([1 - fifth, fifth - first, first]))
        real = in_clusters(sample, correlation)
        lambada = hits_of_a_cluster(word, 0.0, size=1)
        truth = float(WEIGHTS @ [first, fifth, word])
        name = f"{g} texts, {level} = {truth:.3f}, correlation {correlation}"
        bounds = weighted_sum(real, lambada, g, korn_graubard_interval)
        middle = 0.2 <= truth <= 0.8 and g >= 100
        both = [real, lambada]
        yield simulate("composite", name, truth, both, g, bounds, runs=runs, middle=middle)


def composite_differences(runs: int, texts: Iterable[int] = (10, 30, 100, 800)) -> Iterator[Cell]:
    for g, correlation, (share, change) in product(texts, (0.0, 0.3), FLIPS):
        lost, won = (share - change) / 2, (share + change) / 2
        # Half of the flips of Real@1 are flips of Real@5 too.
        ways = {(-1, -1): lost / 2, (-1, 0): lost / 2, (0, -1): lost / 2}
        ways |= {(1, 1): won / 2, (1, 0): won / 2, (0, 1): won / 2}
        states = np.array([[0.0, 0.0], *ways], dtype=np.float64)
        sample = Population(states, np.array([1 - sum(ways.values()), *ways.values()]))
        real, lambada = in_clusters(sample, correlation), flips(share, change)
        bounds = weighted_sum(real, lambada, g, bonett_price_interval)
        truth = float(WEIGHTS @ [*real.means(), *lambada.means()])
        name = f"{g} texts, {share:.0%} flip, truth {100 * change:+g} pp, correlation {correlation}"
        yield simulate("composite difference", name, truth, [real, lambada], g, bounds, runs=runs)


SIMULATIONS: Mapping[str, Callable[[int], Iterator[Cell]]] = {
    "share": lambda runs: independent_shares(),
    "share, clusters of 3": clustered_shares,
    "pass@k, 20 trials": pass_at_k,
    "graded value": graded,
    "unbounded value": unbounded,
    "composite": composites,
    "paired 0/1": paired_shares,
    "paired 0/1, clusters of 3": paired_clusters,
    "paired pass@k": paired_pass_at_k,
    "paired unbounded": paired_unbounded,
    "unpaired shares": lambda runs: unpaired(),
    "composite difference": composite_differences,
}


def row(kind: str, cells: list[Cell]) -> str:
    """A line of the Markdown table."""
    lowest = min(cells, key=lambda cell: cell.coverage)
    highest = max(cell.coverage for cell in cells)
    middle = [cell.coverage for cell in cells if cell.middle]
    asked = f"{max(middle):.3f}" if middle else "-"
    return (
        f"| {kind} | {len(cells):,} | {lowest.coverage:.3f} | {lowest.name} | {asked} | "
        f"{highest:.3f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs a cell")
    parser.add_argument("--kind", default="", help="only kinds with these words in their name")
    parser.add_argument("--worst", type=int, default=2, help="lowest and highest cells to list")
    options = parser.parse_args()
    every: list[Cell] = []
    print("| interval | cells | lowest | where | highest in the middle | highest |")
    print("|---|---|---|---|---|---|")
    for kind, make in SIMULATIONS.items():
        if options.kind not in kind:
            continue
        start = perf_counter()
        cells = list(make(options.runs))
        print(row(kind, cells), flush=True)
        print(f"{kind}: {perf_counter() - start:.1f} s", file=sys.stderr)
        every += cells
    print()
    for kind in SIMULATIONS:
        cells = sorted((c for c in every if c.kind == kind), key=lambda cell: cell.coverage)
        asked = [cell for cell in cells if cell.middle]
        for cell in [*cells[: options.worst], *asked[-options.worst :]]:
            print(f"{kind}: {cell.name}: {cell.coverage:.4f} +- {cell.error:.4f}")
    wrong = [cell for cell in every if cell.wrong]
    for cell in wrong:
        width = f", narrowest {cell.narrowest:g}" if cell.narrowest <= 0 else ""
        print(f"out of bounds: {cell.kind}: {cell.name}: {cell.coverage:.4f}{width}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
