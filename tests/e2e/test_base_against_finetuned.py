"""A base model against its LoRA fine-tune over the tasks of configs/base-vs-finetuned.json.

The tasks are those that lm-eval ships, as the configuration names them: DROP, WinoGrande, GSM8K,
MATH and 14 subjects of MMLU. Their datasets stand in the folder that the run starts from.
"""

from __future__ import annotations

import json
import os
import random
import re
import runpy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from run_folder import RunFolder, scores_in

REPOSITORY = Path(__file__).parents[2]
NUMBERS = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/numbers.py")))
SHELF = SimpleNamespace(**runpy.run_path(str(REPOSITORY / "tests/lm_eval_tasks/shelf.py")))
CONFIGURATION = "configs/base-vs-finetuned.json"
TASKS = (
    "drop",
    "gsm8k",
    "winogrande",
    *(f"mmlu_{subject}" for subject in SHELF.SUBJECTS),
    *(f"minerva_math_{name}" for name in ("algebra", "counting_and_prob", "geometry")),
    *(f"minerva_math_{name}" for name in ("intermediate_algebra", "num_theory")),
    *(f"minerva_math_{name}" for name in ("prealgebra", "precalc")),
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("peft") is None, reason="peft is not installed"),
    pytest.mark.skipif(
        find_spec("lm_eval") is None or find_spec("math_verify") is None,
        reason="lm-eval with its mathematics is not installed: pip install 'ckptbench[math]'",
    ),
]


@dataclass(frozen=True)
class Documents:
    """How many documents a dataset holds, and how many a fifth of them are."""

    held: int
    asked: int


OWN, PUBLIC = Documents(18, 4), Documents(8, 2)


