"""What an item costs: the plugin's items against the same suite made with `parametrize`.

    python tests/bench/items.py [--items 10000] [--large 100000] [--repeat 3]

Every suite runs in a process of its own; CPU seconds (user and system, all threads and children)
and peak memory are the operating system's. Suites take turns, and ratios are of medians of the
same call, because a shared machine drifts. An engine that answers at once leaves only the cost of
pytest and the plugin.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from ratios import show

OURS = """
import os
import pytest
from ckptbench import Filled, FillMask, EvalProtocol, Sample, samples, top_k

N, MISSES = int(os.environ["N"]), int(os.environ["MISSES"])
ASKED = EvalProtocol("num/plain", lambda sample, how: FillMask(sample["text"], (0, 1), "x"))
ROWS = [Sample(f"s-{i:06}", {"text": str(i)}) for i in range(N)]


class Instant:
    fingerprint = "instant"
    settings = {}

    def answer(self, requests):
        for place, request in enumerate(requests):
            missed = MISSES and int(request.text) % 2
            yield place, Filled((request.word,), (0.0,), None if missed else 1, 1)


@pytest.fixture(scope="session")
def engine():
    return Instant()


@samples(ROWS, protocol=ASKED, score=top_k(1, 5))
def test_number(response, k):
    assert response.within(k)
"""

# The same questions, answers and outcomes, as one would write them without the plugin.
PARAMETRIZED = """
import os
import pytest

N, MISSES = int(os.environ["N"]), int(os.environ["MISSES"])
ROWS = [{"id": f"s-{i:06}", "text": str(i)} for i in range(N)]


class Filled:
    def __init__(self, rank):
        self.rank = rank

    def within(self, k):
        return self.rank is not None and self.rank <= k


class Instant:
    def answer(self, sample):
        missed = MISSES and int(sample["text"]) % 2
        return Filled(None if missed else 1)


@pytest.fixture(scope="session")
def engine():
    return Instant()


@pytest.mark.parametrize("sample", ROWS, ids=lambda sample: sample["id"])
def test_number(sample, engine, record_property):
    response = engine.answer(sample)
    for k in (1, 5):
        record_property(f"num@{k}", float(response.within(k)))
    assert response.within(1)
"""
PLAIN = PARAMETRIZED.replace(", record_property", "").replace(
    """    for k in (1, 5):
        record_property(f"num@{k}", float(response.within(k)))
""",
    "",
)
# Items that ask nothing, and tell pytest by the same hooks that they began and ended: what a plugin
# costs that collects and reports, and does nothing else.
REPORTS_ALONE = """
import os
import pytest


class Idle(pytest.Item):
    def runtest(self):
        pass

    def reportinfo(self):
        return self.path, 0, self.name


def pytest_pycollect_makeitem(collector, name):
    if name == "test_number":
        count = int(os.environ["N"])
        return [Idle.from_parent(collector, name=f"{name}[s-{i:06}]") for i in range(count)]


def pytest_runtestloop(session):
    for item in session.items:
        hook, nodeid, location = item.ihook, item.nodeid, item.location
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        report = pytest.TestReport(nodeid, location, {}, "passed", None, "call")
        hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
    return True
"""
# Other people's plugins cost the same in every suite, and more than pytest itself.
QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:rerunfailures",
         "-p", "no:html", "-p", "no:metadata", "-p", "no:anyio", "--tb=no"]  # fmt: skip
WITHOUT_US = ["-p", "no:ckptbench", "-p", "no:ckptbench-fixtures"]


@dataclass(frozen=True)
class Measured:
    """One process: CPU in seconds, peak memory in MB."""

    cpu_s: float
    peak_mb: float


def run(
    folder: Path, suite: str, n: int, *options: str, misses: bool = False, conftest: str = ""
) -> Measured:
    """Run a suite in a process of its own."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "test_suite.py").write_text(suite, encoding="utf-8")
    (place / "conftest.py").write_text(conftest, encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *QUIET, *options]
    if "--json-report" not in options:
        command += ["-p", "no:json-report"]
    environment = {**os.environ, "N": str(n), "MISSES": str(int(misses))}
    # The plugin's modules are compiled once, as those of an installed package are.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} in {place} exited with {process.returncode}")
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Measured(cpu, used.ru_maxrss / 1024)


