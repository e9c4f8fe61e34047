"""What of a baseline a session compares: what it lacks fails, what the user left out is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from run_folder import RunFolder

WORDS = [f"right {i:02}" for i in range(40)]
SECOND = """
from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

ROWS = [Sample(f"o-{i:02}", {"text": f"right other {i:02}"}) for i in range(20)]


def ask(sample, asking):
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


@samples(ROWS, protocol=(EvalProtocol("other/plain", ask),), score=top_k(1))
def test_other(response, k):
    assert response.within(k)
"""
BASELINE = "--baseline=base.json"


@pytest.fixture
def two(project: Any) -> Any:
    """Two benchmarks, word with two metrics and other with one, and a baseline of both."""
    project.write(WORDS, by_hand="")
    project.file("test_second.py", SECOND)
    assert project.run(BASELINE, "--update-baseline", "--run-id=old").ret == 0
    project.forget_asked()
    return project


def words_of(project: Any) -> dict[str, str]:
    """The gate's word on each metric, of the run's benchmarks and of what it lacks."""
    (checkpoint,) = project.summary["checkpoints"]
    judged = [v for bench in checkpoint["benchmarks"] for v in bench["verdicts"]]
    return {v["metric"]: v["word"] for v in (*judged, *checkpoint["missing"])}


def last_line(result: pytest.RunResult) -> str:
    """The gate's sentence: the last line before pytest's own counts."""
    lines = [line for line in result.outlines if ": exit " in line]
    return lines[-1]


# What the run lacks


def test_a_benchmark_that_was_not_asked_is_missing(two: Any) -> None:
    (two.path / "test_second.py").unlink()
    result = two.run(BASELINE)
    assert result.ret == 1
    assert words_of(two) == {
        "word@1": "identical",
        "word@5": "identical",
        "other/other@1": "missing",
    }
    assert last_line(result) == (
        "missing: the baseline has other@1 of other, and this run did not measure other: give its "
        "data, or deselect it on purpose (-k); 2 of 3 metrics of the baseline compared: exit 1"
    )


def test_a_missing_metric_is_missing_under_every_gate_but_off(two: Any) -> None:
    (two.path / "test_second.py").unlink()
    assert two.run(BASELINE, "--gate=strict").ret == 1
    result = two.run(BASELINE, "--gate=off")
    assert result.ret == 0
    assert last_line(result).startswith("missing: ")


def test_a_metric_that_its_benchmark_lost_is_missing(two: Any) -> None:
    two.change("test_bench.py", "score=top_k(1, 5)", "score=top_k(1)")
    result = two.run(BASELINE)
    assert result.ret == 1
    assert words_of(two) == {"word@1": "identical", "word@5": "missing", "other@1": "identical"}
    assert last_line(result).startswith("missing: the baseline has word@5 of word/plain")


def test_a_renamed_benchmark_is_missing(two: Any) -> None:
    two.change("test_second.py", "def test_other", "def test_renamed")
    two.change("test_second.py", "other/plain", "renamed/plain")
    result = two.run(BASELINE)
    assert result.ret == 1
    assert words_of(two)["other/other@1"] == "missing"


@pytest.mark.parametrize("arguments", [(), ("test_second.py",), ("-k", "test_other")])
def test_a_dataset_that_lost_samples_is_incomplete(two: Any, arguments: tuple[str, ...]) -> None:
    """A file and the name of a function leave out other benchmarks, and no samples of this one."""
    two.change("test_second.py", "range(20)", "range(5)")
    result = two.run(BASELINE, *arguments)
    assert result.ret == 1
    assert words_of(two)["other@1"] == "incomplete"
    reason = "15 of the baseline's 20 samples are not in this run's dataset"
    assert last_line(result).startswith(f"incomplete: {reason}")


def test_samples_that_the_baseline_has_not_do_no_harm(two: Any) -> None:
    two.change("test_second.py", "range(20)", "range(30)")
    result = two.run(BASELINE)
    assert result.ret == 0
    assert words_of(two)["other@1"] == "identical"


# What the user left out


@pytest.mark.parametrize(
    ("arguments", "by", "compared"),
    [
        (["-k", "test_other"], "-k", 1),
        (["test_second.py"], "a file argument", 1),
        (["test_bench.py"], "a file argument", 2),
        (["test_second.py::test_other[o-03]"], "node ids", 1),
        (["--deselect=test_second.py"], "--deselect", 2),
        (["--ignore=test_second.py"], "--ignore", 2),
    ],
)
def test_what_was_deselected_is_counted_and_passes(
    two: Any, arguments: list[str], by: str, compared: int
) -> None:
    result = two.run(BASELINE, *arguments)
    assert result.ret == 0
    assert set(words_of(two).values()) == {"identical"}
    left_out = 3 - compared
    result.stdout.fnmatch_lines(
        [f"note: {left_out} of 3 gated metrics of the baseline were left out by {by}: *"]
    )
    assert last_line(result).endswith(f"; {compared} of 3 metrics of the baseline compared: exit 0")


def test_k_leaves_out_the_metrics_of_other_k(two: Any) -> None:
    result = two.run(BASELINE, "--k=word=1")
    assert result.ret == 0
    assert words_of(two) == {"word@1": "identical", "other@1": "identical"}
    result.stdout.fnmatch_lines(
        ["note: 1 of 3 gated metrics of the baseline were left out by --k: word/word@5"]
    )
    assert last_line(result).endswith("; 2 of 3 metrics of the baseline compared: exit 0")


@pytest.mark.parametrize("named", ["word@{}", "word/word@{}"])
def test_k_leaves_out_numbers_of_other_k(two: Any, named: str) -> None:
    numbers = {named.format(k): 1.0 for k in (1, 5)}
    two.file("numbers.json", json.dumps({**numbers, "other@1": 1.0, "n": 20}))
    result = two.run("--baseline=numbers.json", "--k=word=1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"note: 1 of 3 gated metrics of the baseline were left out by --k: {named.format(5)}"]
    )
    assert two.run("--baseline=numbers.json", "--k=other=1").ret == 0
    two.file("numbers.json", json.dumps({**numbers, "other@1": 1.0, "ohter@3": 1.0, "n": 20}))
    assert two.run("--baseline=numbers.json", "--k=word=1").ret == 4


def test_protocol_leaves_out_the_gated_metrics_of_other_protocols(two: Any) -> None:
    two.change(
        "test_second.py",
        'protocol=(EvalProtocol("other/plain", ask),)',
        'protocol=(EvalProtocol("other/plain", ask), EvalProtocol("other/again", ask))',
    )
    assert two.run(BASELINE, "--update-baseline").ret == 0
    result = two.run(BASELINE, "--protocol=other=again")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["note: 1 of 4 gated metrics of the baseline were left out by --protocol: other/other@1"]
    )


@pytest.mark.parametrize("arguments", [["--limit=10"], ["-k", "o-0 or s-0"]])
def test_fewer_samples_are_compared_over_those_and_counted(two: Any, arguments: list[str]) -> None:
    result = two.run(BASELINE, *arguments)
    assert result.ret == 0
    assert set(words_of(two).values()) == {"identical"}
    by = arguments[0].partition("=")[0]
    result.stdout.fnmatch_lines(
        [
            "note: word/plain: 30 of the baseline's 40 samples are not in this run's dataset "
            f"({by})",
            "note: other/plain: 10 of the baseline's 20 samples are not in this run's dataset "
            f"({by})",
        ]
    )


def test_limit_does_not_excuse_a_benchmark_that_is_missing(two: Any) -> None:
    (two.path / "test_second.py").unlink()
    assert two.run(BASELINE, "--limit=10").ret == 1
    assert words_of(two)["other/other@1"] == "missing"


def test_a_baseline_of_which_nothing_was_compared_never_passes(two: Any) -> None:
    baseline = json.loads((two.path / "base.json").read_text())
    del baseline["benchmarks"]["word/plain"]
    two.file("base.json", json.dumps(baseline))
    result = two.run(BASELINE, "test_bench.py")
    assert result.ret == 1
    assert last_line(result) == (
        "nothing was compared: no score of this run is in base.json; "
        "0 of 1 metrics of the baseline compared: exit 1"
    )
    assert two.run(BASELINE, "test_bench.py", "--gate=off").ret == 0


# What --update-baseline may not lose


@pytest.mark.parametrize(
    ("arguments", "by"),
    [
        (["-k", "test_other"], "-k"),
        (["test_bench.py"], "a file argument"),
        (["--limit=10"], "--limit"),
    ],
)
def test_a_part_does_not_replace_the_baseline_of_the_whole(
    two: Any, arguments: list[str], by: str
) -> None:
    before = (two.path / "base.json").read_bytes()
    result = two.run(BASELINE, "--update-baseline", *arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: base.json: it has samples of *({by}), and the new one*"])
    assert (two.path / "base.json").read_bytes() == before
    assert two.run("--baseline=part.json", "--update-baseline", *arguments).ret == 0
    again = two.run("--baseline=part.json", "--update-baseline", *arguments)
    assert again.ret == 0, "nothing is lost"
    (two.path / "test_second.py").unlink()
    assert two.run(BASELINE, "--update-baseline").ret == 0, "the suite is another"


def test_an_earlier_run_by_name_is_no_file_to_write(two: Any) -> None:
    result = two.run("--baseline=last", "--update-baseline")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --baseline last: is an earlier run, *"])


def test_tolerances_stay_in_a_baseline_that_is_replaced(two: Any) -> None:
    def held() -> Any:
        return json.loads((two.path / "base.json").read_text())["benchmarks"]["word/plain"]

    assert two.run(BASELINE, "--update-baseline", "--tolerance=word@1=3,word@5=2").ret == 0
    assert two.run(BASELINE, "--update-baseline", "--tolerance=word@5=4").ret == 0
    assert held()["tolerance"] == {"word@1": 0.03, "word@5": 0.04}


# Names that a person typed


@pytest.mark.parametrize(
    ("numbers", "arguments", "told"),
    [
        ({"wrod@1": 1.0}, [], ["no metric named 'wrod@1'", "did you mean 'word@1'"]),
        ({"word/word@2": 1.0}, [], ["no metric named 'word/word@2'", "'word/word@"]),
        ({"word@1": 1.0}, ["--tolerance=wrod@1=2"], ["--tolerance", "did you mean 'word@1'"]),
        ({"word@1": 1.0}, ["--gate-on=wrod@5"], ["--gate-on", "did you mean 'word@5'"]),
        (
            {"word@1": 1.0},
            ["--allow-mismatch=tempreature"],
            ["--allow-mismatch", "did you mean 'temperature'"],
        ),
    ],
)
def test_a_name_that_nothing_has_is_refused_before_anything_is_asked(
    two: Any, numbers: dict[str, float], arguments: list[str], told: list[str]
) -> None:
    two.file("numbers.json", json.dumps(numbers))
    result = two.run("--baseline=numbers.json", *arguments)
    assert result.ret == 4
    said = result.stdout.str() + result.stderr.str()
    assert all(part in said for part in told), said
    assert "INTERNALERROR" not in said
    assert two.asked == []


# The same name in two benchmarks


@pytest.fixture
def twins(pytester: pytest.Pytester) -> pytest.Pytester:
    """Two benchmarks of programs: each has a pass@1."""
    pytester.makeconftest(WRITER)
    for name in ("first", "second"):
        pytester.path.joinpath(f"test_{name}.py").write_text(PROGRAMS.replace("NAME", name))
    return pytester


WRITER = """
from pathlib import Path

