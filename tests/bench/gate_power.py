"""What to expect of the gate: false alarms, power, and the share caught at the printed MDE.

    python tests/bench/gate_power.py [--runs 1.0] [--seed 1] [--part pass@k]

Artificial runs are judged by the product's own tests, Holm's correction and the rule of the
verdict `regressed`: worse by more than the tolerance, and the corrected one-sided p at most alpha.
The tables are the Markdown of docs/simulations.md. A cell outside its bounds by more than three
standard errors of the simulation is marked, and the exit status is 1. Minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ckptbench.gate.mde import (
    Rule,
    clustered_shares_mde,
    graded_mde,
    paired_shares_mde,
    unpaired_shares_mde,
)
from ckptbench.gate.permutation_test import mcnemar, sign_flip_test
from ckptbench.gate.trials_test import pass_at_k, trials_test
from ckptbench.gate.unpaired_test import p_of_lower
from ckptbench.gate.verdict import holm

ALPHA, TOLERANCE = 0.05, 0.01
METRICS, CHECKPOINTS = 3, 20
FALSE_ALARMS, UNEQUAL_FALSE_ALARMS = (0.0, 0.055), (0.0, 0.063)
CAUGHT = (0.72, 0.88)
TRIALS = 20
# Fewer random flips than the product draws: they are far finer than the spread over runs.
DRAWS = 10_000
# Strengths of problems: Beta distributions of the probability that a trial passes.
STRENGTHS = {"weak": (0.2, 2.0), "middle": (0.5, 0.5), "strong": (2.0, 0.2)}
NULLS = ("same strengths", "strengths jittered", "half up, half down")

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Rate:
    """A share of runs.

    Attributes:
        runs: how many there were; 0 for an exact share, by enumeration.
        bounds: what it is to lie between, or None.
    """

    value: float
    runs: int
    bounds: tuple[float, float] | None = None

    @property
    def within(self) -> bool:
        """Whether it keeps its bounds, up to three standard errors of the simulation."""
        if self.bounds is None:
            return True
        low, high = self.bounds
        slack = 3 * sqrt(max(high * (1 - high), low * (1 - low)) / self.runs) if self.runs else 0
        return low - slack <= self.value <= high + slack

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}" + ("" if self.within else " **outside**")


@dataclass(frozen=True)
class Row:
    """One line of the table; a column that does not apply is None, or empty of `mde`."""

    what: str
    one: Rate | None = None
    three: Rate | None = None
    sixty: Rate | None = None
    two_points: Rate | None = None
    mde: str = ""
    caught: Rate | None = None

    @property
    def rates(self) -> Iterator[Rate]:
        """The rates that are there."""
        for rate in (self.one, self.three, self.sixty, self.two_points, self.caught):
            if rate is not None:
                yield rate

    def __str__(self) -> str:
        rates = (self.one, self.three, self.sixty, self.two_points)
        cells = ["" if rate is None else str(rate) for rate in rates]
        return " | ".join(
            [f"| {self.what}", *cells, self.mde, f"{'' if self.caught is None else self.caught} |"]
        )


HEADER = """\
| comparison | false alarms, one metric | any of 3 | 20 checkpoints x 3 | a drop of 2 pp caught \
| MDE, pp | a drop of the MDE caught |
|---|---|---|---|---|---|---|"""


# The rule


def regressed(differences: Floats, p_worse: Floats) -> NDArray[np.bool_]:
    """`[runs, m]`: which of the m metrics of each run regressed, by Holm's correction over m."""
    corrected = np.array([holm(run) for run in p_worse.tolist()])
    return (differences < -TOLERANCE - 1e-9) & (corrected <= ALPHA)


