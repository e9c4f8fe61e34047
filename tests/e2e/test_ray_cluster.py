"""A run on a Ray cluster of two nodes, both on this machine, is the run that one machine makes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from run_folder import RunFolder
from waiting import wait_until

from ckptbench.fixtures.checkpoints.resolve import resolve

pytestmark = [
    pytest.mark.skipif(
        find_spec("ray") is None, reason="ray is not installed: pip install 'ckptbench[ray]'"
    ),
    pytest.mark.slow,
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's"),
]
ROOT = Path(__file__).parents[2]
SUITE = ["-m", "pytest", "--pyargs", "ckptbench.benchmarks", "-p", "no:cacheprovider"]
# Each replica gets several parts of several blocks. The analyser of `real/origin` takes seconds.
FEW = ["--limit=40", "-k", "not origin", "--no-resume"]
OF_THE_DEMO = ["--checkpoint=demo-mlm", *FEW]
NEWEST = "checkpoint-6000"
SWEEP = [*(f"--checkpoint=demo-mlm/checkpoint-{step}" for step in (100, 6000)), *FEW]
OF_PROGRAMS = ["--checkpoint=demo-code", "--limit=8", "--max-tokens=200", "--no-resume"]
OF_PROGRAMS += ["--num-samples=3", "--temperature=0.8"]
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}

# Without it the first replica may have answered everything before the second is ready.
ALL_ANSWER = """
from ckptbench.fixtures.cluster.engine import RayEngine

answers = RayEngine.answer

def answer(self, requests):
    while len(self._free) < self.replicas:
        self._wait(())
    return answers(self, requests)

RayEngine.answer = answer
"""

HOLD = """
import time
from pathlib import Path
import all_answer
from ckptbench.fixtures.cluster.engine import RayEngine

answers = RayEngine.answer

def answer(self, requests):
    for answered in answers(self, requests):
        yield answered
        Path("answering").touch()
        while not Path("go-on").exists():
            time.sleep(0.02)

RayEngine.answer = answer
"""

HOLD_JUDGES = """
import sys, time
from pathlib import Path

def pytest_collection():  # earlier, the package would hide the fixture of its name
    from ray import cloudpickle
    from ckptbench.fixtures.cluster import judging

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # nodes do not have this file
    judge, folder = judging.judged, str(Path.cwd())

    def judged(arguments, expected, tasks):
        import ray
        if tasks:
            Path(folder, "judging-" + ray.get_runtime_context().get_node_id()).touch()
            while not Path(folder, "go-on").exists():
                time.sleep(0.02)
        return judge(arguments, expected, tasks)

    judging.judged = judged
"""

KILLED = """
import time
from pathlib import Path
import ray
from ckptbench.fixtures.cluster.sending import Sent

@ray.remote(num_cpus=0)
class Reader:
    def read(self, place):
        with Sent("{sent}", {"weights": b"-"}).unpacked(lambda content: content) as (copy, _):
            assert Path(copy, "weights").exists()
            Path(place).write_text(copy)
            time.sleep(600)

ray.init(log_to_driver=False)
reader, place = Reader.remote(), Path("place").resolve()
reader.read.remote(str(place))
while not (place.exists() and place.read_text()):
    time.sleep(0.02)
ray.kill(reader)
print(place.read_text())
"""

HOLD_FOR_LATE = """
from pathlib import Path
from ckptbench.fixtures.cluster.engine import RayEngine

answers = RayEngine.answer

def answer(self, requests):
    for answered in answers(self, requests):
        yield answered
        Path("answering").touch()
        while self._refused is None:
            self._wait(())

RayEngine.answer = answer
"""

# Runs Python where the system calls of Landlock do not exist, as before Linux 5.13.
WITHOUT_LANDLOCK = """
import ctypes, os, sys

class Rule(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte),
                ("value", ctypes.c_uint)]

class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.POINTER(Rule))]

ENOSYS, ALLOWED = 0x00050026, 0x7FFF0000
rules = (0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, ENOSYS), (0x06, 0, 0, ALLOWED)
made = Filter(len(rules), (Rule * len(rules))(*(Rule(*rule) for rule in rules)))
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, ctypes.byref(made), 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.fixture
def cluster(nodes: Any) -> Any:
    """Two nodes with one CPU each, once it has noticed that others were killed."""
    nodes.wait_for_nodes()
    return nodes


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """The same, for all tests."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        made.add_node(**NODE)
        patch.setenv("RAY_ADDRESS", made.address)
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run without a cluster, of two checkpoints."""
    folder = tmp_path_factory.mktemp("here")
    run(folder, *SWEEP, "--run-id=run")
    return folder


