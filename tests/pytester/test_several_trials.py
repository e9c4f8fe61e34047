"""Several answers to a sample: items, seeds, and pass@k over them."""

from __future__ import annotations

import json
from typing import Any

import pytest

CONFTEST = """
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
BENCHMARK = """
from ckptbench import Generate, Protocol, Sample, pass_at_k, samples

def ask(sample, how):
    return Generate(sample["prompt"], seed=how.trial, temperature=how.temperature,
                    top_p=how.top_p, max_tokens=how.max_tokens)

ROWS = [Sample(f"Own/{i}", {"prompt": str(i)}) for i in range(4)]

@samples(ROWS, protocol=Protocol("own/plain", ask), score=pass_at_k(1, 2, 5))
def test_own(sample, response):
    # Problem 0 never passes, problem i passes in its first i trials.
    assert int(response.text.partition(":")[2]) < int(sample["prompt"])
"""


@pytest.fixture
def own(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_own=BENCHMARK)
    return pytester


def scores(own: pytest.Pytester) -> dict[str, Any]:
    (path,) = own.path.glob("results/*/summary.json")
    (checkpoint,) = json.loads(path.read_text())["checkpoints"]
    return {score["metric"]: score for score in checkpoint["benchmarks"][0]["scores"]}


def test_each_trial_is_an_item_and_pass_at_k_is_the_mean_over_problems(
    own: pytest.Pytester,
) -> None:
    result = own.runpytest_inprocess("--num-samples=4", "--temperature=0.8", "-v")
    result.stdout.fnmatch_lines(["*test_own[[]Own/3-t03[]]*"])
    found = scores(own)
    assert found["pass@1"]["value"] == pytest.approx((0 + 1 / 4 + 2 / 4 + 3 / 4) / 4)
    assert found["pass@2"]["value"] == pytest.approx((0 + 1 / 2 + 5 / 6 + 1) / 4)
    assert found["pass@1"]["n"] == found["pass@1"]["clusters"] == 4


def test_a_k_of_more_than_the_trials_does_not_exist_and_it_is_said(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess("--num-samples=4", "--temperature=0.8", "-q")
    assert scores(own)["pass@5"]["value"] is None
    result.stdout.fnmatch_lines(["*pass@5 does not exist for 4 of 4 samples: too few trials*"])
    result.stdout.no_fnmatch_line("*does not exist: pass@5*")


def test_one_answer_needs_no_trial_in_its_name(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess("-v", "--k=own=1")
    result.stdout.fnmatch_lines(["*test_own[[]Own/3[]]*"])
    assert scores(own).keys() == {"pass@1"}


def test_several_answers_without_chance_are_refused(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess("--num-samples=4")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "4 answers a sample at temperature 0 would all be the same" in text
    assert "--temperature" in text


def test_another_temperature_is_another_question(own: pytest.Pytester) -> None:
    own.runpytest_inprocess("--temperature=0.8", "--run-id=warm", "-q")
    own.runpytest_inprocess("--temperature=0.8", "--run-id=again", "-q")
    own.runpytest_inprocess("--temperature=0.2", "--run-id=cool", "-q")
    asked = {
        path.parent.name: json.loads(path.read_text())["checkpoints"][0]["asked"]
        for path in own.path.glob("results/*/summary.json")
    }
    assert asked == {"warm": 4, "again": 0, "cool": 4}
