"""`ckptbench merge`: parts of one run, from several machines, as one run."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

from ckptbench.cli import main
from ckptbench.readers.detect import read
from ckptbench.results.store import RunStore

MakeRun = Callable[..., Path]
HIT, MISS = (1.0, 1.0), (0.0, 0.0)
EARLY, LATE = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"


def merge(*arguments: object) -> int:
    return main(["merge", *map(str, arguments)])


def samples(first: int, last: int, outcome: Any = HIT) -> dict[str, list[Any]]:
    return {f"s{i:02d}": [outcome] for i in range(first, last)}


def score(folder: Path, checkpoint: str) -> tuple[float, int]:
    (found,) = [m for m in read(folder).measurements if m.name == checkpoint]
    held = found.score("real@1")
    assert held is not None
    assert held.value is not None
    return held.value, held.n


def test_the_epoch_that_a_part_computed_from_the_step_stays(
    tmp_path: Path, make_run: MakeRun
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 5)}, step=300, steps_per_epoch=100)
    two = make_run(tmp_path / "two", {"c": samples(5, 10)}, step=300, steps_per_epoch=100)
    assert merge(one, two, "-o", tmp_path / "whole") == 0
    (checkpoint,) = RunFolder(tmp_path / "whole").summary["checkpoints"]
    assert (checkpoint["step"], checkpoint["epoch"]) == (300, 3.0)


def test_checkpoints_of_two_machines_become_one_run(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"c-1": samples(0, 10, MISS)})
    two = make_run(tmp_path / "two", {"c-2": samples(0, 10)})
    out = tmp_path / "results" / "sweep"
    assert merge(one, two, "-o", out) == 0
    assert "2 parts merged into" in capsys.readouterr().out
    assert score(out, "c-1") == (0.0, 10)
    assert score(out, "c-2") == (1.0, 10)
    assert RunFolder(out).summary["run_id"] == "sweep"
    assert RunFolder(out).summary["rerun_options"] == [
        "--checkpoint=runs/base/c-1",
        "--checkpoint=runs/base/c-2",
    ]
    assert main(["report", str(out)]) == 0
    assert (out / "c-1_eval_results.json").exists()
    assert not list(out.parent.glob(".merging-*"))


def test_items_are_named_as_a_session_of_several_checkpoints_names_them(
    tmp_path: Path, make_run: MakeRun
) -> None:
    one = make_run(tmp_path / "one", {"c-1": samples(0, 2)})
    two = make_run(tmp_path / "two", {"c-2": samples(0, 2), "c-3": samples(0, 2)})
    assert merge(one, two, "-o", tmp_path / "out") == 0
    result = read(tmp_path / "out")
    for name in ("c-1", "c-2", "c-3"):
        ids = [row.nodeid for row in result.samples(name, "real")]
        assert ids == [f"benchmarks/test_real.py::test[{name}/s{i:02d}]" for i in range(2)]


def test_samples_of_one_checkpoint_are_folded_together(tmp_path: Path, make_run: MakeRun) -> None:
    clusters = {f"s{i:02d}": f"text-{i // 2}" for i in range(10)}
    one = make_run(tmp_path / "one", {"c": samples(0, 5, MISS)}, clusters=clusters)
    two = make_run(tmp_path / "two", {"c": samples(5, 10)}, clusters=clusters)
    whole = make_run(
        tmp_path / "whole", {"c": {**samples(0, 5, MISS), **samples(5, 10)}}, clusters=clusters
    )
    assert merge(one, two, "-o", tmp_path / "out") == 0
    (made,) = RunFolder(tmp_path / "out").summary["checkpoints"]
    (expected,) = RunFolder(whole).summary["checkpoints"]
    assert made["benchmarks"][0]["scores"] == expected["benchmarks"][0]["scores"]
    assert made["benchmarks"][0]["dataset"] == expected["benchmarks"][0]["dataset"]


@pytest.mark.parametrize("reverse", [False, True])
def test_of_what_is_there_twice_the_newest_is_kept(
    tmp_path: Path, make_run: MakeRun, reverse: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    before = samples(0, 3, MISS) | samples(3, 4, HIT)
    old = make_run(tmp_path / "old", {"c": before}, started=EARLY)
    new = make_run(tmp_path / "new", {"c": samples(2, 4, HIT)}, started=LATE)
    parts = [new, old] if reverse else [old, new]
    assert merge(*parts, "-o", tmp_path / "out") == 0
    assert score(tmp_path / "out", "c") == (0.5, 4)
    told = "2 outcomes twice, 1 of them disagree: the model's own noise"
    assert told in capsys.readouterr().out
    notes = RunFolder(tmp_path / "out").summary["notes"]
    assert [note for note in notes if note.startswith(told)] != []
    rows = {row.id: row for row in read(tmp_path / "out").samples("c", "real")}
    assert rows["s03"].response is not None
    assert rows["s03"].response["text"].endswith("by new")


def test_an_error_does_not_take_the_place_of_an_answer(tmp_path: Path, make_run: MakeRun) -> None:
    old = make_run(tmp_path / "old", {"c": samples(0, 4)}, started=EARLY)
    new = make_run(tmp_path / "new", {"c": samples(0, 4, "error")}, started=LATE)
    assert merge(old, new, "-o", tmp_path / "out") == 0
    assert score(tmp_path / "out", "c") == (1.0, 4)


@pytest.mark.parametrize("whole", [True, False])
def test_scores_that_another_tool_made_are_kept_of_a_benchmark_in_one_part(
    tmp_path: Path, make_run: MakeRun, whole: bool
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 4)})
    content = RunFolder(one).summary
    content["checkpoints"][0]["benchmarks"][0]["scores"][0]["value"] = 0.875
    (one / "summary.json").write_text(json.dumps(content), "utf-8")
    two = make_run(tmp_path / "two", {"other" if whole else "c": samples(4, 8)})
    merge(one, two, "-o", tmp_path / "out")
    held = [c for c in RunFolder(tmp_path / "out").summary["checkpoints"] if c["name"] == "c"]
    assert held[0]["benchmarks"][0]["scores"][0]["value"] == (0.875 if whole else 1.0)


def test_what_no_part_has_is_said(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"c-1": {**samples(0, 6), "s00": ["error"]}})
    two = make_run(tmp_path / "two", {"c-2": samples(0, 4)})
    three = make_run(tmp_path / "three", {"c-2": samples(0, 4)}, protocol="lambada/x")
    assert merge(one, two, three, "-o", tmp_path / "out") == 1
    missing = [line for line in capsys.readouterr().out.splitlines() if line[:8] == "missing:"]
    assert missing == [
        "missing: c-1: 1 error in real/whole-word",
        "missing: c-2: no part asked 2 items of real/whole-word that others were asked",
    ]
    assert RunFolder(tmp_path / "out").summary["complete"] is False


def test_items_that_one_checkpoint_was_not_asked_are_missing(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"c-1": samples(0, 6)})
    two = make_run(tmp_path / "two", {"c-2": samples(0, 4)})
    assert merge(one, two, "-o", tmp_path / "out") == 1
    said = capsys.readouterr().out
    assert ": exit 1, because items are missing\n" in said
    assert "missing: c-2: no part asked 2 items of real/whole-word that others were asked" in said
    assert RunFolder(tmp_path / "out").summary["exit_status"] == 1


def test_a_benchmark_that_one_checkpoint_was_not_asked_is_a_note(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"masked": samples(0, 6)})
    two = make_run(tmp_path / "two", {"causal": samples(0, 4)}, protocol="lambada/x")
    assert merge(one, two, "-o", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "missing:" not in said
    assert "note: lambada/x was not asked of masked in any part" in said


def test_a_part_that_was_killed_gives_its_answers(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 4)})
    two = make_run(tmp_path / "two", {"c": samples(2, 8)}, ended=False)
    assert merge(one, two, "-o", tmp_path / "out") == 1
    assert "4 items of real/whole-word not run" in capsys.readouterr().out
    db = sqlite3.connect(tmp_path / "out" / "store.sqlite")
    assert db.execute("SELECT COUNT(*) FROM responses").fetchone() == (8,)
    db.close()


def test_parts_of_which_none_has_ended_are_a_run_to_continue(
    tmp_path: Path, make_run: MakeRun
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 4)}, ended=False)
    assert merge(one, "-o", tmp_path / "out") == 1
    (made,) = RunFolder(tmp_path / "out").summary["checkpoints"]
    assert made["benchmarks"][0]["coverage"]["not_run"] == 4


def test_the_parts_are_left_as_they_were(tmp_path: Path, make_run: MakeRun) -> None:
    one = make_run(tmp_path / "one", {"c-1": samples(0, 4)})
    two = make_run(tmp_path / "two", {"c-2": samples(0, 4)})
    files = {p: p.read_bytes() for part in (one, two) for p in part.rglob("*") if p.is_file()}
    assert merge(one, two, "-o", tmp_path / "out") == 0
    left = {p: p.read_bytes() for part in (one, two) for p in part.rglob("*") if p.is_file()}
    assert left == files


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"protocol": "real/origin"}, "the protocol is real/whole-word in"),
        ({"dataset": "news"}, "the dataset is passages in"),
        ({"fingerprint": "another"}, "c: the fingerprint is c in"),
        ({"seq_len": 1024}, "c: the setting seq_len is 512 in"),
    ],
)
def test_parts_that_contradict_are_refused_by_name(
    tmp_path: Path,
    make_run: MakeRun,
    other: dict[str, Any],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 4)}, started=EARLY)
    two = make_run(tmp_path / "two", {"c": samples(0, 4)}, started=LATE, **other)
    assert merge(one, two, "-o", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert told in error
    assert str(two) in error
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".merging-*"))


def test_a_cut_off_sample_file_is_named(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 4)})
    path = one / "samples" / "c" / "real.jsonl"
    path.write_text(path.read_text("utf-8")[:-9], "utf-8")
    assert merge(one, "-o", tmp_path / "out") == 2
    assert f"{path}:4: the line was cut off" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["full", "missing", "twice"])
def test_folders_that_cannot_be_used_are_refused(
    tmp_path: Path, make_run: MakeRun, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", {"c": samples(0, 4)})
    arguments = {
        "full": ([one], one, "exists already"),
        "missing": ([tmp_path / "none"], tmp_path / "out", "is not a folder"),
        "twice": ([one, one], tmp_path / "out", "is given twice"),
    }
    parts, out, told = arguments[what]
    assert merge(*parts, "-o", out) == 2
    assert told in capsys.readouterr().err


def test_a_merged_run_keeps_which_samples_flipped_when_asked_again(
    tmp_path: Path, make_run: MakeRun
) -> None:
    one = make_run(tmp_path / "one", {"c-1": samples(0, 10)})
    two = make_run(tmp_path / "two", {"c-1": samples(10, 30)})
    before = make_run(tmp_path / "before", {"c-1": samples(30, 40)})
    for folder, repeats in (
        (one, [(0, 0, True, True), (1, 0, False, True)]),
        (two, [(5, 0, False, True), (6, 0, None, True)]),
    ):
        store = RunStore(folder)
        store.add_repeats(repeats)
        store.close()
    with sqlite3.connect(before / "store.sqlite") as store_of_an_older_version:
        store_of_an_older_version.execute("DROP TABLE repeats")
    out = tmp_path / "whole"
    assert merge(one, two, before, "-o", out) == 0
    floor = RunFolder(out).summary["checkpoints"][0]["benchmarks"][0]["floor"]
    assert (floor["samples"], floor["flipped"], floor["unanswered"]) == (3, 1, 1)


def test_the_new_folders_name_is_a_run_id(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    part = make_run(tmp_path / "part", {"c": samples(0, 4)})
    assert merge(part, "-o", tmp_path / "a\nb") == 2
    assert "a folder name without slashes, control characters" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["part"]