def false_alarms(differences: Floats, p_worse: Floats, family: int, groups: int, rng: Rng) -> float:
    """The share of groups of `family` of the comparisons, `[runs]`, in which any regressed."""
    chosen = rng.permuted(np.resize(np.arange(len(p_worse)), groups * family))
    chosen = chosen.reshape(groups, family)
    # Holm's first step decides whether anything is significant; most groups stop there.
    suspects = chosen[(p_worse[chosen].min(axis=1) <= ALPHA / family)]
    if not len(suspects):
        return 0.0
    return float(regressed(differences[suspects], p_worse[suspects]).any(axis=1).sum()) / groups


# 0/1 outcomes that both sides have


def lost_and_won(flips: float, drop: float, share: float) -> tuple[float, float]:
    """Probabilities of a sample to be lost and won, with no more lost than the baseline has."""
    lost = max(drop, min((max(flips, drop) + drop) / 2, share, 1 - share + drop))
    return lost, lost - drop


def cluster_sums(
    rng: Rng, clusters: int, size: int, lost: float, won: float, correlation: float
) -> NDArray[np.int8]:
    """`[clusters, size]` of -1, 0, 1: flips of samples, of any two in a cluster so correlated."""
    draws = rng.random((clusters, size), dtype=np.float32)
    alike = rng.random(clusters) < correlation
    draws[alike] = draws[alike, :1]
    return (draws > 1 - won).astype(np.int8) - (draws < lost).astype(np.int8)


@cache
def single_p(lost: int, won: int) -> float:
    return mcnemar(lost, won).worse


def single_shares(
    n: int, share: float, flips: float, *, runs: int, seed: int, metrics: int = METRICS
) -> Row:
    """The row of n single samples of which a `share` passes and `flips` flip by chance."""
    rng = np.random.default_rng(seed)

    def draw(drop: float, count: int) -> tuple[Counts, Floats, Floats]:
        lost, won = lost_and_won(flips, drop, share)
        counts = rng.multinomial(n, [lost, won, 1 - lost - won], size=count)[:, :2]
        p = np.array([single_p(*pair) for pair in counts.tolist()])
        return counts, (counts[:, 1] - counts[:, 0]) / n, p

    counts, differences, p = draw(0.0, 20 * runs)
    alpha = ALPHA / metrics
    printed: dict[int, float | None] = {}
    caught, mdes = 0, []
    for moved in counts[:runs].sum(axis=1).tolist():
        if moved not in printed:
            printed[moved] = paired_shares_mde(n, moved / n, share, Rule(alpha, TOLERANCE))
        mde = printed[moved]
        if mde is not None:
            _, difference, worse = draw(mde, 1)
            mdes.append(mde)
            caught += bool(difference[0] < -TOLERANCE - 1e-9 and worse[0] <= alpha)
    two_points = None
    if share >= 0.02:
        _, dropped, p_dropped = draw(0.02, runs)
        others = rng.integers(len(p), size=(runs, metrics - 1))
        fired = regressed(
            np.column_stack([dropped, differences[others]]),
            np.column_stack([p_dropped, p[others]]),
        )
        two_points = Rate(float(fired[:, 0].mean()), runs)
    return Row(
        f"n {n:,}, share {share:g}, {flips:.0%} flips",
        *_alarms(differences, p, rng),
        two_points,
        *_caught(mdes, caught, runs),
    )