def outcomes(folder: Path, n: int, *options: str) -> dict[str, str]:
    """The outcome of every item of a run with half of them missed, by node id."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "test_suite.py").write_text(OURS, encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {**os.environ, "N": str(n), "MISSES": "1"}
    command = [sys.executable, "-m", "pytest", *QUIET, *options, "--ckpt-run-id=bench"]
    subprocess.run(command, cwd=place, env=environment, stdout=subprocess.DEVNULL, check=True)
    found = {}
    with (place / "results/bench/samples/engine/num.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found[row["nodeid"]] = row["status"]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    chosen = parser.parse_args(arguments)
    n = chosen.items
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suites = {
            "ours": lambda: run(folder, OURS, n),
            "ours, 1 item": lambda: run(folder, OURS, 1),
            "ours, half missing": lambda: run(folder, OURS, n, misses=True),
            "ours, --json-report": lambda: run(folder, OURS, n, "--json-report"),
            "ours, --junitxml": lambda: run(folder, OURS, n, "--junitxml=junit.xml"),
            "parametrize, values recorded": lambda: run(folder, PARAMETRIZED, n, *WITHOUT_US),
            "parametrize, bare": lambda: run(folder, PLAIN, n, *WITHOUT_US),
            "parametrize, 1 item": lambda: run(folder, PLAIN, 1, *WITHOUT_US),
            "reports alone": lambda: run(folder, PLAIN, n, *WITHOUT_US, conftest=REPORTS_ALONE),
        }
        found: dict[str, list[Measured]] = {suite: [] for suite in suites}
        for _ in range(chosen.repeat):
            for suite, measure in suites.items():
                found[suite].append(measure())
        cpu = {s: statistics.median(m.cpu_s for m in runs) for s, runs in found.items()}
        peak = {s: statistics.median(m.peak_mb for m in runs) for s, runs in found.items()}
        large = run(folder, OURS, chosen.large)
        serial, spread = outcomes(folder, n), outcomes(folder, n, "-n", "2")

        print(f"{n:,} items, medians of {chosen.repeat}")
        for suite in suites:
            print(f"  {suite:32} {cpu[suite]:7.2f} s CPU {peak[suite]:7.0f} MB")
        items = cpu["ours"] - cpu["ours, 1 item"]
        recorded, bare = cpu["parametrize, values recorded"], cpu["parametrize, bare"]
        rows = [
            ("ours / parametrize with values recorded", cpu["ours"] / recorded, 0.33),
            ("ours / parametrize bare", cpu["ours"] / bare, 0.33),
            ("the same, start-up taken off", items / (bare - cpu["parametrize, 1 item"]), 0.33),
            ("pytest's reports alone / parametrize bare", cpu["reports alone"] / bare, None),
            ("half missing / all passing", cpu["ours, half missing"] / cpu["ours"], 1.5),
            ("--json-report / without", cpu["ours, --json-report"] / cpu["ours"], 1.5),
            ("--junitxml / without", cpu["ours, --junitxml"] / cpu["ours"], 2),
        ]
        for title, ratio, bound in rows:
            show(f"{n:,} items, CPU: {title}", ratio, bound)
        print(
            f"{chosen.large:,} items: {large.peak_mb:.0f} MB (at most 400), {large.cpu_s:.1f} s CPU"
        )
        same = "the same" if serial == spread else "DIFFERENT"
        print(f"-n 2: {len(spread):,} outcomes, {same} as the {len(serial):,} of one process")


if __name__ == "__main__":
    main()
