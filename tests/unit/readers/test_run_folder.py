"""Our own runs, read again: scores from the summary, tables from the sample files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.readers.detect import read
from ckptbench.readers.run import read_run, sample_heads
from ckptbench.results.layout import samples_path
from ckptbench.scores import reducers
from ckptbench.scores.aggregate import fold
from ckptbench.scores.reducers import FirstChoice, Mean, Named, PassAtK, TopK

MakeRun = Callable[..., Path]
HIT, LATE, MISS = (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)


@pytest.fixture
def folder(tmp_path: Path, make_run: MakeRun) -> Path:
    asked = {f"passage-{i}": [HIT if i % 3 else LATE] for i in range(12)}
    worse = {name: [MISS if name == "passage-1" else held[0]] for name, held in asked.items()}
    clusters = {f"passage-{i}": f"text-{i // 2}" for i in range(12)}
    runs = {"checkpoint-100": worse, "checkpoint-200": asked}
    return make_run(tmp_path / "sweep", runs, clusters=clusters, seq_len=1024)


def test_a_run_is_a_measurement_a_checkpoint(folder: Path) -> None:
    result = read_run(folder)
    assert result.origin == "ckptbench"
    assert result.summary is not None
    assert result.summary.run_id == "sweep"
    first, second = result.measurements
    assert (first.name, first.run, first.step, first.seq_len) == (
        "checkpoint-100",
        "base",
        100,
        1024,
    )
    assert first.fingerprint == "checkpoint-100"
    assert second.score("real@1") is not None
    assert second.score("real@1").value == pytest.approx(8 / 12)  # type: ignore[union-attr]


def test_the_table_folds_to_the_scores_that_the_summary_states(folder: Path) -> None:
    for measurement in read_run(folder).measurements:
        (bench,) = measurement.benchmarks
        assert bench.table is not None
        assert fold(bench.table) == bench.scores
        assert set(bench.table.clusters) == {f"text-{i}" for i in range(6)}


def test_samples_are_read_anew_each_time_one_after_the_other(folder: Path) -> None:
    result = read_run(folder)
    for _ in range(2):
        rows = list(result.samples("checkpoint-100", "real"))
        assert len(rows) == 12
    missed = [row for row in rows if row.values["real@5"] == 0]
    assert [(row.id, row.status, row.protocol) for row in missed] == [
        ("passage-1", "missed", "real/whole-word")
    ]
    assert missed[0].fields["answer"] == "word"
    assert missed[0].nodeid.endswith("[checkpoint-100/passage-1]")
    assert missed[0].response is not None
    assert missed[0].response["kind"] == "generated"


@pytest.mark.parametrize(
    ("reducer", "protocol", "trials", "expected"),
    [
        (PassAtK((1, 2)), "humaneval/raw", [(1.0,), (0.0,)], {"pass@1": 0.5, "pass@2": 1.0}),
        (Mean("f1"), "squad/plain", [(0.25,)], {"f1": 0.25}),
        (
            Named(("acc,none", "acc_norm,none")),
            "arc/v1-0-shot",
            [(1.0, 0.0)],
            {"arc acc,none": 1.0, "arc acc_norm,none": 0.0},
        ),
        (FirstChoice(), "lambada/greedy", [(1.0, -0.5)], {"lambada@1": 1.0}),
        (
            FirstChoice(bits_per_byte=True),
            "lambada/greedy",
            [(1.0, -0.5, 0.25)],
            {"lambada@1": 1.0, "lambada_bits_per_byte": 0.25},
        ),
        (
            TopK((1, 5), bits_per_byte=True),
            "real/whole-word",
            [(0.0, 1.0, 2.5)],
            {"real@1": 0.0, "real@5": 1.0, "real_bits_per_byte": 2.5},
        ),
    ],
)
def test_every_reducer_is_known_by_the_names_of_its_metrics(
    tmp_path: Path,
    make_run: MakeRun,
    reducer: object,
    protocol: str,
    trials: list[tuple[float, ...]],
    expected: dict[str, float],
) -> None:
    samples = {f"sample-{i}": trials for i in range(3)}
    result = read_run(make_run(tmp_path, {"c": samples}, reducer=reducer, protocol=protocol))
    (bench,) = result.measurements[0].benchmarks
    assert bench.table is not None, result.notes
    scores = {score.metric: score.value for score in fold(bench.table)}
    assert {metric: scores[metric] for metric in expected} == expected


def test_a_run_that_shows_some_of_its_metrics_has_a_table_of_those(folder: Path) -> None:
    path = folder / "summary.json"
    content = json.loads(path.read_text("utf-8"))
    for checkpoint in content["checkpoints"]:
        del checkpoint["benchmarks"][0]["scores"][0]
    path.write_text(json.dumps(content), "utf-8")
    for measurement in read_run(folder).measurements:
        table = measurement.owner_of("real@5").table  # type: ignore[union-attr]
        assert table is not None
        assert table.metrics == ("real@5",)


def test_an_incomplete_run_says_so_of_its_benchmark(tmp_path: Path, make_run: MakeRun) -> None:
    result = read_run(make_run(tmp_path, {"c": {"a": [HIT], "b": ["error"], "d": ["skipped"]}}))
    (bench,) = result.measurements[0].benchmarks
    assert bench.incomplete == "1 of 3 samples are errors"
    assert bench.table is not None
    assert len(bench.table.samples) == 1


def test_a_missing_sample_file_leaves_the_numbers_and_a_note(folder: Path) -> None:
    path = samples_path(folder, "checkpoint-100", "real")
    path.unlink()
    result = read_run(folder)
    first, second = result.measurements
    assert first.owner_of("real@1").table is None  # type: ignore[union-attr]
    assert second.owner_of("real@1").table is not None  # type: ignore[union-attr]
    assert any(str(path) in note and "compared as numbers" in note for note in result.notes)
    with pytest.raises(CkptbenchError, match="there is no such file"):
        list(result.samples("checkpoint-100", "real"))


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_truncated_sample_file_is_named_with_its_line(folder: Path, cut: int) -> None:
    path = samples_path(folder, "checkpoint-100", "real")
    path.write_bytes(path.read_bytes()[:-cut])
    result = read_run(folder)
    assert result.measurements[0].owner_of("real@1").table is None  # type: ignore[union-attr]
    assert any(f"{path}:" in note and "cut off" in note for note in result.notes)
    with pytest.raises(CkptbenchError) as caught:
        list(result.samples("checkpoint-100", "real"))
    assert caught.value.where.startswith(f"{path}:")


@pytest.mark.parametrize(
    "line",
    [
        "5",
        "null",
        "[]",
        "{}",
        {"hash": None},
        {"cluster": 3},
        {"trial": "0"},
        {"reason": None},
        {"values": None},
        {"values": {"real@1": "1"}},
    ],
)
def test_a_line_that_is_no_row_is_named(folder: Path, line: str | dict[str, object]) -> None:
    path = samples_path(folder, "checkpoint-100", "real")
    lines = path.read_text("utf-8").splitlines()
    lines[1] = line if isinstance(line, str) else json.dumps(json.loads(lines[1]) | line)
    path.write_text("\n".join([*lines, ""]), "utf-8")
    result = read_run(folder)
    assert result.measurements[0].owner_of("real@1").table is None  # type: ignore[union-attr]
    assert any(f"{path}:2: the line" in note for note in result.notes)
    for rows in (result.samples("checkpoint-100", "real"), sample_heads(path)):
        with pytest.raises(CkptbenchError, match="the line") as caught:
            list(rows)
        assert caught.value.where == f"{path}:2"
        assert "Copy the run's folder again" in caught.value.remedy


@pytest.mark.parametrize("own", [{"fields": None}, {"response": "text"}])
def test_a_row_whose_texts_are_of_another_kind_is_named(
    folder: Path, own: dict[str, object]
) -> None:
    path = samples_path(folder, "checkpoint-100", "real")
    row = json.loads(path.read_text("utf-8").splitlines()[0])
    path.write_text(json.dumps(row | own) + "\n", "utf-8")
    with pytest.raises(CkptbenchError, match="the line"):
        list(read_run(folder).samples("checkpoint-100", "real"))


def test_a_sample_file_that_lacks_whole_lines_is_not_the_scores(folder: Path) -> None:
    path = samples_path(folder, "checkpoint-100", "real")
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:-2]), "utf-8")
    result = read_run(folder)
    assert result.measurements[0].owner_of("real@1").table is None  # type: ignore[union-attr]
    assert any("samples are missing" in n for n in result.notes)


def test_texts_that_look_like_the_end_of_a_head_do_not_end_it(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path, {"c": {"a": [HIT]}})
    path = samples_path(folder, "c", "real")
    row = json.loads(path.read_text("utf-8"))
    row["reason"] = 'told: , "fields": {}'
    path.write_text(json.dumps(row) + "\n", "utf-8")
    (head,) = sample_heads(path)
    assert head["reason"] == row["reason"]


def test_a_summary_that_was_cut_off_is_an_error(folder: Path) -> None:
    path = folder / "summary.json"
    path.write_text(path.read_text("utf-8")[:500], "utf-8")
    with pytest.raises(CkptbenchError, match="was cut off") as caught:
        read(folder)
    assert str(path) in caught.value.where


def test_a_summary_of_another_version_is_an_error(folder: Path) -> None:
    path = folder / "summary.json"
    path.write_text(path.read_text("utf-8").replace("ckptbench.summary/2", "ckptbench.summary/9"))
    with pytest.raises(CkptbenchError, match=r"has the format 'ckptbench.summary/9'"):
        read(folder)


# A reducer that a conftest registers, which a process that only reads does not load


@dataclass(frozen=True, slots=True)
class Best:
    """The best of a sample's trials, under a name that says nothing of how it is made."""

    takes_k: ClassVar[bool] = False
    several_trials: ClassVar[bool] = True

    @property
    def ks(self) -> tuple[int, ...]:
        return ()

    def with_ks(self, ks: tuple[int, ...]) -> Best:
        return self

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        return (f"{benchmark}_best",)

    def reduce(self, trials: Sequence[Sequence[float]]) -> tuple[float | None, ...]:
        return (max(value for (value,) in trials),)


