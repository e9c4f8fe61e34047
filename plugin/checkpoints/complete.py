"""Whether a checkpoint on disk is complete, judged by its files alone. Nothing is loaded.

A folder needs its configuration and its weights: one file, or an index and every shard it names. A
weights file is complete when its own table of contents agrees with its size.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

TORCH_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
# In the order transformers prefers them: one file, or `NAME.index.json` and its shards. The first
# that a folder has any sign of is meant.
WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")
"""The files that hold the weights of a checkpoint that is not in shards."""
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
    try:
        whole = isinstance(json.loads((folder / "config.json").read_text(encoding="utf-8")), dict)
    except ValueError:
        whole = False
    if not whole:
        return "config.json is cut off"
    for name in WEIGHT_FILES:
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
    return f"neither {' nor '.join(WEIGHT_FILES)} is there"


def _sharded(folder: Path, index: Path) -> str:
    try:
        shards = shards_of(index)
    except ValueError:
        shards = []
    if not shards:
        return f"{index.name} is cut off"
    absent = [shard for shard in shards if not (folder / shard).is_file()]
    if absent:
        return f"{absent[0]} is not there ({len(absent)} of {len(shards)} shards)"
    return next(filter(None, (weights_fault(folder / shard) for shard in shards)), "")


def shards_of(index: Path) -> list[str]:
    """Names of the files that the index of a model's shards lists, sorted.

    Raises:
        ValueError: it is no such index, or a part of one.
    """
    try:
        return sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


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


@dataclass(frozen=True, slots=True)
class SafetensorsSizes:
    """Bytes of a safetensors file.

    Attributes:
        actual: on disk.
        header_end: where its header ends, as its first bytes say.
        promised: of the whole file, as far as the header could be read.
    """

    actual: int
    header_end: int
    promised: int


def safetensors_sizes(file: Path) -> SafetensorsSizes:
    """What a safetensors file holds and what it should hold.

    The format: 8 bytes of little-endian header length, a JSON header whose `data_offsets` count
    from the header's end, then the data.

    Raises:
        ValueError: the header is there, and no table of tensors.
        OSError: the file cannot be read.
    """
    size = file.stat().st_size
    with file.open("rb") as content:
        head = content.read(8)
        length = int.from_bytes(head, "little") if len(head) == 8 else 0
        end = 8 + length
        if len(head) < 8 or end > size or length > _LONGEST_HEADER_BYTES:
            return SafetensorsSizes(size, end, end)
        header = content.read(length)
    try:
        tensors = json.loads(header)
        ends = [t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__"]
        return SafetensorsSizes(size, end, end + max(ends, default=0))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(str(error)) from error


def _safetensors_fault(file: Path) -> str:
    try:
        sizes = safetensors_sizes(file)
    except ValueError:
        return f"{file.name} has no header that can be read"
    if sizes.header_end > min(sizes.actual, 8 + _LONGEST_HEADER_BYTES):
        return f"{file.name} is cut off in its header"
    if sizes.actual != sizes.promised:
        return f"{file.name} has {sizes.actual:,} of {sizes.promised:,} bytes"
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
