"""The parts of a watched run as one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench.readers.run import read_run
from ckptbench.reports.run_files import write_reports, write_samples
from ckptbench.results.summary import (
    BenchmarkResult,
    CheckpointResult,
    Coverage,
    DatasetInfo,
    Flip,
    Summary,
)
from ckptbench.runs.merge_watched import join
from ckptbench.scores.reducers import TopK, spec_of
from ckptbench.scores.score import Score

ITEM = "benchmarks/test_real_k.py::test_real_k"


def line(number: int, hit: float) -> str:
    row = {
        "protocol": "real/whole-word",
        "id": f"s{number}",
        "hash": f"{number:016x}",
        "cluster": f"c{number}",
        "trial": 0,
        "nodeid": f"{ITEM}[s{number}]",
        "status": "passed" if hit else "missed",
        "reason": "",
        "values": {"real@1": hit},
    }
    tail = ', "fields": {"text": "a [mask] at \\"nodeid\\": [x"}, "response": null}\n'
    return json.dumps(row)[:-1] + tail


def part(runs: Path, step: int, hits: list[float], official: Any = None, **others: Any) -> None:
    """A run of one checkpoint, as pytest leaves it."""
    name = f"checkpoint-{step}"
    bench = BenchmarkResult(
        "real",
        "real/whole-word",
        True,
        DatasetInfo("demo", "5f0c"),
        Coverage(len(hits), len(hits)),
        (Score("real@1", sum(hits) / len(hits), len(hits), len(hits), 0.1, (0.0, 1.0), "wilson"),),
        flips=(Flip(f"{ITEM}[s0]", "lost"),),
        reducer=spec_of(TopK((1,))),
    )
    held = CheckpointResult(
        name, f"runs/x/{name}", f"{step:016x}", {}, (bench,), run="x", step=step
    )
    known: dict[str, Any] = {
        "run_id": name,
        "started": f"2026-07-28T{step:02}:00:00+09:00",
        "seconds": 2.0,
        "complete": True,
        "exit_status": 0,
        "gate": "regress",
        "checkpoints": (held,),
        "notes": ("said by all",),
        "rerun_options": (f"--checkpoint=runs/x/{name}", "--limit=4"),
    }
    folder = runs / "parts" / name
    write_reports(folder, Summary(**known | others), {name: official} if official else None)
    write_samples(folder, name, "real", [line(n, hit) for n, hit in enumerate(hits)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    part(tmp_path / "watched", 1, [0.0, 0.0, 1.0, 0.0])
    part(tmp_path / "watched", 2, [0.0, 1.0, 1.0, 0.0], notes=("said by all", "said by one"))
    return tmp_path / "watched"


def test_the_whole_is_a_run_like_any_other(run: Path) -> None:
    whole = join(run, ["checkpoint-1", "checkpoint-2"], ["checkpoint-3 was deleted"])
    read = read_run(run)
    assert read.summary == whole
    assert whole.run_id == "watched"
    assert whole.started == "2026-07-28T01:00:00+09:00"
    assert whole.seconds == 4.0
    assert whole.notes == ("said by all", "said by one", "checkpoint-3 was deleted")
    assert [m.name for m in read.measurements] == ["checkpoint-1", "checkpoint-2"]
    # The samples of both are there, so their comparison is paired.
    tables = [m.benchmarks[0].table for m in read.measurements]
    assert [t.values[:, 0].tolist() for t in tables if t is not None] == [
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 1.0, 0.0],
    ]


def test_items_name_their_checkpoint_as_in_a_session_of_both(run: Path) -> None:
    whole = join(run, ["checkpoint-1", "checkpoint-2"])
    flips = [flip.nodeid for c in whole.checkpoints for flip in c.benchmarks[0].flips]
    assert flips == [f"{ITEM}[checkpoint-1/s0]", f"{ITEM}[checkpoint-2/s0]"]
    rows = (run / "samples/checkpoint-2/real.jsonl").read_text().splitlines()
    assert json.loads(rows[1])["nodeid"] == f"{ITEM}[checkpoint-2/s1]"
    assert json.loads(rows[1])["fields"] == {"text": 'a [mask] at "nodeid": [x'}
    assert whole.rerun_options == (
        "--checkpoint=runs/x/checkpoint-1",
        "--checkpoint=runs/x/checkpoint-2",
        "--limit=4",
    )


def test_a_single_checkpoint_is_not_named_by_its_items(run: Path) -> None:
    whole = join(run, ["checkpoint-1"])
    assert whole.checkpoints[0].benchmarks[0].flips[0].nodeid == f"{ITEM}[s0]"
    assert f'"nodeid": "{ITEM}[s0]"' in (run / "samples/checkpoint-1/real.jsonl").read_text()


def test_one_failure_is_the_whole_runs(run: Path) -> None:
    part(run, 3, [0.0] * 4, exit_status=1, complete=False)
    (run / "parts/checkpoint-3/errors.log").write_text("s0: out of memory\n")
    names = ["checkpoint-1", "checkpoint-2"]
    assert join(run, names).exit_status == 0
    whole = join(run, [*names, "checkpoint-3"])
    assert (whole.exit_status, whole.complete) == (1, False)
    assert (run / "errors.log").read_text() == "s0: out of memory\n"
    join(run, names)
    assert not (run / "errors.log").exists()


def test_what_lm_eval_made_of_a_part_stands_in_the_wholes_files(tmp_path: Path) -> None:
    for step in (1, 2):
        official = {"results": {"real": {"acc,none": step / 8}}, "versions": {"real": 1.5}}
        part(tmp_path, step, [0.0, 1.0], official)
    part(tmp_path, 3, [0.0, 1.0])
    join(tmp_path, [f"checkpoint-{step}" for step in (1, 2, 3)])
    for step in (1, 2):
        found = json.loads((tmp_path / f"checkpoint-{step}_real_results.json").read_text())
        assert found["results"] == {"real": {"acc,none": step / 8}}
        assert found["versions"] == {"real": 1.5}
        assert found["ckptbench"]["run_id"] == tmp_path.name
    found = json.loads((tmp_path / "checkpoint-3_real_results.json").read_text())
    assert found["results"]["real"]["real@1,none"] == 0.5
