"""Where noise comes from, in a run: several trials, and the floor under comparisons."""

from __future__ import annotations

import pytest
from run_folder import RunFolder

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
from ckptbench import Generate, EvalProtocol, Sample, pass_at_k, samples

def ask(sample, how):
    return Generate(sample["prompt"], seed=how.trial, temperature=how.temperature)

ROWS = [Sample(f"Own/{i}", {"prompt": str(i)}) for i in range(5)]

@samples(ROWS, protocol=EvalProtocol("own/plain", ask), score=pass_at_k(1, 2, 4))
def test_own(sample, response):
    # Problem i passes in its first i trials.
    assert int(response.text.partition(":")[2]) < int(sample["prompt"])
"""


@pytest.fixture
def own(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(WRITES)
    pytester.makepyfile(test_own=TRIALS)
    return pytester


def test_a_run_of_several_trials_says_where_its_error_comes_from(own: pytest.Pytester) -> None:
    result = own.runpytest_inprocess(
        "--num-samples=4", "--temperature=0.8", "--report=md,html", "-v"
    )
    # p (1 - p) / 3 of each problem, over 5 squared: (0 + 3/16 + 4/16 + 3/16 + 0) / 3 / 25.
    draw = (10 / 16) / 3 / 25
    benchmark = RunFolder.latest(own.path).benchmark
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
    assert RunFolder.latest(own.path).benchmark["noise"] == []
    result.stdout.no_fnmatch_line("*the draw of answers*")


# The floor under comparisons

UNSTEADY = '''
import os, random
from pathlib import Path

import pytest
from ckptbench import Filled

HERE = Path(__file__).parent


class Unsteady:
    """Names the word in full batches, and forgets some of them in small ones."""

    fingerprint = "unsteady"
    settings = {"seq_len": 128, **({"dtype": os.environ["DTYPE"]} if "DTYPE" in os.environ else {})}

    def answer(self, requests):
        with (HERE / "calls.log").open("a") as log:
            log.write(f"{len(requests)}\\n")
        for index, request in enumerate(requests):
            number = int(request.text.split()[1])
            flips = number % 4 == 0 and len(requests) < 8
            yield index, Filled(("x", "y"), (-0.1, -2.0), 2 if flips else 1, 1)


@pytest.fixture(scope="session")
def engine():
    yield Unsteady()
    (HERE / "torn-down").touch()
'''
WORDS = """
from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

ROWS = [Sample(f"s-{i:02}", {"text": f"x {i}"}) for i in range(40)]

def ask(sample, how):
    return FillMask(sample["text"], (0, 1), "x", top=how.top)

PROTOCOL = EvalProtocol("word/plain", ask)

@samples(ROWS, protocol=PROTOCOL, score=top_k(1))
def test_word(response, k):
    assert response.within(k)