import pytest
from ckptbench import Generated

class Writes:
    fingerprint = "writes"
    settings = {}

    def answer(self, requests):
        for place, request in enumerate(requests):
            with Path("asked.log").open("a") as log:
                log.write(f"{request.prompt}\\n")
            yield place, Generated(request.prompt, 1, "stop")


@pytest.fixture(scope="session")
def engine():
    return Writes()
"""
PROGRAMS = """
from ckptbench import Generate, EvalProtocol, Sample, pass_at_k, samples

def ask(sample, how):
    return Generate(sample["prompt"], seed=how.trial, temperature=how.temperature,
                    top_p=how.top_p, max_tokens=how.max_tokens)

ROWS = [Sample(f"NAME/{i}", {"prompt": str(i)}) for i in range(40)]

@samples(ROWS, protocol=EvalProtocol("NAME/plain", ask), score=pass_at_k(1, 5))
def test_NAME(sample, response):
    assert int(response.text) % 4
"""


def run(own: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return own.runpytest_inprocess("-p", "no:randomly", *arguments)


def latest(own: pytest.Pytester) -> dict[str, dict[str, Any]]:
    """The latest run's verdicts by `BENCHMARK/METRIC`."""
    return {
        f"{bench['benchmark']}/{verdict['metric']}": verdict
        for bench in RunFolder.latest(own.path).checkpoint["benchmarks"]
        for verdict in bench["verdicts"]
    }


