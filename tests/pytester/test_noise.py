"""Where noise comes from, in a run: several trials, and the floor under comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WRITES = """
import pytest
from ckptbench import Generated

class Writes:
    fingerprint = "writes"
    settings = {}

    def answer(self, requests):
        for place, request in enumerate(requests):
            yield place, Generated(f"{request.prompt}:{request.seed}", 1, "stop")


@pytest.fixture(scope="session")
def engine():
    return Writes()
"""
TRIALS = """
from ckptbench import Generate, Protocol, Sample, pass_at_k, samples

def ask(sample, how):
    return Generate(sample["prompt"], seed=how.trial, temperature=how.temperature)

ROWS = [Sample(f"Own/{i}", {"prompt": str(i)}) for i in range(5)]

@samples(ROWS, protocol=Protocol("own/plain", ask), score=pass_at_k(1, 2, 4))
def test_own(sample, response):
    # Problem i passes in its first i trials.
    assert int(response.text.partition(":")[2]) < int(sample["prompt"])
"""


@pytest.fixture
def own(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(WRITES)
    pytester.makepyfile(test_own=TRIALS)
    return pytester


def benchmark_of(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("results/*/summary.json")
    (checkpoint,) = json.loads(path.read_text(encoding="utf-8"))["checkpoints"]
    (found,) = checkpoint["benchmarks"]
    return dict(found)


def test_a_run_of_several_trials_says_where_its_error_comes_from(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess("--num-samples=4", "--temperature=0.8", "--report=md,html")
    # p (1 - p) / 3 of each problem, over 5 squared: (0 + 3/16 + 4/16 + 3/16 + 0) / 3 / 25.
    draw = (10 / 16) / 3 / 25
    benchmark = benchmark_of(own.path)
    first, second = benchmark["noise"]
    assert (first["metric"], second["metric"]) == ("pass@1", "pass@2")
    error = benchmark["scores"][0]["standard_error"]
    assert first["se_now"] == error
    assert first["share_of_draw"] == pytest.approx(draw / error**2)
    assert first["remedy"] == "more problems"
    line = (
        f"noise of pass@1: {draw / error**2:.0%} of the variance is the draw of answers, "
        f"{1 - draw / error**2:.0%} the choice of problems; standard error {100 * error:.2f} pp, "
    )
    assert line in result.stdout.str()
    for name in ("report.md", "report.html"):
        (report,) = own.path.glob(f"results/*/{name}")
        assert "of the variance is the draw of answers" in report.read_text(encoding="utf-8")


def test_a_run_of_one_trial_says_nothing_of_it(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess("--k=own=1")
    assert benchmark_of(own.path)["noise"] == []
    result.stdout.no_fnmatch_line("*the draw of answers*")
