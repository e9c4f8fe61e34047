"""A folder with several datasets in it: which file is which benchmark's.

A dataset is a folder or a file with its name, in letters of either case. In a folder, the split
`test` is taken; `test_eval`, which is the same problems with their tests, comes before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._util.errors import CkptbenchError

NAMES: Mapping[str, tuple[str, ...]] = {
    "real": ("real", "real_k"),
    "lambada": ("lambada", "ko_lambada"),
    "humaneval": ("humaneval", "human_eval", "openai_humaneval"),
    "mbpp": ("mbpp",),
    "codecontests": ("codecontests", "code_contests"),
}
"""What a benchmark's dataset may be called; `-` and `_` are the same."""

_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".parquet", ".csv", ".tsv")
_INSIDE = ("processed", "", "data", "raw")
_STEMS = ("test_eval", "test")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


@dataclass(frozen=True, slots=True)
class DataFolder:
    """What was found in a folder.

    Attributes:
        files: the file of each benchmark that has one.
        missing: names of the benchmarks that have none, in the order they were asked for.
    """

    files: Mapping[str, Path]
    missing: tuple[str, ...]


def find_data(
    folder: Path, benchmarks: Iterable[str] = tuple(NAMES), *, any_of_them: bool = True
) -> DataFolder:
    """The files of benchmarks in a folder of datasets.

    Args:
        any_of_them: whether the folder must hold at least one.

    Raises:
        CkptbenchError: it is no folder, holds none of them, or several files could be one.
    """
    if not folder.is_dir():
        raise CkptbenchError(
            "is no folder" if folder.exists() else "there is no such folder",
            where=str(folder),
            remedy="Give a folder with a folder or a file for each dataset.",
        )
    wanted = tuple(benchmarks)
    found = {name: _file_of(folder, name) for name in wanted}
    files = {name: file for name, file in found.items() if file is not None}
    if any_of_them and not files:
        names = ", ".join(wanted)
        raise CkptbenchError(
            f"holds no dataset of {names}",
            where=str(folder),
            remedy=f"Each stands in a folder or file of its name, such as "
            f"{wanted[0]}/processed/test.jsonl or {wanted[0]}.jsonl.",
        )
    return DataFolder(files, tuple(name for name in wanted if name not in files))


def _file_of(folder: Path, benchmark: str) -> Path | None:
    names = NAMES[benchmark]
    entries = sorted(folder.iterdir())
    for entry in entries:
        if entry.is_dir() and _plain(entry.name) in names:
            for part in _INSIDE:
                file = _split_in(entry / part if part else entry, names, benchmark)
                if file is not None:
                    return file
    files = [e for e in entries if e.is_file() and _plain(_stem(e)) in names]
    return _one(files, benchmark)


def _split_in(folder: Path, names: tuple[str, ...], benchmark: str) -> Path | None:
    """The file of the split that is asked, or the only one with data."""
    if not folder.is_dir():
        return None
    files = [e for e in sorted(folder.iterdir()) if e.is_file() and _stem(e)]
    for stem in (*_STEMS, *names):
        fitting = [file for file in files if _plain(_stem(file)) == stem]
        if fitting:
            return _one(fitting, benchmark)
    others = [file for file in files if _plain(_stem(file)) not in ("schema", "metadata")]
    return _one([f for f in others if not _plain(_stem(f)).endswith("_metadata")], benchmark)


def _one(files: list[Path], benchmark: str) -> Path | None:
    """The only file, or the first by ending of those that differ in nothing else."""
    if not files:
        return None
    if len({_plain(_stem(file)) for file in files}) > 1 or any(
        sum(_ending(f) == _ending(file) for f in files) > 1 for file in files
    ):
        raise CkptbenchError(
            f"several files could be {benchmark}: {', '.join(file.name for file in files)}",
            where=str(files[0].parent),
            remedy=f"Give the file: --{benchmark}-data=FILE (or judge's --data=FILE).",
        )
    return min(files, key=lambda file: _ENDINGS.index(_ending(file)))


def _ending(file: Path) -> str:
    """The ending by which a file is read; empty for one that holds no data."""
    name = file.name.lower()
    return max((e for e in _ENDINGS if name.endswith(e)), key=len, default="")


def _stem(file: Path) -> str:
    """A data file's name without its ending and the number of its only part; empty for others."""
    ending = _ending(file)
    return _SHARD.sub("", file.name[: -len(ending)]) if ending else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