def clustered_shares(
    n: int,
    share: float,
    flips: float,
    correlation: float,
    *,
    runs: int,
    seed: int,
    size: int = 3,
    bounds: tuple[float, float] | None = CAUGHT,
) -> Row:
    """The row of clusters of three samples whose flips are so correlated."""
    rng = np.random.default_rng(seed)
    clusters = round(n / size)
    n, alpha = clusters * size, ALPHA / METRICS
    sizes = np.full(clusters, float(size))

    def draw(drop: float) -> tuple[Floats, int, float, float]:
        lost, won = lost_and_won(flips, drop, share)
        moves = cluster_sums(rng, clusters, size, lost, won, correlation)
        sums = moves.sum(axis=1).astype(np.float64)
        p = sign_flip_test(sums).worse
        return sums, int(np.abs(moves).sum()), float(sums.sum()) / n, p

    differences, p_worse, mdes, caught = [], [], [], 0
    for run in range(12 * runs):
        sums, moved, difference, p = draw(0.0)
        differences.append(difference)
        p_worse.append(p)
        if run >= runs:
            continue
        mde = clustered_shares_mde(sums, sizes, moved, share, Rule(alpha, TOLERANCE))
        if mde is not None:
            *_, difference, p = draw(mde)
            mdes.append(mde)
            caught += bool(difference < -TOLERANCE - 1e-9 and p <= alpha)
    two_points = None
    if share >= 0.02:
        found = [
            d < -TOLERANCE - 1e-9 and p <= alpha for *_, d, p in (draw(0.02) for _ in range(runs))
        ]
        two_points = Rate(float(np.mean(found)), runs)
    return Row(
        f"n {n:,} in clusters of {size} ({correlation:g}), share {share:g}, {flips:.0%} flips",
        *_alarms(np.array(differences), np.array(p_worse), rng),
        two_points,
        *_caught(mdes, caught, runs, bounds),
    )


# Sampled trials


def strengths(rng: Rng, problems: int, name: str, null: str = NULLS[0]) -> tuple[Floats, Floats]:
    """The problems' probabilities of passing now and then, when the mean has not changed."""
    then = rng.beta(*STRENGTHS[name], size=problems)
    if null == "strengths jittered":
        odds = np.log(np.clip(then, 1e-9, 1 - 1e-9) / np.clip(1 - then, 1e-9, 1))
        now, then = (1 / (1 + np.exp(-odds - rng.normal(size=problems))) for _ in range(2))
        return now, then
    if null == "half up, half down":
        step = np.minimum(then, 1 - then) * rng.choice([-1.0, 1.0], size=problems)
        return then + step / 2, then
    return then, then


def sampled(problems: int, k: int, name: str, *, runs: int, seed: int, unchanged: int = 0) -> Row:
    """The row of pass@k with 20 trials on both sides; `unchanged` more runs for false alarms."""
    rng = np.random.default_rng(seed)
    alpha = ALPHA / METRICS
    trials = np.full(problems, TRIALS)
    values = pass_at_k(np.arange(TRIALS + 1), np.full(TRIALS + 1, TRIALS), k)
    mean = _mean_pass_at_k(name, k)

    def draw(drop: float) -> tuple[Floats, Floats, float]:
        now, then = strengths(rng, problems, name)
        passed, before = rng.binomial(trials, now), rng.binomial(trials, then)
        passed[rng.random(problems) < drop / mean] = 0
        return (
            values[passed] - values[before],
            values[before],
            trials_test((passed, trials), (before, trials), k, draws=DRAWS).worse,
        )

    def found(differences: Floats, p: float) -> bool:
        return bool(differences.mean() < -TOLERANCE - 1e-9 and p <= alpha)

    differences, p_worse, mdes, caught = [], [], [], 0
    for run in range(runs + unchanged):
        moved, before, p = draw(0.0)
        differences.append(float(moved.mean()))
        p_worse.append(p)
        if run >= runs:
            continue
        mde = graded_mde(moved, before, Rule(alpha, TOLERANCE))
        if mde is not None and mde <= mean:
            again, _, p = draw(mde)
            mdes.append(mde)
            caught += found(again, p)
    two_points = None
    if mean > 0.02:
        two = [found(again, p) for again, _, p in (draw(0.02) for _ in range(runs))]
        two_points = Rate(float(np.mean(two)), runs)
    alarms = _alarms(np.array(differences), np.array(p_worse), rng)
    what = f"pass@{k}, {problems:,} problems, {name}"
    return Row(what, *alarms, two_points, *_caught(mdes, caught, runs))