def test_a_bare_name_of_two_benchmarks_is_refused_and_names_both(twins: pytest.Pytester) -> None:
    twins.path.joinpath("numbers.json").write_text('{"pass@1": 0.75, "n": 40}')
    result = run(twins, "--baseline=numbers.json")
    assert result.ret == 4
    said = result.stdout.str() + result.stderr.str()
    assert "'pass@1' is ambiguous: first and second have it" in said
    assert "Write first/pass@1" in said
    assert not twins.path.joinpath("asked.log").exists()
    assert run(twins, "--baseline=numbers.json", "test_second.py").ret == 0
    assert set(latest(twins)) == {"second/pass@1"}


def test_a_name_with_its_benchmark_addresses_one(twins: pytest.Pytester) -> None:
    twins.path.joinpath("numbers.json").write_text('{"second/pass@1": 0.75, "n": 40}')
    result = run(twins, "--baseline=numbers.json")
    assert result.ret == 0
    assert set(latest(twins)) == {"second/pass@1"}


def test_a_tolerance_with_its_benchmark_is_of_that_one(twins: pytest.Pytester) -> None:
    run(twins, "--baseline=base.json", "--update-baseline")
    result = run(twins, "--baseline=base.json", "--tolerance=second/pass@1=7,pass@1=3")
    assert result.ret == 0
    found = {name: verdict["tolerance"] for name, verdict in latest(twins).items()}
    assert found == {"first/pass@1": 0.03, "second/pass@1": 0.07}


