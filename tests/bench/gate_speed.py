"""What the gate's statistics cost: milliseconds of processor time, beside their bounds.

    python tests/bench/gate_speed.py

The median of five calls, after one that imports. The exit status is 1 when one is over its bound.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from ckptbench.gate.mde import (
    Rule,
    clustered_shares_mde,
    graded_mde,
    paired_shares_mde,
    unpaired_shares_mde,
)
from ckptbench.gate.permutation_test import sign_flip_test
from ckptbench.gate.trials_test import trials_test
from ckptbench.gate.unpaired_test import suissa_shuster_test

# The level of one test among 20 checkpoints of 50 metrics.
ALPHA, TOLERANCE = 0.05 / 1_000, 0.01
Call = Callable[[], object]


def calls() -> dict[str, tuple[float, Call]]:
    """What is measured, with its bound in milliseconds."""
    rng = np.random.default_rng(0)
    rule = Rule(ALPHA, TOLERANCE)
    measured: dict[str, tuple[float, Call]] = {}
    for largest in (3, 10, 30):
        sums = rng.integers(-largest, largest + 1, size=10_000) / 20_000
        measured[f"sign flips, 10,000 clusters of -{largest} to {largest}"] = (
            100,
            lambda sums=sums: sign_flip_test(sums),
        )
    for clusters in (1_000, 14_000):
        graded = rng.normal(size=clusters)
        measured[f"100,000 random flips of {clusters:,} clusters"] = (
            2_000,
            lambda graded=graded: sign_flip_test(graded),
        )
    here, there = np.full(1_000, 20), np.full(1_000, 5)
    strengths = rng.beta(0.5, 0.5, size=1_000)
    now, then = rng.binomial(here, strengths), rng.binomial(there, strengths)
    for k in (1, 5):
        measured[f"pass@{k}, 20 trials against 5, 1,000 problems"] = (
            100 if k == 1 else 2_000,
            lambda k=k: trials_test((now, here), (then, there), k),
        )
    for sizes in ((20, 200), (232, 2_400), (14_000, 14_000)):
        measured["unpaired shares, {:,} against {:,}".format(*sizes)] = (
            1_000,
            lambda sizes=sizes: suissa_shuster_test(0.55, sizes[0], 0.57, sizes[1]),
        )
    values = rng.beta(0.5, 0.5, size=14_000)
    moved = rng.normal(0, 0.1, size=14_000)
    sums, triples = rng.integers(-1, 2, size=4_666).astype(float), np.full(4_666, 3.0)
    flips = int(np.abs(sums).sum())
    mdes: dict[str, Call] = {
        "MDE of 14,000 single samples": lambda: paired_shares_mde(14_000, 0.12, 0.6, rule),
        "MDE of 4,666 clusters": lambda: clustered_shares_mde(sums, triples, flips, 0.6, rule),
        "MDE of 14,000 graded values": lambda: graded_mde(moved, values, rule),
        "MDE of 232 against 2,400": lambda: unpaired_shares_mde(232, 0.6, 2_400, rule),
    }
    measured.update({name: (50, call) for name, call in mdes.items()})
    return measured


def main() -> int:
    """Measure and print; 1 when a call is over its bound."""
    good = True
    print("| what | ms | bound, ms |\n|---|---|---|")
    for name, (bound, call) in calls().items():
        call()
        times = []
        for _ in range(5):
            start = time.process_time()
            call()
            times.append(1_000 * (time.process_time() - start))
        took = median(times)
        good = good and took <= bound
        print(f"| {name} | {took:.1f}{'' if took <= bound else ' **over**'} | {bound:,.0f} |")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
