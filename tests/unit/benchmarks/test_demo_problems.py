"""The shipped programming problems: enough of them, solvable, and not in the training text."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import pytest

from ckptbench.api.sample import Sample
from ckptbench.benchmarks.demo import train_demo_code
from ckptbench.fixtures.datasets.code import humaneval
from ckptbench.fixtures.datasets.code.protocols import canonical_program

PROBLEMS = humaneval.demo()
problems = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)


@cache
def training() -> tuple[str, ...]:
    plan = train_demo_code.Plan()
    return tuple(program.prompt for program in train_demo_code.training_programs(plan))


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run one of our own programs."""
    command = [sys.executable, "-I", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_there_are_at_least_24_and_their_header_says_the_licence() -> None:
    assert len(PROBLEMS) >= 24
    assert [problem.id for problem in PROBLEMS] == [f"Demo/{n}" for n in range(len(PROBLEMS))]
    assert PROBLEMS.header.licence == "Apache-2.0"


@problems
def test_the_canonical_solution_passes_its_test(problem: Sample) -> None:
    check = f"{problem['test']}\ncheck({problem['entry_point']})\n"
    done = run(f"{canonical_program(problem)}\n{check}")
    assert (done.returncode, done.stderr) == (0, "")


@problems
def test_the_examples_in_the_docstring_are_true(problem: Sample) -> None:
    examine = (
        "import doctest, sys\nfailed, tried = doctest.testmod(sys.modules['__main__'])\n"
        "sys.exit(0 if (failed, tried) == (0, 2) else 1)\n"
    )
    done = run(f"{canonical_program(problem)}\n{examine}")
    assert done.returncode == 0, done.stdout


@problems
def test_a_function_that_returns_nothing_fails(problem: Sample) -> None:
    check = f"{problem['test']}\ncheck({problem['entry_point']})\n"
    done = run(f"{problem['prompt']}    return None\n{check}")
    assert "AssertionError" in done.stderr


@pytest.mark.slow
def test_no_problem_is_in_the_training_text() -> None:
    """Neither its prompt, nor its name, nor its name's examples."""
    signatures = {prompt.partition("\n")[0] for prompt in training()}
    names = {signature.removeprefix("def ").partition("(")[0] for signature in signatures}
    for problem in PROBLEMS:
        assert problem["prompt"] not in training()
        assert problem["entry_point"] not in names


@pytest.mark.slow
def test_the_training_text_is_what_the_plan_says() -> None:
    plan = train_demo_code.Plan()
    assert len(training()) > 0.9 * plan.programs


@pytest.mark.slow
def test_half_of_the_problems_are_of_the_trained_kinds() -> None:
    """Their sentences, but for numbers and names, stand in the training text."""

    def shape(prompt: str) -> str:
        head, _, rest = prompt.partition("\n")
        sentence = rest.partition("\n")[0].strip().strip('"')
        for name in re.findall(r"\w+", head.partition("(")[2]):
            sentence = re.sub(rf"\b{name}\b", "X", sentence)
        return re.sub(r"\d+|'.'", "K", sentence)

    trained = {shape(prompt) for prompt in training()}
    known = [problem.id for problem in PROBLEMS if shape(problem["prompt"]) in trained]
    assert len(PROBLEMS) // 3 <= len(known) <= 2 * len(PROBLEMS) // 3
