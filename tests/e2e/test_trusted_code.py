"""A checkpoint with an architecture of its own: `--model-args=trust_remote_code=DIR`."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

OWN = """
from transformers import ModernBertConfig, ModernBertForMaskedLM


class OwnConfig(ModernBertConfig):
    model_type = "own-bert"


class OwnForMaskedLM(ModernBertForMaskedLM):
    config_class = OwnConfig
"""


@pytest.mark.slow
def test_one_folder_is_trusted_by_name(workspace: Any) -> None:
    own = workspace.path / "models/own"
    shutil.copytree(workspace.path / "benchmarks/demo/demo-mlm/checkpoint-6000", own)
    config = json.loads((own / "config.json").read_text()) | {
        "model_type": "own-bert",
        "architectures": ["OwnForMaskedLM"],
        "auto_map": {
            "AutoConfig": "modeling_own.OwnConfig",
            "AutoModelForMaskedLM": "modeling_own.OwnForMaskedLM",
        },
    }
    (own / "config.json").write_text(json.dumps(config))
    (own / "modeling_own.py").write_text(OWN)
    (workspace.path / "models/other").mkdir()
    start = "pytest benchmarks/test_lambada.py --checkpoint=models/own --limit=5 --run-id=r"
    variables = {"HF_MODULES_CACHE": str(workspace.path / "modules")}

    refused = workspace.run(f"{start} --model-args=trust_remote_code=models/other", **variables)
    assert "is no checkpoint of this session" in refused.expect(4)
    assert not (workspace.path / "modules").exists()
    unnamed = " ".join(workspace.run(start, **variables).expect(4).split())
    assert "--model-args trust_remote_code=" in unnamed

    named = f"{start} --model-args=trust_remote_code=models/own"
    output = workspace.run(named, **variables).expect(0)
    note = f"Python code of {own.resolve()} was run (--model-args trust_remote_code)"
    assert note in " ".join(output.split())
    summary = json.loads((workspace.path / "results/r/summary.json").read_text())
    assert any(note in each for each in summary["notes"])
