"""`--decide early`: samples are asked until each verdict is certain, and no further."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ckptbench import Sample
from ckptbench.cli import main
from ckptbench.gate.sequential import stage_of

TEXTS = [f"right {i:03}" for i in range(400)]
EARLY = ("--baseline=base.json", "--decide=early", "--run-id=early")


@pytest.fixture
def compared(project: Any) -> Any:
    """Samples that are answered right, and a baseline that says so."""
    project.write(TEXTS)
    assert project.run("--baseline=base.json", "--update-baseline", "--run-id=old").ret == 0
    (project.path / "asked.log").unlink()
    return project


@pytest.fixture(params=[0, pytest.param(2, marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, compared: Any) -> Any:
    """Runs the project in one process, or with workers, and asks everything anew."""
    if not request.param:
        return lambda *arguments: compared.run("--no-resume", *arguments)
    return lambda *arguments: compared.run_apart("--no-resume", "-n2", *arguments)


def test_a_clear_regression_is_not_asked_to_the_end(compared: Any, run: Any) -> None:
    with compared.spoiled(*TEXTS[::2]):
        result = run(*EARLY)
    assert result.ret == 1
    coverage = compared.coverage
    assert 0.1 * 400 < coverage["scored"] < 0.35 * 400
    assert coverage["not_needed"] == 400 - coverage["scored"]
    assert coverage["not_run"] == coverage["errors"] == 0
    assert len(compared.asked) == coverage["scored"]
    assert compared.summary["complete"]
    assert compared.verdicts == {"word@1": "regressed", "word@5": "regressed"}
    assert any("regressed" in note and "fixed number" in note for note in compared.summary["notes"])


def test_an_unchanged_model_is_asked_until_a_drop_is_excluded(compared: Any, run: Any) -> None:
    result = run(*EARLY, "--must-see=10")
    assert result.ret == 0
    assert 0 < compared.coverage["scored"] < 0.6 * 400
    assert len(compared.asked) == compared.coverage["scored"]
    assert compared.verdicts == {"word@1": "identical", "word@5": "identical"}
    (note,) = (each for each in compared.summary["notes"] if "decided after" in each)
    assert "a drop of 10.00 pp is excluded" in note
    assert "smaller ones were not looked for" in note


def test_what_is_uncertain_is_asked_to_the_end(compared: Any, run: Any) -> None:
    with compared.spoiled(*TEXTS[::100]):
        result = run(*EARLY, "--must-see=0.5")
    assert result.ret == 0
    assert compared.verdicts == {"word@1": "inconclusive", "word@5": "inconclusive"}
    assert compared.coverage["scored"] == 400
    assert compared.coverage["not_needed"] == 0


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_few_samples_of_which_none_comes_before_the_first_look(
    project: Any, workers: tuple[str, ...]
) -> None:
    rows = [Sample(f"s-{n:02}", {"text": f"right {n:03}"}) for n in range(400)]
    later = [row for row in rows if stage_of(row.cluster, 0) > 1][:3]
    project.write([row.fields["text"] for row in later])
    project.change(
        "test_bench.py",
        'ROWS = [Sample(f"s-{i:02}", {"text": text}) for i, text in enumerate(TEXTS)]',
        'ROWS = [Sample(f"s-{int(text[6:]):02}", {"text": text}) for text in TEXTS]',
    )
    assert project.run("--baseline=base.json", "--update-baseline", "--run-id=old").ret == 0
    result = project.run_apart(*EARLY, "--no-resume", *workers)
    assert result.ret == 0
    assert project.coverage["scored"] == 3


def test_the_same_run_without_the_option_asks_the_rest(compared: Any) -> None:
    with compared.spoiled(*TEXTS[::2]):
        compared.run(*EARLY)
        asked = len(compared.asked)
        result = compared.run("--baseline=base.json", "--run-id=early")
    assert result.ret == 1
    assert asked < 400
    assert len(compared.asked) == 400
    assert compared.coverage["scored"] == 400


def test_an_error_is_no_answer_that_could_decide(compared: Any) -> None:
    # One of the samples that are asked before the first look.
    rows = [Sample(f"s-{n:02}", {"text": f"flaky {n:03}"}) for n in range(400)]
    first = next(n for n, row in enumerate(rows) if stage_of(row.cluster, 0) == 0)
    texts = [*TEXTS[:first], f"flaky {first:03}", *TEXTS[first + 1 :]]
    compared.write(texts)
    (compared.path / "flaky.once").touch()
    compared.run("--baseline=base.json", "--update-baseline", "--run-id=old")
    (compared.path / "flaky.once").unlink()
    with compared.spoiled(*TEXTS[::2]):
        result = compared.run(*EARLY, "--no-resume")
    assert result.ret == 1
    assert compared.coverage["errors"] == 1
    assert compared.coverage["not_needed"] == 0
    assert compared.verdicts == {"word@1": "incomplete", "word@5": "incomplete"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--decide=early"], ["no baseline to decide by", "--baseline=FILE"]),
        (
            ["--decide=early", "--baseline=base.json", "--update-baseline"],
            ["a baseline needs all samples"],
        ),
        (["--decide=erly"], ["erly"]),
    ],
)
def test_options_that_do_not_fit(compared: Any, arguments: list[str], words: list[str]) -> None:
    result = compared.run(*arguments)
    assert result.ret == 4
    shown = "\n".join(result.outlines + result.errlines)
    assert all(word in shown for word in words)
    assert not (compared.path / "asked.log").exists()


def test_such_a_run_writes_no_baseline_of_itself(compared: Any) -> None:
    with compared.spoiled(*TEXTS[::2]):
        compared.run(*EARLY)
    assert not list((compared.path / "results" / "early").glob("**/baseline*.json"))


def test_its_run_is_shown_and_is_no_part_of_a_merge(
    compared: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with compared.spoiled(*TEXTS[::2]):
        compared.run(*EARLY)
    capsys.readouterr()
    early, old = (str(compared.path / "results" / name) for name in ("early", "old"))
    assert main(["show", early]) == 0
    assert "not needed" in capsys.readouterr().out
    assert main(["merge", early, old, "-o", str(compared.path / "both")]) == 2
    assert "decided early" in capsys.readouterr().err


def test_a_benchmark_with_nothing_new_between_two_looks(project: Any) -> None:
    """A few samples beside many: most looks find no more of them than the look before."""
    project.write(TEXTS)
    code = (project.path / "test_bench.py").read_text("utf-8")
    few = code.replace("test_word", "test_few").replace('"word/', '"few/').replace('"s-', '"f-')
    project.file(
        "test_few.py", re.sub("TEXTS = .*", 'TEXTS = ["right a", "right b", "right c"]', few)
    )
    assert project.run("--baseline=base.json", "--update-baseline", "--run-id=old").ret == 0
    result = project.run(*EARLY, "--no-resume", "--must-see=0.5")
    assert result.ret == 0
    assert "INTERNALERROR" not in result.stdout.str()
    scored = {b: each["coverage"]["scored"] for b, each in project.latest.benchmarks.items()}
    assert scored == {"word/plain": 400, "few/plain": 3}


def test_a_strict_gate_asks_on_where_the_drop_is_not_cleared(compared: Any) -> None:
    """The same outcomes: a drop of 2.5 pp is inconclusive, and one of 30 pp soon excluded."""
    lost = [text for n, text in enumerate(TEXTS) if n % 40 == 0]
    asked = {}
    for gate in ("regress", "strict"):
        with compared.spoiled(*lost):
            compared.run(
                *EARLY, "--no-resume", "--must-see=30", "--tolerance=0.1", f"--gate={gate}"
            )
        asked[gate] = compared.coverage["scored"]
    assert asked["regress"] < asked["strict"]


def test_a_protocol_that_is_not_gated_ends_with_the_one_that_is(project: Any) -> None:
    project.write(TEXTS)
    project.change("test_bench.py", "protocol=(PROTOCOL,)", "protocol=(PROTOCOL, OTHER)")
    assert project.run("--baseline=base.json", "--update-baseline", "--run-id=old").ret == 0
    with project.spoiled(*TEXTS[::2]):
        project.run(*EARLY, "--no-resume")
    left = {b: each["coverage"]["not_needed"] for b, each in project.latest.benchmarks.items()}
    assert left["word/plain"] == left["word/other"] > 200


def test_a_run_that_was_decided_early_and_a_shard_are_no_baseline_by_name(compared: Any) -> None:
    with compared.spoiled(*TEXTS[::2]):
        compared.run(*EARLY)
    compared.run("--shard=1/2", "--run-id=half")
    for name in ("last", "best"):
        assert compared.run(f"--baseline={name}", f"--run-id={name}").ret == 0
        given = compared.latest.summary["checkpoints"][0]["baseline"]
        assert Path(given).name not in ("early", "half")
