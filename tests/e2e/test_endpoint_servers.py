"""Served models: one in this process that can misbehave, and real servers where there are any.

`transformers serve` is started here when it is installed. vLLM and llama-server are asked when
their addresses are given; `tests/extended/servers.sh` installs and starts them.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_folder import RunFolder

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "benchmarks/demo/demo-code"
KEY, HEADER = "sk-the-key-itself", "the-header-itself"
ASKED = 18
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's")


def ask(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the programs' benchmark in a folder of its own."""
    command = [sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "-k", "problems"]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", f"--limit={ASKED}"]
    command += ["--max-tokens=200", *options]
    environment = {n: v for n, v in os.environ.items() if n != "OPENAI_API_KEY"}
    environment |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "120", **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Any]]:
    """What the local engine's answers come to."""
    folder = tmp_path_factory.mktemp("here")
    done = ask(folder, "--checkpoint=demo-code", "--run-id=it")
    assert done.returncode == 0, done.stdout
    found = RunFolder(folder / "results/it").outcomes
    assert len(found) == ASKED
    assert {status for status, _ in found.values()} == {"passed", "missed"}
    return found


TROUBLE = {1: "429", 2: "500", 3: "500", 5: "cut", 6: "reset", 8: "503", 9: "webpage"}


@pytest.mark.slow
def test_scores_are_those_of_the_local_engine_through_all_trouble_that_passes(
    tmp_path: Path, serve: Any, here: Any
) -> None:
    server = serve(fault=lambda number: TROUBLE.get(number, ""))
    done = ask(tmp_path, f"--checkpoint={server.url}", "--run-id=it", "--concurrency=3")
    assert done.returncode == 0, done.stdout
    assert RunFolder(tmp_path / "results/it").outcomes == here
    assert server.asked == ASKED + len(TROUBLE)
    assert "an address proves no identity" in done.stdout


@pytest.mark.slow
def test_a_server_that_dies_halfway_leaves_the_run_incomplete(
    tmp_path: Path, serve: Any, here: Any
) -> None:
    server = serve(fault=lambda number: "die" if number == 4 else "")
    options = ("--run-id=it", "--concurrency=1", "--retries=0")
    done = ask(tmp_path, f"--checkpoint={server.url}", *options)
    assert done.returncode == 1, done.stdout
    found = RunFolder(tmp_path / "results/it").outcomes
    answered = {item for item, (status, _) in found.items() if status != "error"}
    assert len(answered) == 4
    assert {item: found[item] for item in answered} == {item: here[item] for item in answered}
    assert "the server stopped answering" in done.stdout
    assert "incomplete" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.slow
def test_half_an_answer_is_never_a_lower_score(tmp_path: Path, serve: Any) -> None:
    server = serve(lacks={"seed"}, fault=lambda number: "half" if number == 3 else "")
    draws = ("--num-samples=4", "--temperature=0.8")
    done = ask(tmp_path, f"--checkpoint={server.url}", "--run-id=it", *draws)
    assert done.returncode == 1, done.stdout
    statuses = [status for status, _ in RunFolder(tmp_path / "results/it").outcomes.values()]
    assert len(statuses) == 4 * ASKED
    assert statuses.count("error") == 4


@pytest.mark.slow
def test_a_key_is_in_nothing_that_a_run_leaves_or_says(tmp_path: Path, serve: Any) -> None:
    server = serve(fault=lambda number: "400" if number == 2 else "")
    options = ("--run-id=it", "--showlocals", "--header", f"X-Team: {HEADER}", "--junitxml=j.xml")
    reports = ("--report=html,md",)
    done = ask(tmp_path, f"--checkpoint={server.url}", *options, *reports, OPENAI_API_KEY=KEY)
    assert done.returncode == 1, done.stdout
    assert "HTTP 400: no such thing, ***" in done.stdout
    headers, _ = server.seen[-1]
    assert (headers["Authorization"], headers["X-Team"]) == (f"Bearer {KEY}", HEADER)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.name == "store.sqlite" for file in files)
    texts = [done.stdout, done.stderr, *(f.read_bytes().decode("latin-1") for f in files)]
    assert not any(KEY in text or HEADER in text for text in texts)


