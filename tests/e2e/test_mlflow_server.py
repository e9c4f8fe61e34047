"""Runs at a real MLflow server: SQLite behind it, started here, reached over loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import warm
from run_folder import RunFolder

from ckptbench.tracking.mlflow import Tracked, track

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@dataclass(frozen=True)
class Server:
    """A running server and a client that looks at what it holds."""

    uri: str
    client: Any

    def parents(self, run_id: str) -> list[Any]:
        return [run for run in self._runs(run_id) if "mlflow.parentRunId" not in run.data.tags]

    def children(self, run_id: str) -> dict[str, Any]:
        """The runs of a session's checkpoints by name."""
        found = [run for run in self._runs(run_id) if "mlflow.parentRunId" in run.data.tags]
        by_name = {run.info.run_name: run for run in found}
        assert len(by_name) == len(found)
        return by_name

    def curve(self, run: Any, metric: str) -> list[tuple[int, float]]:
        history = self.client.get_metric_history(run.info.run_id, metric)
        return [(point.step, point.value) for point in history]

    def files(self, run: Any, folder: str = "") -> set[str]:
        listed = self.client.list_artifacts(run.info.run_id, folder or None)
        return {file.path for file in listed if not file.is_dir}

    def _runs(self, run_id: str) -> list[Any]:
        experiment = self.client.get_experiment_by_name("ckptbench")
        wanted = f"tags.`ckptbench.run_id` = '{run_id}'"
        return list(self.client.search_runs([experiment.experiment_id], wanted))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An `mlflow server` of its own, ended with everything it started."""
    pytest.importorskip("flask", reason="mlflow's server is not installed: pip install mlflow")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install mlflow")
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host=127.0.0.1", f"--port={port}"]
    command += ["--workers=1", "--backend-store-uri=sqlite:///runs.db"]
    command += ["--artifacts-destination=./artifacts"]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "OMP_NUM_THREADS": "1"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        uri = f"http://127.0.0.1:{port}"
        try:
            _wait_for(f"{uri}/health", process, folder / "log")
            yield Server(uri, mlflow.MlflowClient(tracking_uri=uri))
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1200):
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"no server within two minutes:\n{log.read_text()}")


def ask(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Twenty samples of Real@K, in a process of their own."""
    command = [str(warm.commands() / "pytest"), str(BENCHMARKS / "test_real_k.py")]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", "--protocol=real=whole-word"]
    command += ["--limit=20", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def tracked(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a session of two checkpoints prints that sends its run, and its folder."""
    folder = tmp_path_factory.mktemp("session")
    done = ask(
        folder,
        "--checkpoint=demo-mlm/checkpoint-100",
        "--checkpoint=demo-mlm/checkpoint-1500",
        "--run-id=tracked",
        f"--mlflow={server.uri}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, folder / "results/tracked"


def test_a_session_is_a_parent_and_a_checkpoint_is_a_child(
    server: Server, tracked: tuple[str, Path]
) -> None:
    output, folder = tracked
    (parent,) = server.parents("tracked")
    children = server.children("tracked")
    assert f"MLflow: sent, {server.uri}/#/experiments/" in output
    assert sorted(children) == ["checkpoint-100", "checkpoint-1500"]
    for child in children.values():
        assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert child.info.status == "FINISHED"
        params = child.data.params
        assert params["protocol"] == "real/whole-word"
        assert (params["seed"], params["num_samples"], params["temperature"]) == ("0", "1", "0.0")
        assert params["checkpoint"] == child.info.run_name
        assert "@" in params["dataset"]
    assert children["checkpoint-100"].data.params["epoch"] == "0.0229"
    assert folder.joinpath("summary.json").exists()


def test_a_metric_of_the_parent_is_the_learning_curve(
    server: Server, tracked: tuple[str, Path]
) -> None:
    (parent,) = server.parents("tracked")
    expected = [
        (checkpoint["step"], score["value"])
        for checkpoint in RunFolder(tracked[1]).summary["checkpoints"]
        for score in checkpoint["benchmarks"][0]["scores"]
        if score["metric"] == "real@1"
    ]
    assert [step for step, _ in expected] == [100, 1500]
    assert server.curve(parent, "real_at_1") == expected
    assert len(server.curve(parent, "real_at_1_se")) == 2


def test_the_files_are_there_too(server: Server, tracked: tuple[str, Path]) -> None:
    (parent,) = server.parents("tracked")
    assert {"summary.json", "real.csv"} <= server.files(parent)
    for child in server.children("tracked").values():
        assert server.files(child, "samples") == {"samples/real.jsonl"}


def test_sending_again_adds_nothing(server: Server, tracked: tuple[str, Path]) -> None:
    (before,) = server.parents("tracked")
    curve = server.curve(before, "real_at_1")
    assert track(tracked[1], server.uri).how == "updated"
    (after,) = server.parents("tracked")
    assert after.info.run_id == before.info.run_id
    assert server.curve(after, "real_at_1") == curve
    assert len(server.children("tracked")) == 2


# What else may happen, on folders that were written rather than measured


@pytest.fixture
def send(server: Server, tmp_path: Path, tracked: tuple[str, Path]) -> Any:
    """Sends the measured run under another name, after a change of its summary."""

    def send(run_id: str, change: Any = lambda summary: None, uri: str = "") -> Tracked:
        folder = tmp_path / run_id
        folder.mkdir(exist_ok=True)
        summary = {**RunFolder(tracked[1]).summary, "run_id": run_id}
        change(summary)
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        return track(folder, uri or server.uri)

    return send


def test_a_run_that_grew_gets_its_new_points(server: Server, send: Any) -> None:
    first = send("grows", lambda summary: summary["checkpoints"].pop())
    second = send("grows")
    assert (first.how, second.how) == ("sent", "updated")
    assert second.run == first.run
    (parent,) = server.parents("grows")
    assert [step for step, _ in server.curve(parent, "real_at_1")] == [100, 1500]
    assert parent.data.tags["ckptbench.checkpoints"] == "2"


def test_other_values_under_the_same_name_replace_the_run(server: Server, send: Any) -> None:
    def change(summary: dict[str, Any]) -> None:
        summary["checkpoints"][0]["benchmarks"][0]["scores"][0]["value"] = 0.125

    first = send("changes")
    second = send("changes", change)
    assert second.how == "replaced"
    assert second.run != first.run
    (parent,) = server.parents("changes")
    assert server.curve(parent, "real_at_1")[0] == (100, 0.125)
    assert len(server.children("changes")) == 2
    assert server.client.get_run(first.run).info.lifecycle_stage == "deleted"


def test_verdicts_are_tags(server: Server, send: Any) -> None:
    def change(summary: dict[str, Any]) -> None:
        summary["checkpoints"][0]["benchmarks"][0]["verdicts"] = [
            {
                "metric": "real@1",
                "word": "regressed",
                "detail": "it fell",
                "tolerance": 0.01,
                "alpha": 0.05,
                "p_adjusted": None,
                "comparison": None,
            }
        ]

    send("judged", change)
    child = server.children("judged")["checkpoint-100"]
    assert child.data.tags["verdict.real_at_1"] == "regressed"
    (parent,) = server.parents("judged")
    assert parent.data.tags["ckptbench.verdict"] == "regressed"


def test_an_incomplete_run_is_a_failed_one(server: Server, send: Any) -> None:
    def change(summary: dict[str, Any]) -> None:
        summary["complete"] = False
        summary["checkpoints"][0]["benchmarks"][0]["coverage"]["errors"] = 1

    send("broken", change)
    (parent,) = server.parents("broken")
    statuses = {name: run.info.status for name, run in server.children("broken").items()}
    assert parent.info.status == "FAILED"
    assert statuses == {"checkpoint-100": "FAILED", "checkpoint-1500": "FINISHED"}


def test_a_login_is_stored_nowhere(server: Server, send: Any) -> None:
    uri = server.uri.replace("://", "://me:geheim@")
    sent = send("private", uri=uri)
    assert "geheim" not in str(sent)
    (parent,) = server.parents("private")
    everything = [*server.children("private").values(), parent]
    assert not [run for run in everything if "geheim" in f"{run.data} {run.info}"]


def test_a_server_that_is_down_changes_nothing_but_a_sentence(
    tracked: tuple[str, Path], server: Server
) -> None:
    folder = tracked[1].parents[1]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = ask(
        folder,
        "--checkpoint=demo-mlm/checkpoint-100",
        "--run-id=untracked",
        f"--mlflow=http://me:geheim@127.0.0.1:{port}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"MLflow: not tracked, http://127.0.0.1:{port}: the run was not sent: " in done.stdout
    assert "`ckptbench mlflow results/untracked --uri URI` sends it later" in done.stdout
    run = folder / "results/untracked"
    assert RunFolder(run).summary["exit_status"] == 0
    written = [path for path in run.rglob("*") if path.is_file()]
    assert not [path for path in written if b"geheim" in path.read_bytes()]
    assert "geheim" not in done.stdout + done.stderr
    assert track(run, server.uri).how == "sent"
