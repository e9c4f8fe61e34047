"""Well-known tasks over real documents: lm-eval's numbers, of the demo and of a real model.

They need the folder of corpora that CKPTBENCH_DATA names, and CKPTBENCH_CAUSAL_LM, which names a
real model's folder in Hugging Face's format, such as one of SmolLM2-135M; that takes some minutes
on two cores.
"""

from __future__ import annotations

import os
import runpy
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
NUMBERS = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/numbers.py")))
REAL = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/real_tasks.py")))
LAMBADA_ROWS = 200

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
    ),
]


@pytest.fixture(scope="module")
def real_workspace(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Any:
    return make_workspace(tmp_path_factory.mktemp("real-tasks"))


@pytest.fixture(scope="module")
def tasks(real_workspace: Any, corpora: Path) -> Path:
    folder: Path = REAL.write(corpora, real_workspace.path / "tasks")
    return folder


@pytest.fixture(scope="module")
def real_model() -> Path:
    place = os.environ.get("CKPTBENCH_CAUSAL_LM")
    if not place:
        pytest.skip("CKPTBENCH_CAUSAL_LM is not set: it names a causal model's folder")
    return Path(place)


def assert_parity(workspace: Any, tasks: Path, model: Path, run_id: str, option: str = "") -> None:
    names = ",".join(REAL.TASKS)
    workspace.run(
        f"pytest benchmarks/test_lm_eval.py --checkpoint={model} --dtype=fp32 --device=cpu "
        f"--include-path={tasks} --tasks={names} --run-id={run_id} {option}"
    ).expect(0)
    expected = NUMBERS.evaluated(NUMBERS.model(model, 4), REAL.TASKS, tasks)
    run = workspace.path / "results" / run_id
    # Two filters, acc and acc_norm of two tasks, acc of one, of four subjects and of their group.
    assert NUMBERS.assert_same_numbers(run, expected) == 2 + 4 + 1 + 5


@pytest.mark.usefixtures("real_model")
def test_the_demo(real_workspace: Any, tasks: Path) -> None:
    """It knows no English, and reads 512 tokens: five examples are cut off at the same place."""
    assert_parity(real_workspace, tasks, REPOSITORY / "benchmarks/demo/demo-code", "demo")


@pytest.mark.parametrize("option", ["", "--exact"])
def test_a_real_model(real_workspace: Any, tasks: Path, real_model: Path, option: str) -> None:
    """Whether or not documents share their examples."""
    assert_parity(real_workspace, tasks, real_model, f"real{option}", option)


def test_lambada_is_lm_evals(real_workspace: Any, corpora: Path, real_model: Path) -> None:
    """`lambada/greedy` counts as lambada_openai does, and its perplexity is the same."""
    folder = real_workspace.path / "lambada"
    rows = REAL.write_lambada(corpora, folder, LAMBADA_ROWS)
    real_workspace.run(
        f"pytest benchmarks/test_lambada.py --checkpoint={real_model} --dtype=fp32 --device=cpu "
        f"--lambada-data={rows} --run-id=lambada"
    ).expect(0)
    scores = NUMBERS.scored(real_workspace.path / "results/lambada")
    lm = NUMBERS.model(real_model, 8)
    theirs = NUMBERS.evaluated(lm, ["few_lambada"], folder)["results"]["few_lambada"]
    value, error = scores["lambada@1"]
    assert value == theirs["acc,none"]
    assert error == pytest.approx(theirs["acc_stderr,none"], rel=1e-9)
    assert scores["lambada_perplexity"][0] == pytest.approx(theirs["perplexity,none"], rel=1e-5)
