"""`ckptbench watch` beside a trainer that writes slowly, deletes what is old, and is interrupted.

The checkpoints are a few bytes large, and a small engine of these tests answers with them. It reads
every file to its end, so a checkpoint that is half written makes errors. One test watches the demo.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder
from waiting import wait_until

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.endpoints import supervise
from ckptbench.results.lease import Lease
from ckptbench.results.store import RunStore
from ckptbench.watch.scan import Scanner, Snapshot
from ckptbench.watch.watcher import Watcher, WatchSettings

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SAMPLES = 200
CONFTEST = '''
"""An engine that answers as many samples as the checkpoint's configuration says."""
import json, os, time
from pathlib import Path

import pytest

from ckptbench import Filled


class Small:
    settings = {"seq_len": 128}

    def __init__(self, folder):
        self.fingerprint = folder.name
        self.skill = json.loads((folder / "config.json").read_text())["skill"]
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        for shard in sorted(set(index["weight_map"].values())):
            content = (folder / shard).read_bytes()
            header = 8 + int.from_bytes(content[:8], "little")
            assert len(content) == header + 1000, f"{shard} is half written"
        (Path(__file__).parent / "loaded.log").open("a").write(f"{folder.name}\\n")
        gone, gate = os.environ.get("FAIL_WHEN_GONE"), os.environ.get("GO_ON_WHEN_GONE")
        while (gone or gate) and Path(gone or gate).exists():
            time.sleep(0.02)
        if gone:
            raise RuntimeError("the checkpoint is gone")
        if os.environ.get("NEVER_ENDS"):
            time.sleep(600)

    def answer(self, requests):
        for index, request in enumerate(requests):
            yield index, Filled(("x",), (-0.1,), 1 if int(request.text) < self.skill else None, 1)


@pytest.fixture(scope="session")
def engine(request):
    (spec,) = request.config.getoption("ckpt_checkpoint")
    return Small(Path(spec))