@pytest.fixture
def foreign(tmp_path: Path, make_run: MakeRun) -> Path:
    """A run folded by `Best`, which this process does not know any more."""
    trials = {f"s-{i}": [(0.1 * i,), (0.05 * i,), (0.0,)] for i in range(8)}
    clusters = {f"s-{i}": f"text-{i // 2}" for i in range(8)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(reducers._REGISTERED, "best", Best)
        folder = make_run(
            tmp_path / "own", {"c": trials}, reducer=Best(), protocol="quiz/x", clusters=clusters
        )
    assert "best" not in reducers._REGISTERED
    return folder


def test_a_reducer_that_is_not_known_here_keeps_its_samples(foreign: Path) -> None:
    result = read_run(foreign)
    (bench,) = result.measurements[0].benchmarks
    assert bench.table is not None, result.notes
    assert sorted(bench.table.values[:, 0]) == pytest.approx([0.1 * i for i in range(8)])
    assert set(bench.table.clusters) == {f"text-{i}" for i in range(4)}
    assert set(bench.table.trials) == {3}
    assert fold(bench.table) == bench.scores
    assert result.notes == ()


def test_what_another_session_of_the_run_kept_is_not_taken(foreign: Path) -> None:
    path = foreign / "c_baseline.json"
    content = json.loads(path.read_text("utf-8"))
    outcomes = content["benchmarks"]["quiz/x"]["outcomes"]
    outcomes[next(iter(outcomes))] = [0.99]
    path.write_text(json.dumps(content), "utf-8")
    result = read_run(foreign)
    assert result.measurements[0].owner_of("quiz_best").table is None  # type: ignore[union-attr]
    assert any("compared as numbers" in note for note in result.notes)


def test_without_its_baseline_file_such_a_run_is_numbers(foreign: Path) -> None:
    (foreign / "c_baseline.json").unlink()
    result = read_run(foreign)
    assert result.measurements[0].owner_of("quiz_best").table is None  # type: ignore[union-attr]
    assert any("has a reducer of its own" in note for note in result.notes)


def test_a_metric_of_all_answers_at_once_leaves_the_others_their_table(folder: Path) -> None:
    """Such as lm-eval's perplexities: it has no column, and the rest is compared in pairs."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    for checkpoint in summary["checkpoints"]:
        scores = checkpoint["benchmarks"][0]["scores"]
        scores.append({**scores[0], "metric": "of_all_answers", "gated": False})
    path.write_text(json.dumps(summary), encoding="utf-8")
    result = read_run(folder)
    assert not any("compared as numbers" in note for note in result.notes)
    for measurement in result.measurements:
        (bench,) = measurement.benchmarks
        assert bench.table is not None
        assert bench.table.metrics == ("real@1", "real@5")
        assert bench.score("of_all_answers") is not None
