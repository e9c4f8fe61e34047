"""A package from outside the tree adds to ckptbench through the hooks, and is used."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ENGINE = """
class Always:
    fingerprint, settings = "always", {}

    def answer(self, requests):
        for index, request in enumerate(requests):
            right = getattr(request, "text", "right").startswith("right")
            yield index, ckptbench.Filled(("x",), (-0.1,), 1 if right else None, 1)
"""


@dataclass(frozen=True)
class Package:
    """An installed package `acme`: one module, named in the entry-point group."""

    project: Any
    site: Path

    def install(self, code: str, entry_point: str = "acme_bench") -> None:
        (self.site / "acme-1.0.dist-info").mkdir(parents=True, exist_ok=True)
        text = f"[ckptbench]\nacme = {entry_point}\n"
        (self.site / "acme-1.0.dist-info/entry_points.txt").write_text(text)
        metadata = "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n"
        (self.site / "acme-1.0.dist-info/METADATA").write_text(metadata)
        (self.site / "acme_bench.py").write_text(f"import ckptbench\n{code}", encoding="utf-8")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `ckptbench`."""
        program = "import sys; from ckptbench.cli import main; sys.exit(main(sys.argv[1:]))"
        return self._run("-c", program, *arguments)

    def pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pytest, which finds the package as it finds any."""
        off = ("randomly", "xdist", "anyio", "html", "jsonreport", "rerunfailures")
        return self._run("-m", "pytest", *(f"-pno:{name}" for name in off), *arguments)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.project.path,
            env={**inherited, "PYTHONPATH": str(self.site), "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def acme(project: Any, tmp_path_factory: pytest.TempPathFactory) -> Package:
    project.write(by_hand="")
    return Package(project, tmp_path_factory.mktemp("site"))


def test_a_reducer(acme: Package) -> None:
    acme.install(
        """
from dataclasses import dataclass


@dataclass(frozen=True)
class Best:
    takes_k, several_trials, ks = False, True, ()

    def with_ks(self, ks):
        return self

    def metrics(self, benchmark):
        return (f"{benchmark}_best",)

    def reduce(self, trials):
        return (max(value for (value,) in trials),)


def pytest_ckptbench_reducers():
    return {"best": Best}
"""
    )
    text = (acme.project.path / "test_bench.py").read_text()
    text = text.replace("score=top_k(1, 5)", "score=Best()").replace("(response, k)", "(response)")
    text = f"from acme_bench import Best\n{text.replace('within(k)', 'within(1)')}"
    acme.project.file("test_bench.py", text)
    run = acme.pytest("--run-id=own")
    assert run.returncode == 0, run.stdout + run.stderr
    assert acme.project.scores == {"word_best": 0.5}
    for baseline in acme.project.path.glob("results/own/*_baseline.json"):
        baseline.unlink()  # which holds the samples' values, whatever reduced them
    same = acme.command("compare", "results/own", "results/own")
    assert same.returncode == 0, same.stderr
    assert "numbers" not in same.stdout


KIND = f"""
from contextlib import contextmanager

{ENGINE}

def is_acme(path):
    return path.name.endswith((".acme", ".acme.pt"))


def missing(path):
    return "" if path.read_text().endswith("end") else "its end is not there"


@contextmanager
def opened(checkpoint, options):
    assert options.session.run_id
    yield Always()
    options.add_note(f"{{checkpoint.path.name}} was closed")


def pytest_ckptbench_checkpoint_kinds():
    return [
        ckptbench.CheckpointKind(
            "acme", "an acme file", is_acme, opened, lambda checkpoint: "masked", missing
        )
    ]
"""


@pytest.mark.slow
def test_a_kind_of_checkpoint(acme: Package) -> None:
    acme.install(KIND)
    acme.project.file("conftest.py", "")
    acme.project.file("model.acme", "weights end")
    run = acme.pytest("test_bench.py", "--checkpoint=*.acme")
    assert run.returncode == 0, run.stdout + run.stderr
    assert acme.project.scores == {"word@1": 0.5, "word@5": 0.5}
    assert acme.project.summary["checkpoints"][0]["name"] == "model.acme"
    assert "model.acme was closed" in acme.project.summary["notes"]
    unknown = acme.pytest("test_bench.py", "--checkpoint=conftest.py")
    assert unknown.returncode == 4
    assert "a server's address; an acme file; 'demo-code'" in unknown.stderr


def test_a_plugins_kind_may_be_a_special_case_of_the_suites(acme: Package) -> None:
    """`*.pt` is a training checkpoint of the suite's; the plugin claims some of them."""
    acme.install(KIND)
    acme.project.file("conftest.py", "")
    acme.project.file("model.acme.pt", "weights end")
    run = acme.pytest("test_bench.py", "--checkpoint=model.acme.pt")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "model.acme.pt was closed" in acme.project.summary["notes"]


def test_a_watch_waits_until_such_a_checkpoint_is_complete(acme: Package) -> None:
    acme.install(KIND)
    acme.project.file("conftest.py", "")
    acme.project.file("runs/a.acme", "weights end")
    acme.project.file("runs/b.acme", "weights")
    watch = ("watch", "runs", "--pattern=*.acme", "--once", "--settle=0.1")
    done = acme.command(*watch, "--", "test_bench.py", "-pno:randomly")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "b.acme: not evaluated, its end is not there" in done.stdout
    assert [each["name"] for each in acme.project.summary["checkpoints"]] == ["a.acme"]


