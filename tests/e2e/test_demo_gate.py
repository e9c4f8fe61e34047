"""The suite on the demo checkpoints: the gate says what it should, and the exit status follows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

BASELINE = "benchmarks/baselines/demo-mlm.json"
METRICS = ("lambada@1", "real@1", "real@5")


def summary_of(workspace: Any, run_id: str) -> dict[str, Any]:
    return json.loads((workspace.path / "results" / run_id / "summary.json").read_text())


def gated_words(summary: dict[str, Any]) -> dict[str, str]:
    (checkpoint,) = summary["checkpoints"]
    return {
        verdict["metric"]: verdict["word"]
        for benchmark in checkpoint["benchmarks"]
        if benchmark["primary"]
        for verdict in benchmark["verdicts"]
    }


def rows_of(output: str, metric: str) -> list[str]:
    return re.findall(rf"^  {re.escape(metric)} .*$", output, re.MULTILINE)


def test_the_demo_is_unchanged_against_its_baseline(shared_workspace: Any) -> None:
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={BASELINE} --run-id=same"
    output = shared_workspace.run(command).expect(0)
    words = gated_words(summary_of(shared_workspace, "same"))
    assert words == dict.fromkeys(METRICS, "unchanged")
    assert f"unchanged: 3 metrics compared with {BASELINE}" in output
    for metric in METRICS:
        assert rows_of(output, metric)[0].endswith("unchanged")


def test_scores_of_the_demo_are_far_from_both_ends_and_rise_over_its_training(
    shared_workspace: Any, earliest: str
) -> None:
    values = []
    for place, spec in enumerate([earliest, "demo-mlm"]):
        run_id = f"curve-{place}"
        shared_workspace.run(f"pytest benchmarks --checkpoint={spec} --run-id={run_id}").expect(0)
        (checkpoint,) = summary_of(shared_workspace, run_id)["checkpoints"]
        values.append(
            {
                score["metric"]: score["value"]
                for benchmark in checkpoint["benchmarks"]
                if benchmark["primary"]
                for score in benchmark["scores"]
            }
        )
    first, last = values
    for metric in METRICS:
        assert last[metric] > first[metric]
        assert 0.15 < last[metric] < 0.95


def test_the_earliest_demo_checkpoint_has_regressed(shared_workspace: Any, earliest: str) -> None:
    command = f"pytest benchmarks --checkpoint={earliest} --baseline={BASELINE} --run-id=early"
    output = shared_workspace.run(command).expect(1)
    words = gated_words(summary_of(shared_workspace, "early"))
    assert words == dict.fromkeys(METRICS, "regressed")
    assert re.search(r"^regressed: .*: exit 1$", output, re.MULTILINE)
    assert re.search(r"flips at real@1: \d+ lost, \d+ won", output)


def test_a_flipped_sample_can_be_asked_again_by_pasting_its_line(
    shared_workspace: Any, earliest: str
) -> None:
    command = f"pytest benchmarks --checkpoint={earliest} --baseline={BASELINE}"
    output = shared_workspace.run(command).expect(1)
    pasted = re.findall(r"^    lost  (pytest .*)$", output, re.MULTILINE)
    assert pasted
    again = shared_workspace.run(pasted[0]).expect(0)
    nodeid = shlex.split(pasted[0])[1]
    assert "collected 1 item" in again
    assert "1 missed" in again
    assert nodeid.partition("::")[0] in again


def test_the_gate_can_be_turned_off_for_scores(shared_workspace: Any, earliest: str) -> None:
    command = f"pytest benchmarks --checkpoint={earliest} --baseline={BASELINE} --gate=off"
    assert "regressed" in shared_workspace.run(command).expect(0)


def test_three_bare_numbers_are_a_point_comparison(shared_workspace: Any, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    numbers.write_text('{"real@1": 0.01, "real@5": 0.02, "lambada@1": 0.03}')
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={numbers}"
    output = shared_workspace.run(command).expect(0)
    for metric in METRICS:
        assert rows_of(output, metric)[0].endswith("suspicious")
    assert output.count("point comparison, not tested: the baseline states no n") == 2


def test_bare_numbers_far_above_are_inconclusive_and_fail_the_strict_gate_only(
    shared_workspace: Any, tmp_path: Path
) -> None:
    numbers = tmp_path / "numbers.json"
    numbers.write_text('{"real@1": 0.99, "real@5": 0.99, "lambada@1": 0.99}')
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={numbers}"
    assert "inconclusive" in shared_workspace.run(command).expect(0)
    assert "exit 1 (--gate=strict)" in shared_workspace.run(f"{command} --gate=strict").expect(1)


def test_numbers_with_an_n_are_tested(shared_workspace: Any, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    numbers.write_text('{"real@1": 0.99, "real@5": 0.99, "lambada@1": 0.99, "n": 2400}')
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={numbers}"
    output = shared_workspace.run(command).expect(1)
    assert "unpaired comparison: the baseline holds numbers only" in output
    assert rows_of(output, "real@1")[0].endswith("regressed")


def test_a_baseline_of_another_protocol_is_refused_by_name(shared_workspace: Any) -> None:
    command = (
        f"pytest benchmarks --checkpoint=demo-mlm --baseline={BASELINE} "
        "--protocol=real=single-mask"
    )
    shared_workspace.run(command).expect(0)  # it holds that protocol too, beside the gated one
    only = f"pytest benchmarks -k real --checkpoint=demo-mlm --baseline={BASELINE}"
    narrow = shared_workspace.path / "narrow.json"
    shared_workspace.run(
        "pytest benchmarks -k real --checkpoint=demo-mlm --protocol=real=whole-word "
        f"--baseline={narrow.name} --update-baseline"
    ).expect(0)
    refused = shared_workspace.run(
        only.replace(BASELINE, narrow.name) + " --protocol=real=origin"
    ).expect(4)
    assert "holds real/whole-word, this run asked real/origin" in refused
