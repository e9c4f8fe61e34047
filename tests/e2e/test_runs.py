"""What one run leaves, the next one uses: stored answers, workers, files of one's own."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder, stored


def asked_and_reused(output: str) -> tuple[int, int]:
    asked, reused = re.findall(r"([\d,]+) answers computed, ([\d,]+) reused", output)[-1]
    return int(asked.replace(",", "")), int(reused.replace(",", ""))


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was_and_a_further_one_asks_nothing(workspace: Any) -> None:
    few = "--limit=100 -k 'not origin'"  # its analyser takes seconds to load
    command = f"benchmarks --checkpoint=demo-mlm --batch-tokens=64 {few} --run-id=nightly"
    store = workspace.path / "results/nightly/store.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *shlex.split(command)],
        cwd=workspace.path,
        env=workspace.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not stored(store) and process.poll() is None:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    survived = stored(store)
    assert survived
    asked, reused = asked_and_reused(workspace.run(f"pytest {command}").expect(0))
    planned = len(RunFolder(store.parent).outcomes)
    assert reused >= survived
    assert asked + reused == planned
    another = command.replace("nightly", "another")
    assert asked_and_reused(workspace.run(f"pytest {another}").expect(0)) == (0, planned)


@pytest.mark.slow
def test_two_workers_give_the_outcomes_of_one_process(workspace: Any) -> None:
    command = "pytest benchmarks --checkpoint=demo-mlm --limit=20 -k 'not origin' --no-resume"
    workspace.run(f"{command} --run-id=one").expect(0)
    workspace.run(f"{command} --run-id=two -n 2").expect(0)
    alone = RunFolder(workspace.path / "results/one").outcomes
    assert len(alone) == 4 * 20
    assert RunFolder(workspace.path / "results/two").outcomes == alone


@pytest.mark.slow
def test_real_k_from_ones_own_texts(workspace: Any) -> None:
    texts = workspace.path / "my_texts.txt"
    texts.write_text(
        "한강은 서울을 가로질러 흐른다. 봄이 되면 많은 사람이 한강에서 자전거를 탄다.\n"
        "우리는 한강에 갔다. 한강은 넓었다.\n"
        "김치는 배추를 소금에 절여 담근다. 잘 익은 김치는 겨울 내내 먹을 수 있다.\n"
        "하늘이 맑다.\n",
        encoding="utf-8",
    )
    built = workspace.run("ckptbench build real-k --text my_texts.txt -o my_real.jsonl").expect(0)
    assert "4 texts read: 2 used, 1 with a pronoun, 1 without a repeated noun" in built
    header, *rows = (workspace.path / "my_real.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(header)["n"] == len(rows) == 2
    assert [json.loads(row)["answer"] for row in rows] == ["한강", "김치"]
    output = workspace.run(
        "pytest benchmarks -k real --checkpoint=demo-mlm --real-data=my_real.jsonl"
    ).expect(0)
    assert ": real/whole-word; " in output
    assert re.search(r"^  real@5 +\S+% +2 ", output, re.MULTILINE)


def test_a_tokenizer_that_is_none_ends_the_session_before_anything_is_asked(
    workspace: Any,
) -> None:
    command = "pytest benchmarks -k lambada --checkpoint=demo-mlm --tokenizer=nowhere"
    assert "--tokenizer: nowhere is no folder" in workspace.run(command).expect(4)


@pytest.mark.slow
def test_a_checkpoint_without_a_tokenizer_takes_the_one_above_or_the_one_given(
    workspace: Any,
) -> None:
    import shutil

    import ckptbench.benchmarks

    (demo,) = (Path(p) / "demo/demo-mlm" for p in ckptbench.benchmarks.__path__)
    newest = max(demo.glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    run = workspace.path / "run"
    shutil.copytree(newest, run / "checkpoint-1")
    (run / "tokenizer").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (run / "checkpoint-1" / name).is_file():
            (run / "checkpoint-1" / name).rename(run / "tokenizer" / name)
    command = "pytest benchmarks -k lambada --limit=8 --checkpoint=run/checkpoint-1"
    workspace.run(f"{command} --run-id=none").expect(4)
    given = workspace.run(f"{command} --run-id=given --tokenizer=run/tokenizer").expect(0)
    assert "the tokenizer is that of run/tokenizer (--tokenizer)" in " ".join(given.split())
    for file in (run / "tokenizer").iterdir():
        file.rename(run / file.name)
    above = workspace.run(f"{command} --run-id=above").expect(0)
    assert "that of the folder above is used" in " ".join(above.split())
    assert (
        RunFolder(workspace.path / "results/above").outcomes
        == RunFolder(workspace.path / "results/given").outcomes
    )
    # The same files are the same checkpoint: what was answered once is not asked again.
    assert asked_and_reused(above)[0] == 0
