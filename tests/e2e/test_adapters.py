"""A base and adapters on it, measured in one session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import warm
from run_folder import RunFolder

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("peft") is None, reason="peft is not installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's walls are Linux's"),
]


def ask(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(warm.commands() / "pytest"), str(ROOT / "benchmarks"), "-k", "problems"]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", "--run-id=it", "--limit=14"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    return subprocess.run(
        [*command, "--max-tokens=100", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def make(folder: Path, std: float) -> Path:
    """An adapter on the demo, its weights drawn at random."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    base: Any = AutoModelForCausalLM.from_pretrained(ROOT / "benchmarks/demo/demo-code")
    model = get_peft_model(base, LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter.data, std=std)
    model.save_pretrained(folder)
    return folder


def texts(folder: Path) -> dict[str, list[Any]]:
    """What each checkpoint answered, in the order of the samples."""
    run = RunFolder(folder / "results/it")
    return {
        each.name: [
            row["response"]
            for row in sorted(run.samples(each.name), key=lambda row: str(row["id"]))
        ]
        for each in (run.path / "samples").iterdir()
    }


def test_a_base_and_its_adapters_are_measured_side_by_side(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one", 0.3), make(tmp_path / "other", 0.6)
    specs = ["demo-code", f"demo-code+adapter={one}", str(other)]
    done = ask(tmp_path, *(f"--checkpoint={spec}" for spec in specs))
    assert done.returncode == 0, done.stdout
    answered = texts(tmp_path)
    assert set(answered) == {"demo-code", "one", "other"}
    assert len({json.dumps(given) for given in answered.values()}) == 3
    assert "with a LORA adapter of rank 4, not merged" in done.stdout
    again = ask(tmp_path, f"--checkpoint={one}", "--checkpoint=demo-code")
    assert again.returncode == 0, again.stdout
    assert "14 answers computed" not in again.stdout, (
        "stored answers of base and adapter are found again"
    )


def test_an_adapter_without_effect_is_an_error_of_its_samples_only(tmp_path: Path) -> None:
    zero = make(tmp_path / "zero", 0.0)
    done = ask(tmp_path, f"--checkpoint=demo-code+adapter={zero}", "--checkpoint=demo-code")
    assert done.returncode == 1, done.stdout
    assert "the adapter had no effect" in done.stdout
    assert "14 answers computed" in done.stdout
