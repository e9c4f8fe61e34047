"""`--serve`: a server for each checkpoint, which is gone when the run is, however that ends."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from run_folder import RunFolder
from waiting import wait_until

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "benchmarks/demo/demo-code"
SERVER = ROOT / "tests/servers/small_server.py"
SERVE = f"--serve={shlex.join([sys.executable, str(SERVER)])} {{checkpoint}} {{port}}"
BENCHMARK = """
from ckptbench import EvalProtocol, Generate, Sample, mean, samples

ROWS = [Sample(f"s{i}", {"prompt": f"question {i}"}) for i in range(4)]


def ask(sample, asking):
    return Generate(sample["prompt"], max_tokens=8)


@samples(lambda options: ROWS, protocol=EvalProtocol("small/plain", ask), score=mean("small"))
def test_small(response):
    assert response.text
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A benchmark, and two checkpoints with different weights."""
    (tmp_path / "test_small.py").write_text(BENCHMARK)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("one", "two"):
        shutil.copytree(DEMO, tmp_path / name)
    with (tmp_path / "two/model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        last = weights.read(1)[0]
        weights.seek(-1, os.SEEK_END)
        weights.write(bytes([last ^ 1]))
    return tmp_path


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--run-id=r", *options]


def variables(fault: str = "") -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", "HF_HUB_OFFLINE": "1", "SMALL_SERVER": fault}


def run(project: Path, *options: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*options),
        cwd=project,
        env=variables(fault),
        capture_output=True,
        text=True,
        check=False,
    )


def logs(project: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in project.glob("results/r/server-*.log")}


def processes(project: Path) -> list[int]:
    """The numbers that all servers printed, of themselves and of a process that each started."""
    lines = "".join(logs(project).values()).splitlines()
    return [int(n) for line in lines if line.startswith("pids ") for n in line.split()[1:]]


def running(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def answers(project: Path) -> dict[str, set[str]]:
    """The texts stored, by fingerprint."""
    with sqlite3.connect(project / "results/r/store.sqlite") as store:
        rows = store.execute(
            "SELECT fingerprint, response FROM responses JOIN origins ON origins.id = origin"
        ).fetchall()
    found: dict[str, set[str]] = {}
    for fingerprint, response in rows:
        found.setdefault(fingerprint, set()).add(json.loads(response)["text"])
    return found


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
]


def test_two_checkpoints_behind_one_command_are_never_taken_for_each_other(project: Path) -> None:
    sweep = ("--checkpoint=one", "--checkpoint=two", SERVE)
    done = run(project, *sweep)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(logs(project)) == ["server-one.log", "server-two.log"]
    assert len(processes(project)) == 4
    assert not any(map(running, processes(project)))
    one, two = RunFolder(project / "results/r").checkpoints.values()
    assert one["fingerprint"] != two["fingerprint"]
    assert one["facts"]["served_by"] == two["facts"]["served_by"] == SERVE.partition("=")[2]
    assert one["facts"]["files_hash"] != two["facts"]["files_hash"]
    texts = answers(project)
    assert [len(each) for each in texts.values()] == [1, 1]
    assert len(set.union(*texts.values())) == 2
    # The same run again, at other ports, reuses each one's own; a changed checkpoint has none.
    assert "0 answers computed, 8 reused" in run(project, *sweep).stdout
    shutil.copy(project / "two/model.safetensors", project / "one/model.safetensors")
    config = json.loads((project / "one/config.json").read_text())
    (project / "one/config.json").write_text(json.dumps({**config, "task_specific_params": {}}))
    assert "4 answers computed, 4 reused" in run(project, *sweep).stdout


def test_an_adapter_is_served_with_its_base(project: Path) -> None:
    (project / "lora").mkdir()
    config = {"peft_type": "LORA", "base_model_name_or_path": str(project / "one")}
    (project / "lora/adapter_config.json").write_text(json.dumps(config))
    shutil.copy(DEMO / "model.safetensors", project / "lora/adapter_model.safetensors")
    adapter = ("--checkpoint=lora", f"{SERVE} {{base}}", "--model=small")
    done = run(project, *adapter)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{project / 'lora'}" in logs(project)["server-lora.log"].partition("\n")[0]
    assert f"{project / 'one'}\n" in logs(project)["server-lora.log"]
    assert "0 answers computed, 4 reused" in run(project, *adapter).stdout
    refused = run(project, *adapter, fault="base")
    assert refused.returncode == 4, refused.stdout
    assert "small is no adapter on the server of lora" in refused.stderr
    shutil.copy(project / "two/model.safetensors", project / "one/model.safetensors")
    assert "4 answers computed, 0 reused" in run(project, *adapter).stdout


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("dies", "the server of one ended before it answered, exit status 3"),
        ("closed", "after 3 s (--request-timeout)"),
        ("probed", "the server of one ended when it was asked, killed by SIGILL"),
    ],
)
def test_a_server_that_does_not_start_is_shown_with_its_command_and_its_last_lines(
    project: Path, fault: str, message: str
) -> None:
    patience = ("--request-timeout=3", "--retries=0")
    done = run(project, "--checkpoint=one", SERVE, *patience, fault=fault)
    assert done.returncode == 4, done.stdout
    assert message in done.stderr
    assert f"{SERVER} {project / 'one'}" in done.stderr
    assert ("    no such device" in done.stderr) == (fault != "closed")
    assert "Traceback" not in done.stdout + done.stderr
    assert len(processes(project)) == 2
    assert not any(map(running, processes(project)))


def test_a_server_that_ends_early_is_noted_with_its_log(project: Path) -> None:
    done = run(project, "--checkpoint=one", SERVE, "--retries=0", fault="ends")
    assert done.returncode == 1, done.stdout
    log = project / "results/r/server-one.log"
    assert f"the server of one ended early, exit status 9: see {log}" in done.stdout
    statuses = {status for status, _ in RunFolder(project / "results/r").outcomes.values()}
    assert statuses == {"error"}


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (signal.SIGTERM, "closed"),
        (signal.SIGTERM, "hangs"),
        (signal.SIGINT, "hangs"),
        (signal.SIGKILL, "hangs"),
    ],
)
def test_no_server_outlives_pytest(project: Path, number: signal.Signals, fault: str) -> None:
    """Neither one that still starts nor one that is being asked."""
    last = "pids" if fault == "closed" else "hangs"
    with subprocess.Popen(
        command("--checkpoint=one", SERVE),
        cwd=project,
        env=variables(fault),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: any(f"\n{last}" in log for log in logs(project).values()))
        assert all(map(running, processes(project)))
        process.send_signal(number)
    expected = {signal.SIGINT: 2, signal.SIGTERM: 143}.get(number, -number)
    assert process.returncode == expected
    if number == signal.SIGKILL:  # nobody is left who could wait for it
        wait_until(lambda: not any(map(running, processes(project))))
    assert len(processes(project)) == 2
    assert not any(map(running, processes(project)))


def test_workers_are_refused(project: Path) -> None:
    pytest.importorskip("xdist")
    done = run(project, "--checkpoint=one", SERVE, "-n2")
    assert done.returncode == 4, done.stdout
    assert "leave -n out" in done.stderr
    assert not logs(project)


def test_what_cannot_be_served_is_refused_before_anything_starts(project: Path) -> None:
    done = run(project, "--checkpoint=one", "--serve=no-such-program {checkpoint} {port}")
    assert done.returncode == 4, done.stdout
    assert "--serve: no-such-program: command not found" in done.stderr
    assert not logs(project)