@pytest.fixture(scope="module")
def programs_here(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a run without a cluster found of each program."""
    folder = tmp_path_factory.mktemp("programs")
    run(folder, *OF_PROGRAMS, "--run-id=run")
    return outcomes(folder)


def begin(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, *SUITE, f"--rootdir={folder}", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def run(folder: Path, *options: str) -> str:
    process = begin(folder, *options)
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
    return output


def outcomes(folder: Path, checkpoint: str = "*") -> list[dict[str, Any]]:
    """What was answered and decided of each sample, one checkpoint after the other.

    The log probabilities of a list of candidates are left out: their last digits are those of the
    batch. That of the right answer, which a score is made of, is in it.
    """
    found = RunFolder(folder / "results/run").samples(checkpoint)
    assert found
    for row in found:
        row["response"].pop("logprobs", None)
        row.pop("seconds", None)  # of a program
        row.pop("nodeid")  # it names the checkpoint where there are several
    return sorted(found, key=lambda row: (row["protocol"], row["id"], row["trial"]))


def statuses(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(row["protocol"], row["id"]): (row["status"], row["values"]) for row in rows}


def test_outcomes_are_those_of_a_local_run(cluster: Any, here: Path, tmp_path: Path) -> None:
    """And the next checkpoint is loaded while the last answers of this one are written."""
    (tmp_path / "all_answer.py").write_text(ALL_ANSWER)
    output = run(tmp_path, *SWEEP, "--run-id=run", "--engine=ray", "-p", "all_answer")
    assert "answered by 2 replicas of each checkpoint, with 1 CPU each" in output
    assert outcomes(tmp_path) == outcomes(here)
    log = (tmp_path / "results/run/run.log").read_text("utf-8")
    ahead = log.index("a replica without work loads demo-mlm/checkpoint-6000")
    assert ahead < log.index("checkpoint-6000: set up")
    assert log.count("a replica without work loads") == 1


@contextmanager
def third_node(cluster: Any, folder: Path, *python: str, **environment: str) -> Iterator[None]:
    """Another node with one CPU, while it is needed; the arguments come before Ray's."""
    ray = ["-m", "ray.scripts.scripts", "start", f"--address={cluster.address}", "--block"]
    ray += ["--num-cpus=1", f"--object-store-memory={NODE['object_store_memory']}"]
    with (folder / "node.log").open("w") as log:
        node = subprocess.Popen(
            [sys.executable, *python, *ray],
            env={**os.environ, **environment},
            stdout=log,
            stderr=log,
            process_group=0,
        )
        try:
            wait_until(lambda: len(alive(cluster)) == 3, node)
            yield
        finally:
            os.killpg(node.pid, signal.SIGTERM)
            node.wait(timeout=60)
            while len(alive(cluster)) > 2:
                time.sleep(0.1)


def alive(cluster: Any) -> list[Any]:
    return [node for node in cluster.global_state.node_table() if node["Alive"]]


def test_programs_are_those_of_a_local_run_and_a_node_below_l2_judges_none(
    cluster: Any, programs_here: list[dict[str, Any]], tmp_path: Path
) -> None:
    with third_node(cluster, tmp_path, "-c", WITHOUT_LANDLOCK):
        output = run(tmp_path, *OF_PROGRAMS, "--replicas=1", "--run-id=run", "--engine=ray")
    notes = (tmp_path / "results" / "run" / "summary.json").read_text("utf-8")
    cannot = "generated programs cannot be isolated on this machine \\(landlock: ENOSYS\\)"
    assert re.search(r"programs judged on 2 nodes \(\S+\): sandbox: L[23] ", notes), output
    assert re.search(rf"programs not judged on 1 node \(\S+\): {cannot}", notes), output
    assert len(programs_here) == 24
    assert outcomes(tmp_path) == programs_here


def test_a_node_that_comes_later_with_other_weights_is_not_used(
    cluster: Any, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has another home directory than the session and its nodes: there, ~/x is older."""
    right, other = tmp_path / "right", tmp_path / "other"
    shutil.copytree(resolve("demo-mlm").path, right / "x")
    shutil.copytree(resolve("demo-mlm/checkpoint-100").path, other / "x")
    (tmp_path / "hold.py").write_text(HOLD_FOR_LATE)
    given = [*FEW, "--run-id=run", "--engine=ray", "--replicas=3", "-p", "hold"]
    resources = "--replica-resources=cpus=1"
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(right))
        process = begin(tmp_path, "--checkpoint=~/x", *given, resources)
    wait_until((tmp_path / "answering").exists, process)
    with third_node(cluster, tmp_path, HOME=str(other)):
        output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
    notes = (tmp_path / "results" / "run" / "summary.json").read_text("utf-8")
    assert statuses(outcomes(tmp_path)) == statuses(outcomes(here, NEWEST))
    assert re.search(r"~/x on node \S+ was not used: .*fingerprint \w+, not \w+", notes), output


def test_programs_on_a_node_that_is_lost_are_judged_again(
    cluster: Any, programs_here: list[dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "hold.py").write_text(HOLD_JUDGES)
    process = begin(tmp_path, *OF_PROGRAMS, "--run-id=run", "--engine=ray", "-p", "hold")
    (lost,) = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    wait_until((tmp_path / f"judging-{lost.node_id}").exists, process)
    cluster.remove_node(lost, allow_graceful=False)
    cluster.add_node(**NODE)
    (tmp_path / "go-on").touch()
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
    assert outcomes(tmp_path) == programs_here


def test_a_node_that_is_lost_halfway_changes_no_outcome(
    cluster: Any, here: Path, tmp_path: Path
) -> None:
    """The session stops at its first answer until the node is gone, and later until one is new."""
    (tmp_path / "all_answer.py").write_text(ALL_ANSWER)
    (tmp_path / "hold.py").write_text(HOLD)
    process = begin(tmp_path, *OF_THE_DEMO, "--run-id=run", "--engine=ray", "-p", "hold")
    wait_until((tmp_path / "answering").exists, process)
    (lost,) = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    cluster.remove_node(lost, allow_graceful=False)
    cluster.add_node(**NODE)
    (tmp_path / "go-on").touch()
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
    assert outcomes(tmp_path) == outcomes(here, NEWEST)
    log = (tmp_path / "results" / "run" / "run.log").read_text("utf-8")
    assert "a replica was lost with" in log
    assert log.count("a replica is ready") > 2, "one that was lost came back"


def test_a_dry_run_names_what_the_cluster_has(cluster: Any, tmp_path: Path) -> None:
    output = run(tmp_path, *OF_THE_DEMO, "--engine=ray", "--dry-run")
    assert "on a Ray cluster of 2 nodes: 2 CPUs" in output
    assert not (tmp_path / "results").exists()


def test_a_folder_that_the_nodes_do_not_have_is_sent(
    cluster: Any, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes share this disk, but not the home directory."""
    shutil.copytree(resolve("demo-mlm").path, tmp_path / "home" / "sent")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    left_before = set(Path(tempfile.gettempdir()).glob("ckptbench-sent-*"))
    output = run(tmp_path, "--checkpoint=~/sent", *FEW, "--run-id=run", "--engine=ray")
    assert "2 replicas" in output
    assert statuses(outcomes(tmp_path)) == statuses(outcomes(here, NEWEST))
    # The second replica may have been killed while it read its copy, which goes a moment later.
    wait_until(lambda: left_before >= set(Path(tempfile.gettempdir()).glob("ckptbench-sent-*")))


def test_the_copy_of_a_replica_that_is_killed_goes(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    command = [sys.executable, "killed.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    copy = Path(ended.stdout.strip())
    assert copy.name.startswith("ckptbench-sent-")
    wait_until(lambda: not copy.exists())


def test_the_cluster_file_of_the_documents_is_valid() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    page = (ROOT / "docs/clusters.md").read_text("utf-8")
    (block,) = re.findall(r'^```yaml title="cluster.yaml"\n(.*?)^```$', page, re.M | re.S)
    described = prepare_config(yaml.safe_load(block))
    validate_config(described)
    assert described["max_workers"] == len(described["provider"]["worker_ips"])


def test_what_the_cluster_has_no_room_for_is_refused(cluster: Any, tmp_path: Path) -> None:
    process = begin(tmp_path, *OF_THE_DEMO, "--engine=ray", "--replica-resources=gpus=1")
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 4, output
    assert "no node of the cluster has 1 GPU, 1 CPU" in output
