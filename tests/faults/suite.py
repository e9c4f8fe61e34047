"""Break runs in more than thirty ways, resume them, and compare them with undisturbed ones.

    python tests/faults/suite.py [--seed 0] [--rounds 200] [--jobs 2] [--way NAME]

Round after round has the next seed, which decides the way, the moment and all that is random:
`--seed 17 --rounds 1` makes the round with seed 17 again. It prints a table, and exits with 1 when
an outcome was different, a wrong result looked normal, a run could not be resumed, or the rounds
were interrupted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "helpers"))

from rounds import Lab, Result
from ways import WAYS, Way


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the rounds and print the table; 1 when there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rounds at the same time")
    parser.add_argument("--way", action="append", help="only ways with this in their name")
    given = parser.parse_args(arguments)
    chosen = [w for w in WAYS if not given.way or any(part in w.name for part in given.way)]
    lab = Lab(Path(tempfile.mkdtemp(prefix="ckptbench-faults-")))
    results = []
    with ThreadPoolExecutor(given.jobs) as pool:
        seeds = range(given.seed, given.seed + given.rounds)
        rounds = [pool.submit(lab.round, chosen[seed % len(chosen)], seed) for seed in seeds]
        try:
            for done in as_completed(rounds):
                results.append(done.result())
                print(line_of(results[-1], lab.path), flush=True)
        except KeyboardInterrupt:  # those at work end, as they leave processes and disks behind
            pool.shutdown(cancel_futures=True)
    print(table(results, chosen))
    wrong = len(results) < given.rounds or any(result.faults for result in results)
    if not wrong:
        shutil.rmtree(lab.path, ignore_errors=True)
    return int(wrong)


def line_of(result: Result, folder: Path) -> str:
    """A round in a line, and a line for each fault."""
    statuses = " then ".join(f"exit {status}" for status in result.statuses)
    line = f"{result.seed:4} {result.way}: {statuses}, {result.seconds:.1f} s"
    return "\n".join([line, *(f"     FAULT in {folder}: {fault}" for fault in result.faults)])


def table(results: Iterable[Result], ways: Sequence[Way]) -> str:
    """A row for each way, and their sum."""
    heads = ("broken how", "rounds", "asked twice", "different", "looked normal", "other faults")
    rows = [heads]
    results = list(results)
    for name in [*(way.name for way in ways), "all"]:
        own = [result for result in results if name in (result.way, "all")]
        if not own:
            continue
        most = max(result.asked_twice for result in own)
        counts = (
            len(own),
            f"{sum(result.asked_twice for result in own)} (most {most})",
            sum(result.different for result in own),
            sum(result.looked_normal for result in own),
            sum(bool(r.faults) and not (r.different or r.looked_normal) for r in own),
        )
        rows.append((name, *map(str, counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        " | ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
