"""What a run cost: over its sessions, workers and parts, everything once; else not known."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from ckptbench.cli import main

COUNTS = '''

from ckptbench import Tokens


class Counts(Scripted):
    """Reads the characters of a text, and writes its words."""

    gpus = 2
    tokens = Tokens(1000, 1000)

    def answer(self, requests):
        note("calls.log", len(requests))
        for index, request in enumerate(requests):
            note("asked.log", request.text)
            read, written, uncounted = self.tokens
            uncounted += request.text.startswith(os.environ.get("UNCOUNTED", "-"))
            size = len(request.text), len(request.text.split())
            self.tokens = Tokens(read + size[0], written + size[1], uncounted)
            yield from self.obey(index, request.text.split()[0])


@pytest.fixture(scope="session")
def engine():
    return Counts()
'''
TEXTS = [f"{('right', 'wrong', 'second')[i % 3]} {'x' * i}" for i in range(1, 25)]


def paid(project: Any) -> tuple[int, int]:
    """What the engine counted, of every text that it was ever asked."""
    return sum(map(len, project.asked)), sum(len(text.split()) for text in project.asked)


def stated(project: Any) -> tuple[int | None, int | None]:
    """What the latest run says of that."""
    spent = project.latest.checkpoint["spent"]
    assert project.result["spent"] == spent
    return spent["tokens_read"], spent["tokens_written"]


def test_every_answer_is_counted_and_shown(project: Any) -> None:
    project.write(TEXTS, conftest=COUNTS)
    result = project.run("-v")
    read, written = paid(project)
    assert stated(project) == (read, written)
    spent = project.latest.checkpoint["spent"]
    assert spent["unknown"] == ""
    assert spent["gpu_seconds"] == 2 * spent["seconds"] > 0
    assert spent["seconds"] == project.latest.checkpoint["seconds"]
    result.stdout.fnmatch_lines(
        f"all sessions of the run: * s, * GPU s, {read} tokens read, {written} written"
    )


def test_samples_that_are_asked_again_for_the_noise_floor_are_paid_for(project: Any) -> None:
    project.write(TEXTS, conftest=COUNTS)
    project.run("--noise-floor=5")
    assert len(project.asked) > len(TEXTS)
    assert stated(project) == paid(project)


def test_a_resumed_run_adds_up_and_counts_nothing_twice(project: Any) -> None:
    project.write([*TEXTS, "flaky a", "failed b"], conftest=COUNTS)
    project.run("--run-id=r")
    assert stated(project) == paid(project)
    project.run("--run-id=r")
    assert len(project.asked) == len(TEXTS) + 4
    assert stated(project) == paid(project)
    project.run("--run-id=other")  # takes over what is known, and asks the failure once more
    assert stated(project) == (len("failed b"), 2)


def test_what_a_killed_process_had_stored_is_paid_for(project: Any) -> None:
    project.write([*TEXTS, "die-once z"], conftest=COUNTS)
    project.run_apart("--run-id=r")
    project.run_apart("--run-id=r")
    read, most = stated(project)[0], paid(project)[0]
    assert read is not None
    # Of the block that it died in, what was not stored yet is not counted either.
    assert sum(map(len, [*TEXTS, "die-once z"])) <= read <= most


def test_two_workers_count_together(project: Any) -> None:
    pytest.importorskip("xdist")
    project.write(TEXTS, conftest=COUNTS)
    project.run_apart("-n2")
    assert set(project.asked) == set(TEXTS)
    assert stated(project) == paid(project)


def test_merged_shards_add_up(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    project.write(TEXTS, conftest=COUNTS)
    results = project.path / "results"
    for number in (1, 2):
        project.run(f"--shard={number}/2", f"--run-id=s{number}")
    parts = [str(results / "s1"), str(results / "s2")]
    assert main(["merge", *parts, "--output", str(results / "all")]) == 0
    assert stated(project) == paid(project)
    with closing(sqlite3.connect(results / "s1" / "store.sqlite")) as db, db:
        db.execute("DROP TABLE spent")  # as a version that counted nothing left it
    assert main(["merge", *parts, "--output", str(results / "old")]) == 0
    assert stated(project) == (None, None)
    assert "a part of the run recorded none" in project.latest.checkpoint["spent"]["unknown"]


def test_a_run_that_an_older_version_began_stays_unknown(project: Any) -> None:
    project.write(TEXTS, conftest=COUNTS)
    project.run("--run-id=r", "-k", "s-01")
    with closing(sqlite3.connect(project.path / "results" / "r" / "store.sqlite")) as db, db:
        db.execute("DROP TABLE spent")
    for _ in range(2):
        project.run("--run-id=r")
        assert stated(project) == (None, None)


@pytest.mark.parametrize(
    ("conftest", "unknown"),
    [
        ("", "the engine counts no tokens; the engine does not state its GPUs"),
        (COUNTS.replace("gpus = 2", "gpus = 'two'"), "the engine does not state its GPUs"),
        (COUNTS.replace("gpus = 2", "gpus = 0"), "the tokens of some requests are not stated"),
    ],
)
def test_what_is_not_counted_is_not_known(
    project: Any, monkeypatch: pytest.MonkeyPatch, conftest: str, unknown: str
) -> None:
    monkeypatch.setenv("UNCOUNTED", "wrong" if "requests" in unknown else "-")
    project.write(TEXTS, conftest=conftest)
    result = project.run("-v")
    spent = project.latest.checkpoint["spent"]
    assert spent["unknown"] == unknown
    assert spent["gpu_seconds"] == (None if "GPUs" in unknown else 0)
    assert (spent["tokens_read"] is None) == ("tokens" in unknown)
    result.stdout.fnmatch_lines(f"all sessions of the run: * s, *not known: {unknown}")
