"""Sources that hold numbers only: bare ones, numbers by task, eval results, tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench._util.names import epoch_in, step_in
from ckptbench.readers.detect import read, read_all
from ckptbench.readers.reported import run_of

HEADER = "run,checkpoint,epoch,real1,real5,lambada,n"


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


# Bare numbers and numbers by task


def test_bare_numbers_belong_to_the_benchmark_before_the_at_sign(tmp_path: Path) -> None:
    content = {"real@1": 0.6778, "real@5": 0.8244, "lambada@1": 0.3767, "n": 2400}
    result = read(written(tmp_path / "best.json", content))
    (measurement,) = result.measurements
    assert result.origin == "numbers"
    assert [bench.benchmark for bench in measurement.benchmarks] == ["real", "lambada"]
    assert measurement.composite is not None
    assert measurement.composite.value == pytest.approx(0.6314, abs=5e-5)


def test_numbers_by_task_have_their_stated_errors(tmp_path: Path) -> None:
    content = {"model": "org/base", "results": {"boolq": {"acc": 0.7, "acc_stderr": 0.02}}}
    (measurement,) = read(written(tmp_path / "x.json", content)).measurements
    (score,) = measurement.benchmarks[0].scores
    assert (measurement.name, score.metric, score.value) == ("base", "boolq acc", 0.7)
    assert score.standard_error == 0.02


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"real@1": 67.78}, "looks like a percentage"),
        ({"results": {"boolq": {"acc": 70}}}, "not a fraction"),
        ({"results": {"boolq": 0.7}}, "not an object of metrics"),
        ({"results": {}}, "no numbers by task"),
        ({"results": {"boolq": {"note": "x"}}}, "holds no metric"),
        ([], "not an object"),
        ("{", "is not JSON"),
    ],
)
def test_numbers_that_are_none_are_refused(tmp_path: Path, content: Any, told: str) -> None:
    path = written(tmp_path / "x.json", content)
    with pytest.raises(CkptbenchError, match=told) as caught:
        read(path)
    assert str(path) in caught.value.where


# *_eval_results.json


def evaluated(folder: Path, name: str, **others: Any) -> Path:
    content = {
        "checkpoint": name,
        "seq_len": 1536,
        "coref_samples": 2400,
        "real1": 0.6558,
        "real5": 0.8167,
        "lambada_top1": 0.3567,
        "score": 0.6190,
        "eval_seconds": 61.0,
    }
    return written(folder / f"{name}_eval_results.json", {**content, **others})


def test_eval_results_keep_the_printed_composite_beside_the_computed_one(tmp_path: Path) -> None:
    result = read(evaluated(tmp_path / "mlm", "checkpoint-65"))
    (measurement,) = result.measurements
    assert (measurement.run, measurement.step, measurement.seq_len) == ("mlm", 65, 1536)
    assert measurement.printed_composite == 0.6190
    assert measurement.composite is not None
    assert measurement.composite.value == pytest.approx(0.6143, abs=5e-5)
    assert measurement.score("real@1").n == 2400  # type: ignore[union-attr]


def test_the_n_of_lambada_is_not_that_of_real(tmp_path: Path) -> None:
    result = read(evaluated(tmp_path, "checkpoint-65"))
    score = result.measurements[0].score("lambada@1")
    assert score is not None
    assert (score.n, score.standard_error) == (0, None)
    assert any("lambada@1 is reported without its n" in note for note in result.notes)


def test_a_folder_of_eval_results_is_in_the_order_of_training(tmp_path: Path) -> None:
    for step in (1000, 65, 130):
        evaluated(tmp_path, f"checkpoint-{step}")
    names = [m.name for m in read(tmp_path).measurements]
    assert names == ["checkpoint-65", "checkpoint-130", "checkpoint-1000"]


def test_files_of_one_folder_are_one_result_and_of_two_are_two(tmp_path: Path) -> None:
    paths = [evaluated(tmp_path / run, f"checkpoint-{i}") for run in "ab" for i in (1, 2)]
    first, second = read_all(paths)
    assert [m.run for m in (*first.measurements, *second.measurements)] == ["a", "a", "b", "b"]


def test_our_own_eval_results_are_read(tmp_path: Path, make_run: Any) -> None:
    folder = make_run(tmp_path / "run", {"checkpoint-7": {"a": [(1.0, 1.0)], "b": [(0.0, 1.0)]}})
    (measurement,) = read(folder / "checkpoint-7_eval_results.json").measurements
    assert measurement.score("real@1").value == 0.5  # type: ignore[union-attr]
    assert measurement.printed_composite is None


def test_a_mistyped_key_names_the_one_that_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path / "c_eval_results.json", {"checkpoint": "c", "reall": 0.5})
    with pytest.raises(CkptbenchError, match=r"unknown key 'reall' .did you mean 'real"):
        read(path)


def test_what_else_a_file_states_are_facts(tmp_path: Path) -> None:
    (measurement,) = read(evaluated(tmp_path, "c", val_loss=2.31, trainer="x")).measurements
    assert dict(measurement.facts) == {"eval_seconds": 61.0, "val_loss": 2.31, "trainer": "x"}


# CSV


def test_a_table_is_a_measurement_a_line(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.csv", f"{HEADER}\nbase,checkpoint-65,0.5,0.6558,0.8167,0.3567,2400\n"
    )
    (measurement,) = read(path).measurements
    assert (measurement.run, measurement.name, measurement.epoch) == ("base", "checkpoint-65", 0.5)
    assert measurement.score("real@5").n == 2400  # type: ignore[union-attr]
    assert measurement.score("lambada@1").n == 0  # type: ignore[union-attr]


def test_percentages_are_read_as_such_and_said(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", f"{HEADER}\nbase,c-1,1,65.58,81.67%,35.67,2400\n")
    result = read(path)
    assert result.measurements[0].score("real@1").value == pytest.approx(0.6558)  # type: ignore[union-attr]
    assert "t.csv: scores are read as percentages" in result.notes


def test_fractions_beside_percentages_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", f"{HEADER}\nbase,c-1,1,65.58,81.67,0.3567,2400\n")
    with pytest.raises(CkptbenchError, match="real1 holds percentages and lambada values"):
        read(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run,checkpoint,reel1\n", "did you mean 'real1'"),
        ("run,real1\nbase,0.5\n", "has no column 'checkpoint'"),
        ("run,checkpoint\nbase,c\n", "has no column of scores"),
        ("checkpoint,real1,real1\nc,0.5,0.5\n", "twice"),
        (f"{HEADER}\nbase,c,1,0.5\n", "has 4 cells for 7 columns"),
        (f"{HEADER}\nbase,c,1,half,0.5,0.5,9\n", "'real1' is 'half', not a number"),
        (f"{HEADER}\nbase,c,1,0.5,0.5,0.5,9.5\n", "'n' is '9.5', not a whole number"),
        (f"{HEADER}\n", "holds no checkpoint"),
        (f"{HEADER}\nbase,,1,0.5,0.5,0.5,9\n", "the checkpoint has no name"),
    ],
)
def test_a_table_that_is_wrong_says_where(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(CkptbenchError, match=told) as caught:
        read(path)
    assert str(path) in caught.value.where


def test_n_is_given_by_run_or_by_sequence_length(tmp_path: Path) -> None:
    rows = "base,1536,c-1,0.5\nbase,2048,c-2,0.5\nother,2048,c-3,0.5\n"
    path = written(tmp_path / "t.csv", f"run,seq_len,checkpoint,real1\n{rows}")
    result = read(path, n={"1536": 2400, "2048": 3200, "other": 7})
    assert [m.benchmarks[0].scores[0].n for m in result.measurements] == [2400, 3200, 7]
    with pytest.raises(CkptbenchError, match=r"is named '2047'.*did you mean '2048'"):
        read(path, n={"2047": 3200})
    assert any("give it with --n" in note for note in read(path).notes)


def test_n_is_for_tables(tmp_path: Path) -> None:
    path = evaluated(tmp_path, "checkpoint-65")
    with pytest.raises(CkptbenchError, match="is for a CSV"):
        read_all([path], n={"*": 5})


# What is read


def test_what_is_no_result_says_what_is_accepted(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", written(tmp_path / "x.json", {"a": "b"})):
        with pytest.raises(CkptbenchError) as caught:
            read(path)
        assert "lm-eval's results_*.json" in caught.value.remedy


def test_the_same_result_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", {"real@1": 0.5})
    with pytest.raises(CkptbenchError, match="given twice"):
        read_all([path, path])


def test_a_run_that_has_not_ended_says_how_to_continue(tmp_path: Path, make_run: Any) -> None:
    folder = make_run(tmp_path / "r1", {"c": {"a": [(1.0, 1.0)]}}, ended=False)
    with pytest.raises(CkptbenchError, match="has not ended") as caught:
        read(folder)
    assert "--run-id=r1" in caught.value.remedy


def test_of_a_folder_of_runs_the_newest_is_read_and_said(tmp_path: Path, make_run: Any) -> None:
    import os

    for number, name in enumerate(("r2", "r1")):
        folder = make_run(tmp_path / name, {"c": {"a": [(1.0, 1.0)]}})
        os.utime(folder / "summary.json", (1_000 + number, 1_000 + number))
    result = read(tmp_path)
    assert result.path == tmp_path / "r1"
    assert "holds 2 runs: the newest is taken, r1" in result.notes[0]


@pytest.mark.parametrize(
    ("name", "step", "epoch"),
    [
        ("checkpoint-655", 655, None),
        ("checkpoint_epoch_3.pt", None, 3.0),
        ("step_1000.pt", 1000, None),
        ("best", None, None),
    ],
)
def test_steps_and_epochs_are_told_by_names(
    name: str, step: int | None, epoch: float | None
) -> None:
    assert (step_in(name), epoch_in(name)) == (step, epoch)


def test_the_run_is_the_folder_of_the_checkpoint() -> None:
    assert run_of("runs/base/checkpoint-4") == "base"
    assert run_of("./checkpoint-4/") == ""
    assert run_of("https://host/v1") == ""
