"""What of a session is sent."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckptbench.results.spent import Spent
from ckptbench.tracking.record import (
    FIRST_SAMPLES,
    gather_checkpoint,
    gather_session,
    record_of,
    steps_of,
)


def test_a_child_is_a_checkpoint_with_its_params_and_metrics(
    make_session: Any, make_checkpoint: Any
) -> None:
    record = record_of(make_session(make_checkpoint(100, 0.4)))
    (child,) = record.children
    assert child.name == "checkpoint-100"
    assert child.params == {
        "checkpoint": "checkpoint-100",
        "spec": "runs/x/checkpoint-100",
        "fingerprint": "0000000000000064",
        "run": "x",
        "step": "100",
        "epoch": "0.5",
        "val_loss": "2.5",
        "dataset": "demo@5f0c2a9be1d44c01",
        "protocol": "real/whole-word, real/single-mask",
        "seed": "3",
        "num_samples": "1",
        "temperature": "0.0",
        "seq_len": "512",
        "dtype": "fp32",
    }
    assert child.points == {
        ("real_at_1", 100): 0.4,
        ("real_at_1_se", 100): 0.05,
        ("real/single-mask/real_at_1", 100): 0.2,
        ("real/single-mask/real_at_1_se", 100): 0.05,
        ("val_loss", 100): 2.5,
    }
    assert child.tags["verdict.real_at_1"] == "improved"
    assert record.ended_ms - record.started_ms == 12_500


def test_what_a_checkpoint_cost_is_metrics_as_far_as_it_is_known(
    make_session: Any, make_checkpoint: Any
) -> None:
    cost = {"spent": Spent(4.5, 9.0, 12_000, 300), "asked": 40, "reused": 3}
    (child,) = record_of(make_session(make_checkpoint(100, 0.4, **cost))).children
    bill = {name: v for (name, _), v in child.points.items() if name.startswith("bill/")}
    assert bill == {
        "bill/seconds": 4.5,
        "bill/gpu_seconds": 9.0,
        "bill/tokens_read": 12_000,
        "bill/tokens_written": 300,
        "bill/answers_computed": 40,
        "bill/answers_reused": 3,
        "bill/samples_not_needed": 0,
    }
    served = {"spent": Spent(4.5, None, None, None, "the engine counts no tokens")}
    (child,) = record_of(make_session(make_checkpoint(100, 0.4, **served))).children
    known = {name for name, _ in child.points if name.startswith("bill/")}
    assert known == bill.keys() - {"bill/gpu_seconds", "bill/tokens_read", "bill/tokens_written"}


def test_the_parent_has_every_checkpoints_point_so_that_a_metric_is_one_line(
    make_session: Any, make_checkpoint: Any
) -> None:
    parent = record_of(make_session(make_checkpoint(100, 0.4), make_checkpoint(200, 0.6))).parent
    assert {s: v for (name, s), v in parent.points.items() if name == "real_at_1"} == {
        100: 0.4,
        200: 0.6,
    }
    assert parent.params["dataset"] == "demo@5f0c2a9be1d44c01"
    assert not {"checkpoint", "step", "epoch", "val_loss", "fingerprint"} & parent.params.keys()
    assert parent.tags["ckptbench.verdict"] == "improved"
    assert parent.tags["environment.python"] == "3.12.1"


def test_two_runs_at_the_same_steps_make_no_line(make_session: Any, make_checkpoint: Any) -> None:
    other = make_checkpoint(100, 0.6, name="y_checkpoint-100", run="y")
    record = record_of(make_session(make_checkpoint(100, 0.4), other))
    assert record.parent.points == {}
    assert all(child.points for child in record.children)


def test_the_gravest_verdict_is_the_sessions(make_session: Any, make_checkpoint: Any) -> None:
    held = make_checkpoint(100, 0.4)
    (verdict,) = held.benchmarks[0].verdicts
    worse = replace(held.benchmarks[0], verdicts=(verdict, replace(verdict, word="regressed")))
    beside = replace(held.benchmarks[1], verdicts=(replace(verdict, word="incomplete"),))
    session = make_session(replace(held, benchmarks=(worse, beside)))
    assert record_of(session).parent.tags["ckptbench.verdict"] == "regressed"


def test_where_a_step_is_unknown_all_stand_in_the_sessions_order(
    make_session: Any, make_checkpoint: Any
) -> None:
    best = replace(make_checkpoint(100, 0.4), name="best.pt", step=None)
    assert steps_of(make_session(make_checkpoint(655, 0.4), best)) == {
        "checkpoint-655": 0,
        "best.pt": 1,
    }
    named = replace(make_checkpoint(655, 0.4), step=None)
    assert steps_of(make_session(named)) == {"checkpoint-655": 655}


def test_the_sessions_files(
    make_session: Any, make_checkpoint: Any, write_run: Any, tmp_path: Path
) -> None:
    summary = make_session(make_checkpoint(100, 0.4), make_checkpoint(200, 0.6))
    folder, sent = write_run(tmp_path / "nightly", summary), tmp_path / "sent"
    (folder / "report.html").write_text("<p>it</p>")
    (folder / "plots").mkdir()
    (folder / "plots/real.svg").write_text("<svg/>")
    (folder / "store.sqlite").write_text("large")
    sent.mkdir()
    gather_session(folder, summary, steps_of(summary), sent)
    found = {str(path.relative_to(sent)) for path in sent.rglob("*") if path.is_file()}
    assert found == {"summary.json", "report.html", "plots/real.svg", "real.csv"}
    with (sent / "real.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 2
    first = [r["value"] for r in rows if r["metric"] == "real@1"]
    assert first == ["0.4", "0.2", "0.6", "0.3"]
    assert rows[0]["step"] == "100"
    assert rows[0]["verdict"] == "improved"
    assert rows[1]["value"] == ""


def test_a_checkpoints_files(
    make_session: Any, make_checkpoint: Any, write_run: Any, tmp_path: Path
) -> None:
    summary = make_session(make_checkpoint(100, 0.4))
    folder, sent = write_run(tmp_path / "nightly", summary), tmp_path / "sent"
    sent.mkdir()
    gather_checkpoint(folder, summary.checkpoints[0], sent)
    assert (sent / "checkpoint-100_eval_results.json").exists()
    lines = (sent / "samples/real.jsonl").read_text().splitlines()
    assert lines == [f'{{"id": "s{n}"}}' for n in range(FIRST_SAMPLES)]