def tuned(base: Path, folder: Path, texts: Sequence[str], steps: int) -> Path:
    """A LoRA of a base, trained on some texts."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    tokenizer: Any = AutoTokenizer.from_pretrained(base)
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    chosen = random.Random(0)
    encoded = [tokenizer(text)["input_ids"][:128] for text in texts]
    for _ in range(steps):
        batch = chosen.sample(encoded, 8)
        length = max(map(len, batch))
        ids = torch.tensor([row + [0] * (length - len(row)) for row in batch])
        asked = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in batch])
        labels = ids.masked_fill(asked == 0, -100)
        model(input_ids=ids, attention_mask=asked, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    return folder


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("*.jsonl")):
        yield from (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())


def texts_of(shelf: Path) -> list[str]:
    """Questions with their answers, as the tasks put them."""
    school = [
        f"Question: {r['question']}\nAnswer: {r['answer']}\n\n" for r in rows(shelf / "openai")
    ]
    choices = [
        f"{row['question']}\n"
        + "".join(f"{'ABCD'[n]}. {choice}\n" for n, choice in enumerate(row["choices"]))
        + f"Answer: {'ABCD'[row['answer']]}\n\n"
        for row in rows(shelf / "cais")
    ]
    return school + random.Random(0).sample(choices, len(school))


def cache_of(workspace: Any) -> dict[str, str]:
    """Where `datasets` keeps what it read: it tells folders apart by their relative path alone."""
    return {"HF_DATASETS_CACHE": str(workspace.path / "cache")}


def run_both(workspace: Any, base: Path, documents: Documents, corpora: Path | None) -> Path:
    """Ask a base and its LoRA by the command of docs/lm-eval.md."""
    SHELF.write(workspace.path, documents.held, corpora)
    (workspace.path / "configs").mkdir(exist_ok=True)
    configuration = (REPOSITORY / CONFIGURATION).read_text()
    (workspace.path / CONFIGURATION).write_text(configuration)
    (workspace.path / "models").mkdir()
    (workspace.path / "models/base").symlink_to(base, target_is_directory=True)
    steps = 100 if corpora is None else 3
    tuned(base, workspace.path / "runs/lora", texts_of(workspace.path), steps)
    page = (REPOSITORY / "docs/lm-eval.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ckptbench run .* --eval-config=.*--run-id=both$", page, re.M)
    command = command.replace("=base-vs-finetuned", f"={CONFIGURATION}")
    workspace.run(f"{command} --dtype=fp32 --device=cpu", **cache_of(workspace)).expect(0)
    return Path(workspace.path / "results/both")


def compared(workspace: Any) -> tuple[str, dict[str, Any]]:
    """What the second command of the page says, and the same as JSON."""
    page = (REPOSITORY / "docs/lm-eval.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ckptbench compare results/both results/both .*$", page, re.M)
    output = workspace.run(f"{command} --json comparison.json").output
    return output, json.loads((workspace.path / "comparison.json").read_text())


def scores_of(run: Path, checkpoint: str) -> dict[str, dict[str, Any]]:
    """The scores of the summary by metric, with their standard errors and n."""
    return scores_in(RunFolder(run).checkpoints[checkpoint])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, make_workspace: Any) -> Any:
    return make_workspace(tmp_path_factory.mktemp("base-vs-finetuned"))


def run_alone(workspace: Any) -> Path:
    """Ask the base alone: its answers are there."""
    workspace.run(
        f"pytest benchmarks --eval-config={CONFIGURATION} --checkpoint=models/base "
        "--dtype=fp32 --device=cpu --run-id=alone",
        **cache_of(workspace),
    ).expect(0)
    alone = RunFolder(workspace.path / "results/alone")
    assert alone.checkpoint["asked"] == 0
    return alone.path


@pytest.fixture(scope="module")
def alone(workspace: Any, both: Path) -> Path:
    """A run of the demo alone."""
    return run_alone(workspace)


@pytest.fixture(scope="module")
def both(workspace: Any) -> Path:
    """The run of the demo and a LoRA trained on questions like those it is asked."""
    return run_both(workspace, REPOSITORY / "benchmarks/demo/demo-code", OWN, None)


def test_a_fifth_of_every_task_is_asked_of_both(both: Path) -> None:
    checkpoints = RunFolder(both).checkpoints
    assert list(checkpoints) == ["base", "lora"]
    for checkpoint in checkpoints.values():
        scored = {b["benchmark"]: b["coverage"]["scored"] for b in checkpoint["benchmarks"]}
        assert scored == {**dict.fromkeys(TASKS, OWN.asked), "minerva_math": 7 * OWN.asked}
        assert checkpoint["asked"] == len(TASKS) * OWN.asked


def test_each_difference_has_the_standard_error_of_the_pairs(workspace: Any, both: Path) -> None:
    _, comparison = compared(workspace)
    (found,) = comparison["comparisons"]
    tasks = {task["benchmark"]: task for task in found["tasks"]}
    assert tasks.keys() == {*TASKS, "minerva_math"}
    for name in TASKS:
        before, after = (values(both, checkpoint, name) for checkpoint in ("base", "lora"))
        for verdict in tasks[name]["verdicts"]:
            metric, paired = verdict["metric"], verdict["comparison"]
            changes = [after[sample][metric] - before[sample][metric] for sample in before]
            n = len(changes)
            mean = sum(changes) / n
            spread = sqrt(sum((change - mean) ** 2 for change in changes) / (n - 1) / n)
            assert paired["kind"] == "paired"
            assert paired["difference"] == pytest.approx(mean, abs=1e-12)
            assert paired["standard_error"] == pytest.approx(spread, abs=1e-12)
            assert paired["lost"] == sum(change < 0 for change in changes)
            assert paired["won"] == sum(change > 0 for change in changes)


def values(run: Path, checkpoint: str, task: str) -> dict[str, dict[str, float]]:
    return {
        row["id"]: row["values"]
        for row in RunFolder(run).samples(checkpoint)
        if row["protocol"].startswith(f"{task}/")
    }


def test_improvements_regressions_and_the_average_are_told(workspace: Any, both: Path) -> None:
    output, comparison = compared(workspace)
    (found,) = comparison["comparisons"]
    first = [task["verdicts"][0] for task in found["tasks"] if task["benchmark"] in TASKS]
    rises = [v for v in first if v["comparison"]["difference"] > 0]
    assert rises, "the fine-tune learnt nothing, so this test says little"
    back = workspace.run(
        "ckptbench compare results/both results/both --checkpoint-a=lora --checkpoint-b=base"
    ).output
    for verdict in rises:
        # A rise that chance could have made is not called one: few documents tell little.
        significant = verdict["word"] == "improved"
        assert significant or verdict["word"] == "inconclusive"
        assert not significant or verdict["p_adjusted"] <= 0.05
        metric = re.escape(verdict["metric"])
        assert re.search(rf"{verdict['word']}: .*{metric}: better by", output)
        assert re.search(rf"(regressed|inconclusive): .*{metric}: worse by", back)
    assert f"average of {len(TASKS)} tasks" in output
    before, after = (
        sum(scores_of(both, name)[v["metric"]]["value"] for v in first) / len(TASKS)
        for name in ("base", "lora")
    )
    errors = [v["comparison"]["standard_error"] for v in first]
    average = found["average"]
    assert average["before"] == pytest.approx(before)
    assert average["after"] == pytest.approx(after)
    assert average["standard_error"] == pytest.approx(sqrt(sum(e * e for e in errors)) / len(TASKS))


def test_two_runs_are_compared_as_two_checkpoints_of_one(
    workspace: Any, both: Path, alone: Path
) -> None:
    together, _ = compared(workspace)
    apart = workspace.run("ckptbench compare results/alone results/both --checkpoint-b=lora").output
    for task in TASKS:
        row = re.compile(rf"^ +{task} .*%.*$", re.MULTILINE)
        assert row.findall(apart) == row.findall(together) != []


def test_the_numbers_are_lm_evals(
    workspace: Any, both: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the 14 subjects and one of the seven parts of MATH: the others are made alike."""
    few = {"mmlu-stem": [f"mmlu_{SHELF.SUBJECTS[0]}"], "math": ["minerva_math_algebra"]}
    # One each of WinoGrande and the subject, two each of the others.
    assert compared_with_lm_eval(workspace, monkeypatch, few, batch_size=8) == 2 * 1 + 3 * 2