@pytest.mark.slow
def test_answers_are_used_again_in_the_same_run_only(tmp_path: Path, serve: Any) -> None:
    server = serve()
    for run, asked in (("one", ASKED), ("one", 0), ("two", ASKED)):
        before = server.asked
        done = ask(tmp_path, f"--checkpoint={server.url}", f"--run-id={run}")
        assert done.returncode == 0, done.stdout
        assert server.asked - before == asked


@pytest.mark.slow
def test_an_address_nobody_answers_at_is_one_clear_error(tmp_path: Path) -> None:
    done = ask(tmp_path, f"--checkpoint=http://127.0.0.1:{free_port()}/v1", "--retries=0")
    assert done.returncode == 4, done.stdout
    assert "no server answers" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_two_workers_ask_one_server(tmp_path: Path, serve: Any, here: Any) -> None:
    pytest.importorskip("xdist")
    options = ("--run-id=it", "-n2", "--header", f"X-Team: {HEADER}")
    done = ask(tmp_path, f"--checkpoint={serve().url}", *options)
    assert done.returncode == 0, done.stdout
    assert RunFolder(tmp_path / "results/it").outcomes == here


# Real servers


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def transformers_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `transformers serve` with the demo checkpoint."""
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("transformers serve needs transformers[serving]")
    port = free_port()
    log = tmp_path_factory.mktemp("serve") / "log"
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(DEMO)]
    command += ["--host=127.0.0.1", f"--port={port}", "--dtype=float32", "--device=cpu"]
    with log.open("w") as out:
        process = subprocess.Popen(
            command,
            cwd=log.parent,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            while not _healthy(port):
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait()


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
            return True
    except OSError:
        return False


@pytest.mark.slow
def test_transformers_serve_gives_the_local_scores(
    tmp_path: Path, transformers_serve: str, here: Any
) -> None:
    done = ask(tmp_path, f"--checkpoint={transformers_serve}", "--run-id=it")
    assert done.returncode == 0, done.stdout
    assert RunFolder(tmp_path / "results/it").outcomes == here
    assert "ignores temperature, reports no log probabilities of prompts" in done.stdout


@pytest.mark.slow
def test_transformers_serve_is_started_and_gives_the_local_scores(
    tmp_path: Path, here: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("transformers serve needs transformers[serving]")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    done = ask(tmp_path, "--checkpoint=demo-code", "--serve=transformers", "--run-id=it")
    assert done.returncode == 0, done.stdout + done.stderr
    run = RunFolder(tmp_path / "results/it")
    assert run.outcomes == here
    assert run.checkpoint["facts"]["served_by"].startswith("transformers serve {checkpoint}")


@pytest.mark.slow
def test_transformers_serve_is_not_asked_for_what_it_ignores(
    tmp_path: Path, transformers_serve: str
) -> None:
    draws = ("--num-samples=4", "--temperature=0.8", "--run-id=it")
    done = ask(tmp_path, f"--checkpoint={transformers_serve}", *draws)
    assert done.returncode == 1, done.stdout
    assert "the server ignores temperature" in done.stdout
    assert {status for status, _ in RunFolder(tmp_path / "results/it").outcomes.values()} == {
        "error"
    }


CHOICES = '''
"""Which of two continuations is the more likely one, and is it the first choice?"""

from ckptbench import Likelihood, EvalProtocol, Sample, mean, samples
from ckptbench.api.requests import LogLikelihood

TEXTS = (
    ("The capital of France is", " Paris"),
    ("def add(a, b):\\n", "    return a + b"),
    ("Once upon a time", " there was a little girl"),
    ("서울은 대한민국의", " 수도이다."),
    ("Two and two make", " four"),
    ("The opposite of hot is", " cold"),
)


def texts(options):
    return [Sample(f"t{i}", {"context": c, "next": n}) for i, (c, n) in enumerate(TEXTS)]


def asked(sample, asking):
    return LogLikelihood(sample["context"], sample["next"])


@samples(texts, protocol=EvalProtocol("likely/plain", asked), score=mean("likely"))
def test_likely(response):
    assert response.logprob > -8.0
'''


def likelihoods(folder: Path, run: str) -> dict[str, tuple[float, bool, int]]:
    """What the store of a run holds of the likelihoods, by sample."""
    import sqlite3

    with sqlite3.connect(folder / "results" / run / "store.sqlite") as store:
        rows = store.execute("SELECT sample, response FROM responses").fetchall()
    read = {sample: json.loads(response) for sample, response in rows}
    return {s: (r["logprob"], r["greedy"], r["tokens"]) for s, r in read.items()}


def ask_likelihoods(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_likely.py").write_text(CHOICES, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "test_likely.py", "-p", "no:cacheprovider"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120"}
    return subprocess.run(
        [*command, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def check_likelihoods(folder: Path, address: str, checkpoint: str) -> None:
    """A server and the local engine give the same scores of the same model."""
    local = ask_likelihoods(folder, f"--checkpoint={checkpoint}", "--run-id=a", "--dtype=fp32")
    served = ask_likelihoods(folder, f"--checkpoint={address}", "--run-id=b")
    assert (local.returncode, served.returncode) == (0, 0), served.stdout
    one, other = likelihoods(folder, "a"), likelihoods(folder, "b")
    assert one.keys() == other.keys()
    for sample, (logprob, greedy, tokens) in one.items():
        assert other[sample] == (pytest.approx(logprob, abs=1e-3), greedy, tokens)
    scores = [re.findall(r"likely +\d+\.\d+%", done.stdout) for done in (local, served)]
    assert scores[0] == scores[1] != []


@pytest.mark.slow
def test_likelihoods_of_a_server_are_the_local_ones(tmp_path: Path, serve: Any) -> None:
    check_likelihoods(tmp_path, serve().url, "demo-code")


@pytest.mark.slow
def test_transformers_serve_tells_no_likelihoods(tmp_path: Path, transformers_serve: str) -> None:
    done = ask_likelihoods(tmp_path, f"--checkpoint={transformers_serve}", "--run-id=b")
    assert done.returncode == 1, done.stdout
    assert "reports no log probabilities of a prompt's tokens" in done.stdout
    assert likelihoods(tmp_path, "b") == {}


def given(name: str) -> str:
    """The value of a variable that the extended run sets."""
    if not os.environ.get(name):
        pytest.skip(f"{name} is not set: see tests/extended/servers.sh")
    return os.environ[name]


def test_vllm_gives_the_local_likelihoods(tmp_path: Path) -> None:
    check_likelihoods(tmp_path, given("CKPTBENCH_VLLM"), given("CKPTBENCH_SERVED"))


def test_vllm_gives_the_local_programs(tmp_path: Path) -> None:
    address, checkpoint = given("CKPTBENCH_VLLM"), given("CKPTBENCH_SERVED")
    options = ("--max-tokens=64", "--dtype=fp32", "--seq-len=2048")
    for run, spec in (("a", checkpoint), ("b", address)):
        done = ask(tmp_path, f"--checkpoint={spec}", f"--run-id={run}", *options)
        assert done.returncode == 0, done.stdout
    assert RunFolder(tmp_path / "results/a").outcomes == RunFolder(tmp_path / "results/b").outcomes


def test_llama_server_writes_programs_and_tells_no_likelihoods(tmp_path: Path) -> None:
    address = given("CKPTBENCH_LLAMA")
    done = ask(tmp_path, f"--checkpoint={address}", "--run-id=a", "--max-tokens=64")
    assert done.returncode == 0, done.stdout
    assert len(RunFolder(tmp_path / "results/a").outcomes) == ASKED
    refused = ask_likelihoods(tmp_path, f"--checkpoint={address}", "--run-id=b")
    assert refused.returncode == 1, refused.stdout
    assert "ignores echo" in refused.stdout
    assert likelihoods(tmp_path, "b") == {}
