"""Whether a checkpoint on disk is complete, judged by its files alone. Nothing is loaded.

A folder needs its configuration and its weights: one file, or an index and every shard it names. A
weights file is complete when its own table of contents agrees with its size.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

TORCH_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
# One file, or an index of shards; the first that a folder has any sign of is meant.
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_SHARD = re.compile(r"-\d+-of-(\d+)\.")
_LONGEST_HEADER_BYTES = 100_000_000  # safetensors allows no more


def missing_parts(checkpoint: Path) -> str:
    """What a checkpoint still lacks, as one clause; empty when it is complete.

    Args:
        checkpoint: a Hugging Face folder, or a weights file.

    Raises:
        OSError: a file cannot be read.
    """
    return _folder(checkpoint) if checkpoint.is_dir() else weights_fault(checkpoint)


def _folder(folder: Path) -> str:
    if not (folder / "config.json").is_file():
        return "config.json is not there"
    if _object(folder / "config.json") is None:
        return "config.json is cut off"
    for name in _WEIGHTS:
        index = folder / f"{name}.index.json"
        stem, _, suffix = name.rpartition(".")
        shards = sorted(folder.glob(f"{stem}-*-of-*.{suffix}"))
        if index.is_file():
            return _sharded(folder, index)
        if shards:
            count = _SHARD.search(shards[0].name)
            total = f" of {int(count[1])}" if count else ""
            return f"{index.name} is not there, {len(shards)}{total} shards are"
        if (folder / name).is_file():
            return weights_fault(folder / name)
    return f"neither {' nor '.join(_WEIGHTS)} is there"


def _sharded(folder: Path, index: Path) -> str:
    content = _object(index)
    weights = content.get("weight_map") if content is not None else None
    if not isinstance(weights, dict) or not weights:
        return f"{index.name} is cut off"
    shards = sorted(set(map(str, weights.values())))
    absent = [shard for shard in shards if not (folder / shard).is_file()]
    if absent:
        return f"{absent[0]} is not there ({len(absent)} of {len(shards)} shards)"
    return next(filter(None, (weights_fault(folder / shard) for shard in shards)), "")


def weights_fault(file: Path) -> str:
    """Why a weights file is not complete; empty when it is, or when its format cannot tell.

    Raises:
        OSError: it cannot be read.
    """
    if file.suffix == ".safetensors":
        return _safetensors_fault(file)
    if file.suffix in TORCH_SUFFIXES:
        return _torch_fault(file)
    return ""


def _safetensors_fault(file: Path) -> str:
    """By the format: a length of 8 bytes, a header in JSON, and the bytes that it describes."""
    size = file.stat().st_size
    with file.open("rb") as content:
        length = int.from_bytes(content.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER_BYTES):
            return f"{file.name} is cut off in its header"
        try:
            header = json.loads(content.read(length))
            ends = [t["data_offsets"][1] for name, t in header.items() if name != "__metadata__"]
            expected = 8 + length + max(ends, default=0)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return f"{file.name} has no header that can be read"
    if size != expected:
        return f"{file.name} has {size:,} of {expected:,} bytes"
    return ""


def _torch_fault(file: Path) -> str:
    """A file of `torch.save` is a zip archive, whose directory is written last."""
    with file.open("rb") as content:
        start = content.read(4)
    if not start:
        return f"{file.name} is empty"
    if start != b"PK\x03\x04":  # the format before torch 1.6, which says nothing of its length
        return ""
    try:
        with zipfile.ZipFile(file):
            return ""
    except zipfile.BadZipFile:
        return f"{file.name} is cut off: the end of its archive is not there"


def _object(file: Path) -> dict[str, Any] | None:
    """A JSON object; None when the file holds none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
