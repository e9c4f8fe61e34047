"""What each further GPU of a host is worth: the same work with 1, 2, 4, 8 workers of pytest-xdist.

    python tests/bench/gpu_workers.py [--workers 1,2,4,8] [--scale 1] [--device cuda]

Three kinds of work on random-weight models: sampled programs (164 problems x 60 trials x 256 tokens
of a 0.5B model), masked texts (6,400 through a DeBERTa-v2-base), and choices of an lm-eval task
(8,000 documents with four endings each, 0.5B). For each number of workers up to the number of GPUs
(or more, on the same one) a pytest session runs, one after the other, and this is printed of it:

- the seconds from the end of loading (the first worker's) to the last report, and how many times
  faster than one worker that is;
- loading: from the start of pytest until the first and the last worker had their model;
- engine: seconds in which each worker's engine was answering, the least and the most;
- gaps: how long the engines waited between their first request and their last answer;
- after: from the last answer to the last report;
- CPU seconds of the workers and of the main process;
- in how many samples the outcome differs from that of one worker.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import gpu_causal_lm
import gpu_masked_lm
from ratios import show

# What is asked of so many workers, in times the speed of one.
LEAST = {2: 1.85, 4: 3.6, 8: 7.0}
TASK = """\
task: bench_endings
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{text}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list:
  - metric: acc
metadata:
  version: 1.0
"""

# A pytest plugin: when a process got its engine, when that answered, when its items reported.
CLOCK = """
import json, os, time
import pytest

seen = {"calls": []}


def timed(answer):
    def timed_answer(self, requests):
        call = [time.time(), time.time()]
        seen["calls"].append(call)
        for each in answer(self, requests):
            call[1] = time.time()
            yield each
        call[1] = time.time()

    return timed_answer


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    result = yield
    if fixturedef.argname == "engine":
        seen["loaded"] = time.time()
        seen["cpu_before"] = time.process_time()
        kind = type(result)
        kind.answer = timed(kind.answer)
    return result


def pytest_runtest_logreport(report):
    seen["last"] = time.time()


def pytest_unconfigure(config):
    seen["cpu"] = time.process_time()
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with open(os.path.join(os.environ["CLOCK_FOLDER"], f"{worker}.json"), "w") as file:
        json.dump(seen, file)
"""


@dataclass(frozen=True)
class Work:
    """What is asked: a file of benchmarks, the model, and options that say the rest."""

    name: str
    benchmark: str
    model: Path
    options: tuple[str, ...]


@dataclass(frozen=True)
class Times:
    """Seconds of one session, of its workers where there are several values."""

    answering: float
    loaded: tuple[float, float]
    engine: tuple[float, float]
    gaps: float
    after: float
    workers_cpu: float
    main_cpu: float


def programs(folder: Path, scale: float, *, small: bool) -> Work:
    """Programs sampled for problems in HumanEval's format."""
    problems = gpu_causal_lm.make_problems(max(4, round(164 * scale)))
    data = folder / "problems.jsonl"
    data.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
    model = folder / "causal"
    gpu_causal_lm.make_model(model, "tiny" if small else "0.5B")
    options = (
        f"--humaneval-data={data}", "--num-samples=60", "--temperature=0.8", "--top-p=1.0",
        f"--max-tokens={32 if small else 256}", "--k", "humaneval=1",
    )  # fmt: skip
    return Work("programs", "test_humaneval.py", model, options)


def masked(folder: Path, scale: float) -> Work:
    """Texts with a masked word."""
    gpu_masked_lm.make_model(folder / "masked")
    gpu_masked_lm.make_samples(folder / "texts.jsonl", max(8, round(6400 * scale)))
    options = (f"--real-data={folder / 'texts.jsonl'}", "--protocol=real=real/whole-word")
    return Work("masked texts", "test_real_k.py", folder / "masked", options)


def choices(folder: Path, scale: float) -> Work:
    """Documents of an lm-eval task with four endings each, as long as HellaSwag's in tokens."""
    draw = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz ")
    tasks = folder / "tasks"
    tasks.mkdir()
    data = tasks / "endings.jsonl"
    with data.open("w") as file:
        for _ in range(max(8, round(8000 * scale))):
            text = "".join(draw.choice(letters, int(draw.integers(60, 300))))
            endings = ["".join(draw.choice(letters, int(draw.integers(40, 120)))) for _ in range(4)]
            row = {"text": text, "choices": endings, "answer": int(draw.integers(4))}
            file.write(json.dumps(row) + "\n")
    (tasks / "endings.yaml").write_text(TASK.format(file=data))
    options = (f"--include-path={tasks}", "--tasks=bench_endings")
    return Work("choices", "test_lm_eval.py", folder / "causal", options)