"""


@pytest.fixture
def unsteady(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(UNSTEADY)
    pytester.makepyfile(test_word=WORDS)
    return pytester


def calls(project: pytest.Pytester) -> list[int]:
    return [int(line) for line in (project.path / "calls.log").read_text().split()]


def test_samples_are_asked_again_in_another_batch_size(unsteady: pytest.Pytester) -> None:
    result = unsteady.runpytest_inprocess(
        "--noise-floor=20", "--report=md,html", "-p", "no:randomly"
    )
    assert calls(unsteady) == [40, 7, 7, 6]
    benchmark = RunFolder.latest(unsteady.path).benchmark
    floor = benchmark["floor"]
    assert (floor["samples"], floor["unanswered"], floor["other_batch_size"]) == (20, 0, True)
    assert 0 < floor["flipped"] < 10  # 10 of the 40 flip when they are asked again
    # Nothing of it enters the score.
    assert [(s["value"], s["n"]) for s in benchmark["scores"]] == [(1.0, 40)]
    assert benchmark["coverage"]["planned"] == 40
    line = f"noise floor: {floor['flipped']} of 20 samples flipped ("
    assert f"{line}{100 * floor['interval'][0]:.1f}% to" in result.stdout.str()
    result.stdout.fnmatch_lines(["*when run again with another seed and batch size"])
    for name in ("report.md", "report.html"):
        (report,) = unsteady.path.glob(f"results/*/{name}")
        assert f"noise floor: {floor['flipped']} of 20" in report.read_text(encoding="utf-8")


def test_all_are_asked_again_where_there_are_fewer(unsteady: pytest.Pytester) -> None:
    unsteady.runpytest_inprocess("--noise-floor=1000")
    floor = RunFolder.latest(unsteady.path).benchmark["floor"]
    assert (floor["samples"], floor["flipped"]) == (40, 10)


def test_second_answers_are_neither_looked_up_nor_kept(unsteady: pytest.Pytester) -> None:
    unsteady.runpytest_inprocess("--noise-floor=40", "--run-id=first")
    (unsteady.path / "calls.log").unlink()
    unsteady.runpytest_inprocess("--noise-floor=40", "--run-id=second")
    # What the first run kept answers all; the second answers are asked for each time.
    assert calls(unsteady) == [7, 7, 7, 7, 7, 5]
    second = RunFolder(unsteady.path / "results/second")
    assert (second.checkpoint["asked"], second.checkpoint["reused"]) == (0, 40)
    assert second.benchmark["scores"][0]["value"] == 1.0
    assert second.benchmark["floor"]["flipped"] == 10


def test_the_floor_is_measured_by_the_workers_together(unsteady: pytest.Pytester) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        loaded = [part for name in ("ckptbench", "xdist") for part in ("-p", name)]
        result = unsteady.runpytest_subprocess(*loaded, "-n2", "--noise-floor=1000", timeout=240)
    assert result.ret == 0
    floor = RunFolder.latest(unsteady.path).benchmark["floor"]
    assert floor["samples"] == 40


def test_a_session_that_is_stopped_asks_nothing_again(unsteady: pytest.Pytester) -> None:
    path = unsteady.path / "test_word.py"
    path.write_text(path.read_text() + "\n    assert response.rank == 2\n")
    unsteady.runpytest_inprocess("--noise-floor=40", "-x")
    assert calls(unsteady) == [40]
    assert RunFolder.latest(unsteady.path).benchmark["floor"] is None


def test_pytests_own_way_of_running_items_measures_it_too(unsteady: pytest.Pytester) -> None:
    unsteady.runpytest_inprocess("--noise-floor=40", "--setup-show")
    assert RunFolder.latest(unsteady.path).benchmark["floor"]["flipped"] == 10


def test_batches_of_one_request_differ_in_the_seed_only(unsteady: pytest.Pytester) -> None:
    result = unsteady.runpytest_inprocess("--noise-floor=4", "--batch-size=1")
    assert RunFolder.latest(unsteady.path).benchmark["floor"]["other_batch_size"] is False
    result.stdout.fnmatch_lines(["*when run again with another seed"])


def test_an_engine_that_fails_the_second_time_leaves_the_run_whole(
    unsteady: pytest.Pytester,
) -> None:
    path = unsteady.path / "conftest.py"
    failing = (
        'if len(requests) < 8: raise RuntimeError("out of memory")\n        for index, request'
    )
    path.write_text(path.read_text().replace("for index, request", failing))
    result = unsteady.runpytest_inprocess("--noise-floor=3")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*noise floor: none of 3 samples could be run again"])


@pytest.mark.parametrize(("dtype", "noted"), [("bf16", True), ("fp16", True), ("fp32", False)])
def test_a_greedy_run_in_few_bits_says_that_its_floor_is_not_measured(
    unsteady: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, dtype: str, noted: bool
) -> None:
    monkeypatch.setenv("DTYPE", dtype)
    said = f"{dtype} rounds differently in batches of other sizes"
    assert (said in unsteady.runpytest_inprocess().stdout.str()) is noted
    assert said not in unsteady.runpytest_inprocess("--noise-floor=5").stdout.str()
    drawn = unsteady.runpytest_inprocess("--temperature=0.7").stdout.str()
    assert said not in drawn


def test_the_answers_of_other_trials_come_of_another_seed(own: pytest.Pytester) -> None:
    path = own.path / "test_own.py"
    path.write_text(path.read_text().replace("seed=how.trial", "seed=how.trial + how.seed"))
    own.runpytest_inprocess("--num-samples=4", "--temperature=0.8", "--noise-floor=5")
    # The first trial of problems 1 to 4 passes; no seed of the second answer is that small.
    floor = RunFolder.latest(own.path).benchmark["floor"]
    assert (floor["samples"], floor["flipped"]) == (5, 4)


def test_programs_are_judged_again_in_the_sandbox(own: pytest.Pytester) -> None:
    own.makeconftest(
        WRITES.replace(':{request.seed}"', ':{request.seed if len(requests) > 2 else 9}"')
        + """

from concurrent.futures import Future
from types import SimpleNamespace

class Sandbox:
    open = True

    def submit(self, passes):
        assert self.open
        done = Future()
        word = "pass" if passes else "fail"
        done.set_result(SimpleNamespace(passed=passes, status=word, reason="", wall_s=0.1))
        return done


@pytest.fixture(scope="session")
def sandbox():
    box = Sandbox()
    yield box
    box.open = False
"""
    )
    text = TRIALS.replace(
        'EvalProtocol("own/plain", ask)',
        'EvalProtocol("own/plain", ask, execute=lambda sample, response, trial: '
        'int(response.text.partition(":")[2]) < int(sample["prompt"]))',
    )
    text = text.replace("def test_own(sample, response):", "def test_own(execution):")
    head, _, _ = text.partition("    # Problem i")
    own.makepyfile(test_own=head + "    assert execution.passed\n")
    own.runpytest_inprocess("--k=own=1", "--noise-floor=5")
    floor = RunFolder.latest(own.path).benchmark["floor"]
    assert (floor["samples"], floor["flipped"], floor["unanswered"]) == (5, 4, 0)


def test_several_checkpoints_have_a_floor_each(unsteady: pytest.Pytester) -> None:
    result = unsteady.runpytest_inprocess(
        "--checkpoint=one", "--checkpoint=two", "--noise-floor=40", "-v"
    )
    checkpoints = RunFolder.latest(unsteady.path).checkpoints.values()
    assert [c["benchmarks"][0]["floor"]["flipped"] for c in checkpoints] == [10, 10]
    result.stdout.fnmatch_lines(
        [
            "noise floor of word/plain: 20 of 80 samples of 2 checkpoints flipped when run again*",
            "  noise floor: 10 of 40 samples flipped*",
        ]
    )
