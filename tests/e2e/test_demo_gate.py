"""The suite on the demo checkpoints: the gate says what it should, and the exit status follows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

pytestmark = pytest.mark.slow

BASELINE = "benchmarks/baselines/demo-mlm.json"
METRICS = ("lambada@1", "real@1", "real@5")


def gated_words(summary: dict[str, Any]) -> dict[str, str]:
    (checkpoint,) = summary["checkpoints"]
    return {
        verdict["metric"]: verdict["word"]
        for benchmark in checkpoint["benchmarks"]
        if benchmark["primary"]
        for verdict in benchmark["verdicts"]
        if verdict["gated"]
    }


def gated_values(summary: dict[str, Any]) -> dict[str, float]:
    (checkpoint,) = summary["checkpoints"]
    return {
        score["metric"]: score["value"]
        for benchmark in checkpoint["benchmarks"]
        if benchmark["primary"]
        for score in benchmark["scores"]
        if score["gated"]
    }


def bits_per_byte(summary: dict[str, Any]) -> dict[str, float]:
    """By protocol, where the right answer has a likelihood."""
    (checkpoint,) = summary["checkpoints"]
    return {
        benchmark["protocol"]: score["value"]
        for benchmark in checkpoint["benchmarks"]
        for score in benchmark["scores"]
        if score["unit"] == "bits_per_byte"
    }


def rows_of(output: str, metric: str) -> list[str]:
    return re.findall(rf"^  {re.escape(metric)} .*$", output, re.MULTILINE)


@pytest.fixture(scope="module")
def newest(shared_workspace: Any) -> tuple[str, dict[str, Any]]:
    """What the last demo checkpoint's run prints, and its summary."""
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={BASELINE} --run-id=newest -v"
    output = shared_workspace.run(command).expect(0)
    return output, RunFolder(shared_workspace.path / "results/newest").summary


@pytest.fixture(scope="module")
def first(shared_workspace: Any, earliest: str) -> tuple[str, dict[str, Any]]:
    """The same of the earliest demo checkpoint, which fails."""
    command = f"pytest benchmarks --checkpoint={earliest} --baseline={BASELINE} --run-id=first -v"
    output = shared_workspace.run(command).expect(1)
    return output, RunFolder(shared_workspace.path / "results/first").summary


def test_the_demo_is_identical_to_its_baseline(newest: tuple[str, dict[str, Any]]) -> None:
    output, summary = newest
    assert gated_words(summary) == dict.fromkeys(METRICS, "identical")
    assert f"identical: 3 metrics compared with {BASELINE}" in output
    for metric in METRICS:
        assert rows_of(output, metric)[0].endswith("identical")


def test_the_whole_output_but_pytests_own_is_at_most_fifteen_lines(
    newest: tuple[str, dict[str, Any]], shared_workspace: Any
) -> None:
    """As `make bench` runs it; the answers are those of the run before."""
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={BASELINE}"
    output = shared_workspace.run(command).expect(0)
    _, _, after = output.partition("collected 936 items\n")
    dots = re.compile(r"[.ms]*( +\[ *\d+%\])?|benchmarks/test_\w+\.py .*")
    lines = [line for line in after.splitlines() if not dots.fullmatch(line)]
    assert len(lines) <= 15
    for metric in METRICS:
        (row,) = rows_of(output, metric)
        assert row.endswith("identical")
    assert "real/single-mask" not in output
    quiet = shared_workspace.run(f"{command} -q -k 'not origin'").expect(0)
    of_ours = [line for line in quiet.splitlines() if line and not dots.fullmatch(line)]
    assert of_ours[0].startswith("identical: 3 metrics compared")
    assert len(of_ours) == 2, "the verdict, then pytest's counts"


def test_the_earliest_checkpoint_has_regressed(first: tuple[str, dict[str, Any]]) -> None:
    output, summary = first
    assert gated_words(summary) == dict.fromkeys(METRICS, "regressed")
    assert re.search(r"^regressed: .*: exit 1$", output, re.MULTILINE)
    assert re.search(r"flips at real@1: \d+ lost, \d+ won", output)


def test_scores_are_far_from_both_ends_and_rise_over_the_training(
    newest: tuple[str, dict[str, Any]], first: tuple[str, dict[str, Any]]
) -> None:
    last, before = (gated_values(summary) for _, summary in (newest, first))
    for metric in METRICS:
        assert last[metric] > before[metric]
        assert 0.15 < last[metric] < 0.95


def test_bits_per_byte_stand_beside_the_shares_and_fall_over_the_training(
    newest: tuple[str, dict[str, Any]], first: tuple[str, dict[str, Any]]
) -> None:
    last, before = (bits_per_byte(summary) for _, summary in (newest, first))
    asked = {"real/whole-word", "lambada/mlm-whole-word", "lambada/choice"}
    assert last.keys() == before.keys() == asked
    assert all(0 < last[protocol] < before[protocol] for protocol in asked)
    (row,) = rows_of(newest[0], "real_bits_per_byte")
    assert f"{last['real/whole-word']:.4f}" in row


def test_the_size_of_a_batch_does_not_change_them(
    newest: tuple[str, dict[str, Any]], shared_workspace: Any
) -> None:
    shared_workspace.run(
        "pytest benchmarks/test_lambada.py benchmarks/test_real_k.py --checkpoint=demo-mlm "
        "--protocol=real=whole-word --batch-size=7 --no-resume --run-id=sevens"
    ).expect(0)
    found = bits_per_byte(RunFolder(shared_workspace.path / "results/sevens").summary)
    assert found == bits_per_byte(newest[1])


def test_a_flipped_sample_can_be_asked_again_by_pasting_its_line(
    first: tuple[str, dict[str, Any]], shared_workspace: Any
) -> None:
    pasted = re.findall(r"^    lost  (pytest .*)$", first[0], re.MULTILINE)
    assert pasted
    again = shared_workspace.run(pasted[-1]).expect(0)
    assert "collected 1 item" in again
    assert "1 missed" in again


def test_three_bare_numbers_are_a_point_comparison(
    newest: tuple[str, dict[str, Any]], shared_workspace: Any, tmp_path: Path
) -> None:
    numbers = tmp_path / "numbers.json"
    numbers.write_text(json.dumps(gated_values(newest[1])))
    some = "-k 'not origin'"
    command = f"pytest benchmarks --checkpoint=demo-mlm --baseline={numbers} -v {some}"
    output = shared_workspace.run(command).expect(0)
    for metric in METRICS:
        compared = rf"^  {metric} .*  inconclusive\n    baseline \S+%, diff \+0\.00 pp$"
        assert re.search(compared, output, re.MULTILINE)
    why = "point comparison, not tested: the baseline gives neither n nor standard error"
    assert f"lambada@1: {why}" in output
    assert f"real@1, real@5: {why}" in output


def test_a_baseline_of_another_protocol_is_incomparable(
    shared_workspace: Any, tmp_path: Path
) -> None:
    baseline = json.loads((shared_workspace.path / BASELINE).read_text(encoding="utf-8"))
    for protocol in ("real/single-mask", "real/origin"):
        del baseline["benchmarks"][protocol]
    narrow = tmp_path / "narrow.json"
    narrow.write_text(json.dumps(baseline))
    output = shared_workspace.run(
        f"pytest benchmarks --checkpoint=demo-mlm --baseline={narrow} --protocol=real=origin"
    ).expect(1)
    assert "incomparable: protocol real/whole-word in the baseline, real/origin here" in output
