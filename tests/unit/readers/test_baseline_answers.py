"""The answers that are kept beside a baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.readers.baseline import load, write
from ckptbench.readers.baseline_answers import answers_path, digest, read_answers, write_answers
from ckptbench.readers.run import read_summary

MakeRun = Callable[..., Path]


@pytest.fixture
def baseline(make_run: MakeRun, tmp_path: Path) -> Path:
    """A baseline file, and the answers of its run of two trials a sample beside it."""
    trials = {"s-0": [[1.0, 1.0], [0.0, 1.0]], "s-1": [[0.0, 0.0], [0.0, 0.0]]}
    run = make_run(tmp_path / "results" / "old", {"c-1": trials})
    path = tmp_path / "best.json"
    write(load(run), path)
    write_answers(path, run, read_summary(run).checkpoints[0])
    return path


def test_of_a_samples_trials_one_that_passed_and_one_that_missed_is_kept(baseline: Path) -> None:
    assert answers_path(baseline).name == "best.answers.jsonl.gz"
    rows = read_answers(answers_path(baseline), load(baseline))
    assert [(row.benchmark, row.protocol, row.trial, row.status) for row in rows] == [
        ("real", "real/whole-word", 0, "passed"),
        ("real", "real/whole-word", 1, "missed"),
        ("real", "real/whole-word", 0, "missed"),
    ]
    assert rows[0].response == {"kind": "generated", "text": "[1.0, 1.0] by old", "tokens": 1,
                                "finish": "eos"}  # fmt: skip


def test_the_answers_of_another_baseline_are_refused(baseline: Path) -> None:
    known = load(baseline)
    assert digest(replace(known, created="later")) == digest(known)
    for other in (
        replace(known, fingerprint="another"),
        replace(known, benchmarks={
            name: replace(each, outcomes=dict.fromkeys(each.outcomes, (1.0, 1.0)))
            for name, each in known.benchmarks.items()
        }),
    ):  # fmt: skip
        with pytest.raises(CkptbenchError, match="another baseline"):
            read_answers(answers_path(baseline), other)


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08"])
def test_a_damaged_file_is_an_error_that_names_it(baseline: Path, content: bytes) -> None:
    answers_path(baseline).write_bytes(content)
    with pytest.raises(CkptbenchError, match="cannot be read") as caught:
        read_answers(answers_path(baseline), load(baseline))
    assert caught.value.where == str(answers_path(baseline))


def test_every_way_to_cut_the_file_is_noticed(baseline: Path) -> None:
    whole = answers_path(baseline).read_bytes()
    for end in range(len(whole)):
        answers_path(baseline).write_bytes(whole[:end])
        with pytest.raises(CkptbenchError, match="cannot be read"):
            read_answers(answers_path(baseline), load(baseline))
