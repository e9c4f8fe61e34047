"""lm-eval's results, and the sample logs beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.readers.detect import read
from ckptbench.readers.lm_eval import read_lm_eval_file

STAMP = "2026-01-02T03-04-05.678901"


def results(folder: Path, tasks: dict[str, Any], *, stamp: str = STAMP, **others: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"results_{stamp}.json"
    content = {"results": tasks, "model_name": "runs/base/checkpoint-400", **others}
    path.write_text(json.dumps(content), "utf-8")
    return path


def log(folder: Path, task: str, rows: Sequence[dict[str, Any]], *, stamp: str = STAMP) -> Path:
    path = folder / f"samples_{task}_{stamp}.jsonl"
    lines = (json.dumps({"doc_id": i, "doc_hash": f"doc{i}", **row}) for i, row in enumerate(rows))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def accuracy(values: Sequence[float]) -> dict[str, Any]:
    mean = sum(values) / len(values)
    return {"alias": "arc", "acc,none": mean, "acc_stderr,none": 0.1}


def test_a_task_is_a_benchmark_with_its_stated_error_and_n(tmp_path: Path) -> None:
    path = results(
        tmp_path / "runs__base__checkpoint-400",
        {"arc_easy": {"acc,none": 0.4, "acc_stderr,none": 0.049}},
        **{"n-samples": {"arc_easy": {"original": 500, "effective": 100}}},
    )
    (measurement,) = read_lm_eval_file(path).measurements
    assert (measurement.name, measurement.run, measurement.step) == ("checkpoint-400", "base", 400)
    (bench,) = measurement.benchmarks
    (score,) = bench.scores
    assert (bench.benchmark, bench.protocol, bench.table) == ("arc_easy", "", None)
    assert (score.metric, score.value, score.n) == ("arc_easy acc,none", 0.4, 100)
    assert score.standard_error == 0.049


def test_version_and_shots_are_the_protocol(tmp_path: Path) -> None:
    stated = {"versions": {"arc": 1.0}, "n-shot": {"arc": 5}}
    (measurement,) = read(results(tmp_path, {"arc": accuracy([1, 0])}, **stated)).measurements
    assert measurement.benchmarks[0].protocol == "arc/v1.0-5-shot"


def test_whether_it_was_a_chat_is_a_setting(tmp_path: Path) -> None:
    path = results(tmp_path, {"arc": accuracy([1, 0])}, chat_template="{{ m }}")
    (measurement,) = read(path).measurements
    assert measurement.benchmarks[0].settings["chat"] is True


def test_a_sample_log_gives_the_table_of_documents(tmp_path: Path) -> None:
    path = results(tmp_path, {"arc": accuracy([1, 0, 1, 1])})
    log(tmp_path, "arc", [{"acc": v, "filter": "none", "metrics": ["acc"]} for v in (1, 0, 1, 1)])
    result = read_lm_eval_file(path)
    table = result.measurements[0].benchmarks[0].table
    assert table is not None
    assert table.samples == ("doc0", "doc1", "doc2", "doc3")
    assert table.values[:, 0].tolist() == [1, 0, 1, 1]
    rows = list(result.samples("checkpoint-400", "arc"))
    assert [row.status for row in rows] == ["passed", "missed", "passed", "passed"]


def test_the_log_of_another_task_that_begins_alike_is_not_taken(tmp_path: Path) -> None:
    path = results(tmp_path, {"arc": accuracy([1, 0])})
    log(tmp_path, "arc_easy", [{"acc": 1}, {"acc": 0}])
    assert read_lm_eval_file(path).measurements[0].benchmarks[0].table is None


def test_filters_are_metrics_of_their_own(tmp_path: Path) -> None:
    task = {"exact_match,strict-match": 0.0, "exact_match,flexible-extract": 0.5}
    path = results(tmp_path, {"gsm8k": task})
    rows = [
        {"doc_id": 0, "doc_hash": "a", "filter": "strict-match", "exact_match": 0},
        {"doc_id": 0, "doc_hash": "a", "filter": "flexible-extract", "exact_match": 1},
        {"doc_id": 1, "doc_hash": "b", "filter": "strict-match", "exact_match": 0},
        {"doc_id": 1, "doc_hash": "b", "filter": "flexible-extract", "exact_match": 0},
    ]
    log(tmp_path, "gsm8k", rows)
    table = read_lm_eval_file(path).measurements[0].benchmarks[0].table
    assert table is not None
    assert table.samples == ("a", "b")
    assert dict(zip(table.metrics, table.values.T.tolist(), strict=True)) == {
        "gsm8k exact_match,strict-match": [0, 0],
        "gsm8k exact_match,flexible-extract": [1, 0],
    }


def test_a_document_asked_twice_is_two_samples(tmp_path: Path) -> None:
    path = results(tmp_path, {"arc": accuracy([1, 0])})
    log(tmp_path, "arc", [{"acc": 1, "doc_hash": "same"}, {"acc": 0, "doc_hash": "same"}])
    table = read_lm_eval_file(path).measurements[0].benchmarks[0].table
    assert table is not None
    assert table.samples == ("same", "same-2")


def test_a_score_that_is_no_mean_of_its_documents_stays_a_number(tmp_path: Path) -> None:
    path = results(tmp_path, {"arc": {"acc,none": 0.5, "mcc,none": 0.3}})
    log(tmp_path, "arc", [{"acc": 1, "mcc": 0.9}, {"acc": 0, "mcc": 0.1}])
    result = read_lm_eval_file(path)
    table = result.measurements[0].benchmarks[0].table
    assert table is not None
    values = dict(zip(table.metrics, table.values.T.tolist(), strict=True))
    assert values["arc acc,none"] == [1, 0]
    assert all(value != value for value in values["arc mcc,none"])
    assert any("arc mcc,none" in note for note in result.notes)


@pytest.mark.parametrize(
    ("metric", "value", "stated", "better", "unit"),
    [
        ("perplexity", 0.9, {}, False, "perplexity"),
        ("brier_score", 0.3, {}, False, ""),
        ("loss", 0.3, {"higher_is_better": {"task": {"loss": False}}}, False, "nats"),
        ("bleu", 27.5, {}, True, "points"),
        ("acc", 0.5, {"higher_is_better": {"task": {"acc": False}}}, False, "share"),
        ("house_metric", 0.3, {}, None, ""),
        (
            "house_metric",
            0.3,
            {"higher_is_better": {"task": {"house_metric": True}}},
            True,
            "share",
        ),
        # A share of 27.5 is none: shown and not compared, whatever its name says.
        ("acc", 27.5, {}, None, ""),
    ],
)
def test_the_direction_is_the_files_own_else_the_names_and_never_the_values(
    tmp_path: Path,
    metric: str,
    value: float,
    stated: dict[str, Any],
    better: bool | None,
    unit: str,
) -> None:
    path = results(tmp_path, {"task": {f"{metric},none": value}}, **stated)
    result = read_lm_eval_file(path)
    (score,) = result.measurements[0].benchmarks[0].scores
    assert (score.higher_is_better, score.unit) == (better, unit)


def test_the_tasks_of_a_group_are_shown_beside_it(tmp_path: Path) -> None:
    tasks = {name: {"acc,none": 0.5} for name in ("mmlu", "mmlu_law", "boolq")}
    subtasks = {"group_subtasks": {"mmlu": ["mmlu_law"], "boolq": []}}
    (measurement,) = read_lm_eval_file(results(tmp_path, tasks, **subtasks)).measurements
    gated = [bench.benchmark for bench in measurement.primary_benchmarks()]
    assert gated == ["mmlu", "boolq"]


def test_the_newest_of_a_folder_of_models_is_taken_and_said(tmp_path: Path) -> None:
    results(tmp_path / "model", {"arc": accuracy([1, 0])}, stamp="2026-01-01T00-00-00.000001")
    newest = results(tmp_path / "model", {"arc": accuracy([1, 1])}, stamp="2026-02-01T00-00-00.1")
    result = read(tmp_path)
    assert result.path == newest
    assert "holds 2 files: the newest is taken" in result.notes[0]


def test_a_log_that_was_cut_off_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = results(tmp_path, {"arc": accuracy([1, 0])})
    cut = log(tmp_path, "arc", [{"acc": 1}, {"acc": 0}])
    cut.write_text(cut.read_text("utf-8")[:-10], "utf-8")
    with pytest.raises(CkptbenchError, match="cut off") as caught:
        read_lm_eval_file(path)
    assert caught.value.where == f"{cut}:2"
