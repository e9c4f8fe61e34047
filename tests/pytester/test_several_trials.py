"""Several answers to a sample: items, seeds, and pass@k over them."""

from __future__ import annotations

import csv

import pytest
from run_folder import RunFolder

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
from ckptbench import Generate, EvalProtocol, Sample, pass_at_k, samples

def ask(sample, how):
    return Generate(sample["prompt"], seed=how.trial, temperature=how.temperature,
                    top_p=how.top_p, max_tokens=how.max_tokens)

ROWS = [Sample(f"Own/{i}", {"prompt": str(i)}) for i in range(4)]

@samples(ROWS, protocol=EvalProtocol("own/plain", ask), score=pass_at_k(1, 2, 5))
def test_own(sample, response):
    # Problem 0 never passes, problem i passes in its first i trials.
    assert int(response.text.partition(":")[2]) < int(sample["prompt"])
"""


@pytest.fixture
def own(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_own=BENCHMARK)
    return pytester


def test_each_trial_is_an_item_and_pass_at_k_is_the_mean_over_problems(
    own: pytest.Pytester,
) -> None:
    result = own.runpytest_inprocess("--num-samples=4", "--temperature=0.8", "-v")
    result.stdout.fnmatch_lines(["*test_own[[]Own/3-t03[]]*"])
    found = RunFolder.latest(own.path).scores
    assert found["pass@1"]["value"] == pytest.approx((0 + 1 / 4 + 2 / 4 + 3 / 4) / 4)
    assert found["pass@2"]["value"] == pytest.approx((0 + 1 / 2 + 5 / 6 + 1) / 4)
    assert found["pass@1"]["n"] == found["pass@1"]["clusters"] == 4


def test_a_k_of_more_than_the_trials_is_no_metric_of_the_run_and_it_is_said(
    own: pytest.Pytester,
) -> None:
    result = own.runpytest_inprocess("--num-samples=4", "--temperature=0.8")
    assert set(RunFolder.latest(own.path).scores) == {"pass@1", "pass@2"}
    result.stdout.fnmatch_lines(
        ["note: own/plain: pass@5 need more than 4 trials a sample (--num-samples)"]
    )
    result.stdout.no_fnmatch_line("*  pass@5 *")


def test_one_answer_needs_no_trial_in_its_name(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess("-v", "--k=own=1")
    result.stdout.fnmatch_lines(["*test_own[[]Own/3[]]*"])
    assert RunFolder.latest(own.path).scores.keys() == {"pass@1"}


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
    asked = {path.name: RunFolder(path).checkpoint["asked"] for path in own.path.glob("results/*")}
    assert asked == {"warm": 4, "again": 0, "cool": 4}


def problems(own: pytest.Pytester) -> list[dict[str, str]]:
    (path,) = own.path.glob("results/*/engine_own_problems.csv")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_tells_what_each_problem_came_to(own: pytest.Pytester) -> None:
    own.runpytest_inprocess("--num-samples=4", "--temperature=0.8", "-q")
    rows = problems(own)
    assert [row["problem"] for row in rows] == [f"Own/{i}" for i in range(4)]
    assert [(row["n"], row["c"], row["missed"]) for row in rows] == [
        ("4", str(i), str(4 - i)) for i in range(4)
    ]
    assert [float(row["pass@2"]) for row in rows] == pytest.approx([0, 1 / 2, 5 / 6, 1])
    assert {row["pass@5"] for row in rows} == {""}
    assert {row["remark"] for row in rows} == {"pass@5 does not exist for 4 trials"}


def test_uneven_trials_are_averaged_over_problems_never_pooled(own: pytest.Pytester) -> None:
    command = ["--num-samples=4", "--temperature=0.8"]
    result = own.runpytest_inprocess(*command, "-k", "not (Own/1 and (t02 or t03))")
    result.stdout.fnmatch_lines(["note: own/plain: 2 to 4 trials a sample"])
    found = RunFolder.latest(own.path).scores
    # Problem 1 has two trials, of which one passed.
    assert found["pass@1"]["value"] == pytest.approx((0 + 1 / 2 + 2 / 4 + 3 / 4) / 4)
    assert found["pass@2"]["value"] == pytest.approx((0 + 1 + 5 / 6 + 1) / 4)
    assert [row["n"] for row in problems(own)] == ["4", "2", "4", "4"]


def test_a_k_that_some_problems_have_too_few_trials_for_does_not_exist(
    own: pytest.Pytester,
) -> None:
    command = ["--num-samples=6", "--temperature=0.8"]
    result = own.runpytest_inprocess(*command, "-k", "not (Own/1 and (t04 or t05))")
    found = RunFolder.latest(own.path).scores
    assert found["pass@5"]["value"] is None
    assert found["pass@2"]["value"] is not None
    result.stdout.fnmatch_lines(["*pass@5 does not exist for 1 of 4 samples: too few trials*"])


@pytest.mark.parametrize(("trials", "exist"), [(20, [1, 5, 10, 20]), (4, [1])])
def test_the_metrics_of_a_run_are_those_that_its_trials_allow(
    own: pytest.Pytester, trials: int, exist: list[int]
) -> None:
    result = own.runpytest_inprocess(
        f"--num-samples={trials}", "--temperature=0.8", "--k=own=1,5,10,20"
    )
    found = RunFolder.latest(own.path).scores
    assert list(found) == [f"pass@{k}" for k in exist]
    assert all(score["value"] is not None for score in found.values())
    absent = ", ".join(f"pass@{k}" for k in (1, 5, 10, 20) if k not in exist)
    needs = f"{absent} need more than {trials} trials a sample"
    assert (needs in result.stdout.str()) is bool(absent)