@pytest.mark.slow
def test_a_report_format(acme: Package) -> None:
    acme.install(
        """
def write(results, conclusions, folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "names.txt"
    path.write_text(" ".join(m.name for m in results[0].measurements))
    return (path,)


def pytest_ckptbench_report_formats():
    return [ckptbench.ReportFormat("names", write), ckptbench.ReportFormat("no", write, ("nope",))]
"""
    )
    run = acme.pytest("--report=names,md", "--run-id=r")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (acme.project.path / "results/r/names.txt").read_text() == "engine"
    again = acme.command("report", "results/r", "--format=names,text", "-o", "out")
    assert again.returncode == 0, again.stderr
    assert (acme.project.path / "out/names.txt").read_text() == "engine"
    lacking = acme.pytest("--report=no")
    assert lacking.returncode == 4
    assert "--report: no needs nope, which is not installed" in lacking.stderr


def test_a_reader_of_results(acme: Package) -> None:
    acme.install(
        """
from ckptbench import BenchmarkMeasurement, Measurement, Result, ResultReader, Score


def read(path):
    name, value, n = path.read_text().split()
    score = Score("acc", float(value), int(n), int(n))
    found = BenchmarkMeasurement("acc", "acc/acme", True, (score,))
    return Result(path, "acme", (Measurement(name, benchmarks=(found,)),))


def pytest_ckptbench_result_readers():
    return [ResultReader("acme", lambda path: path.suffix == ".tsv", read)]
"""
    )
    acme.project.file("old.tsv", "m 0.5 400")
    acme.project.file("new.tsv", "m 0.75 400")
    shown = acme.command("report", "old.tsv")
    assert shown.returncode == 0, shown.stderr
    assert "acc" in shown.stdout
    compared = acme.command("compare", "old.tsv", "new.tsv")
    assert compared.returncode == 0, compared.stderr
    assert "75.00" in compared.stdout


def test_a_source_of_tasks(acme: Package) -> None:
    acme.install(
        """
from types import SimpleNamespace

TASKS = ("mine_a", "mine_b")


def ask(sample, asking):
    return ckptbench.FillMask(sample["text"], (0, 1), "x")


def read(sample, response):
    return SimpleNamespace(values={"exact": float(response.within(1))})


def benchmarks(options):
    rows = [ckptbench.Sample(f"s-{n}", {"text": f"right {n}"}) for n in range(3)]
    for name in TASKS:
        if name in options.tasks:
            protocol = ckptbench.EvalProtocol(f"{name}/v1", ask, read)
            yield ckptbench.Benchmark(name, rows, (protocol,), ckptbench.Named(("exact",), "exact"))


def pytest_ckptbench_tasks():
    return [ckptbench.TaskSource("mine", lambda options: TASKS, benchmarks)]
"""
    )
    where = ("--pyargs", "ckptbench.benchmarks.test_lm_eval", "--confcutdir=.", "-pconftest")
    run = acme.pytest(*where, "--tasks=mine_b", "--rootdir=.")
    assert run.returncode == 0, run.stdout + run.stderr
    assert acme.project.scores == {"mine_b exact": 1.0}


@pytest.mark.slow
def test_an_amended_result(acme: Package) -> None:
    acme.install(
        """
from dataclasses import replace

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_ckptbench_result(context, result):
    amended = yield
    (benchmark,) = amended.benchmarks
    answers = list(context.answers(amended, benchmark))
    context.add_note(f"{len(answers)} answers, {answers[0].status}, {answers[0].sample['text']}")
    return replace(amended, facts={**amended.facts, "host": context.options.run_id})
"""
    )
    run = acme.pytest("--run-id=r")
    assert run.returncode == 0, run.stdout + run.stderr
    assert acme.project.summary["checkpoints"][0]["facts"]["host"] == "r"
    assert "4 answers, passed, right aa" in acme.project.summary["notes"]


def test_a_resolver(acme: Package) -> None:
    acme.install(
        """
def pytest_ckptbench_resolver(options):
    nowhere = lambda spec: None
    return ckptbench.CheckpointResolver(
        lambda path: False, nowhere, nowhere, spelled=lambda spec: f"registry-{spec}"
    )
"""
    )
    run = acme.pytest("--checkpoint=a", "--checkpoint=b")
    assert run.returncode == 0, run.stdout + run.stderr
    names = [each["name"] for each in acme.project.summary["checkpoints"]]
    assert names == ["registry-a", "registry-b"]


def test_a_conftest_implements_the_hooks_too(acme: Package) -> None:
    conftest = acme.project.path / "conftest.py"
    hook = "\n\ndef pytest_ckptbench_report_formats():\n    return [ReportFormat('own', own)]\n"
    own = "\n\ndef own(results, conclusions, folder):\n    path = folder / 'own.txt'\n"
    own += "    path.write_text('own')\n    return (path,)\n"
    conftest.write_text(f"from ckptbench import ReportFormat\n{conftest.read_text()}{own}{hook}")
    result = acme.project.run_apart("--report=own", "--run-id=r")
    assert result.ret == 0
    assert acme.project.summary["complete"]
    assert (acme.project.path / "results/r/own.txt").read_text() == "own"


def test_two_plugins_with_one_name_are_refused(acme: Package) -> None:
    acme.install(
        "def pytest_ckptbench_report_formats():\n"
        "    return [ckptbench.ReportFormat('html', lambda *a: ())]\n"
    )
    refused = acme.pytest("--report=html")
    assert refused.returncode == 4
    assert "two plugins contribute 'html'" in refused.stderr


def test_a_package_that_cannot_be_loaded_is_named(acme: Package) -> None:
    acme.install("", entry_point="acme_nowhere")
    acme.project.file("some.csv", "name,score\n")
    refused = acme.command("report", "some.csv")
    assert refused.returncode == 2
    assert "the plugin 'acme' of acme cannot be loaded: ModuleNotFoundError" in refused.stderr
