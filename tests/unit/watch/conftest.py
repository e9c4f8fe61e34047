"""Checkpoints of a few bytes, written as trainers write them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest


def safetensors(numbers: int) -> bytes:
    """A file of one tensor of so many bytes, by the format's description."""
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "w": {"dtype": "U8", "shape": [numbers], "data_offsets": [0, numbers]},
        }
    ).encode()
    return struct.pack("<Q", len(header)) + header + bytes(numbers)


def whole(folder: Path, shards: int = 1) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors(64))
        return folder
    names = [f"model-{n:05}-of-{shards:05}.safetensors" for n in range(1, shards + 1)]
    for name in names:
        (folder / name).write_bytes(safetensors(64))
    weights = {f"layer.{n}": name for n, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    return folder


@pytest.fixture
def make_checkpoint() -> Callable[..., Path]:
    return whole


@pytest.fixture
def weights() -> Callable[[int], bytes]:
    return safetensors