def unequal(
    problems: int, now_trials: int, then_trials: int, name: str, null: str, *, runs: int, seed: int
) -> Row:
    """The row of pass@1 with unequal numbers of trials, when nothing has changed on the mean."""
    rng = np.random.default_rng(seed)
    here, there = np.full(problems, now_trials), np.full(problems, then_trials)
    alarms = 0
    for _ in range(runs):
        now, then = strengths(rng, problems, name, null)
        p = trials_test((rng.binomial(here, now), here), (rng.binomial(there, then), there), 1)
        # Without the tolerance, so that it is the test which keeps alpha.
        alarms += p.worse <= ALPHA
    return Row(
        f"{problems} problems, {now_trials} trials against {then_trials}, {name}, {null}",
        Rate(alarms / runs, runs, UNEQUAL_FALSE_ALARMS),
    )


@cache
def _mean_pass_at_k(name: str, k: int) -> float:
    a, b = STRENGTHS[name]
    values = pass_at_k(np.arange(TRIALS + 1), np.full(TRIALS + 1, TRIALS), k)
    return float(values @ stats.betabinom.pmf(np.arange(TRIALS + 1), TRIALS, a, b))


# Shares that cannot be matched


def rejected_up_to(now_n: int, then_n: int, alpha: float) -> Counts:
    """`[then_n + 1]`: for each count of the baseline the most passes here that are "worse"."""
    most, bounds = -1, []
    for passed in range(then_n + 1):
        most = max(most - 1, -1)
        while (
            most < now_n and p_of_lower((most + 1) / now_n, now_n, passed / then_n, then_n) <= alpha
        ):
            most += 1
        bounds.append(most)
    return np.array(bounds)


def unpaired(now_n: int, then_n: int, *, shares: Iterable[float] = ()) -> list[Row]:
    """Rows by enumeration: false alarms as the largest over shares of .01 to .99, and the MDE."""
    counts = np.arange(then_n + 1)
    rows = []

    def fired(bounds: Counts, now: float, then: float) -> float:
        return float(stats.binom.pmf(counts, then_n, then) @ stats.binom.cdf(bounds, now_n, now))

    bounds = rejected_up_to(now_n, then_n, ALPHA)
    largest = max(fired(bounds, p, p) for p in np.arange(0.01, 1, 0.01))
    rows.append(Row(f"{now_n:,} against {then_n:,} samples", Rate(largest, 0, FALSE_ALARMS)))
    alpha = ALPHA / METRICS
    bounds = rejected_up_to(now_n, then_n, alpha) if shares else bounds
    # A fall within the tolerance is not found, however certain.
    bounds = np.minimum(bounds, np.ceil((counts / then_n - TOLERANCE - 1e-9) * now_n) - 1)
    for share in shares:
        weights = stats.binom.pmf(counts, then_n, share)
        caught = printed = total = 0.0
        for passed in counts[weights > 1e-4].tolist():
            mde = unpaired_shares_mde(now_n, passed / then_n, then_n, Rule(alpha, TOLERANCE))
            if mde is not None and mde <= share:
                weight = float(weights[passed])
                caught += weight * fired(bounds, share - mde, share)
                total += weight
                printed += weight * mde
        if total < 0.5:
            rows.append(
                Row(f"{now_n:,} against {then_n:,} samples, share {share:g}", mde="no drop")
            )
            continue
        rate = Rate(caught / total, 0, CAUGHT)
        what = f"{now_n:,} against {then_n:,} samples, share {share:g}"
        rows.append(Row(what, mde=f"{100 * printed / total:.2f}", caught=rate))
    return rows


# The table


