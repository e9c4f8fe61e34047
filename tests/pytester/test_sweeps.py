"""Several checkpoints in one session: one after the other, one in memory, one table at the end."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

# A model whose skill is what its file says: it answers the first so many samples.
MODELS = '''
import gc, weakref

from ckptbench.hooks import KEY

ALIVE = weakref.WeakSet()


class Weights:
    """What is large."""


@pytest.fixture(scope="session")
def checkpoint(request):
    gc.collect()
    note("alive.log", len(ALIVE))
    given = getattr(request, "param", None) or request.config.stash[KEY].checkpoints[0]
    path = Path(given.spec)
    weights = Weights()
    ALIVE.add(weights)
    weights.skill = int((path / "config.json").read_text())
    yield weights, path
    note("order.log", f"down {path.name}")


class Model(Scripted):
    settings = {}

    def __init__(self, weights, path):
        self.weights, self.fingerprint = weights, str(path)
        self.facts = {"val_loss": 1 / self.weights.skill}

    def answer(self, requests):
        note("order.log", f"answers {Path(self.fingerprint).name}")
        for index, request in enumerate(requests):
            note("asked.log", request.text)
            right = int(request.text.split()[1]) < self.weights.skill
            yield index, Filled(("x", "y"), (-0.1, -2.0), 1 if right else None, 1)


@pytest.fixture(scope="session")
def engine(checkpoint):
    return Model(*checkpoint)
'''
TEXTS = [f"text {i:02}" for i in range(40)]
SKILLS = {9: 4, 80: 20, 700: 36}
PATTERN = "--checkpoint=runs/x/checkpoint-*"


def checkpoint_at(project: Any, path: str, skill: object, **state: float) -> None:
    project.file(f"{path}/config.json", str(skill))
    if state:
        project.file(f"{path}/trainer_state.json", json.dumps(state))


@pytest.fixture
def trained(project: Any) -> Any:
    """A run of three checkpoints that get better, and a benchmark of 40 samples."""
    project.write(TEXTS, conftest=MODELS)
    for step, skill in SKILLS.items():
        checkpoint_at(
            project, f"runs/x/checkpoint-{step}", skill, global_step=step, epoch=step / 100
        )
    return project


def log(project: Any, name: str) -> list[str]:
    path: Path = project.path / name
    return path.read_text().splitlines() if path.exists() else []


def scores(project: Any) -> dict[str, list[float]]:
    return {
        name: [score["value"] for score in each["benchmarks"][0]["scores"]]
        for name, each in project.latest.checkpoints.items()
    }


def test_a_pattern_is_a_session_of_all_its_checkpoints_in_order_of_steps(trained: Any) -> None:
    assert trained.run(PATTERN, "test_bench.py").ret == 0
    assert scores(trained) == {
        "checkpoint-9": [0.1, 0.1],
        "checkpoint-80": [0.5, 0.5],
        "checkpoint-700": [0.9, 0.9],
    }


def test_items_carry_their_checkpoints_name(trained: Any) -> None:
    result = trained.run(PATTERN, "--collect-only", "-q", "test_bench.py")
    assert "test_bench.py::test_word[checkpoint-80/s-03]" in result.outlines
    result = trained.run(PATTERN, "-v", "-k", "checkpoint-80/s-03")
    assert trained.ran(result) == {"checkpoint-80/s-03": "PASSED"}


def test_each_is_loaded_once_and_gone_before_the_next(trained: Any) -> None:
    trained.run(PATTERN)
    assert log(trained, "alive.log") == ["0", "0", "0"]
    assert log(trained, "order.log") == [
        word
        for step in SKILLS
        for word in (f"answers checkpoint-{step}", f"down checkpoint-{step}")
    ]


def test_none_is_left_in_memory_at_the_end(trained: Any) -> None:
    conftest = (trained.path / "conftest.py").read_text()
    trained.file(
        "conftest.py",
        conftest
        + "\n\ndef pytest_unconfigure():\n    gc.collect()\n    note('left.log', len(ALIVE))\n",
    )
    trained.run(PATTERN)
    assert log(trained, "left.log") == ["0"]


def test_two_benchmarks_share_each_checkpoint(trained: Any) -> None:
    text = (trained.path / "test_bench.py").read_text()
    trained.file("test_bench_2.py", text.replace("word/", "more/"))
    assert trained.run(PATTERN).ret == 0
    assert log(trained, "alive.log") == ["0", "0", "0"]


def test_hand_written_tests_of_a_checkpoint_go_with_its_samples(trained: Any) -> None:
    trained.file(
        "test_hand.py", "def test_skill(checkpoint):\n    assert checkpoint[0].skill > 1\n"
    )
    result = trained.run(PATTERN, "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_skill?checkpoint-9? PASSED*"])
    assert log(trained, "alive.log") == ["0", "0", "0"]


def test_one_that_cannot_be_loaded_costs_its_own_samples_and_no_memory(trained: Any) -> None:
    checkpoint_at(trained, "runs/x/checkpoint-80", "damaged")
    result = trained.run(PATTERN, "test_bench.py")
    assert result.ret == 1
    assert log(trained, "alive.log") == ["0", "0", "0"]
    assert scores(trained)["checkpoint-700"] == [0.9, 0.9]
    errors = {
        n: c["benchmarks"][0]["coverage"]["errors"] for n, c in trained.latest.checkpoints.items()
    }
    assert errors == {"checkpoint-9": 0, "checkpoint-80": 40, "checkpoint-700": 0}
    result.stdout.fnmatch_lines(["checkpoint-80: word/plain: 0 of 40 scored, 40 errors"])


def test_the_summary_places_each_in_its_training(trained: Any) -> None:
    trained.run(PATTERN, "test_bench.py")
    found = trained.latest.checkpoints["checkpoint-80"]
    assert (found["run"], found["step"], found["epoch"]) == ("x", 80, 0.8)
    assert found["facts"] == {"val_loss": 0.05}
    (numbers,) = (trained.path / "results").glob("*/checkpoint-80_eval_results.json")
    assert json.loads(numbers.read_text())["epoch"] == 0.8


def test_epochs_of_steps(trained: Any) -> None:
    checkpoint_at(trained, "runs/y/checkpoint-300", 8)
    trained.run(
        "--checkpoint=runs/y/checkpoint-300", PATTERN, "--steps-per-epoch=200", "-k", "s-01"
    )
    epochs = {name: each["epoch"] for name, each in trained.latest.checkpoints.items()}
    assert epochs["checkpoint-300"] == 1.5
    assert epochs["checkpoint-80"] == 0.8


# Answers of earlier runs


@pytest.mark.slow
def test_run_again_asks_nothing_and_reports_the_same(trained: Any) -> None:
    pytest.importorskip("matplotlib")
    command = (PATTERN, "test_bench.py", "--report=html,md")
    assert trained.run_apart(*command).ret == 0
    assert len(trained.asked) == 120
    first = scores(trained)
    trained.forget_asked()
    assert trained.run_apart(*command).ret == 0
    assert trained.asked == []
    assert scores(trained) == first
    one, two = ([f / name for name in ("report.md", "report.html")] for f in trained.run_folders)
    assert one[0].read_bytes() == two[0].read_bytes()
    assert one[1].exists()
    assert two[1].exists()


def test_a_later_run_asks_the_new_checkpoint_only(trained: Any) -> None:
    trained.run(PATTERN, "test_bench.py")
    trained.forget_asked()
    checkpoint_at(trained, "runs/x/checkpoint-800", 38)
    trained.run(PATTERN, "test_bench.py")
    assert len(trained.asked) == 40
    asked = {name: each["asked"] for name, each in trained.latest.checkpoints.items()}
    assert asked == {
        "checkpoint-9": 0,
        "checkpoint-80": 0,
        "checkpoint-700": 0,
        "checkpoint-800": 40,
    }


# Workers


def test_workers_are_told_what_was_found_and_look_for_nothing(trained: Any) -> None:
    pytest.importorskip("xdist")
    trained.run(PATTERN, "test_bench.py", "--run-id=alone")
    alone = scores(trained)
    conftest = (trained.path / "conftest.py").read_text()
    late = "import shutil\nif 'PYTEST_XDIST_WORKER' in os.environ:\n    shutil.copytree(\n"
    late += (
        "        HERE / 'runs/x/checkpoint-9', HERE / 'runs/x/checkpoint-10', dirs_exist_ok=True)\n"
    )
    trained.file("conftest.py", conftest + late)
    result = trained.run_apart(PATTERN, "test_bench.py", "-n2", "--no-resume")
    assert result.ret == 0
    assert (trained.path / "runs/x/checkpoint-10").exists()
    assert scores(trained) == alone
    assert trained.latest.checkpoints["checkpoint-80"]["epoch"] == 0.8


# What is said


def test_one_table_instead_of_a_block_for_each(trained: Any) -> None:
    result = trained.run(PATTERN, "test_bench.py")
    result.stdout.fnmatch_lines(
        [
            "loading checkpoint-9 (1 of 3)*",
            "loading checkpoint-700 (3 of 3)*",
            "3 checkpoints: * s, 120 answers computed, 0 reused; [*] best; -v shows each",
            "*checkpoint-9 *10.00%*",
            "*checkpoint-700 *90.00%*",
            "no baseline*exit 0",
        ]
    )
    result.stdout.no_fnmatch_line("checkpoint-80 (*")


def test_every_block_on_request(trained: Any) -> None:
    result = trained.run(PATTERN, "test_bench.py", "-v")
    result.stdout.fnmatch_lines([f"checkpoint-{step} (*40 answers computed*" for step in SKILLS])


def test_each_is_compared_with_the_baseline_and_has_its_verdict_in_the_table(
    trained: Any,
) -> None:
    trained.run(
        "--checkpoint=runs/x/checkpoint-80", "test_bench.py", "--baseline=b", "--update-baseline"
    )
    result = trained.run(PATTERN, "test_bench.py", "--baseline=b")
    assert result.ret == 1
    words = {
        name: {verdict["word"] for verdict in each["benchmarks"][0]["verdicts"]}
        for name, each in trained.latest.checkpoints.items()
    }
    assert words["checkpoint-9"] == {"regressed"}
    assert words["checkpoint-80"] == {"identical"}
    assert "regressed" not in words["checkpoint-700"]
    result.stdout.fnmatch_lines(
        ["  checkpoint-9 *  regressed", "regressed: checkpoint-9 word@1 fell*exit 1*"]
    )
    result.stdout.no_fnmatch_line("  checkpoint-700 *regressed*")


def test_what_many_were_not_told_apart_by_is_noted_once(trained: Any) -> None:
    for step in (701, 702):
        checkpoint_at(trained, f"runs/x/checkpoint-{step}", 36)
    trained.change(
        "conftest.py",
        "        self.facts = {",
        '        self.notes = ("slow",)\n        self.facts = {',
    )
    result = trained.run(PATTERN, "test_bench.py")
    assert "note: all 5 checkpoints: slow" in result.outlines


def test_what_was_left_out_is_noted(trained: Any) -> None:
    (trained.path / "runs/x/checkpoint-tmp").mkdir()
    result = trained.run(PATTERN, "test_bench.py", "--from-step=80")
    assert list(trained.latest.checkpoints) == ["checkpoint-80", "checkpoint-700"]
    result.stdout.fnmatch_lines(
        [
            "note: runs/x/checkpoint-? also matches what is no checkpoint: x/checkpoint-tmp",
            "note: runs/x/checkpoint-?: 1 checkpoint before step 80 left out (--from-step)",
        ]
    )


def test_what_is_concluded_needs_no_file_of_the_run(trained: Any) -> None:
    trained.file(
        "files.py",
        "import os\nimport ckptbench.runs.write as write\n"
        "write.write_files = lambda *_: os._exit(9)\n",
    )
    result = trained.run_apart(PATTERN, "test_bench.py", plugins=["files"])
    assert result.ret == 9
    result.stdout.fnmatch_lines(["*checkpoint-700 *90.00%*", "*checkpoint-700*", "no baseline*"])
    assert not list(trained.path.glob("results/*/summary.json"))


# Reports


def test_the_report_is_in_the_runs_folder_and_named(trained: Any) -> None:
    result = trained.run(PATTERN, "test_bench.py", "--report=md", "--run-id=r")
    text = (trained.path / "results/r/report.md").read_text()
    assert all(f"checkpoint-{step}" in text for step in SKILLS)
    result.stdout.fnmatch_lines(["results: *results/r", "report: *results/r/report.md"])


def test_a_single_checkpoint_has_a_report_too(standard: Any) -> None:
    result = standard.run("--report=md", "--run-id=r")
    assert result.ret == 0
    assert (standard.path / "results/r/report.md").exists()


def test_a_report_that_cannot_be_written_fails_the_session_and_loses_nothing(trained: Any) -> None:
    trained.run(PATTERN, "test_bench.py", "--run-id=r")
    (trained.path / "results/r/report.md").mkdir()
    result = trained.run(PATTERN, "test_bench.py", "--report=md", "--run-id=r")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["the report was not written: *report.md*ckptbench report*", "*exit 1, because the report*"]
    )
    assert scores(trained)["checkpoint-80"] == [0.5, 0.5]
    assert trained.summary["exit_status"] == 1
    (told,) = trained.summary["unwritten"]
    assert "report.md" in told


# Refusals


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--checkpoint=runs/x/chekpoint-*"], "*matches nothing: there is no 'chekpoint-*'*"),
        (["--checkpoint=runs/x/chekpoint-*"], "*runs/x holds checkpoint-9, checkpoint-80*"),
        (
            [PATTERN, "--report=htlm"],
            "*--report: there is no format 'htlm'*did you mean 'html'*",
        ),
        ([PATTERN, "--from-step=701"], "*--from-step: runs/x/checkpoint-? matches 3 checkpoints*"),
        (["--checkpoint=runs/x/checkpoint-9", "--from-step=5"], "*--from-step: there is nothing*"),
        (
            ["--checkpoint", "runs/x/checkpoint-700", "runs/x/checkpoint-80"],
            "*runs/x/checkpoint-80 is a checkpoint, and was given to pytest as a folder of tests*",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(
    trained: Any, arguments: list[str], told: str
) -> None:
    result = trained.run(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([told])
    assert not log(trained, "alive.log")


def test_several_checkpoints_are_no_baseline(trained: Any) -> None:
    result = trained.run(PATTERN, "test_bench.py", "--baseline=b", "--update-baseline")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --update-baseline: a baseline holds one checkpoint, *"])
    assert not log(trained, "alive.log")


@pytest.mark.slow
def test_no_file_has_a_number_of_what_was_not_completed(trained: Any) -> None:
    """20 of 39 samples that were answered are no score: 0.5128 and 51.28% stand nowhere."""
    trained.change(
        "conftest.py",
        "            right = int(",
        '            if request.text == "text 39" and self.weights.skill == 20:\n'
        '                yield index, Failed("the server said no")\n'
        "                continue\n"
        "            right = int(",
    )
    options = ("--report=html,md,plots", "--junit-xml=junit.xml", "--mlflow=sqlite:///tracked.db")
    result = trained.run(PATTERN, "--run-id=r", *options, "-v")
    assert result.ret == 1
    partial = re.compile(r"\b0\.512[89]|\b0\.513|\b51\.[23]\d?%?")
    files = [
        path
        for path in trained.path.rglob("*")
        if path.suffix in (".json", ".jsonl", ".html", ".md", ".xml", ".csv", ".svg", ".log")
    ]
    assert {"summary.json", "report.html", "junit.xml"} <= {path.name for path in files}
    for path in files:
        found = partial.search(path.read_text(encoding="utf-8"))
        assert found is None, (path, found)
    assert partial.search("\n".join(result.outlines)) is None
    with sqlite3.connect(trained.path / "tracked.db") as db:
        tracked = db.execute("SELECT key, value FROM metrics").fetchall()
    db.close()
    assert 0.9 in [value for _, value in tracked]  # checkpoint-700
    assert not [row for row in tracked if 0.51 < row[1] < 0.52]
