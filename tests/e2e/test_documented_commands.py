"""Every command that a document shows runs where the wheel is installed, and this checkout is not.

What other tests here run in full is named by page. The rest is planned: a session that only says
what it would do has found its checkpoints, files and options.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    str(page.relative_to(REPOSITORY))
    for page in sorted([*REPOSITORY.glob("README*.md"), *REPOSITORY.glob("docs/*.md")])
]
IN_FULL = {
    "README.ko.md": "test_readme.py, as those of README.md",
    "README.md": "test_readme.py",
    "docs/ci.md": "test_docs_examples.py, but for the store's",
    "docs/comparing.md": "test_docs_examples.py",
    "docs/configuration.md": "test_configurations.py",
    "docs/extending.md": "test_docs_examples.py, with a conftest beside the benchmarks of a clone",
    "docs/writing-a-benchmark.md": "test_docs_examples.py",
}
NOT_HERE = {
    "make servers ": "a clone with servers: test_endpoint_servers.py",
    "pip install ": "a registry: test_wheel.py",
    "http://localhost:8000": "a server: test_endpoint_servers.py",
    "--serve=": "a server's program: test_started_servers.py",
    "--tasks=gsm8k": "the hub: test_lm_eval_real_tasks.py",
    "=base-vs-finetuned": "the hub: test_base_against_finetuned.py",
    "--checkpoint-b=lora": "results of the hub's tasks: test_base_against_finetuned.py",
    "ckptbench mlflow ": "a server: test_mlflow_server.py",
    "--tasks=signs": "test_configurations.py",
}
PLANNED = ("--dry-run", "--list-benchmarks", "--validate-config")
PROBLEM = {
    "task_id": "HumanEval/0",
    "prompt": 'def more(x):\n    """One more."""\n',
    "canonical_solution": "    return x + 1\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
    "entry_point": "more",
}
SMALL = {"task_id": 11, "text": "Write more(x).", "code": "def more(x):\n    return x + 1"}
MBPP = {**SMALL, "test_list": ["assert more(1) == 2"], "test_setup_code": ""}


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def commands(page: str) -> list[str]:
    """The lines of a page's shell blocks."""
    pattern = r"^ *```(?:shell|sh|bash)\n(.*?)^ *```$"
    blocks = re.findall(pattern, text_of(page), re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def planned(command: str) -> str:
    """The command with an option by which it computes nothing; a watch computes a little."""
    if "ckptbench watch" in command:
        own = f"runs/later --once --settle=0 --run-id={len(command)} "
        one = command.replace("runs/x ", own, 1)
        return one.replace("ckptbench.benchmarks", "ckptbench.benchmarks -k lambada --limit=2")
    if "ckptbench run" in command and not any(option in command for option in PLANNED):
        return f"{command} --dry-run"
    return command


HERE = [
    command
    for page in PAGES
    if page not in IN_FULL
    for command in commands(page)
    if not any(part in command for part in NOT_HERE)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_elsewhere: Any) -> Any:
    """Somebody's folder, with the checkpoints and files that the pages name."""
    workspace = make_elsewhere(tmp_path_factory.mktemp("somebody"))
    root = workspace.path
    demo = REPOSITORY / "benchmarks/demo"
    for name in ("runs/x/checkpoint-655", "runs/x/checkpoint-700", "runs/later/checkpoint-1"):
        shutil.copytree(demo / "demo-mlm/checkpoint-6000", root / name)
    shutil.copytree(demo / "demo-code", root / "models/base")
    adapter(root / "runs/lora/checkpoint-300")
    problems = f"{json.dumps(PROBLEM)}\n".encode()
    for name in ("HumanEval.jsonl.gz", "storage/datasets/humaneval/test.jsonl.gz"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(gzip.compress(problems))
    (root / "storage/datasets/mbpp").mkdir()
    for name in ("mbpp.jsonl", "storage/datasets/mbpp/test.jsonl"):
        (root / name).write_text(f"{json.dumps(MBPP)}\n", encoding="utf-8")
    answer = {"task_id": "HumanEval/0", "completion": PROBLEM["canonical_solution"]}
    (root / "answers.jsonl").write_text(f"{json.dumps(answer)}\n", encoding="utf-8")
    return workspace


def adapter(folder: Path) -> None:
    """An adapter on `models/base`, as far as a plan reads it."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    settings = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}
    settings |= {"base_model_name_or_path": "models/base", "task_type": "CAUSAL_LM"}
    (folder / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    save_file({"lora": torch.zeros(1)}, folder / "adapter_model.safetensors")


@pytest.mark.parametrize("command", HERE)
def test_a_command_of_a_page_is_understood(folder: Any, command: str) -> None:
    folder.run(planned(command)).expect(0)


def test_what_is_named_here_is_in_the_pages() -> None:
    everything = [command for page in PAGES for command in commands(page)]
    for part in NOT_HERE:
        assert any(part in command for command in everything), part
    assert len(HERE) >= 10
    assert set(IN_FULL) <= set(PAGES)


def test_the_commands_of_the_store_run(folder: Any) -> None:
    """Those of docs/ci.md, on a run of two samples."""
    folder.run("ckptbench run demo-mlm -k lambada --limit=2 --run-id=nightly").expect(0)
    shown = [command for command in commands("docs/ci.md") if "ckptbench store" in command]
    assert len(shown) == 3
    assert "results/nightly" in folder.run("\n".join(shown)).expect(0)


def test_no_command_needs_the_benchmarks_of_a_clone() -> None:
    for page in set(PAGES) - {"docs/extending.md"}:
        assert not [command for command in commands(page) if command.startswith("pytest benchm")]