def _alarms(
    differences: Floats, p: Floats, rng: Rng
) -> tuple[Rate | None, Rate | None, Rate | None]:
    one = float(((differences < -TOLERANCE - 1e-9) & (p <= ALPHA)).mean())
    rates: list[Rate | None] = [Rate(one, len(p), FALSE_ALARMS)]
    for family in (METRICS, METRICS * CHECKPOINTS):
        # Each comparison stands in as many groups as a group has members, so that chance in how
        # they are put together is without weight; as evidence they count once.
        rate = false_alarms(differences, p, family, len(p), rng)
        enough = len(p) // family >= 100
        rates.append(Rate(rate, len(p) // family, FALSE_ALARMS) if enough else None)
    one_metric, three, sixty = rates
    return one_metric, three, sixty


def _caught(
    mdes: Sequence[float],
    caught: int,
    runs: int,
    bounds: tuple[float, float] | None = CAUGHT,
) -> tuple[str, Rate | None]:
    """The mean MDE and how often it is caught; none where most runs find "no drop"."""
    if len(mdes) < runs / 2:
        return "no drop", None
    return f"{100 * np.mean(mdes):.2f}", Rate(caught / len(mdes), len(mdes), bounds)


def table(runs: float, seed: int) -> Iterator[tuple[str, Iterator[Row]]]:
    """The table's parts, each with a title; `runs` scales the numbers of artificial runs."""

    def scaled(count: int) -> int:
        return max(100, round(count * runs))

    def singles() -> Iterator[Row]:
        for n in (28, 164, 600, 1_600, 5_000, 14_000):
            for share, flips in (
                (0.01, 0.01),
                (0.1, 0.06),
                (0.5, 0.03),
                (0.5, 0.12),
                (0.9, 0.06),
                (0.99, 0.01),
            ):
                yield single_shares(n, share, flips, runs=scaled(4_000), seed=seed)

    def clusters() -> Iterator[Row]:
        for n in (28, 164, 600, 1_600, 14_000):
            # Ten clusters do not show how their flips cluster, so the MDE takes a middle course.
            correlations = (0.2,) if n == 28 else (0.0, 0.3)
            for correlation in correlations:
                for share, flips in ((0.1, 0.06), (0.5, 0.12), (0.99, 0.01)):
                    count = scaled(1_000 if n < 10_000 else 200)
                    yield clustered_shares(n, share, flips, correlation, runs=count, seed=seed)

    def trials() -> Iterator[Row]:
        for problems, count, more in (
            (28, 2_000, 10_000),
            (164, 2_000, 1_000),
            (1_600, 200, 0),
            (14_000, 100, 0),
        ):
            for name in STRENGTHS:
                for k in (1, 5):
                    yield sampled(
                        problems,
                        k,
                        name,
                        runs=scaled(count),
                        seed=seed,
                        unchanged=round(more * runs),
                    )

    def unequal_trials() -> Iterator[Row]:
        for problems in (20, 28, 164):
            for pair in ((20, 1), (1, 20), (20, 5), (20, 20)):
                cells = [
                    unequal(problems, *pair, name, null, runs=scaled(600), seed=seed)
                    for name in STRENGTHS
                    for null in NULLS
                ]
                yield max(cells, key=lambda row: row.one.value if row.one else 0.0)

    def numbers() -> Iterator[Row]:
        for pair in ((20, 200), (200, 20), (28, 164), (164, 28)):
            yield from unpaired(*pair, shares=(0.1, 0.5, 0.9))
        yield from unpaired(232, 2_400)
        yield from unpaired(1_600, 1_600)

    yield "Paired 0/1 outcomes, single samples", singles()
    yield "Paired 0/1 outcomes, clusters (correlation of the flips)", clusters()
    yield f"Paired pass@k, {TRIALS} trials on both sides", trials()
    yield "Unequal trials, pass@1: the worst of three strengths and three nulls", unequal_trials()
    yield "Unpaired shares, by enumeration", numbers()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a cell is outside its bounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=float, default=1.0, help="times as many artificial runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="", help="only parts whose title contains this")
    given = parser.parse_args(arguments)
    good = True
    for title, rows in table(given.runs, given.seed):
        if given.part not in title:
            continue
        print(f"\n{title}\n\n{HEADER}", flush=True)
        for row in rows:
            print(row, flush=True)
            good = good and all(rate.within for rate in row.rates)
    print("\nbounds:", "kept" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
