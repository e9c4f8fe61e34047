"""What `--decide early` asks and what it finds, beside asking every sample.

    python tests/bench/early_power.py [--runs 1.0] [--seed 1]

Artificial runs of single 0/1 samples against a baseline, looked at by the product's own tests and
levels. A cell outside its bounds by more than three standard errors of the simulation is marked,
and the exit status is 1. The table is the Markdown of docs/simulations.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from gate_power import ALPHA, FALSE_ALARMS, TOLERANCE, Rate, lost_and_won, single_p

from ckptbench.gate.difference_intervals import excluded_drop_p
from ckptbench.gate.sequential import LOOKS, nominal_levels
from ckptbench.scores.intervals import partition

SHARE = 0.7
CASES = ((164, 0.06), (400, 0.12), (600, 0.20), (1600, 0.06), (1600, 0.15), (5000, 0.3))
LOST_POWER = 0.03
HEADER = """\
| samples | flips | must see | true drop | regressed: early | all asked | asked on average |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Found:
    """What happened in artificial runs, as shares of them.

    Attributes:
        early: called `regressed` when samples are asked until it is decided.
        whole: likewise when all are asked.
        asked: samples that were asked, as a share of all, on average.
    """

    early: Rate
    whole: float
    asked: float


def simulated(n: int, flips: float, drop: float, must_see: float, runs: int, seed: int) -> Found:
    """Artificial runs of `n` samples of which `flips` change, `drop` more for the worse."""
    rng = np.random.default_rng(seed)
    lost, won = lost_and_won(flips, drop, SHARE)
    levels = nominal_levels(LOOKS, ALPHA)
    ends = [max(2, round(share * n)) for share in LOOKS]
    early = whole = asked = 0.0
    for _ in range(runs):
        gains = rng.choice([-1.0, 1.0, 0.0], size=n, p=[lost, won, 1 - lost - won])
        stopped = False
        for end, level in zip(ends, levels, strict=True):
            own = gains[:end]
            minus, plus = int((own < 0).sum()), int((own > 0).sum())
            worse = (plus - minus) / end < -TOLERANCE - 1e-9
            found = worse and single_p(minus, plus) <= level
            p = excluded_drop_p(own, PARTS[end], "share", must_see) if end < n else 1.0
            if not stopped and (found or end == n or (p is not None and p <= level)):
                early += found
                asked += end / n
                stopped = True
            if end == n:
                whole += worse and single_p(minus, plus) <= ALPHA
    bounds = FALSE_ALARMS if drop == 0 else None
    if drop >= must_see:
        bounds = (whole / runs - LOST_POWER, 1.0)
    return Found(Rate(early / runs, runs, bounds), whole / runs, asked / runs)


class _Parts(dict[int, object]):
    """Partitions of n samples, each its own cluster."""

    def __missing__(self, n: int) -> object:
        self[n] = partition([str(number) for number in range(n)])
        return self[n]


PARTS = _Parts()


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=float, default=1.0, help="times as many artificial runs")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(HEADER)
    outside = False
    for n, flips in CASES:
        for must_see in (0.03, 0.05):
            for drop in sorted({0.0, 0.02, must_see, 0.05}):
                runs = max(100, round(chosen.runs * (4000 if n < 5000 else 1000)))
                found = simulated(n, flips, drop, must_see, runs, chosen.seed)
                outside |= not found.early.within
                print(
                    f"| {n:,} | {flips:.0%} | {100 * must_see:g} pp | {100 * drop:g} pp | "
                    f"{found.early}% | {100 * found.whole:.1f}% | {100 * found.asked:.0f}% |",
                    flush=True,
                )
    return int(outside)


if __name__ == "__main__":
    sys.exit(main())
