"""Tasks that lm-eval ships, scored by its own code: several metrics side by side."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench import Generated, Sample
from ckptbench._util.errors import CkptbenchError
from ckptbench.api.requests import CompoundResponse
from ckptbench.fixtures.lm_eval import tasks as loading
from ckptbench.fixtures.lm_eval.benchmarks import benchmark_of
from ckptbench.fixtures.lm_eval.documents import Documents

pytestmark = pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm-eval is not installed")
REPOSITORY = Path(__file__).parents[3]
SHELF = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/shelf.py")))


@pytest.fixture(autouse=True)
def _shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their datasets, where the hub would be asked."""
    import datasets

    SHELF.write(tmp_path, documents=2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loading, "_LOADED", {})


def first_document(name: str) -> tuple[Documents, Sample]:
    task = loading.load(loading.Wanted((name,))).tasks[name]
    documents = Documents(name, task)
    return documents, documents.samples()[0]


def scored(documents: Documents, sample: Sample, text: str) -> dict[str, Any]:
    answer = Generated(text, len(text), "stop")
    return documents.score(sample, CompoundResponse((answer,))).values


@pytest.mark.skipif(
    find_spec("math_verify") is None, reason="math_verify comes with ckptbench[math]"
)
def test_mathematics_is_verified_beside_the_exact_match() -> None:
    documents, sample = first_document("minerva_math_algebra")
    right = str(sample["target"])
    said = f"So it is $\\boxed{{{right}}}$."
    final = f"{said}\nFinal Answer: The final answer is ${right}$. I hope it is correct."
    assert scored(documents, sample, final) == {"exact_match,none": 1.0, "math_verify,none": 1.0}
    assert scored(documents, sample, said) == {"exact_match,none": 0.0, "math_verify,none": 1.0}
    assert scored(documents, sample, "$-1$") == {"exact_match,none": 0.0, "math_verify,none": 0.0}


def test_drop_has_the_f1_of_the_nearest_answer() -> None:
    documents, sample = first_document("drop")
    number = str(sample["doc"]["answers"][0][0]).split()[-1]  # type: ignore[index, call-overload]
    sign = str(sample["doc"]["answers"][0][0]).split()[-2]  # type: ignore[index, call-overload]
    assert scored(documents, sample, f"return n {sign} {number}")["em,none"] == 1.0
    part = scored(documents, sample, f"return it {number}")
    assert part["em,none"] == 0.0
    assert 0 < part["f1,none"] < 1


def test_two_filters_read_one_answer_in_two_ways() -> None:
    documents, sample = first_document("gsm8k")
    right = str(sample["target"]).rpartition("#### ")[2]
    strict, flexible = "exact_match,strict-match", "exact_match,flexible-extract"
    assert scored(documents, sample, f"#### {right}") == {strict: 1.0, flexible: 1.0}
    assert scored(documents, sample, f"It is {right}.") == {strict: 0.0, flexible: 1.0}
    assert scored(documents, sample, "none") == {strict: 0.0, flexible: 0.0}


def test_the_first_metric_decides_whether_a_document_passes() -> None:
    task = loading.load(loading.Wanted(("drop",))).tasks["drop"]
    reducer: Any = benchmark_of("drop", task).score
    assert (reducer.names, reducer.decides) == (("em,none", "f1,none"), "em,none")


def test_what_a_task_must_have_installed_is_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        all_tasks = ("minerva_math",)

        def load(self, names: list[str]) -> None:
            raise ModuleNotFoundError("No module named 'math_verify'")

    monkeypatch.setattr(loading, "_manager", lambda include_paths: Without())
    with pytest.raises(CkptbenchError, match="math_verify") as raised:
        loading.load(loading.Wanted(("minerva_math",)))
    assert "pip install 'ckptbench[math]'" in str(raised.value)
