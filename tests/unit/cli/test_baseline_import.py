"""`ckptbench baseline import`: results of any origin as a baseline file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptbench.cli import main
from ckptbench.readers.baseline import load

MakeRun = Callable[..., Path]
HIT, MISS = (1.0, 1.0), (0.0, 0.0)


def import_(*arguments: object) -> int:
    return main(["baseline", "import", *map(str, arguments)])


def test_a_run_becomes_the_baseline_that_it_would_have_written(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "run", {"c-1": {"a": [HIT], "b": [MISS]}})
    assert import_(run, "-o", tmp_path / "base.json") == 0
    made, own = load(tmp_path / "base.json"), load(run / "c-1_baseline.json")
    assert made.benchmarks == own.benchmarks
    assert (made.checkpoint, made.fingerprint) == (own.checkpoint, own.fingerprint)
    assert (made.settings, made.composite) == (own.settings, own.composite)


def test_of_several_checkpoints_one_is_named(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", {"c-1": {"a": [HIT]}, "c-2": {"a": [MISS]}})
    out = tmp_path / "base.json"
    assert import_(run, "-o", out) == 2
    assert "Name one with --checkpoint: c-1, c-2" in capsys.readouterr().err
    assert import_(run, "--checkpoint", "c-2", "-o", out) == 0
    assert load(out).checkpoint == "c-2"


def test_an_incomplete_run_is_no_baseline(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", {"c": {"a": [HIT], "b": ["error"]}})
    assert import_(run, "-o", tmp_path / "base.json") == 2
    assert "is incomplete: 1 of 2 samples are errors" in capsys.readouterr().err
    assert not (tmp_path / "base.json").exists()


def test_lm_evals_results_keep_their_errors_under_their_protocol(tmp_path: Path) -> None:
    content = {
        "results": {"arc": {"acc,none": 0.4, "acc_stderr,none": 0.049}},
        "versions": {"arc": 1.0},
        "n-shot": {"arc": 0},
        "n-samples": {"arc": {"original": 100, "effective": 100}},
    }
    path = tmp_path / "results_2026-01-01.json"
    path.write_text(json.dumps(content), "utf-8")
    assert import_(path, "-o", tmp_path / "base.json") == 0
    held = load(tmp_path / "base.json").find("arc/v1.0-0-shot")
    assert held is not None
    score = held.scores["arc acc,none"]
    assert (score.value, score.standard_error, score.n) == (0.4, 0.049, 100)


def test_numbers_without_a_protocol_stay_bare_until_it_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c_eval_results.json"
    path.write_text(json.dumps({"checkpoint": "c", "coref_samples": 40, "real1": 0.5}), "utf-8")
    out = tmp_path / "base.json"
    assert import_(path, "-o", out) == 0
    assert load(out).bare
    assert json.loads(out.read_text("utf-8")) == {"real@1": 0.5, "n": {"real@1": 40}}
    assert "states no protocol" in capsys.readouterr().err
    assert import_(path, "--protocol", "real=whole-word", "-o", out, "--force") == 0
    held = load(out).find("real/whole-word")
    assert held is not None
    assert held.scores["real@1"].n == 40


def test_a_protocol_for_what_has_one_is_refused(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", {"c": {"a": [HIT]}})
    assert import_(run, "--protocol", "real=origin", "-o", tmp_path / "base.json") == 2
    assert "no benchmark 'real' lacks a protocol" in capsys.readouterr().err