def compared_with_lm_eval(
    workspace: Any,
    monkeypatch: pytest.MonkeyPatch,
    few: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    batch_size: int,
) -> int:
    """The base alone, of the answers that are there, against `simple_evaluate`.

    Args:
        few: which tasks of an entry of the configuration are compared, where not all are.

    Returns:
        How many metrics were compared, each with its standard error.
    """
    monkeypatch.chdir(workspace.path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    for name, place in cache_of(workspace).items():
        monkeypatch.setattr(datasets.config, name, place)
    asked = json.loads(Path(CONFIGURATION).read_text())["tasks"]
    lm = NUMBERS.model(Path("models/base"), batch_size)
    metrics = 0
    for name, entry in asked.items():
        settings = {"limit": entry["limit"], "num_fewshot": entry["num_fewshot"]}
        tasks = few.get(name, entry["tasks"])
        expected = NUMBERS.evaluated(lm, tasks, workspace.path, **settings)
        metrics += NUMBERS.assert_same_numbers(Path("results/alone"), expected)
    return metrics


def test_real_documents_and_a_real_model(
    tmp_path_factory: pytest.TempPathFactory,
    make_workspace: Any,
    corpora: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some minutes on two cores: two documents of each task."""
    place = os.environ.get("CKPTBENCH_CAUSAL_LM")
    if not place:
        pytest.skip("CKPTBENCH_CAUSAL_LM is not set: it names a causal model's folder")
    workspace = make_workspace(tmp_path_factory.mktemp("real"))
    run_both(workspace, Path(place), PUBLIC, corpora)
    output, _ = compared(workspace)
    assert f"average of {len(TASKS)} tasks" in output
    run_alone(workspace)
    # One each of WinoGrande and 14 subjects; two each of GSM8K, DROP, 7 parts of MATH, their group.
    assert compared_with_lm_eval(workspace, monkeypatch, batch_size=4) == 15 + 2 + 2 + 14 + 2
