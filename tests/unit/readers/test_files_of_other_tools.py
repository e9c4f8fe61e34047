"""Files of lm-eval's older versions and of other tools: checkpoints, steps, directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.analysis.conclude import conclude
from ckptbench.cli import main
from ckptbench.readers.detect import read

TASKS = [f"task{i}" for i in range(10)]


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def older(step: int, value: float, *, arguments: object = None) -> dict[str, Any]:
    """A results file of lm-eval 0.3: metrics have no filter."""
    of_task = {"acc": value, "acc_stderr": 0.01, "acc_norm": value + 0.01, "acc_norm_stderr": 0.01}
    return {
        "results": {
            **dict.fromkeys(TASKS, of_task),
            "lambada_openai": {"ppl": 300.0 - step / 1000, "ppl_stderr": 7.5, "acc": value},
        },
        "versions": {},
        "config": {
            "model": "hf-causal",
            "model_args": arguments or f"pretrained=someorg/tiny-70m,revision=step{step}",
        },
    }


def test_a_folder_of_27_checkpoints_is_one_run_in_step_order_on_one_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [1000 * 2**i // 64 for i in range(27)]
    for i, step in enumerate(sorted(steps, key=str)):
        write(tmp_path / f"file{i}.json", older(step, 0.3 + 0.01 * steps.index(step)))
    result = read(tmp_path)
    assert [m.step for m in result.measurements] == sorted(steps)
    assert {m.run for m in result.measurements} == {"tiny-70m"}
    assert main(["report", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    assert any("recommended" in line and "average" in line for line in lines)
    assert main(["report", str(tmp_path), "--by", "task3 acc"]) == 0
    assert "highest task3 acc" in capsys.readouterr().out
    with pytest.raises(CkptbenchError, match="tsk3"):
        conclude(result.measurements, by="tsk3 acc")


@pytest.mark.parametrize(
    "arguments",
    [
        "pretrained=someorg/tiny-70m,revision=step2000,dtype=float16",
        {"pretrained": "someorg/tiny-70m", "revision": "step2000"},
    ],
)
@pytest.mark.parametrize("ending", ["", ",none"])
def test_a_step_stands_in_the_revision_in_every_version(
    tmp_path: Path, arguments: object, ending: str
) -> None:
    content = older(2000, 0.5, arguments=arguments)
    content["results"] = {"task": {f"acc{ending}": 0.5, f"acc_stderr{ending}": 0.01}}
    (measurement,) = read(write(tmp_path / "results_1.json", content)).measurements
    assert (measurement.name, measurement.run, measurement.step) == ("step2000", "tiny-70m", 2000)


def test_of_a_folder_of_newer_files_every_checkpoint_is_read(tmp_path: Path) -> None:
    for number, step in enumerate([3000, 1000, 2000]):
        content = older(step, 0.5)
        content["results"] = {"task": {"acc,none": 0.5, "acc_stderr,none": 0.01}}
        write(tmp_path / f"results_2026-01-0{number + 1}.json", content)
    assert [m.step for m in read(tmp_path).measurements] == [1000, 2000, 3000]


def test_a_perplexity_is_compared_with_less_as_better(tmp_path: Path) -> None:
    (measurement,) = read(write(tmp_path / "a.json", older(1000, 0.5))).measurements
    score = measurement.score("lambada_openai ppl")
    assert score is not None
    assert (score.unit, score.higher_is_better, score.standard_error) == ("perplexity", False, 7.5)


def likelihoods(value: float) -> dict[str, Any]:
    task = {"likelihood_diff,none": value, "likelihood_diff_stderr,none": 0.02}
    return {"results": {"pairs": task}, "config": {"model_args": "pretrained=x/y"}}


def test_less_of_a_likelihood_difference_is_better(tmp_path: Path) -> None:
    a, b = (
        write(tmp_path / name, likelihoods(v)) for name, v in (("a.json", 0.9), ("b.json", 0.7))
    )
    assert main(["compare", str(a), str(b)]) == 0
    assert main(["compare", str(b), str(a)]) == 1


def test_an_import_keeps_standard_errors_so_the_same_drop_fails_from_both(tmp_path: Path) -> None:
    def file(name: str, acc: float) -> Path:
        task = {"acc,none": acc, "acc_stderr,none": 0.01}
        content = {"results": {"task": task}, "config": {"model_args": "pretrained=x/y"}}
        return write(tmp_path / name, content)

    before, after = file("before.json", 0.6), file("after.json", 0.5)
    imported = tmp_path / "imported.json"
    assert main(["baseline", "import", str(before), "-o", str(imported)]) == 0
    assert main(["compare", str(before), str(after)]) == 1
    assert main(["compare", str(imported), str(after)]) == 1


def test_results_of_other_harnesses(tmp_path: Path) -> None:
    bigcode = {"humaneval": {"pass@1": 0.3, "pass@10": 0.4}, "config": {"model": "m"}}
    (measurement,) = read(write(tmp_path / "b.json", bigcode)).measurements
    assert [s.metric for b in measurement.benchmarks for s in b.scores] == [
        "humaneval pass@1",
        "humaneval pass@10",
    ]
    evalplus = {
        "eval": {"HumanEval/0": [], "HumanEval/1": []},
        "pass_at_k": {"base": {"pass@1": 0.5}, "plus": {"pass@1": 0.0}},
    }
    (measurement,) = read(write(tmp_path / "x_eval_results.json", evalplus)).measurements
    plus = measurement.score("humaneval-plus pass@1")
    assert plus is not None
    assert (plus.value, plus.n) == (0.0, 2)


def test_the_state_of_a_training_run_is_named_as_what_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "trainer_state.json", {"log_history": [], "best_metric": None})
    with pytest.raises(CkptbenchError, match="state of a training run"):
        read(path)


def test_a_step_beats_the_number_of_a_checkpoint_in_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "curve.csv"
    table.write_text(
        "checkpoint,real1,n\ncheckpoint-2-step-655,0.5,1000\ncheckpoint-1-step-900,0.6,1000\n",
        encoding="utf-8",
    )
    assert [m.step for m in read(table).measurements] == [655, 900]
    assert main(["report", str(table)]) == 0
    out = capsys.readouterr().out
    assert "overfit" not in out
    assert "fell" not in out
