"""Checkpoints and data of a hub, downloaded by its real client from a server in this process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hub_server import Hub, commit_of, hub

import ckptbench.benchmarks

pytest.importorskip("huggingface_hub")
pytestmark = pytest.mark.slow

DEMO = Path(ckptbench.benchmarks.__file__).parent / "demo/demo-mlm"
ASKED = ["--pyargs", "ckptbench.benchmarks.test_real_k", "--limit=2", "--protocol=real=single-mask"]


@dataclass
class Machine:
    """A machine with an empty home of the hub's client, and the hub it knows."""

    folder: Path
    hub: Hub
    environment: dict[str, str]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        env = self.environment | environment
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=500
        )

    def summary(self) -> dict[str, Any]:
        last = max(
            self.folder.glob("results/*/summary.json"), key=lambda file: file.stat().st_mtime
        )
        found: dict[str, Any] = json.loads(last.read_text(encoding="utf-8"))
        return found


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    revisions = {}
    for revision, step in (("main", "1500"), ("step100", "100")):
        revisions[revision] = tmp_path / "served" / revision
        shutil.copytree(DEMO / f"checkpoint-{step}", revisions[revision])
        (revisions[revision] / "trainer_state.json").unlink(missing_ok=True)
        (revisions[revision] / "pytorch_model.bin").write_bytes(b"the same again")
    problems = tmp_path / "served/problems"
    problems.mkdir()
    row = {"task_id": "x/0", "prompt": "def f(x):\n", "entry_point": "f"}
    row |= {"canonical_solution": "    return x\n"}
    row |= {"test": "def check(candidate):\n    assert candidate(1) == 1\n"}
    (problems / "test.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    repositories = {"maker/tiny": revisions, "datasets/maker/code": {"main": problems}}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    (tmp_path / "here").mkdir()
    with hub(repositories, gated=frozenset({"maker/gated"})) as running:
        home = {"HF_HOME": str(tmp_path / "home"), "HF_ENDPOINT": running.address}
        yield Machine(tmp_path / "here", running, kept | home | {"OMP_NUM_THREADS": "1"})


def test_revisions_are_downloaded_once_and_then_read_from_the_cache(machine: Machine) -> None:
    specs = ["--checkpoint=maker/tiny", "--checkpoint=maker/tiny@step100"]
    first = machine.run(*ASKED, *specs)
    assert first.returncode == 0, first.stdout + first.stderr
    found = machine.summary()["checkpoints"]
    served = machine.hub.repositories["maker/tiny"]
    assert [each["facts"]["commit"] for each in found] == [*map(commit_of, served.values())]
    assert [each["step"] for each in found] == [None, 100]
    assert len({each["fingerprint"] for each in found}) == 2
    got = [path for method, _, path in (line.partition(" ") for line in machine.hub.asked)]
    assert any("model.safetensors" in path for path in got)
    assert not any("pytorch_model.bin" in path for path in got)

    machine.hub.asked.clear()
    for more in ({}, {"HF_HUB_OFFLINE": "1"}):
        again = machine.run(*ASKED, *specs, **more)
        assert again.returncode == 0, again.stdout + again.stderr
        assert [each["fingerprint"] for each in machine.summary()["checkpoints"]] == [
            each["fingerprint"] for each in found
        ]
    assert machine.hub.asked == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("maker/gated", ["/maker/gated; then `hf auth login`"]),
        ("maker/nothing", ["the hub has no such model"]),
        ("maker/tiny@step7", ["no revision 'step7'", "--revision step7"]),
    ],
)
def test_what_the_hub_refuses_is_one_error(machine: Machine, spec: str, words: list[str]) -> None:
    refused = machine.run(*ASKED, f"--checkpoint={spec}")
    said = [line for line in refused.stderr.splitlines() if line.strip()]
    assert refused.returncode == 4
    assert said[0].startswith("ERROR: ")
    assert len(said) <= 6
    for word in ["hf download maker/", *words]:
        assert word in refused.stderr
    assert not (machine.folder / "results").exists()


def test_problems_are_read_from_the_hub(machine: Machine) -> None:
    pytest.importorskip("datasets")
    arguments = ["--pyargs", "ckptbench.benchmarks.test_humaneval", "--checkpoint=demo-code"]
    result = machine.run(*arguments, "--humaneval-data=maker/code", "--max-tokens=8")
    assert result.returncode == 0, result.stdout + result.stderr
    (benchmark,) = machine.summary()["checkpoints"][0]["benchmarks"]
    assert benchmark["coverage"]["scored"] == 1
    missing = machine.run(*arguments, "--humaneval-data=maker/none")
    assert missing.returncode == 4
    assert "hf download maker/none --repo-type dataset" in missing.stderr
