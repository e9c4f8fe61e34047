"""`--checkpoint NAME@REVISION` in a session: from the hub's cache, with steps and commits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

# In-process runs forget the modules that they import, and torch cannot be imported twice.
import torch  # noqa: F401
import transformers.models.auto.modeling_auto  # noqa: F401
from transformers import AutoModelForMaskedLM, AutoTokenizer  # noqa: F401

import ckptbench.benchmarks

DEMO = Path(ckptbench.benchmarks.__file__).parent / "demo/demo-mlm"
COMMITS = {"step100": "a" * 40, "step-1500": "b" * 40}


@pytest.fixture
def cached(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A project, and a cache with two checkpoints of the demo as revisions of `maker/tiny`."""
    import huggingface_hub.constants

    home = project.path / "hub"
    repository = home / "models--maker--tiny"
    (repository / "refs").mkdir(parents=True)
    for (revision, commit), name in zip(COMMITS.items(), ("100", "1500"), strict=True):
        (repository / "refs" / revision).write_text(commit)
        shutil.copytree(DEMO / f"checkpoint-{name}", repository / "snapshots" / commit)
        (repository / "snapshots" / commit / "trainer_state.json").unlink(missing_ok=True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(home))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    project.file("test_real_k.py", "from ckptbench.benchmarks.test_real_k import test_real_k\n")
    return project


def test_revisions_are_measured_with_their_steps_and_commits(cached: Any) -> None:
    specs = [f"--checkpoint=maker/tiny@{revision}" for revision in COMMITS]
    result = cached.run(*specs, "--limit=2", "--protocol=real=single-mask")
    assert result.ret == 0, result.stderr.str()
    found = cached.summary["checkpoints"]
    assert [(each["name"], each["run"], each["step"]) for each in found] == [
        ("tiny-step100", "maker/tiny", 100),
        ("tiny-step-1500", "maker/tiny", 1500),
    ]
    assert [each["facts"]["commit"] for each in found] == list(COMMITS.values())
    assert len({each["fingerprint"] for each in found}) == 2


def test_what_cannot_be_had_names_the_command_that_downloads(cached: Any) -> None:
    result = cached.run("--checkpoint=maker/tiny@step9")
    assert result.ret == 4
    assert "`hf download maker/tiny --revision step9`" in result.stderr.str()
    assert "HF_HUB_OFFLINE is set" in result.stderr.str()


@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--humaneval-data=maker/code", "hf download maker/code --repo-type dataset"),
        ("--data=humaneval=maker/code", "hf download maker/code --repo-type dataset"),
        ("--real-data=maker/texts", "ckptbench build real-k --hub maker/texts -o"),
    ],
)
def test_data_named_as_on_the_hub(
    cached: Any, monkeypatch: pytest.MonkeyPatch, option: str, command: str
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    cached.file(
        "test_humaneval.py", "from ckptbench.benchmarks.test_humaneval import test_humaneval\n"
    )
    result = cached.run("--checkpoint=demo-mlm", option)
    assert result.ret == 4
    assert "maker/" in result.stderr.str()
    assert command in result.stderr.str()
