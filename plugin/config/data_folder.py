"""Finds each benchmark's file in a folder of datasets.

A dataset is a folder or a file with its name, in upper or lower case. In a folder, the split `test`
is taken; `test_eval`, which is the same problems with their tests, is preferred to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from .._util.errors import CkptbenchError

NAMES: Mapping[str, tuple[str, ...]] = {
    "real": ("real", "real_k"),
    "lambada": ("lambada", "ko_lambada"),
    "humaneval": ("humaneval", "human_eval", "openai_humaneval"),
    "mbpp": ("mbpp",),
    "codecontests": ("codecontests", "code_contests"),
}
"""Names of each benchmark's dataset that an option names too; `-` and `_` are the same."""

_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".parquet", ".csv", ".tsv")
_INSIDE = ("processed", "", "data", "raw")
_STEMS = ("test_eval", "test")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


def find_data(
    folder: Path, benchmarks: Iterable[str] = tuple(NAMES), *, any_of_them: bool = True
) -> dict[str, Path]:
    """The file of each benchmark that a folder of datasets has one for.

    Args:
        any_of_them: whether the folder must have at least one.

    Raises:
        CkptbenchError: it is not a folder, has none of them, or several files could be one.
    """
    if not folder.is_dir():
        raise CkptbenchError(
            "is not a folder" if folder.exists() else "there is no such folder",
            where=str(folder),
            remedy="Give a folder with a folder or a file for each dataset.",
        )
    wanted = tuple(benchmarks)
    found = {name: _file_of(folder, name) for name in wanted}
    files = {name: file for name, file in found.items() if file is not None}
    if any_of_them and not files:
        raise CkptbenchError(
            f"has no dataset of {', '.join(wanted)}",
            where=str(folder),
            remedy=f"Each is in a folder or file of its name, such as "
            f"{wanted[0]}/processed/test.jsonl or {wanted[0]}.jsonl.",
        )
    return files


def _file_of(folder: Path, benchmark: str) -> Path | None:
    names = NAMES.get(benchmark, (_plain(benchmark),))
    entries = sorted(folder.iterdir())
    folders = [entry for entry in entries if entry.is_dir() and _plain(entry.name) in names]
    for part in (entry / inside for entry in folders for inside in _INSIDE):
        if file := _split_in(part, names, benchmark):
            return file
    return _one([e for e in entries if e.is_file() and _plain(_stem(e)) in names], benchmark)


def _split_in(folder: Path, names: tuple[str, ...], benchmark: str) -> Path | None:
    """The file of the test split, or the only one with data."""
    if not folder.is_dir():
        return None
    files = [e for e in sorted(folder.iterdir()) if e.is_file() and _stem(e)]
    for stem in (*_STEMS, *names):
        fitting = [file for file in files if _plain(_stem(file)) == stem]
        if fitting:
            return _one(fitting, benchmark)
    not_data = re.compile(r"schema|(.*_)?metadata")
    return _one([file for file in files if not not_data.fullmatch(_plain(_stem(file)))], benchmark)


def _one(files: list[Path], benchmark: str) -> Path | None:
    """The only file, or the first by ending of several that differ in their ending only."""
    if not files:
        return None
    if len({_plain(_stem(file)) for file in files}) > 1 or any(
        sum(_ending(f) == _ending(file) for f in files) > 1 for file in files
    ):
        option = f"--{benchmark}-data" if benchmark in NAMES else f"--data={benchmark}"
        raise CkptbenchError(
            f"several files could be {benchmark}: {', '.join(file.name for file in files)}",
            where=str(files[0].parent),
            remedy=f"Give the file: {option}=FILE (or judge's --data=FILE).",
        )
    return min(files, key=lambda file: _ENDINGS.index(_ending(file)))


def _ending(file: Path) -> str:
    """The ending that decides how a file is read; empty for a file without data."""
    name = file.name.lower()
    return max((e for e in _ENDINGS if name.endswith(e)), key=len, default="")


def _stem(file: Path) -> str:
    """A data file's name without its ending and the number of its only part; empty for others."""
    ending = _ending(file)
    return _SHARD.sub("", file.name[: -len(ending)]) if ending else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
