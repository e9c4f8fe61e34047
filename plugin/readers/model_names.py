"""What results of lm-eval, of any version, say of the model they are of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._util.names import step_in
from .reported import run_of


def model_of(content: Mapping[str, Any]) -> str:
    """The model's name or folder; empty where the file does not say."""
    name = content.get("model_name")
    if isinstance(name, str) and name:
        return name
    return _arguments(content).get("pretrained", "")


def revision_of(content: Mapping[str, Any]) -> str:
    """The revision of the model on its hub, such as `step1000`; empty without one."""
    return _arguments(content).get("revision", "")


def named(model: str, revision: str, path: Path) -> tuple[str, str, int | None]:
    """A checkpoint's name, its run, and its step.

    Revisions of one model are checkpoints of one run, named by the revision; otherwise the model
    is the checkpoint.
    """
    last = model.rstrip("/").rpartition("/")[2]
    if revision and revision != "main":
        return revision, last, step_in(revision)
    name = last or path.stem
    return name, run_of(model), step_in(name)


def _arguments(content: Mapping[str, Any]) -> dict[str, str]:
    """`model_args`, which is a text of pairs in some versions and an object in others."""
    config = content.get("config")
    given = config.get("model_args") if isinstance(config, Mapping) else None
    if isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}
    if isinstance(given, str):
        return dict(part.strip().partition("=")[::2] for part in given.split(","))
    return {}
