"""What a Ray cluster adds to a run: 10,000 masked texts by one replica, and by the local engine.

    python tests/bench/ray_overhead.py [--items 10000] [--repeat 3] [--cores 2]

Both sides are a whole pytest session with the demo checkpoint, whose model computes in one thread;
the replica has one CPU. They take turns on the same processors. The clock runs from the engine's
first question to the last report, without the start of Ray and the loading of the model. Prints
ratios of medians, of the clock and of processor seconds (those of Ray's own processes are counted:
on a machine with other work only these say much), and whether any outcome differs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from gpu_workers import read_outcomes
from ratios import show

MOST = 1.15

# A pytest plugin. Ray's own processes and the replica's are children of the session's.
CLOCK = """
import json, os, time
import psutil, pytest

seen = {}


def of_children():
    busy = 0.0
    for child in psutil.Process().children(recursive=True):
        times = child.cpu_times()
        busy += times.user + times.system
    return busy


def timed(answer):
    def timed_answer(self, requests):
        if not seen:
            seen.update(first=time.time(), cpu=time.process_time() + of_children())
        yield from answer(self, requests)
        seen["children"] = of_children()

    return timed_answer


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    result = yield
    if fixturedef.argname == "engine":
        kind = type(result)
        kind.answer = timed(kind.answer)
    return result


def pytest_runtest_logreport(report):
    seen.update(last=time.time(), own=time.process_time())


def pytest_unconfigure(config):
    with open(os.environ["CLOCK_FILE"], "w") as file:
        json.dump(seen, file)
"""
SIDES = {
    "local": (),
    "ray": ("--engine=ray", "--replicas=1", "--replica-resources=cpus=1"),
}


def make_samples(path: Path, n: int) -> None:
    """Write the shipped samples of Real@K again and again, each with a number at its end."""
    from ckptbench import Sample
    from ckptbench.fixtures.datasets.io import sample_file

    shipped = sample_file.read(sample_file.shipped("real_k.jsonl"))
    rows = [
        Sample(f"text-{i:06}", {**sample.fields, "text": f"{sample['text']} {i}."})
        for i, sample in enumerate(islice(cycle(shipped), n))
    ]
    content = sample_file.SampleFile.of(
        rows, dataset="real-k", name="numbered", source="the shipped samples",
        licence="Apache-2.0", builder="tests/bench/ray_overhead.py",
    )  # fmt: skip
    sample_file.write(path, content)


class Took(NamedTuple):
    """Seconds from the first question to the last report: of the clock, and of processors."""

    wall: float
    cpu: float


def session(folder: Path, side: str, name: str, cores: set[int]) -> tuple[Took, dict[Any, Any]]:
    """Run a session; what it took, and its outcomes."""
    import ckptbench.benchmarks

    clock = folder / f"{name}.json"
    benchmark = Path(next(iter(ckptbench.benchmarks.__path__))) / "test_real_k.py"
    command = [
        sys.executable, "-m", "pytest", str(benchmark), "-q", "-p", "bench_ray_clock",
        "-p", "no:cacheprovider", f"--rootdir={folder}", "--checkpoint=demo-mlm/checkpoint-6000",
        f"--real-data={folder / 'texts.jsonl'}", "--device=cpu", "--gate=off", "--no-resume",
        "--protocol=real=real/whole-word",
        f"--run-id={name}", f"--results-dir={folder / 'results'}", *SIDES[side],
    ]  # fmt: skip
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "CLOCK_FILE": str(clock), "PYTHONPATH": path}
    environment |= {"OMP_NUM_THREADS": "1", "RAY_ADDRESS": "local"}
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)  # which the session and Ray's processes inherit
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=environment
        )
    finally:
        os.sched_setaffinity(0, everywhere)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    seen = json.loads(clock.read_text())
    took = Took(seen["last"] - seen["first"], seen["own"] + seen["children"] - seen["cpu"])
    return took, read_outcomes(folder / "results" / name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3, help="pairs of sessions")
    parser.add_argument("--cores", type=int, default=2, help="processors of each session")
    chosen = parser.parse_args(arguments)
    cores = set(sorted(os.sched_getaffinity(0))[: chosen.cores])
    took: dict[str, list[Took]] = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_samples(folder / "texts.jsonl", chosen.items)
        (folder / "bench_ray_clock.py").write_text(CLOCK, encoding="utf-8")
        for turn in range(chosen.repeat):
            found = {}
            for side in SIDES:
                seconds, found[side] = session(folder, side, f"{side}-{turn}", cores)
                took[side].append(seconds)
                print(f"  {side:5} {seconds.wall:7.2f} s, {seconds.cpu:.2f} s CPU", flush=True)
            different = sum(found["ray"].get(key) != row for key, row in found["local"].items())
            print(f"  {len(found['local']):,} outcomes, {different} of them differ", flush=True)
    what = f"{chosen.items:,} masked texts, one replica, cores {len(cores)}"
    for clock, field in (("time", 0), ("CPU", 1)):
        local, ray = (statistics.median(each[field] for each in took[side]) for side in SIDES)
        show(f"{what}, {clock}: times local", ray / local, MOST)


if __name__ == "__main__":
    main()
