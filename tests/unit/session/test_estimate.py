"""How long a session would take is told from the runs before it, and only where they tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptbench.results.layout import STORE
from ckptbench.results.spent import Spent
from ckptbench.results.store import RunStore
from ckptbench.results.stored_run import GroupMetadata
from ckptbench.session.estimate import Wanted, expected_time


def earlier(
    results: Path,
    name: str,
    seconds: float,
    *,
    checkpoint: str = "checkpoint-100",
    run: str = "base",
    protocol: str = "real/whole-word",
    gpus: float = 0,
    age: float = 0,
) -> None:
    """A run that asked for 10 answers, and reused 90."""
    store = RunStore(results / name)
    group = GroupMetadata(
        checkpoint=checkpoint,
        spec=checkpoint,
        run=run,
        benchmark=protocol.partition("/")[0],
        protocol=protocol,
        primary=True,
        reducer={"reducer": "top_k", "ks": [1], "bits_per_byte": True},
    )
    store.write_plan("token", [], [group], [], [])
    store.add_work(0, seconds, asked=10, reused=90)
    store.add_spent(0, Spent(seconds, seconds * gpus))
    store.close()
    written = (results / name / STORE).stat().st_mtime - age
    os.utime(results / name / STORE, (written, written))


def wanted(answers: int = 100, checkpoint: str = "checkpoint-200", run: str = "base") -> Wanted:
    return Wanted(checkpoint, run, "real/whole-word", answers)


def test_an_answer_takes_as_long_as_one_that_was_asked(tmp_path: Path) -> None:
    earlier(tmp_path, "monday", 42.0)
    expected = "about 7 minutes of answering where none is stored, as fast as in monday"
    assert expected_time(tmp_path / "new", [wanted()], 0) == expected


@pytest.mark.parametrize(
    ("answers", "told"),
    [(1, "4 seconds"), (20, "84 seconds"), (30, "2 minutes"), (5000, "5.8 hours")],
)
def test_the_unit_fits(tmp_path: Path, answers: int, told: str) -> None:
    earlier(tmp_path, "monday", 42.0)
    assert expected_time(tmp_path / "new", [wanted(answers)], 0).startswith(f"about {told} of")


@pytest.mark.parametrize(("held", "gpus", "told"), [
    (1, 4, "4 GPUs: about 7 minutes"),
    (2, 4, "4 GPUs: about 14 minutes"),
    (1, 1, "1 GPU: about 28 minutes"),
    (2, 0.5, "0.5 GPU: about 1.9 hours"),
])  # fmt: skip
def test_gpus_share_the_work(tmp_path: Path, held: int, gpus: float, told: str) -> None:
    """`held` is how many the engine of the earlier run had: a cluster's engine has all of it."""
    earlier(tmp_path, "monday", 42.0, gpus=held)
    assert expected_time(tmp_path / "new", [wanted(400)], gpus).startswith(told)


def test_a_processor_tells_nothing_of_a_gpu_nor_the_reverse(tmp_path: Path) -> None:
    earlier(tmp_path, "gpu", 42.0, gpus=1)
    new = tmp_path / "new"
    assert expected_time(new, [wanted()], 0).endswith("training runs, on a processor")
    earlier(tmp_path, "cpu", 84.0)
    assert (
        expected_time(new, [wanted()], 0)
        == "about 14 minutes of answering where none is stored, as fast as in cpu"
    )
    told = expected_time(new, [wanted()], 1)
    assert told == "1 GPU: about 7 minutes of answering where none is stored, as fast as in gpu"


def test_the_newest_run_counts(tmp_path: Path) -> None:
    earlier(tmp_path, "old", 100.0, age=60)
    earlier(tmp_path, "new", 42.0)
    assert expected_time(tmp_path / "next", [wanted()], 0).endswith("as fast as in new")


def test_the_same_checkpoint_tells_more_than_another_of_its_training_run(tmp_path: Path) -> None:
    earlier(tmp_path, "old", 100.0, age=60)
    own = Wanted("checkpoint-100", "", "real/whole-word", 100)
    assert "17 minutes" in expected_time(tmp_path / "next", [own], 0)


@pytest.mark.parametrize(
    "other",
    [
        Wanted("checkpoint-200", "larger", "real/whole-word", 5),
        Wanted("checkpoint-200", "", "real/whole-word", 5),
        Wanted("checkpoint-100", "base", "real/origin", 5),
    ],
)
def test_what_was_never_asked_is_not_guessed(tmp_path: Path, other: Wanted) -> None:
    earlier(tmp_path, "monday", 42.0)
    earlier(tmp_path, "nameless", 42.0, checkpoint="else", run="")
    new = tmp_path / "new"
    assert expected_time(new, [other], 0).startswith("how long that takes is not known: no run in")
    both = expected_time(new, [wanted(), other], 0)
    assert both.startswith("about 7 minutes")
    assert both.endswith("; not known for 5 of the answers")


def test_a_store_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    earlier(tmp_path, "monday", 42.0, age=60)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / STORE).write_text("no database", "utf-8")
    assert expected_time(tmp_path / "new", [wanted()], 0).endswith("as fast as in monday")
