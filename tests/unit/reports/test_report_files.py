"""The files a run leaves behind."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.requests import Filled
from ckptbench.reports.run_files import (
    eval_results,
    sample_line,
    write_reports,
    write_samples,
)
from ckptbench.results.answers import encode
from ckptbench.results.as_json import as_json, one_line, summary_as_json
from ckptbench.results.layout import safe_name
from ckptbench.results.lm_eval_format import read_official, task_results
from ckptbench.results.stored_run import PlannedItem
from ckptbench.results.summary import CompositeResult, Coverage, Summary


def strict(path: Path) -> Any:
    """A file's JSON; NaN and Infinity are refused, as the JSON standard refuses them."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in {path}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def test_a_run_leaves_the_summary_a_file_a_checkpoint_and_a_file_a_benchmark(
    regressed: Summary, tmp_path: Path
) -> None:
    written = write_reports(tmp_path, regressed)
    assert [path.name for path in written] == [
        "summary.json",
        "checkpoint-655_eval_results.json",
        "real_results.json",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(p.name for p in written)


def test_summary_json_holds_fractions_in_a_fixed_order(regressed: Summary, tmp_path: Path) -> None:
    write_reports(tmp_path, regressed)
    value = strict(tmp_path / "summary.json")
    assert list(value)[:4] == ["format", "run_id", "started", "seconds"]
    assert value["format"] == "ckptbench.summary/2"
    benchmark = value["checkpoints"][0]["benchmarks"][0]
    assert benchmark["scores"][0]["value"] == 0.6355
    assert benchmark["verdicts"][0]["comparison"]["interval"] == pytest.approx([-0.062, -0.022])
    assert list(value["checkpoints"][0]["settings"]) == ["dtype", "seq_len"]


def test_the_json_report_part_is_the_object_of_summary_json(
    regressed: Summary, tmp_path: Path
) -> None:
    write_reports(tmp_path, regressed)
    assert json.loads(json.dumps(summary_as_json(regressed))) == strict(tmp_path / "summary.json")


def test_the_eval_results_of_a_checkpoint(make: SimpleNamespace) -> None:
    composite = CompositeResult({"real@1": 1.0}, make.score("score", 0.6314))
    checkpoint = make.checkpoint(
        make.result("real/origin", make.score("real@1", 0.9), primary=False),
        make.result("real/whole-word", make.score("real@1", 0.6778), make.score("real@5", 0.8244)),
        make.result("lambada/mlm-whole-word", make.score("lambada@1", 0.3767)),
        composite=composite,
        run="ko-small",
        step=655,
        epoch=1.5,
    )
    assert eval_results(checkpoint) == {
        "checkpoint": "checkpoint-655",
        "seq_len": 512,
        "coref_samples": 200,
        "real1": 0.6778,
        "real5": 0.8244,
        "lambada_top1": 0.3767,
        "score": 0.6314,
        "eval_seconds": 12.34,
        "run": "ko-small",
        "step": 655,
        "epoch": 1.5,
    }


def test_what_was_not_measured_is_null(make: SimpleNamespace) -> None:
    assert eval_results(make.checkpoint(settings={}, seconds=0.5)) == {
        "checkpoint": "checkpoint-655",
        "seq_len": None,
        "coref_samples": None,
        "real1": None,
        "real5": None,
        "lambada_top1": None,
        "score": None,
        "eval_seconds": 0.5,
        "run": "",
        "step": None,
        "epoch": None,
    }


def test_a_score_of_some_of_the_samples_is_null(make: SimpleNamespace) -> None:
    """A partial score would look like one of all samples."""
    partly = make.result(
        "real/whole-word",
        make.score("real@1", 0.5, n=197),
        coverage=Coverage(planned=200, scored=197, errors=3),
    )
    checkpoint = make.checkpoint(partly, make.result("lambada/x", make.score("lambada@1", 0.4)))
    found = eval_results(checkpoint)
    assert (found["real1"], found["lambada_top1"]) == (None, 0.4)
    content = task_results(make.summary(checkpoint), checkpoint, "real")
    assert content["results"]["real"]["real@1,none"] is None
    assert content["results"]["real"]["real@1_stderr,none"] == "N/A"


def test_a_benchmark_file_has_the_shape_of_lm_evals(make: SimpleNamespace, tmp_path: Path) -> None:
    real = make.result("real/whole-word", make.score("real@1", 0.5, standard_error=0.1))
    beside = make.result("real/origin", make.score("real@1", 0.6), primary=False)
    write_reports(tmp_path, make.summary(make.checkpoint(real, beside, name="a")))
    value = strict(tmp_path / "real_results.json")
    assert value["results"]["real"]["real@1,none"] == 0.5
    assert value["results"]["real"]["real@1_stderr,none"] == 0.1
    assert value["results"]["real/origin"]["real@1,none"] == 0.6
    assert value["versions"]["real"] == "real/whole-word"
    assert value["config"]["model_args"] == make.checkpoint(real).spec
    protocols = [result["protocol"] for result in value["ckptbench"]["protocols"]]
    assert protocols == ["real/whole-word", "real/origin"]


def test_several_checkpoints_have_a_file_each(make: SimpleNamespace, tmp_path: Path) -> None:
    real = make.result("real/whole-word", make.score("real@1", 0.5))
    lambada = make.result("lambada/choice", make.score("lambada@1", 0.7))
    write_reports(
        tmp_path,
        make.summary(make.checkpoint(real, lambada, name="a"), make.checkpoint(real, name="b")),
    )
    names = {path.name for path in tmp_path.glob("*_results.json")}
    assert names - {"a_eval_results.json", "b_eval_results.json"} == {
        "a_real_results.json",
        "a_lambada_results.json",
        "b_real_results.json",
    }


def test_a_run_that_gained_a_checkpoint_leaves_no_file_of_before(
    make: SimpleNamespace, tmp_path: Path
) -> None:
    real = make.result("real/whole-word", make.score("real@1", 0.5))
    one, both = [make.checkpoint(real, name="a")], [make.checkpoint(real, name=n) for n in "ab"]
    write_reports(tmp_path, make.summary(*one))
    write_reports(tmp_path, make.summary(*both))
    assert {path.name for path in tmp_path.glob("*real_results.json")} == {
        "a_real_results.json",
        "b_real_results.json",
    }
    write_reports(tmp_path, make.summary(*one))
    assert (tmp_path / "real_results.json").exists()
    assert not (tmp_path / "a_real_results.json").exists()


def test_not_a_number_becomes_null_with_a_reason(make: SimpleNamespace, tmp_path: Path) -> None:
    broken = make.paired("real@1", math.nan, 0.5)
    infinite = make.score("real@5", 0.5, standard_error=math.inf, interval=(0.1, math.inf))
    run = make.summary(
        make.checkpoint(
            make.result(
                "real/whole-word",
                make.score("real@1", math.nan),
                infinite,
                verdicts=(make.verdict("incomplete", broken, "3 errors"),),
            ),
            settings={"temperature": math.nan},
        )
    )
    write_reports(tmp_path, run)
    checkpoint = strict(tmp_path / "summary.json")["checkpoints"][0]
    first, second = checkpoint["benchmarks"][0]["scores"]
    assert (first["value"], first["interval"]) == (None, None)
    assert first["reason"] == "the computed value is not a finite number"
    assert (second["value"], second["standard_error"], second["interval"]) == (0.5, None, None)
    verdict = checkpoint["benchmarks"][0]["verdicts"][0]
    assert verdict["comparison"] is None
    assert verdict["detail"] == "3 errors: the computed value is not a finite number"
    assert checkpoint["settings"] == {"temperature": None}
    assert strict(tmp_path / "checkpoint-655_eval_results.json")["real1"] is None


def test_numpy_scalars_are_written_as_numbers() -> None:
    values = {"a": np.float64(0.5), "b": np.int64(3), "c": np.bool_(True), "d": np.float32("nan")}
    assert json.dumps(as_json(values)) == '{"a": 0.5, "b": 3, "c": true, "d": null}'


def test_a_value_without_a_json_form_is_named() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        as_json({"a": object()})


ITEM = PlannedItem(
    position=7,
    nodeid="benchmarks/test_real_k.py::test_real_k[boolq-7/2]",
    group=0,
    id="boolq-7/2",
    sample="0123456789abcdef",
    cluster="boolq-7",
    trial=0,
)


def test_a_sample_line_holds_the_question_the_outcome_and_the_response() -> None:
    line = sample_line(
        protocol="real/whole-word",
        item=ITEM,
        status="passed",
        values={"real@1": 0.0, "real@5": 1.0},
        fields='{"text": "서울은 도시다.", "answer": "서울"}',
        response=encode(Filled(("부산", "서울"), (-0.5, -2.25), rank=2, masks=1)),
    )
    assert json.loads(line) == {
        "protocol": "real/whole-word",
        "id": "boolq-7/2",
        "hash": "0123456789abcdef",
        "cluster": "boolq-7",
        "trial": 0,
        "nodeid": "benchmarks/test_real_k.py::test_real_k[boolq-7/2]",
        "status": "passed",
        "reason": "",
        "values": {"real@1": 0.0, "real@5": 1.0},
        "fields": {"text": "서울은 도시다.", "answer": "서울"},
        "response": {
            "kind": "filled",
            "candidates": ["부산", "서울"],
            "logprobs": [-0.5, -2.25],
            "rank": 2,
            "masks": 1,
            "answer_logprob": None,
        },
    }


def test_a_sample_without_a_response_says_null() -> None:
    line = sample_line(
        protocol="p/q", item=ITEM, status="not_run", values={}, fields="{}", response=None
    )
    assert json.loads(line)["response"] is None


def test_sample_lines_are_one_line_each(tmp_path: Path) -> None:
    fields = json.dumps({"text": "two\nlines \u2028 and \x85 more"}, ensure_ascii=False)
    line = sample_line(
        protocol="p/q", item=ITEM, status="error", values={}, fields=fields, response=None
    )
    path = write_samples(tmp_path, "runs/x", "real", [line, line])
    assert path == tmp_path / "samples" / safe_name("runs/x") / "real.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0])["fields"] == json.loads(fields)


def test_sample_lines_are_never_held_together(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        for number in range(2_000):
            yield f"{number}{'x' * 5_000}\n"

    tracemalloc.start()
    try:
        path = write_samples(tmp_path, "a", "real", lines())
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 10_000_000
    assert peak_bytes < 1_000_000


def test_a_folder_that_cannot_be_written_is_named_and_what_was_written_stays(
    regressed: Summary, tmp_path: Path
) -> None:
    (tmp_path / "checkpoint-655_eval_results.json").mkdir()
    with pytest.raises(CkptbenchError, match=r"checkpoint-655_eval_results\.json: "):
        write_reports(tmp_path, regressed)
    assert strict(tmp_path / "summary.json")["run_id"] == "20250102_030405_67"


@pytest.mark.parametrize("name", ["checkpoint-655", "real", "한국어-모델", "lm_eval.kmmlu"])
def test_a_safe_name_stays_as_it_is(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "../../etc/passwd", "-rf", "a b", "C:\\x", "a\0b"])
def test_an_unsafe_name_becomes_one_plain_component(name: str) -> None:
    safe = safe_name(name)
    assert safe
    assert not safe.startswith((".", "-"))
    assert not set(safe) & set('/\\:\0 "*?<>|')


def test_different_names_stay_different_and_fit_a_file_system() -> None:
    names = ["a/b", "a_b", "a b", "../a_b", "모" * 200, "모" * 201]
    safe = [safe_name(name) for name in names]
    assert len(set(safe)) == len(names)
    assert max(len(f"{name}_eval_results.json".encode()) for name in safe) <= 255


def test_a_line_has_one_line_end() -> None:
    assert one_line({"a": "b\nc"}) == '{"a": "b\\nc"}\n'


def test_a_line_of_values_that_are_not_plain_json() -> None:
    assert one_line({"a": math.inf, "b": np.int64(1)}) == '{"a": null, "b": 1}\n'


def lm_evals_run(make: SimpleNamespace, value: float, *, grouped: bool) -> tuple[Summary, Any]:
    """A run of two tasks of lm-eval, and of their group."""
    names = ("signs", "numbers", "choices") if grouped else ("signs", "numbers")
    results = [
        make.result(
            f"{n}/{'group-of-2' if n == 'choices' else 'v1'}", make.score(f"{n} acc", value)
        )
        for n in names
    ]
    official = {
        "results": {name: {"acc,none": value} for name in names},
        "group_subtasks": {"choices": ["signs", "numbers"]} if grouped else {},
    }
    if grouped:
        official["groups"] = {"choices": {"acc,none": value}}
    checkpoint = make.checkpoint(*results)
    return make.summary(checkpoint), {checkpoint.name: official}


def test_what_lm_eval_made_of_a_run_is_read_back(make: SimpleNamespace, tmp_path: Path) -> None:
    summary, official = lm_evals_run(make, 0.5, grouped=True)
    write_reports(tmp_path, summary, official)
    (found,) = read_official(tmp_path, summary).values()
    assert set(found) == {"signs", "numbers", "choices"}
    assert set(found["choices"]["results"]) == {"signs", "numbers", "choices"}
    assert found["signs"]["results"] == {"signs": {"acc,none": 0.5}}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"ckptbench": 1}', '{"results": {"si'])
def test_of_a_damaged_file_nothing_is_read(
    make: SimpleNamespace, tmp_path: Path, content: str
) -> None:
    summary, official = lm_evals_run(make, 0.5, grouped=True)
    write_reports(tmp_path, summary, official)
    (tmp_path / "signs_results.json").write_text(content)
    (found,) = read_official(tmp_path, summary).values()
    assert set(found) == {"numbers", "choices"}
    (tmp_path / "numbers_results.json").unlink()
    (found,) = read_official(tmp_path, summary).values()
    assert set(found) == {"choices"}


def test_of_files_of_another_session_nothing_is_read(make: SimpleNamespace, tmp_path: Path) -> None:
    write_reports(tmp_path, *lm_evals_run(make, 0.5, grouped=True))
    assert read_official(tmp_path, lm_evals_run(make, 0.25, grouped=True)[0]) == {}


@pytest.mark.parametrize("now", [0.5, 0.25])
def test_the_file_of_a_group_stays_while_its_tasks_are_what_it_shows(
    make: SimpleNamespace, tmp_path: Path, now: float
) -> None:
    write_reports(tmp_path, *lm_evals_run(make, 0.5, grouped=True))
    write_reports(tmp_path, *lm_evals_run(make, now, grouped=False))
    assert (tmp_path / "choices_results.json").exists() == (now == 0.5)