def session(
    folder: Path, work: Work, workers: int, chosen: argparse.Namespace
) -> tuple[Times, dict[tuple[str, int], Any]]:
    """Run a session; its times, and the outcome of every sample and trial."""
    import ckptbench.benchmarks

    name = f"{work.name.replace(' ', '-')}-{workers}"
    clock = folder / f"clock-{name}"
    clock.mkdir()
    (folder / "bench_workers_clock.py").write_text(CLOCK, encoding="utf-8")
    benchmarks = Path(next(iter(ckptbench.benchmarks.__path__)))
    command = [
        sys.executable, "-m", "pytest", str(benchmarks / work.benchmark), "-q",
        "-p", "bench_workers_clock", "-p", "no:cacheprovider", f"--rootdir={folder}",
        f"-n{workers}",
        f"--checkpoint={work.model}", f"--device={chosen.device}", "--dtype=bf16", "--gate=off",
        "--no-resume", f"--run-id={name}", f"--results-dir={folder / 'results'}",
        *(["--unsafe-exec"] if chosen.unsafe_exec else []), *work.options,
    ]  # fmt: skip
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "CLOCK_FOLDER": str(clock), "PYTHONPATH": path}
    if workers > 1 and chosen.device == "cpu":
        environment.setdefault("OMP_NUM_THREADS", "1")
    start = time.time()
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return _times(clock, start), read_outcomes(folder / "results" / name)


def _times(clock: Path, start: float) -> Times:
    seen = {file.stem: json.loads(file.read_text()) for file in clock.glob("*.json")}
    main = seen.pop("main")
    workers = [each for each in seen.values() if each["calls"]]
    loaded = [each["loaded"] for each in workers]
    spans = [(each["calls"][0][0], each["calls"][-1][1]) for each in workers]
    busy = [sum(end - begin for begin, end in each["calls"]) for each in workers]
    return Times(
        answering=main["last"] - min(loaded),
        loaded=(min(loaded) - start, max(loaded) - start),
        engine=(min(busy), max(busy)),
        gaps=max(end - begin - each for (begin, end), each in zip(spans, busy, strict=True)),
        after=main["last"] - max(end for _, end in spans),
        workers_cpu=sum(each["cpu"] - each["cpu_before"] for each in workers),
        main_cpu=main["cpu"],
    )


def read_outcomes(run: Path) -> dict[tuple[str, int], Any]:
    found = {}
    for file in (run / "samples").rglob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["id"], row["trial"]] = (row["status"], row["values"])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table for each kind of work."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", default="1,2,4,8", help="numbers of workers")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of samples")
    parser.add_argument("--work", default="programs,masked,choices")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--share", action="store_true", help="more workers than GPUs too")
    parser.add_argument("--small", action="store_true", help="a tiny model, to try the script")
    parser.add_argument("--unsafe-exec", action="store_true", help="see pytest's --unsafe-exec")
    chosen = parser.parse_args(arguments)
    gpus = torch.cuda.device_count()
    counts = [n for n in map(int, chosen.workers.split(",")) if chosen.share or n <= max(1, gpus)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works = [programs(folder, chosen.scale, small=chosen.small)]
        if "masked" in chosen.work:
            works.append(masked(folder, chosen.scale))
        if "choices" in chosen.work:
            works.append(choices(folder, chosen.scale))
        if "programs" not in chosen.work:
            works = works[1:]
        lines = []
        for work in works:
            one: tuple[float, dict[tuple[str, int], Any]] | None = None
            for workers in counts:
                times, outcomes = session(folder, work, workers, chosen)
                print(work.name, workers, times, f"{len(outcomes):,} outcomes", flush=True)
                one = one or (times.answering, outcomes)
                different = sum(outcomes.get(key) != value for key, value in one[1].items())
                lines.append((work.name, workers, one[0] / times.answering, different, times))
    cards = torch.cuda.get_device_name(0) if gpus else "no GPU"
    print(f"{gpus} x {cards}, {os.cpu_count()} cores, torch {torch.__version__}")
    print(
        f"{'work':13} {'n':>2} {'answering':>9} {'times':>6} {'loading':>13} {'engine':>13} "
        f"{'gaps':>5} {'after':>5} {'cpu':>6} {'main':>5} {'different':>9}"
    )
    for title, workers, times_faster, different, t in lines:
        print(
            f"{title:13} {workers:2} {t.answering:9.2f} {times_faster:6.2f} "
            f"{t.loaded[0]:6.1f} {t.loaded[1]:6.1f} {t.engine[0]:6.1f} {t.engine[1]:6.1f} "
            f"{t.gaps:5.1f} {t.after:5.1f} {t.workers_cpu:6.1f} {t.main_cpu:5.1f} {different:9,}"
        )
    for title, workers, times_faster, _, _ in lines:
        if workers > 1:
            bound = LEAST.get(workers)
            show(f"{title}, {workers} workers: times one", times_faster, bound, at_least=True)


if __name__ == "__main__":
    main()
