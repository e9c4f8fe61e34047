"""`--shard I/N`: parts of the samples, and the whole that they make together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench.cli import main

TEXTS = [f"{'wrong' if i % 3 else 'right'} {i:03}" for i in range(60)]
N = 4


@pytest.fixture
def shards(project: Any) -> list[Path]:
    """The folders of a run's shards, of which the first trial was written as a whole too."""
    project.write(TEXTS)
    project.run("--run-id=whole", "--baseline=base.json", "--update-baseline")
    project.run("--run-id=whole", "--baseline=base.json")
    for number in range(1, N + 1):
        assert project.run(f"--shard={number}/{N}", f"--run-id=shard-{number}").ret == 0
    return [project.path / "results" / f"shard-{number}" for number in range(1, N + 1)]


def _summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text("utf-8"))  # type: ignore[no-any-return]


def _comparable(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without times and paths, and what names the parts."""
    for name in ("run_id", "started", "seconds", "environment"):
        summary.pop(name)
    summary["notes"] = [each for each in summary["notes"] if not each.startswith("merged of")]
    for name in ("baseline", "run_id"):
        summary["given"].pop(name, None)
    for checkpoint in summary["checkpoints"]:
        for name in ("seconds", "asked", "reused", "spent", "baseline"):
            checkpoint.pop(name)
        for bench in checkpoint["benchmarks"]:
            bench.pop("seconds")
            bench.pop("spent")
    return summary


def test_shards_part_the_samples(shards: list[Path]) -> None:
    planned = [
        {json.loads(line)["nodeid"] for line in file.read_text("utf-8").splitlines()}
        for folder in shards
        for file in folder.glob("samples/**/*.jsonl")
    ]
    assert len(planned) == N
    assert all(planned)
    assert sum(map(len, planned)) == len(set().union(*planned)) == len(TEXTS)
    assert any("shard 2/4" in note for note in _summary(shards[1])["notes"])


def test_merged_they_are_the_whole_run(
    shards: list[Path], project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    output = project.path / "results" / "merged"
    base = project.path / "base.json"
    assert main(["merge", *map(str, shards), "-o", str(output), f"--baseline={base}"]) == 0
    merged, whole = (_comparable(_summary(output.parent / n)) for n in ("merged", "whole"))
    assert json.dumps(merged, indent=1) == json.dumps(whole, indent=1)


def test_a_missing_shard_is_named(
    shards: list[Path], project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    output = project.path / "part"
    assert main(["merge", str(shards[0]), str(shards[3]), "-o", str(output)]) == 2
    assert "2, 3 of 4 are missing" in capsys.readouterr().err
    assert not output.exists()


def test_what_is_no_shard_of_the_same_run_is_named(
    shards: list[Path], project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    project.run("--shard=1/2", "--run-id=half")
    for name in ("half", "whole"):
        parts = [*map(str, shards), str(project.path / "results" / name)]
        assert main(["merge", *parts, "-o", str(project.path / "odd")]) == 2
        assert name in capsys.readouterr().err


def test_shards_of_other_samples_are_no_whole(
    project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write(TEXTS)
    project.run("--shard=1/2", "--run-id=one", "--limit=30")
    project.run("--shard=2/2", "--run-id=two")
    parts = [str(project.path / "results" / name) for name in ("one", "two")]
    assert main(["merge", *parts, "-o", str(project.path / "odd")]) == 2
    assert "one: 30, two: none" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--shard=0/4"],
        ["--shard=5/4"],
        ["--shard=half"],
        ["--shard=1/2", "--baseline=base.json", "--update-baseline"],
        ["--shard=1/2", "--baseline=base.json", "--decide=early"],
    ],
)
def test_a_shard_that_cannot_be(project: Any, arguments: list[str]) -> None:
    project.write(TEXTS)
    result = project.run(*arguments)
    assert result.ret == 4
    assert "shard" in "\n".join(result.errlines + result.outlines)


def test_a_shard_without_samples_of_a_protocol_gates_no_other(project: Any) -> None:
    project.write(TEXTS[:2])
    project.change("test_bench.py", "protocol=(PROTOCOL,)", "protocol=(PROTOCOL, OTHER)")
    for number in range(1, 9):
        assert project.run(f"--shard={number}/8", f"--run-id=s{number}").ret in (0, 5)
    gated = {
        bench["protocol"]
        for folder in (project.path / "results").glob("s*")
        for bench in _summary(folder)["checkpoints"][0]["benchmarks"]
        if bench["primary"]
    }
    assert gated == {"word/plain"}