# Settings that decide what is measured


def test_another_temperature_is_incomparable_unless_allowed(twins: pytest.Pytester) -> None:
    run(twins, "--baseline=base.json", "--update-baseline")
    warm = ("--baseline=base.json", "--temperature=0.8", "--num-samples=2")
    result = run(twins, *warm)
    assert result.ret == 1
    assert {verdict["word"] for verdict in latest(twins).values()} == {"incomparable"}
    mismatch = "temperature 0 in the baseline, 0.8 here"
    assert last_line(result) == (
        f"incomparable: {mismatch}; 0 of 2 metrics of the baseline compared: exit 1"
    )
    allowed = run(twins, *warm, "--allow-mismatch=temperature")
    assert allowed.ret == 0
    assert {verdict["word"] for verdict in latest(twins).values()} == {"identical"}
    allowed.stdout.fnmatch_lines([f"note: first/plain: allowed mismatch: {mismatch}"])


def test_another_revision_of_a_protocol_asks_again_and_is_incomparable(two: Any) -> None:
    assert two.run(BASELINE).ret == 0
    assert two.asked == []
    two.change("test_second.py", ", ask)", ", ask, revision=2)")
    result = two.run(BASELINE)
    assert result.ret == 1
    assert len(two.asked) == 20
    mismatch = "revision of the protocol 1 in the baseline, 2 here"
    assert mismatch in last_line(result)
    assert words_of(two)["other@1"] == "incomparable"
    assert words_of(two)["word@1"] == "identical"
    allowed = two.run(BASELINE, "--allow-mismatch=revision")
    assert allowed.ret == 0
    allowed.stdout.fnmatch_lines([f"note: other/plain: allowed mismatch: {mismatch}"])


@pytest.mark.parametrize("option", ["--max-tokens=17", "--top-p=0.5"])
def test_other_settings_of_generation_are_incomparable(twins: pytest.Pytester, option: str) -> None:
    warm = ("--baseline=base.json", "--temperature=0.8")
    run(twins, *warm, "--update-baseline")
    assert run(twins, *warm).ret == 0
    assert run(twins, *warm, option).ret == 1
    assert {verdict["word"] for verdict in latest(twins).values()} == {"incomparable"}


def test_trials_and_seed_may_differ(twins: pytest.Pytester) -> None:
    warm = ("--baseline=base.json", "--temperature=0.8")
    run(twins, *warm, "--num-samples=3", "--update-baseline")
    result = run(twins, *warm, "--num-samples=2", "--seed=7")
    assert result.ret == 0
    assert {verdict["word"] for verdict in latest(twins).values()} == {"identical"}


def test_a_metric_that_needs_more_trials_is_no_metric_of_the_run(twins: pytest.Pytester) -> None:
    run(twins, "--baseline=base.json", "--update-baseline")
    baseline = json.loads((twins.path / "base.json").read_text())
    assert list(baseline["benchmarks"]["first/plain"]["scores"]) == ["pass@1"]
    result = run(twins, "--baseline=base.json")
    assert result.ret == 0
    assert last_line(result).startswith("identical: 2 metrics compared with base.json")
    result.stdout.no_fnmatch_line("  pass@5 *")
    result.stdout.fnmatch_lines(["note: *pass@5*"])


# What else is gated, and what is enough to say `unchanged`


def test_must_see_decides_between_unchanged_and_inconclusive(two: Any) -> None:
    with two.spoiled(WORDS[0]):
        two.run("--baseline=one.json", "--update-baseline")
    with two.spoiled(WORDS[1]):
        assert two.run("--baseline=one.json").ret == 0
        assert words_of(two)["word@1"] == "inconclusive"
        assert two.run("--baseline=one.json", "--must-see=40", "--gate=strict").ret == 0
        assert words_of(two)["word@1"] == "unchanged"