'''
BENCHMARK = f"""
from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

ROWS = [Sample(f"s-{{n:03}}", {{"text": str(n)}}) for n in range({SAMPLES})]
PROTOCOL = EvalProtocol(
    "word/plain",
    lambda sample, asking: FillMask(sample["text"], (0, 1), "x", top=asking.top),
    lambda sample, response: response,
)


@samples(ROWS, protocol=(PROTOCOL,), score=top_k(1))
def test_word(response, k):
    assert response.within(k)
"""


def weights() -> bytes:
    tensor = {"w": {"dtype": "U8", "shape": [1000], "data_offsets": [0, 1000]}}
    header = json.dumps(tensor).encode()
    return struct.pack("<Q", len(header)) + header + bytes(1000)


def save(runs: Path, step: int, skill: int, pause_s: float = 0.0) -> Path:
    """Write a checkpoint as trainers do: configuration, shards, and at last their index."""
    folder = runs / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"skill": skill}))
    shards = [f"model-{n:05}-of-00002.safetensors" for n in (1, 2)]
    for shard in shards:
        content = weights()
        for part in (content[:40], content[40:600], content[600:]):
            with (folder / shard).open("ab") as file:
                file.write(part)
            time.sleep(pause_s)
    index = {"weight_map": {"a": shards[0], "b": shards[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@dataclass
class Project:
    """A folder with a benchmark, a training run, and what a watch of it says.

    Attributes:
        said: lines, in order.
    """

    path: Path
    said: list[str] = field(default_factory=list)

    @property
    def runs(self) -> Path:
        return self.path / "runs"

    @property
    def run(self) -> Path:
        return self.path / "results/watched"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (str(self.path), "-q", f"--rootdir={self.path}", "-p", "no:cacheprovider")

    def watch(self, stop: threading.Event | None = None, **options: Any) -> int:
        """Watch until the end; its exit status."""
        known: dict[str, Any] = {"settle_s": 0.3, "poll_s": 0.05, "arguments": self.arguments}
        settings = WatchSettings(self.runs, self.run, **known | options)
        stop = stop or threading.Event()
        return Watcher(settings, stop, self.said.append, supervise.start).run()

    def command(self, *options: str) -> list[str]:
        return [
            *(sys.executable, "-c", "import sys; from ckptbench.cli import main; sys.exit(main())"),
            *("watch", str(self.runs), "--run-id=watched", "--settle=0.2", *options),
            *("--", *self.arguments),
        ]

    def summary(self) -> dict[str, Any]:
        return RunFolder(self.run).summary

    def curve(self) -> dict[str, float]:
        """Each checkpoint's score, in the run's order."""
        return {
            checkpoint["name"]: checkpoint["benchmarks"][0]["scores"][0]["value"]
            for checkpoint in self.summary()["checkpoints"]
        }

    def loaded(self) -> list[str]:
        """Names of the checkpoints that an engine has read, in order."""
        log = self.path / "loaded.log"
        return log.read_text().split() if log.exists() else []

    def has_loaded(self, name: str) -> bool:
        return name in self.loaded()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_bench.py").write_text(BENCHMARK)
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    return Project(tmp_path)


@pytest.fixture
def alongside() -> Iterator[Callable[..., threading.Thread]]:
    """Runs a trainer beside the test and waits for its end."""
    threads: list[threading.Thread] = []

    def start(work: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=work)
        threads.append(thread)
        thread.start()
        return thread

    yield start
    for thread in threads:
        thread.join()


def test_what_is_there_is_evaluated_in_the_order_of_training(project: Project) -> None:
    for step, skill in ((200, 60), (1000, 120), (900, 90)):
        save(project.runs, step, skill)
    shutil.copytree(project.runs / "checkpoint-200", project.runs / "tmp-checkpoint-300")
    assert project.watch(once=True, reports=("md",)) == 0
    assert project.curve() == {
        "checkpoint-200": 0.3,
        "checkpoint-900": 0.45,
        "checkpoint-1000": 0.6,
    }
    assert project.loaded() == list(project.curve())
    assert "checkpoint-900" in (project.run / "report.md").read_text()
    # The next watch goes on from there: nothing is asked again.
    assert project.watch(once=True) == 0
    assert len(project.loaded()) == 3


def test_the_newest_can_come_first(project: Project) -> None:
    for step in (100, 200):
        save(project.runs, step, step)
    assert project.watch(once=True, order="newest-first") == 0
    assert project.loaded() == ["checkpoint-200", "checkpoint-100"]
    assert list(project.curve()) == ["checkpoint-100", "checkpoint-200"]


def test_a_slow_trainer_that_keeps_the_last_two(
    project: Project, alongside: Callable[..., threading.Thread]
) -> None:
    def train() -> None:
        kept: list[Path] = []
        for step in (100, 200, 300):
            kept.append(save(project.runs, step, step // 2, pause_s=0.1))
            wait_until(partial(project.has_loaded, kept[-1].name))
            time.sleep(0.5)
            if len(kept) > 2:
                shutil.rmtree(kept.pop(0))

    alongside(train)
    assert project.watch(idle_s=6) == 0
    assert not (project.runs / "checkpoint-100").exists()
    assert project.curve() == {
        "checkpoint-100": 0.25,
        "checkpoint-200": 0.5,
        "checkpoint-300": 0.75,
    }
    assert project.summary()["complete"]
    assert project.loaded() == list(project.curve())
    assert "checkpoint-100: deleted; its results stay in the run" in project.said


def test_one_that_comes_and_goes_during_an_evaluation_is_named(
    project: Project,
    alongside: Callable[..., threading.Thread],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save(project.runs, 100, 100)
    gate = project.path / "gate"
    gate.touch()
    monkeypatch.setenv("GO_ON_WHEN_GONE", str(gate))

    def train() -> None:
        wait_until(project.loaded)
        late = save(project.runs, 200, 150)
        time.sleep(0.5)
        shutil.rmtree(late)
        time.sleep(0.5)
        gate.unlink()

    alongside(train)
    assert project.watch(once=True) == 0
    assert "checkpoint-200 was deleted before it was evaluated" in project.said
    assert project.curve() == {"checkpoint-100": 0.5}


def test_one_deleted_before_its_turn_is_named_and_no_error(
    project: Project, alongside: Callable[..., threading.Thread]
) -> None:
    save(project.runs, 100, 100)
    waiting = save(project.runs, 200, 150)

    def train() -> None:
        wait_until(project.loaded)
        shutil.rmtree(waiting)

    alongside(train)
    assert project.watch(once=True, settle_s=0.5) == 0
    told = "checkpoint-200 was deleted before it was evaluated"
    assert told in project.said
    assert f"{told}: it is not in this run" in project.summary()["notes"]
    assert list(project.curve()) == ["checkpoint-100"]


def test_one_deleted_while_it_is_evaluated_is_named_and_the_watch_goes_on(
    project: Project,
    alongside: Callable[..., threading.Thread],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = save(project.runs, 100, 100)
    monkeypatch.setenv("FAIL_WHEN_GONE", str(first))

    def train() -> None:
        wait_until(project.loaded)
        del os.environ["FAIL_WHEN_GONE"]  # the next pytest does not inherit it
        save(project.runs, 200, 150)
        shutil.rmtree(first)

    alongside(train)
    assert project.watch(idle_s=3) == 0
    assert "checkpoint-100 was deleted while it was evaluated" in project.said
    assert project.curve() == {"checkpoint-200": 0.75}


def test_one_half_written_is_left_out_and_told(project: Project) -> None:
    save(project.runs, 100, 100)
    (save(project.runs, 200, 150) / "model.safetensors.index.json").unlink()
    assert project.watch(once=True) == 0
    assert project.loaded() == ["checkpoint-100"]
    lack = "model.safetensors.index.json is not there, 2 of 2 shards are"
    assert project.said[-1] == f"checkpoint-200: not evaluated, {lack}"


def test_a_folder_that_is_looked_through_slowly_is_waited_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(project.runs, 100, 100)
    look = Scanner.look

    def slowly(scanner: Scanner) -> Snapshot:
        found = look(scanner)
        time.sleep(1.2 * scanner.settle_s)
        return found

    monkeypatch.setattr(Scanner, "look", slowly)
    assert project.watch(once=True) == 0
    assert project.loaded() == ["checkpoint-100"]


def test_a_checkpoint_that_cannot_be_evaluated_fails_the_watch_but_does_not_end_it(
    project: Project,
) -> None:
    broken = save(project.runs, 100, 100)
    (broken / "config.json").write_text("{}")  # the engine misses the skill
    save(project.runs, 200, 150)
    assert project.watch(once=True) == 1
    assert not project.summary()["complete"]
    assert project.curve() == {"checkpoint-100": None, "checkpoint-200": 0.75}


def test_an_incomplete_one_is_evaluated_again_by_the_next_watch(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(project.runs, 100, 100)
    monkeypatch.setenv("FAIL_WHEN_GONE", str(project.path / "gone"))
    for _ in range(2):  # each watch tries once
        assert project.watch(once=True) == 1
        assert not project.summary()["complete"]
    assert project.loaded() == ["checkpoint-100"] * 2
    monkeypatch.delenv("FAIL_WHEN_GONE")
    project.said.clear()
    assert project.watch(once=True) == 0
    assert "incomplete" in project.said[0]
    assert project.said[0].endswith(", from an earlier watch")
    assert project.curve() == {"checkpoint-100": 0.5}
    assert project.summary()["complete"]
    assert project.watch(once=True) == 0
    assert len(project.loaded()) == 3


def test_what_was_measured_stays_when_evaluating_it_again_fails(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(project.runs, 100, 100)
    monkeypatch.setenv("FAIL_WHEN_GONE", str(project.path / "gone"))
    assert project.watch(once=True) == 1
    (project.path / "conftest.py").write_text("no Python")
    assert project.watch(once=True) == 1
    assert "checkpoint-100: pytest exited 4" in project.said[-1]
    assert project.said[-1].endswith("its earlier results stay in the run")
    assert list(project.curve()) == ["checkpoint-100"]


def test_one_that_another_session_works_on_is_waited_for(
    project: Project, alongside: Callable[..., threading.Thread]
) -> None:
    folder = save(project.runs, 100, 100)
    part = RunStore(project.run / "parts" / folder.name)
    other = Lease.now("other", os.getppid())
    part.write_plan(other.token, [], [], [], [], other)
    stop = threading.Event()

    def end() -> None:
        wait_until(lambda: project.said)
        stop.set()

    alongside(end)
    assert project.watch(stop) == 0
    assert not project.loaded()
    assert project.said[-1] == f"checkpoint-100: not evaluated, as {other} still works on it"
    project.said.clear()

    def work() -> None:
        wait_until(lambda: project.said)
        part.release(other)

    alongside(work)
    assert project.watch(once=True) == 0
    assert f"checkpoint-100: another session works on it ({other}, last" in project.said[0]
    assert project.curve() == {"checkpoint-100": 0.5}


def test_wrong_arguments_of_pytest_end_it_at_once(project: Project) -> None:
    save(project.runs, 100, 100)
    save(project.runs, 200, 150)
    with pytest.raises(CkptbenchError, match="unrecognized arguments: --no-such-option"):
        project.watch(once=True, arguments=(*project.arguments, "--no-such-option"))


def test_nothing_to_evaluate_is_an_error_of_once(project: Project) -> None:
    project.runs.mkdir()
    with pytest.raises(CkptbenchError, match="no checkpoint is there"):
        project.watch(once=True, settle_s=0)


# The command: exit statuses and signals


def outcome(project: Project, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        project.command(*options), cwd=project.path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_early_stopping_is_exit_status_3(project: Project) -> None:
    for step, skill in ((100, 60), (200, 180), (300, 120)):
        save(project.runs, step, skill)
    status, said = outcome(project, "--stop-early", "--idle=60", "--tolerance=1")
    assert status == 3, said
    assert "training can stop: stop and keep checkpoint-200" in said
    # The rule speaks of what is there already, too.
    assert outcome(project, "--stop-early", "--once")[0] == 3
    assert len(project.loaded()) == 3


def test_a_gain_is_no_reason_to_stop(project: Project) -> None:
    for step, skill in ((100, 60), (200, 120)):
        save(project.runs, step, skill)
    status, said = outcome(project, "--stop-early", "--idle=0.5")
    assert status == 0, said
    assert "nothing new for 0.5 s" in said


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_with_what_was_evaluated(
    project: Project, number: int, status: int
) -> None:
    save(project.runs, 100, 100)
    process = start(project)
    wait_until(lambda: (project.run / "summary.json").exists(), process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == status, output
    assert project.curve() == {"checkpoint-100": 0.5}


def test_a_signal_ends_a_running_evaluation_which_the_next_watch_takes_up(
    project: Project,
) -> None:
    save(project.runs, 100, 100)
    process = start(project, NEVER_ENDS="1")
    wait_until(project.loaded, process)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 143, output
    assert "checkpoint-100: interrupted; the same command goes on with it" in output
    assert not children_of(project)
    status, said = outcome(project, "--once")
    assert status == 0, said
    assert project.curve() == {"checkpoint-100": 0.5}


def test_a_killed_watch_leaves_no_evaluation_behind_and_loses_no_checkpoint(
    project: Project,
) -> None:
    save(project.runs, 100, 100)
    save(project.runs, 200, 150)
    process = start(project, NEVER_ENDS="1")
    store = project.run / "parts/checkpoint-100/store.sqlite"
    wait_until(lambda: project.loaded() and store.exists(), process)
    process.kill()
    status, said = outcome(project, "--once")
    process.communicate()
    assert status == 0, said
    assert not children_of(project)
    assert project.curve() == {"checkpoint-100": 0.5, "checkpoint-200": 0.75}
    assert project.summary()["complete"]


def start(project: Project, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        project.command(),
        cwd=project.path,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def children_of(project: Project) -> Sequence[str]:
    """Processes that still carry the project's folder in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes()
        except OSError:
            continue
        if str(project.path).encode() in words and b"pytest" in words.split(b"\0"):
            found.append(words.decode(errors="replace"))
    return found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--checkpoint=runs/x",), "the watch names the checkpoints itself"),
        (("--ckpt-run-id=mine",), "give --run-id to the watch, before --"),
        (("--mlflow", "http://localhost"), "give --mlflow to the watch, before --"),
    ],
)
def test_what_the_watch_decides_is_not_pytests_to_be_told(
    project: Project, given: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from ckptbench.cli import main

    project.runs.mkdir()
    assert main(["watch", str(project.runs), "--once", "--", "benchmarks", *given]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_that_can_never_be_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ckptbench.cli import main

    assert main(["watch", str(tmp_path / "no/such/folder"), "--once"]) == 2
    assert "none can be created there" in capsys.readouterr().err


def test_a_checkpoint_of_the_demo_is_watched(tmp_path: Path) -> None:
    shutil.copytree(BENCHMARKS / "demo/demo-mlm/checkpoint-1500", tmp_path / "runs/checkpoint-1500")
    project = Project(tmp_path)
    arguments = (str(BENCHMARKS / "test_lambada.py"), "--limit=20", *project.arguments[1:])
    assert project.watch(once=True, arguments=arguments) == 0
    (checkpoint,) = project.summary()["checkpoints"]
    assert (checkpoint["name"], checkpoint["step"]) == ("checkpoint-1500", 1500)
    assert project.curve()["checkpoint-1500"] > 0
